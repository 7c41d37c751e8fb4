"""How the C library hands out memory to this process."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

#: What is set, by the names that glibc's tunables have in the environment: the number in
#: ``malloc.h``, and the value.
TUNABLES: Final = {
    "MALLOC_ARENA_MAX": (-8, 1),
    "MALLOC_MMAP_THRESHOLD_": (-3, 512 * 1024),
}


def bound_memory() -> None:
    """Have what is freed given back or used again; where the C library is not glibc, do nothing.

    The decoder's buffers are of all sizes, and come and go with the questions. By default
    they are cut out of a heap, each thread's its own, and whatever small thing lies behind one
    keeps its place from being given back: memory creeps up long after the service is warm.
    Here a large block is mapped by itself and goes when it is freed, and all threads share
    one heap.

    Call it before there are threads. What the environment sets already is left alone;
    processes that are started from here get the same by it.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    for variable, (option, value) in TUNABLES.items():
        if variable not in os.environ:
            os.environ[variable] = str(value)
            if mallopt is not None:
                mallopt(option, value)
