"""How long a cached answer takes at a fixed rate.

    python -m benchmarks.cached                     100 requests/s for 30 seconds
    python -m benchmarks.cached --rate 500

Open loop: a request is sent when its time has come, whether or not earlier ones have been
answered, and its latency counts from that time; a service that stalls cannot hide it by
slowing its clients down. Starts the service itself and asks every question once before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.cpu import cpu_ms
from benchmarks.expressions import expressions
from benchmarks.http import Connection
from tests.operations.process import service

QUESTIONS = 50
WARM_UP_S = 3.0


async def fill(url: str, texts: list[str]) -> None:
    """Ask every question once."""
    async with Connection(url) as http:
        for text in texts:
            status, body = await http.post("/differentiate", {"expression": text, "timeout_s": 60})
            assert status == 200, body


async def load(url: str, texts: list[str], rate: float, seconds: float) -> list[float]:
    """Latency of every request in ms."""
    latencies: list[float] = []
    idle: list[Connection] = []
    start = time.perf_counter() + 0.1

    async def ask(number: int) -> None:
        due = start + number / rate
        await asyncio.sleep(due - time.perf_counter())
        http = idle.pop() if idle else Connection(url)
        body: dict[str, Any] = {"expression": texts[number % len(texts)]}
        status, content = await http.post("/differentiate", body)
        latencies.append(1000 * (time.perf_counter() - due))
        idle.append(http)
        if status != 200 or b'"cached":true' not in content:
            raise RuntimeError(f"{status}: {content.decode()}")

    await asyncio.gather(*(ask(number) for number in range(int(rate * seconds))))
    for http in idle:
        http.close()
    return sorted(latencies)


def main() -> None:
    arguments = argparse.ArgumentParser(description="How long a cached answer takes.")
    arguments.add_argument("--rate", type=float, default=100, help="requests/s")
    arguments.add_argument("--seconds", type=float, default=30)
    arguments.add_argument("--json", type=Path, help="also write the figures here")
    given = arguments.parse_args()
    texts = list(islice(expressions(7), QUESTIONS))

    with service(workers=1, threads=1) as running:
        asyncio.run(fill(running.url, texts))
        asyncio.run(load(running.url, texts, given.rate, WARM_UP_S))
        before = cpu_ms(running.process.pid)
        latencies = asyncio.run(load(running.url, texts, given.rate, given.seconds))
        spent = cpu_ms(running.process.pid) - before
    figures = {
        "requests_per_s": given.rate,
        "requests": len(latencies),
        **{
            f"p{q:g}_ms": round(
                latencies[min(len(latencies) - 1, int(q / 100 * len(latencies)))], 2
            )
            for q in (50, 90, 99, 99.9)
        },
        "max_ms": round(latencies[-1], 2),
        "cpu_ms": round(spent / len(latencies), 2),
    }
    print(json.dumps(figures))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
