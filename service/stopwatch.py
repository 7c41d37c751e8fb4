"""The time one question has, and where it went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STAGES = ("parse", "queue", "model", "verify", "fallback")


class Stopwatch:
    """Milliseconds by stage, and a deadline ``timeout_s`` seconds from now.

    ``deadline`` is on the clock of ``time.monotonic``. Work that goes on side by side in
    one stage is counted once, so that no stage takes longer than the whole.
    """

    def __init__(self, timeout_s: float) -> None:
        self._started = time.monotonic()
        self.deadline = self._started + timeout_s
        self._spans: dict[str, list[tuple[float, float]]] = {stage: [] for stage in STAGES}

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline, negative after it."""
        return self.deadline - time.monotonic()

    @property
    def total_ms(self) -> float:
        """Milliseconds since the start."""
        return 1000 * (time.monotonic() - self._started)

    @property
    def ms(self) -> dict[str, float]:
        """Milliseconds in which something was done, by stage."""
        return {stage: 1000 * _covered(spans) for stage, spans in self._spans.items()}

    def add(self, stage: str, ms: float, ago_ms: float = 0.0) -> None:
        """Count ``ms`` milliseconds that ended ``ago_ms`` milliseconds ago as ``stage``."""
        end = time.monotonic() - ago_ms / 1000
        self._spans[stage].append((end - ms / 1000, end))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block as ``name``."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._spans[name].append((started, time.monotonic()))


def _covered(spans: list[tuple[float, float]]) -> float:
    """The length of the union of intervals."""
    if len(spans) <= 1:
        return sum(end - start for start, end in spans)
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
