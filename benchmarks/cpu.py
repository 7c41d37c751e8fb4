"""CPU time of a process and everything it started, on Linux."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_ms(pid: int) -> float:
    """User and system time so far of ``pid`` and its living descendants; 0 without ``/proc``."""
    process = Path("/proc", str(pid))
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        children = [
            int(child)
            for listed in process.glob("task/*/children")
            for child in listed.read_text().split()
        ]
    except OSError:
        return 0.0
    own = 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(cpu_ms, children))
