"""What the service does a second, and where the time goes.

    python -m benchmarks.serve                   about two minutes
    python -m benchmarks.serve --requests 2048 --rounds 4

Starts the service itself (answers are not cached), once with batching and once
without, asks for derivatives of expressions that are all different over real HTTP from 1, 8
and 32 clients at a time, in turn and several times over, since the speed of a machine is seldom
the same for long; and prints requests/s, latency and the time by stage; then the first of these
expressions through SymPy's ``diff`` in this process, for scale. Requests/s are counted while
all clients are at work: from when each could have had an answer until there is nothing left to
ask for one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import sympy
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.cpu import cpu_ms
from benchmarks.expressions import expressions
from benchmarks.http import Connection
from service.stopwatch import STAGES
from service.verification.convert import to_sympy
from tests.redis_server import free_port
from tokenizer.parse import parse

CLIENTS = (1, 8, 32)

#: Other questions asked before: a service that has been up for a while has learned its drafts.
WARM_UP = 1000


@dataclass
class Measured:
    """All runs of one kind: latencies and times of stages in ms, sources.

    ``steady`` answers came in ``seconds`` while all clients were at work. ``cpu_ms`` is CPU time
    of the service, all its processes together.
    """

    batching: bool
    clients: int
    latencies: list[float] = field(default_factory=list)
    steady: int = 0
    seconds: float = 0.0
    cpu_ms: float = 0.0
    #: Of each run.
    rates: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=lambda: {s: [] for s in STAGES})
    sources: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return self.steady / self.seconds

    def quantile(self, q: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))]

    def as_json(self) -> dict[str, Any]:
        return {
            "batching": self.batching,
            "clients": self.clients,
            "requests": len(self.latencies),
            "requests_per_s": round(self.rate, 1),
            "cpu_ms": round(self.cpu_ms / len(self.latencies), 2),
            "p50_ms": round(self.quantile(0.5), 1),
            "p99_ms": round(self.quantile(0.99), 1),
            "stages_ms": {stage: round(fmean(ms), 2) for stage, ms in self.stages.items()},
            "sources": dict(self.sources),
        }


@contextmanager
def service(batching: bool) -> Iterator[tuple[str, int]]:
    """The service in a process of its own, without a cache; gives its URL and process id."""
    port = free_port()
    environment = {
        **os.environ,
        "CALCERT_CACHE_ITEMS": "0",
        "CALCERT_LOG_LEVEL": "warning",
        # no client here asks for more than is answered, however slow the machine
        "CALCERT_IN_FLIGHT_S": "60",
        **({} if batching else {"CALCERT_BATCH_ITEMS": "1"}),
    }
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "service.cli", "serve", "--port", str(port)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        give_up = time.monotonic() + 120
        while True:
            try:
                httpx.get(f"{url}/health/ready").raise_for_status()
                break
            except httpx.HTTPError:
                if process.poll() is not None or time.monotonic() > give_up:
                    raise RuntimeError("the service did not start") from None
                time.sleep(0.1)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


async def load(url: str, texts: list[str], measured: Measured, engine: str, advance: Any) -> None:
    """Send every text once from ``measured.clients`` clients at a time."""
    waiting = iter(texts)
    answered: list[float] = []
    idle: list[float] = []

    async def client() -> None:
        async with Connection(url) as http:
            for text in waiting:
                started = time.perf_counter()
                body = {"expression": text, "engine": engine, "timeout_s": 60}
                status, content = await http.post("/differentiate", body)
                answered.append(time.perf_counter())
                measured.latencies.append(1000 * (answered[-1] - started))
                if status != 200:
                    raise RuntimeError(f"{status}: {content.decode()}")
                answer = json.loads(content)
                measured.sources[answer["source"] or "unsolved"] += 1
                for stage in STAGES:
                    measured.stages[stage].append(answer["timing_ms"][stage])
                advance()
        idle.append(time.perf_counter())

    await asyncio.gather(*(client() for _ in range(measured.clients)))
    begin, end = answered[measured.clients - 1], idle[0]
    steady = sum(begin < moment <= end for moment in answered)
    measured.steady += steady
    measured.seconds += end - begin
    measured.rates.append(steady / (end - begin))


def sympy_diff(texts: list[str]) -> list[float]:
    """Milliseconds that ``diff`` takes for each, parsing not counted."""
    times = []
    for text in texts:
        expression = to_sympy(parse(text))
        variable = next(iter(expression.free_symbols), sympy.Symbol("x", real=True))
        started = time.perf_counter()
        expression.diff(variable)
        times.append(1000 * (time.perf_counter() - started))
    return times


def table(runs: list[Measured]) -> Table:
    shown = Table(title="POST /differentiate, cold cache; stages are mean ms a request")
    for column in ("batching", "clients", "requests/s", "p50 ms", "p99 ms", "CPU ms", *STAGES):
        shown.add_column(column, justify="right", no_wrap=True)
    for run in runs:
        shown.add_row(
            "on" if run.batching else "off",
            str(run.clients),
            f"{run.rate:.1f}",
            f"{run.quantile(0.5):.1f}",
            f"{run.quantile(0.99):.1f}",
            f"{run.cpu_ms / len(run.latencies):.1f}",
            *(f"{fmean(run.stages[stage]):.1f}" for stage in STAGES),
        )
    return shown


def main() -> None:
    arguments = argparse.ArgumentParser(description="What the service does a second.")
    arguments.add_argument("--requests", type=int, default=200, help="in each run")
    arguments.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    arguments.add_argument("--engine", default="auto", choices=("auto", "model", "sympy"))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--json", type=Path, help="also write the figures here")
    given = arguments.parse_args()
    # drafts learn from what was asked before: no run may ask what another one did
    asked = expressions(given.seed)
    others = list(islice(asked, WARM_UP))
    texts = [
        (clients, list(islice(asked, given.requests)))
        for _ in range(given.rounds)
        for clients in CLIENTS
    ]
    runs: list[Measured] = []
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)  # a file has room
    with Progress(console=console) as progress:
        bar = progress.add_task("requests", total=2 * len(texts) * given.requests)
        advance = partial(progress.advance, bar)
        for batching in (True, False):
            of = {clients: Measured(batching, clients) for clients in CLIENTS}
            with service(batching) as (url, pid):
                asyncio.run(load(url, others, Measured(batching, 8), given.engine, int))
                for clients, these in texts:
                    before = cpu_ms(pid)
                    asyncio.run(load(url, these, of[clients], given.engine, advance))
                    of[clients].cpu_ms += cpu_ms(pid) - before
            runs += of.values()
    console.print(table(runs))
    one, most = (run for run in runs if run.batching and run.clients in (1, max(CLIENTS)))
    ratios = [many / single for single, many in zip(one.rates, most.rates, strict=True)]
    sources = sum((run.sources for run in runs), Counter[str]())
    answered = ", ".join(f"{source} {n}" for source, n in sources.most_common())
    console.print(
        f"{most.rate / one.rate:.2f} times as many at 32 clients as at 1 "
        f"(by rounds {min(ratios):.2f} to {max(ratios):.2f}); answered by {answered}"
    )
    times = sympy_diff(texts[0][1])
    console.print(
        f"SymPy {sympy.__version__} diff in process, no proof: "
        f"{1000 / fmean(times):.1f}/s, p50 {sorted(times)[len(times) // 2]:.2f} ms"
    )
    if given.json:
        figures = {"runs": [run.as_json() for run in runs], "sympy_diff_ms": round(fmean(times), 3)}
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
