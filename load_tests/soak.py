"""Many mixed requests, and what they leave behind in memory.

    python -m load_tests.soak                       50,000 requests
    python -m load_tests.soak --requests 5000

Derivatives known and new, integrals and heat equations, from 16 clients. The first fifth is
the warm-up: caches fill to their limits. Prints one table; exits with 1 for an answer that is
not 200, an answer without verification, or growth of 3% and more after the warm-up, of the
server process or of its children (engine and verifiers) together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.expressions import expressions
from benchmarks.http import Connection
from load_tests.answers import sound
from load_tests.memory import grown, resident_mib
from tests.operations.process import Service, metric, service

CLIENTS = 16
WARM_UP = 0.2
#: Growth from which on memory is said to leak.
MOST_GROWTH = 0.03
#: Answers that the cache keeps, few enough to be reached in the warm-up.
CACHE_ITEMS = 500
_SHARES = {"hot": 0.7, "cold": 0.1, "integrate": 0.1, "heat": 0.1}


class Mix:
    """Questions of all kinds, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._hot = tuple(islice(expressions(seed), 50))
        self._cold = expressions(seed + 1)

    def question(self) -> tuple[str, str, dict[str, Any]]:
        """Its kind, the path and the body."""
        (kind,) = self._rng.choices(list(_SHARES), list(_SHARES.values()))
        k = self._rng.randint(1, 9)
        match kind:
            case "hot":
                return kind, "/differentiate", {"expression": self._rng.choice(self._hot)}
            case "cold":
                return kind, "/differentiate", {"expression": next(self._cold)}
            case "integrate":
                return kind, "/integrate", {"expression": f"x*exp({k}*x)"}
        body = {"initial_condition": f"sin({k}*pi*x)", "times": [0.01], "points": 33}
        return kind, "/pde/heat", body


async def soak(
    running: Service, number: int, mix: Mix, console: Console
) -> tuple[list[tuple[float, float]], Counter[str]]:
    """Memory at each tenth after the warm-up, and the number of each kind and outcome.

    Memory in MiB, of the server process and of its children together.
    """
    url, pid = running.url, running.process.pid
    memory: list[tuple[float, float]] = []
    outcomes: Counter[str] = Counter()
    left = iter(range(number))
    marks = {int(number * (WARM_UP + (1 - WARM_UP) * tenth / 10)) for tenth in range(10)}

    async def client() -> None:
        async with Connection(url) as http:
            for at in left:
                if at in marks:
                    memory.append(resident_mib(pid))
                    console.log(f"{at:,} requests, {memory[-1][0]:.1f} + {memory[-1][1]:.1f} MiB")
                kind, path, body = mix.question()
                status, content = await http.post(path, {**body, "timeout_s": 60})
                fine = status == 200 and sound(json.loads(content))
                outcomes[kind if fine else f"{kind}: {status}"] += 1

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    memory.append(resident_mib(pid))
    return memory, outcomes


def main() -> int:
    arguments = argparse.ArgumentParser(description="Many mixed requests, and their memory.")
    arguments.add_argument("--requests", type=int, default=50_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    started = time.monotonic()
    with service(workers=2, threads=1, log_level="warning", cache_items=CACHE_ITEMS) as running:
        memory, outcomes = asyncio.run(
            soak(running, given.requests, Mix(given.seed), Console(stderr=True))
        )
        restarts = metric(running.url, "calcert_verification_worker_restarts_total")
    seconds = time.monotonic() - started
    server_mib, children_mib = zip(memory[0], memory[-1], strict=True)
    failed = sum(count for name, count in outcomes.items() if name not in _SHARES)
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(outcomes.items()))
    shown = Table(title=f"Mixed requests: {kinds}")
    columns = "requests,failed,requests/s,server MiB,children MiB,verifiers restarted"
    for column in columns.split(","):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_row(
        f"{given.requests:,}",
        str(failed),
        f"{given.requests / seconds:.0f}",
        grown(*server_mib),
        grown(*children_mib),
        f"{restarts:.0f}",
    )
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)  # a file has room
    console.print(shown)
    growth = max(after / before - 1 for before, after in (server_mib, children_mib))
    return int(failed > 0 or growth >= MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
