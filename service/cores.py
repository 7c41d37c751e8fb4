"""How many cores there are for us."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")


def cores(cgroups: Path = _CGROUPS) -> int:
    """Cores that this process may use, by its affinity and by the quota of its container."""
    allowed = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroups)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def _quota(cgroups: Path) -> float | None:
    """Cores' worth of time that a container gets; None where there is no limit.

    A container sees its own control group, of version 2 or 1, as the root.
    """
    with contextlib.suppress(OSError, ValueError):
        quota, period = (cgroups / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError):
        given = int((cgroups / "cpu" / "cpu.cfs_quota_us").read_text())
        period_us = int((cgroups / "cpu" / "cpu.cfs_period_us").read_text())
        return given / period_us if given > 0 else None
    return None
