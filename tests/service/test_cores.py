"""Cores that a container leaves us."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from service.cores import cores

ALL = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ALL),
        ({"cpu.max": "max 100000"}, ALL),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "150000 100000"}, min(ALL, 2)),
        ({"cpu.max": "100000000 100000"}, ALL),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, ALL),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu.max": "nonsense"}, ALL),
    ],
)
def test_a_quota_bounds_the_cores(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    """Of either version of control groups; part of a core is a core."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    assert cores(tmp_path) == expected
