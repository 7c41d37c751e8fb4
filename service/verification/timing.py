"""Soft time limits inside a worker."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import CodeType, FrameType

#: Seconds after which an interruption that was swallowed comes again.
REPEAT_S = 0.05


class OutOfTime(BaseException):  # not an Exception: SymPy catches those broadly
    """The time limit passed."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` in the block after ``seconds``.

    Works between Python bytecodes of the main thread; a long call into C ends
    later, and the pool's deadline covers that. Elsewhere there is no limit.
    Limits nest: an inner one never outlasts the outer, and a handler inside that
    takes the outer one for its own is soon interrupted again. So is what goes on after a
    place that cannot pass exceptions on, a ``__del__`` say; Python's complaint
    (``sys.unraisablehook``) about that one is not made. An import is not interrupted,
    which would leave half a module behind; what goes on after it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    complain = sys.unraisablehook

    def hear(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, OutOfTime):
            complain(unraisable)

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if not _whole(frame, hear.__code__):
            raise OutOfTime

    start = time.monotonic()
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if left and left <= seconds:
        yield
        return
    previous = signal.signal(signal.SIGALRM, interrupt)
    sys.unraisablehook = hear
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-4), REPEAT_S)
            yield
        finally:
            _disarm()
    finally:
        _disarm()  # once more: it may have struck just before the one above
        sys.unraisablehook = complain
        signal.signal(signal.SIGALRM, previous)
        if left:
            rest = left - (time.monotonic() - start)
            signal.setitimer(signal.ITIMER_REAL, max(rest, 1e-4), REPEAT_S)


def _whole(frame: FrameType | None, hook: CodeType) -> bool:
    """Whether ``frame`` is inside something that has to run to its end."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == "<frozen importlib._bootstrap>" or code is hook:
            return True
        frame = frame.f_back
    return False


def _disarm() -> None:
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        except OutOfTime:  # it struck on the way here
            continue
        return
