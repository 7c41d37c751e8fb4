"""What sharing runs of the graphs brings to heat problems.

    python -m benchmarks.heat_serve

The same distinct problems (every family, boundary kind and 33 to 257 samples, one to four
times) with batching and without, in turn: first the model alone, asked through the engine
from 1 and 32 threads at a time, with tokens made before; then the whole service over
HTTP from as many clients, where a worker also makes the tokens, the reference and the formula.
The fastest of several rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.cpu import cpu_ms
from benchmarks.http import Connection
from benchmarks.serve import service
from models.heat.artifact import NAME, read
from models.heat.boundary import Array, Boundary
from models.heat.families import FAMILIES
from models.heat.panels import from_samples
from models.heat.predictor import Prepared, prepare
from service.engine import Engine
from service.heat.served import ServedHeatModel
from service.settings import Settings

CLIENTS = (1, 32)
KINDS = {
    "dirichlet": Boundary.DIRICHLET,
    "neumann": Boundary.NEUMANN,
    "periodic": Boundary.PERIODIC,
    "mixed": Boundary.DIRICHLET_NEUMANN,
}
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """Samples u₀ (n,) on a uniform grid, and τ (M,)."""

    u0: Array
    kind: str
    tau: Array

    def body(self) -> dict[str, Any]:
        """The request, αt/L² = t."""
        return {
            "initial_condition": self.u0.tolist(),
            "boundary": {"kind": self.kind},
            "times": self.tau.tolist(),
            "points": len(self.u0),
            "timeout_s": 60,
        }

    def prepared(self, threshold: float) -> tuple[Prepared, Array]:
        """Tokens and places, as a worker makes them."""
        x = np.linspace(0, 1, len(self.u0))
        panels = from_samples(x, self.u0, "piecewise_linear")
        return prepare(panels, KINDS[self.kind], self.tau, threshold), x


def problems(count: int, seed: int) -> list[Problem]:
    """Distinct problems, τ log-uniform from 1e-5 to 1."""
    rng = np.random.default_rng(seed)
    drawers, kinds = list(FAMILIES.values()), list(KINDS)
    found = []
    for number in range(count):
        points = round(float(np.exp(rng.uniform(np.log(33), np.log(257)))))
        u0 = drawers[number % len(drawers)](rng, np.linspace(0, 1, points))
        tau = np.exp(rng.uniform(np.log(1e-5), 0, size=rng.integers(1, 5)))
        found.append(Problem(u0, kinds[rng.integers(len(kinds))], np.sort(tau)))
    return found


def by_engine(asked: list[Problem], clients: int, *, batching: bool) -> tuple[float, float]:
    """Seconds and CPU seconds of the model for all problems."""
    root = Settings().artifacts
    threshold = read(root / NAME).threshold
    ready = [problem.prepared(threshold) for problem in asked]

    async def ask() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as nothing:
            engine = Engine(Path(nothing))
            items = 32 if batching else 1
            model = ServedHeatModel(root, engine, device="cpu", threads=1, batch_items=items)
            async with engine:
                predictor = model.batched(time.monotonic() + 600)

                def run() -> None:
                    with ThreadPoolExecutor(clients) as threads:
                        list(threads.map(lambda one: predictor.predict(*one), ready))

                wall, cpu = time.perf_counter(), cpu_ms(os.getpid())
                await asyncio.to_thread(run)
                return time.perf_counter() - wall, (cpu_ms(os.getpid()) - cpu) / 1000

    return asyncio.run(ask())


def by_http(asked: list[Problem], clients: int, url: str, pid: int) -> tuple[float, float]:
    """Seconds and CPU seconds of the service for all problems."""
    waiting = iter([problem.body() for problem in asked])

    async def client() -> None:
        async with Connection(url) as http:
            for body in waiting:
                status, content = await http.post("/pde/heat", body)
                if status != 200:
                    raise RuntimeError(f"{status}: {content.decode()}")

    async def load() -> None:
        await asyncio.gather(*(client() for _ in range(clients)))

    wall, cpu = time.perf_counter(), cpu_ms(pid)
    asyncio.run(load())
    return time.perf_counter() - wall, (cpu_ms(pid) - cpu) / 1000


def main() -> None:
    arguments = argparse.ArgumentParser(description="What sharing runs brings to heat.")
    arguments.add_argument("--problems", type=int, default=96)
    given = arguments.parse_args()
    asked = problems(given.problems, seed=11)
    table = Table(title="heat problems a second, and CPU ms each")
    for name in ("asked", "clients", "batching", "problems/s", "CPU ms", "on / off"):
        table.add_column(name, justify="left" if name == "asked" else "right")

    def compare(name: str, clients: int, run: Callable[[bool], tuple[float, float]]) -> None:
        rounds = [(run(True), run(False)) for _ in range(ROUNDS)]
        on, off = (min(one) for one in zip(*rounds, strict=True))
        for batching, (wall, cpu) in (("on", on), ("off", off)):
            table.add_row(
                name,
                str(clients),
                batching,
                f"{len(asked) / wall:.1f}",
                f"{1000 * cpu / len(asked):.2f}",
                f"{off[0] / on[0]:.2f}" if batching == "on" else "",
            )

    for clients in CLIENTS:
        compare("the model", clients, lambda on, n=clients: by_engine(asked, n, batching=on))  # type: ignore[misc]  # of a lambda
    with service(batching=True) as on, service(batching=False) as off:
        for where in (on, off):
            by_http(problems(32, seed=12), 8, *where)
        for clients in CLIENTS:
            compare(
                "the service",
                clients,
                lambda batching, n=clients: by_http(asked, n, *(on if batching else off)),  # type: ignore[misc]  # of a lambda
            )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
