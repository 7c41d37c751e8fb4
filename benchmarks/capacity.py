"""How many cores a rate of requests takes, worked out from what was measured.

    python -m benchmarks.serve --json serve.json
    python -m benchmarks.cached --json cached.json
    python -m benchmarks.capacity serve.json cached.json

A request that the cache answers costs the CPU time measured for one, any other that of one
of 32 clients' with batching. The cores are kept busy to 60%, so that queues stay short.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

RATES = (1_000, 100_000)
SHARES_CACHED = (0.0, 0.9, 0.99)
BUSY = 0.6


def main() -> None:
    arguments = argparse.ArgumentParser(description="How many cores a rate of requests takes.")
    arguments.add_argument("serve", type=Path, help="JSON of benchmarks.serve")
    arguments.add_argument("cached", type=Path, help="JSON of benchmarks.cached")
    given = arguments.parse_args()
    runs = json.loads(given.serve.read_text())["runs"]
    (cold,) = (run["cpu_ms"] for run in runs if run["batching"] and run["clients"] == 32)
    known = json.loads(given.cached.read_text())["cpu_ms"]
    shown = Table(
        title=f"CPU time: {cold:.1f} ms for a new question, {known:.1f} ms for a cached one; "
        f"cores {BUSY:.0%} busy"
    )
    for column in ("requests/s", "cached", "ms a request", "cores", "machines of 32 cores"):
        shown.add_column(column, justify="right", no_wrap=True)
    for rate in RATES:
        for share in SHARES_CACHED:
            cost = share * known + (1 - share) * cold
            cores = rate * cost / 1000 / BUSY
            machines = -(-cores // 32)
            cells = f"{rate:,}", f"{share:.0%}", f"{cost:.2f}", f"{cores:,.0f}"
            shown.add_row(*cells, f"{machines:,.0f}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a file has room
    console.print(shown)


if __name__ == "__main__":
    main()
