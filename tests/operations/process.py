"""The service as operators run it: `calcert serve` in a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from tests.redis_server import free_port


@dataclass(slots=True)
class Service:
    """A running process, where it answers, and what it has logged."""

    process: subprocess.Popen[bytes]
    url: str
    logs: IO[bytes]

    def log(self) -> str:
        self.logs.seek(0)
        return self.logs.read().decode()

    def terminate(self, timeout_s: float = 90) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def wait_until_ready(self, timeout_s: float = 180) -> None:
        give_up = time.monotonic() + timeout_s
        while True:
            try:
                if httpx.get(f"{self.url}/health/ready", timeout=10).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            if self.process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"the service did not start:\n{self.log()}")
            time.sleep(0.1)


@contextmanager
def service(*, ready: bool = True, **settings: object) -> Iterator[Service]:
    """Serve with ``settings`` (`redis_url="…"` becomes ``CALCERT_REDIS_URL``)."""
    port = free_port()
    given = {"port": port, "workers": 1, "threads": 1, "log_format": "json", **settings}
    environment = os.environ | {f"CALCERT_{k.upper()}": str(v) for k, v in given.items()}
    with tempfile.TemporaryFile() as logs:
        process = subprocess.Popen(
            [sys.executable, "-m", "service.cli", "serve"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=logs,
            start_new_session=True,
        )
        running = Service(process, f"http://127.0.0.1:{port}", logs)
        try:
            if ready:
                running.wait_until_ready()
            yield running
        finally:
            process.kill()
            process.wait()


def metric(url: str, name: str) -> float:
    """The sum of a metric's samples whose text begins with ``name``."""
    text = httpx.get(f"{url}/metrics", timeout=30).text
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def tool(name: str) -> str | None:
    """Path of a program: on the PATH, or beside this Python."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
