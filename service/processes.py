"""Child processes that do not run the program again that started them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from typing import Final
from weakref import WeakSet

_LAUNCH: Final = threading.Lock()

_SAFE_PATH: Final = "PYTHONSAFEPATH"

_CHILDREN: Final[WeakSet[BaseProcess]] = WeakSet()


def launch(process: BaseProcess) -> None:
    """Start ``process``, of a context that spawns or has a fork server."""
    with _without_main():
        process.start()
    _CHILDREN.add(process)


def leave_signals_to_parent() -> None:
    """In a child: Ctrl-C and a service manager's stop reach the whole group.

    The parent decides when its children end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Hide the program that is running: multiprocessing would run it again in the child.

    The child is a Python that is given its program with ``-c``, for which it would look for
    modules in the current folder first, whatever is there.
    """
    with _LAUNCH:
        main, path = sys.modules["__main__"], os.environ.get(_SAFE_PATH)
        sys.modules["__main__"] = types.ModuleType("__main__")
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            if path is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = path


def _kill_children() -> None:
    for process in _CHILDREN:
        process.kill()


# a program that ends without having ended its children would wait for them, which wait for it
Finalize(None, _kill_children, exitpriority=100)
