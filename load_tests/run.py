"""Every load scenario, headless, against a service that is started here; prints one table.

    python -m load_tests.run                          about four minutes
    python -m load_tests.run --seconds 120 Overload   one scenario, longer
    python -m load_tests.run --redis redis://127.0.0.1:6379/0

Exits with 1 when a scenario had failures. ``accepted`` are answers with 200, ``refused``
those with 429; ``RSS`` is the server process's memory after warm-up and at the end.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.operations.process import metric, service

#: Overload is this many times what the scenario Single did just before.
OVERLOAD = 5

#: Seconds of Single where it is only the baseline.
MOST_BASELINE_S = 20

#: Users of each scenario.
SCENARIOS = {"Single": 32, "Batch": 4, "Mixed": 16, "Cached": 20, "Overload": 200, "Slow": 8}


@dataclass(frozen=True, slots=True)
class Measured:
    """Requests by outcome, their rate, the latency of accepted ones in ms, memory in MiB."""

    scenario: str
    users: int
    accepted: int
    refused: int
    failed: int
    per_s: float
    p50: float
    p99: float
    server_errors: float
    rss: tuple[float, float]


def measure(scenario: str, users: int, seconds: int, url: str, rate: float = 0) -> Measured:
    """Run one scenario for ``seconds`` after a warm-up of a quarter as long.

    ``rate`` is what all users together ask a second where the scenario leaves that open.
    """
    _locust(scenario, users, max(5, seconds // 4), url, rate)
    before, errors = _rss(url), _server_errors(url)
    rows = _locust(scenario, users, seconds, url, rate)
    total = next(row for row in rows if row["Name"] == "Aggregated")
    refused = sum(int(row["Request Count"]) for row in rows if row["Name"].endswith(" 429"))
    accepted = [
        row for row in rows if row["Name"] != "Aggregated" and not row["Name"].endswith(" 429")
    ]
    failed = int(total["Failure Count"])
    count = sum(int(row["Request Count"]) for row in accepted)
    return Measured(
        scenario,
        users,
        count - failed,
        refused,
        failed,
        count / seconds,
        max(float(row["50%"]) for row in accepted),
        max(float(row["99%"]) for row in accepted),
        _server_errors(url) - errors,
        (before, _rss(url)),
    )


def _locust(scenario: str, users: int, seconds: int, url: str, rate: float) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603 - our own command
            [
                *(sys.executable, "-m", "locust", "-f", "load_tests/locustfile.py", "--headless"),
                *("--host", url, "-u", str(users), "-r", str(users), "-t", f"{seconds}s"),
                *("--stop-timeout", "60", "--csv", f"{folder}/load", "--only-summary"),
                *("--exit-code-on-error", "0", "--loglevel", "WARNING", scenario),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"CALCERT_LOAD_RATE": str(rate / users)},
        )
        with Path(folder, "load_stats.csv").open(newline="") as file:
            return list(csv.DictReader(file))


def _rss(url: str) -> float:
    return metric(url, "process_resident_memory_bytes") / 2**20


def _server_errors(url: str) -> float:
    """Answers with 5xx so far."""
    return sum(
        metric(url, f'calcert_requests_total{{method="POST",route="{route}",status="{status}"}}')
        for route in ("/differentiate", "/integrate", "/pde/heat", "/differentiate/batch")
        for status in (500, 503, 504)
    )


def table(runs: list[Measured]) -> Table:
    shown = Table(title="Load; latency of accepted requests, the slowest kind of each scenario")
    columns = "users,accepted,refused,failed,5xx,accepted/s,p50 ms,p99 ms,RSS MiB"
    shown.add_column("scenario")
    for column in columns.split(","):
        shown.add_column(column, justify="right", no_wrap=True)
    for run in runs:
        shown.add_row(
            run.scenario,
            *(f"{n:.0f}" for n in (run.users, run.accepted, run.refused, run.failed)),
            f"{run.server_errors:.0f}",
            f"{run.per_s:.1f}",
            f"{run.p50:.0f}",
            f"{run.p99:.0f}",
            f"{run.rss[0]:.0f} → {run.rss[1]:.0f} ({run.rss[1] / run.rss[0] - 1:+.1%})",
        )
    return shown


def main() -> int:
    arguments = argparse.ArgumentParser(description="Every load scenario in one table.")
    arguments.add_argument(
        "scenarios", nargs="*", choices=[*SCENARIOS, []], help="all unless named"
    )
    arguments.add_argument("--seconds", type=int, default=30, help="of each scenario")
    arguments.add_argument("--redis", help="URL of a Redis for the cache")
    given = arguments.parse_args()
    if unknown := set(given.scenarios) - set(SCENARIOS):
        arguments.error(f"unknown scenario: {', '.join(sorted(unknown))}")
    redis = {"redis_url": given.redis} if given.redis else {}
    cores = len(os.sched_getaffinity(0))
    runs: list[Measured] = []
    asked = list(given.scenarios or SCENARIOS)
    if "Overload" in asked and "Single" not in asked:
        asked.insert(0, "Single")  # to know what is five times as much, and what p99 to keep
    for scenario in asked:
        rate = OVERLOAD * next((run.per_s for run in runs if run.scenario == "Single"), 0.0)
        named = not given.scenarios or scenario in given.scenarios
        seconds = given.seconds if named else min(given.seconds, MOST_BASELINE_S)
        with service(workers=cores, log_level="warning", **redis) as running:
            runs.append(measure(scenario, SCENARIOS[scenario], seconds, running.url, rate))
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)  # a file has room
    console.print(table(runs))
    return int(any(run.failed for run in runs))


if __name__ == "__main__":
    sys.exit(main())
