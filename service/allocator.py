"""How the C library hands out memory to this process."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

#: ``M_ARENA_MAX`` of ``malloc.h``.
_ARENA_MAX: Final = -8


#: The same for processes that are started from here.
_VARIABLE: Final = "MALLOC_ARENA_MAX"


def share_one_arena() -> None:
    """Let all threads take memory from one place; where the C library is not glibc, do nothing.

    By default glibc gives threads arenas of their own, and what one has freed no other can
    use. The decoder's buffers are of all sizes, so each arena grows to the most that its
    thread ever needed, in pieces, long after the service is warm. A lock more costs nothing
    here: these threads wait for the interpreter's. Call it before there are threads; what
    the variable says already is left alone.
    """
    if not sys.platform.startswith("linux") or _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = "1"
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
