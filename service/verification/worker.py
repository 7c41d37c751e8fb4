"""The process of a worker: it computes what it is asked, one request after the other."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import resource
import signal
import socket
import traceback
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from service.frames import Inbox, frame
from service.processes import leave_signals_to_parent
from service.verification.errors import WorkerError

#: CPU time beyond its deadline after which a worker ends, should nobody have killed it; seconds.
SELF_DESTRUCTION_S: Final = 5.0


class Reply(NamedTuple):
    """What became of a request: a value or what the function raised.

    A worker that is ``worn`` wants to be replaced.
    """

    value: Any
    error: Exception | None
    worn: bool


def request(function: Callable[..., Any], args: tuple[Any, ...], timeout_s: float) -> bytes:
    """A message that asks for ``function(*args)``, both of which can be pickled."""
    return pickle.dumps((function, args, timeout_s + SELF_DESTRUCTION_S))


def serve(stream: socket.socket, memory: int, preload: list[str]) -> None:
    """The life of the process, with ``memory`` bytes of address space.

    It says that it is ready, then sends a pickled :class:`Reply` for each request.
    """
    leave_signals_to_parent()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # who gets a request does not take the core from who sent it; only Linux has this policy
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    with contextlib.suppress(ValueError, OSError):  # not every system has the limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for module in preload:  # a fork server that was up before us has not imported them
        importlib.import_module(module)
    inbox = Inbox(stream)
    with contextlib.suppress(OSError):  # the parent has closed its end
        stream.sendall(frame(b"ready"))
        while not inbox.ended:
            for message in inbox.wait():
                stream.sendall(frame(_answer(message, memory)))


def _answer(message: bytes, memory: int) -> bytes:
    value, error = None, None
    try:
        function, args, lifetime = pickle.loads(message)  # noqa: S301 - from our own parent
        # should the parent be gone, the kernel ends a hung worker even inside C code
        signal.setitimer(signal.ITIMER_PROF, lifetime)
        value = function(*args)
    except Exception as raised:
        error = _portable(raised)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > memory // 2
    worn = grown or isinstance(error, MemoryError)
    try:
        return pickle.dumps(Reply(value, error, worn))
    except Exception as raised:
        return pickle.dumps(Reply(None, _portable(raised), worn))


def _portable(error: Exception) -> Exception:
    """The exception with its traceback as a note, or a WorkerError that says as much.

    The latter where it cannot be pickled, or cannot be raised where somebody awaits.
    """
    trace = "".join(traceback.format_exception(error))
    error.add_note(trace)
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:
        return WorkerError(trace)
    return WorkerError(trace) if isinstance(error, StopIteration) else error
