"""The time one question has, and where it went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STAGES = ("parse", "queue", "model", "verify", "fallback")


class Stopwatch:
    """Milliseconds by stage, and a deadline ``timeout_s`` seconds from now.

    ``deadline`` is on the clock of ``time.monotonic``.
    """

    def __init__(self, timeout_s: float) -> None:
        self._started = time.monotonic()
        self.deadline = self._started + timeout_s
        self.ms = dict.fromkeys(STAGES, 0.0)

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline, negative after it."""
        return self.deadline - time.monotonic()

    @property
    def total_ms(self) -> float:
        return 1000 * (time.monotonic() - self._started)

    def add(self, stage: str, ms: float) -> None:
        self.ms[stage] += ms

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block as ``name``."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.ms[name] += 1000 * (time.monotonic() - started)
