"""The process of a worker: it computes what it is asked, one request after the other."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import resource
import signal
import socket
import struct
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from service.frames import Inbox, frame
from service.processes import leave_signals_to_parent
from service.verification.errors import WorkerError

#: CPU time beyond its deadline after which a worker ends, should nobody have killed it; seconds.
SELF_DESTRUCTION_S: Final = 5.0

_NUMBER: Final = struct.Struct("!Q")


class Reply(NamedTuple):
    """What became of a request: a value or what the function raised.

    A worker that is ``worn`` wants to be replaced; None in the place of a reply says that the
    request was given up before its turn.
    """

    value: Any
    error: Exception | None
    worn: bool


def to_message(
    number: int, function: Callable[..., Any], args: tuple[Any, ...], timeout_s: float
) -> bytes:
    """A message that asks for ``function(*args)``, both of which can be pickled."""
    return _NUMBER.pack(number) + pickle.dumps((function, args, timeout_s + SELF_DESTRUCTION_S))


def withdrawal(number: int) -> bytes:
    """A message that gives up the request of this number, if its turn has not come yet."""
    return _NUMBER.pack(number)


def serve(stream: socket.socket, memory: int, preload: list[str]) -> None:
    """The life of the process, with ``memory`` bytes of address space.

    It says that it is ready, then sends a pickled :class:`Reply`, or None, for each request in the
    order in which they came.
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
    with contextlib.suppress(OSError):  # the parent has closed its end
        stream.sendall(frame(b"ready"))
        _answer_all(stream, memory)


def _answer_all(stream: socket.socket, memory: int) -> None:
    inbox = Inbox(stream)
    requests: deque[tuple[int, bytes]] = deque()
    while True:
        for message in inbox.poll() if requests else inbox.wait():
            (number,) = _NUMBER.unpack_from(message)
            asked = message[_NUMBER.size :]
            if asked:
                requests.append((number, asked))
                continue
            requests = deque((n, b"" if n == number else kept) for n, kept in requests)
        if inbox.ended:
            return
        if not requests:
            continue  # what was withdrawn had been answered
        _, asked = requests.popleft()
        stream.sendall(frame(_answer(asked, memory) if asked else pickle.dumps(None)))


def _answer(asked: bytes, memory: int) -> bytes:
    value, error = None, None
    try:
        function, args, lifetime = pickle.loads(asked)  # noqa: S301 - from our own parent
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
    """The exception with its traceback as a note, or a WorkerError that says as much."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(trace)
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:
        return WorkerError(f"{type(error).__name__}: {error}\n{trace}")
    return error
