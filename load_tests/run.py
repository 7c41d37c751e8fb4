"""Every load scenario, headless, against a service that is started here; prints one table.

    python -m load_tests.run                          about four minutes
    python -m load_tests.run --seconds 120 Overload   one scenario, longer
    python -m load_tests.run --redis redis://127.0.0.1:6379/0

Exits with 1 when a scenario had failures. ``accepted`` are answers with 200, ``refused``
those with 429; memory is resident, after the warm-up and at the end.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from load_tests.memory import grown, resident_mib
from tests.operations.process import Service, metric, service

#: An overload is this many times what the service just did for its other scenario.
OVERLOAD = 5

#: What each overload is an overload of: the same questions from clients that wait for answers.
BASELINES = {"Overload": "Single", "OverloadIntegrals": "Integrals"}

LONGEST_WARM_UP_S = 15

#: Answers that the cache keeps, few enough to be reached in the warm-up.
CACHE_ITEMS = 500

#: Seconds of a scenario where it is only the baseline.
MOST_BASELINE_S = 20

#: Users of each scenario. Those of an overload are many, for their questions to be on time.
SCENARIOS = {
    "Single": 32,
    "Overload": 500,
    "Integrals": 8,
    "OverloadIntegrals": 500,
    "Batch": 4,
    "Mixed": 16,
    "Cached": 20,
    "Slow": 8,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Requests by outcome, their rates, the latency of accepted ones in ms, memory in MiB."""

    scenario: str
    users: int
    accepted: int
    refused: int
    failed: int
    per_s: float
    offered_per_s: float
    p50: float
    p99: float
    server_errors: float
    server_mib: tuple[float, float]
    children_mib: tuple[float, float]


def measure(scenario: str, users: int, seconds: int, running: Service, rate: float) -> Measured:
    """Run one scenario for ``seconds`` after a warm-up.

    ``rate`` is what all users together ask a second where the scenario leaves that open.
    """
    url, pid = running.url, running.process.pid
    load = partial(_locust, scenario, users, url, rate)
    load(0, min(LONGEST_WARM_UP_S, max(5, seconds // 4)))
    before, errors = resident_mib(pid), _server_errors(url)
    rows = load(1, seconds)
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
        int(total["Request Count"]) / seconds,
        max(float(row["50%"]) for row in accepted),
        max(float(row["99%"]) for row in accepted),
        _server_errors(url) - errors,
        *zip(before, resident_mib(pid), strict=True),
    )


def _locust(
    scenario: str, users: int, url: str, rate: float, number: int, seconds: int
) -> list[dict[str, str]]:
    """Statistics by the name of a request; another ``number`` is other questions."""
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
            env=os.environ
            | {"CALCERT_LOAD_RATE": str(rate / users), "CALCERT_LOAD_ROUND": str(number)},
        )
        with Path(folder, "load_stats.csv").open(newline="") as file:
            return list(csv.DictReader(file))


def _server_errors(url: str) -> float:
    """Answers with 5xx so far."""
    return sum(
        metric(url, f'calcert_requests_total{{method="POST",route="{route}",status="{status}"}}')
        for route in ("/differentiate", "/integrate", "/pde/heat", "/differentiate/batch")
        for status in (500, 503, 504)
    )


def table(runs: list[Measured]) -> Table:
    shown = Table(title="Load; latency of accepted requests, the slowest kind of each scenario")
    columns = "asked/s,accepted/s,accepted,refused,failed,5xx,p50 ms,p99 ms,server MiB,children MiB"
    shown.add_column("scenario")
    for column in columns.split(","):
        shown.add_column(column, justify="right", no_wrap=True)
    for run in runs:
        shown.add_row(
            run.scenario,
            f"{run.offered_per_s:.0f}",
            f"{run.per_s:.0f}",
            *(f"{n:.0f}" for n in (run.accepted, run.refused, run.failed, run.server_errors)),
            f"{run.p50:.0f}",
            f"{run.p99:.0f}",
            grown(*run.server_mib),
            grown(*run.children_mib),
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
    asked = given.scenarios or list(SCENARIOS)
    # to know what is five times as much, and what p99 to keep
    asked = [BASELINES[scenario] for scenario in asked if scenario in BASELINES] + asked
    for scenario in dict.fromkeys(asked):
        done = {run.scenario: run.per_s for run in runs}
        rate = OVERLOAD * done.get(BASELINES.get(scenario, ""), 0.0)
        named = not given.scenarios or scenario in given.scenarios
        seconds = given.seconds if named else min(given.seconds, MOST_BASELINE_S)
        with service(
            workers=cores, log_level="warning", cache_items=CACHE_ITEMS, **redis
        ) as running:
            runs.append(measure(scenario, SCENARIOS[scenario], seconds, running, rate))
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)  # a file has room
    console.print(table(runs))
    return int(any(run.failed for run in runs))


if __name__ == "__main__":
    sys.exit(main())
