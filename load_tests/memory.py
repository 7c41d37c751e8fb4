"""Memory of the server process and of the engine and the verifiers it starts, on Linux."""

from __future__ import annotations

import os
from pathlib import Path


def resident_mib(pid: int) -> tuple[float, float]:
    """Resident memory of the process ``pid``, and of all that it has started together, in MiB."""
    process = Path("/proc", str(pid))
    try:
        pages = int((process / "statm").read_text().split()[1])
        children = [
            int(child)
            for listed in process.glob("task/*/children")
            for child in listed.read_text().split()
        ]
    except OSError:  # it has just ended
        return 0.0, 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, sum(sum(resident_mib(c)) for c in children)


def grown(before: float, after: float) -> str:
    """For a table."""
    return f"{before:.0f} → {after:.0f} ({after / before - 1:+.1%})"
