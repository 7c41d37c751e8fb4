"""The README says what was measured, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_accuracy_tables_are_those_of_the_last_evaluation() -> None:
    """Nobody typed a figure: the sections are what scripts/readme_tables makes of the JSON."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "readme_tables", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_short() -> None:
    """Nobody reads more than 200 lines."""
    assert len((ROOT / "README.md").read_text().splitlines()) < 200
