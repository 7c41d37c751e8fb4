"""Soft time limits inside a worker."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class OutOfTime(BaseException):  # not an Exception: SymPy catches those broadly
    """The time limit passed."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` in the block after ``seconds``.

    Works between Python bytecodes of the main thread; a long call into C ends
    later, and the pool's deadline covers that. Elsewhere there is no limit.
    Limits nest: an inner one never outlasts the outer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise OutOfTime

    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if left and left <= seconds:
        yield
        return
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-4))
    try:
        yield
    finally:
        remaining, _ = signal.getitimer(signal.ITIMER_REAL)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (seconds - remaining), 1e-4))
