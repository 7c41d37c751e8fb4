"""Soft time limits."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

import pytest

from service.verification.timing import OutOfTime, time_limit

SLOW = """
import time
end = time.monotonic() + 0.2
while time.monotonic() < end:
    pass
WHOLE = True
"""


def _loop() -> None:
    while True:
        pass


def test_a_loop_ends_in_time() -> None:
    """Bytecode is interrupted, and once more where the first time was swallowed."""
    start = time.monotonic()

    def swallow() -> None:
        try:
            _loop()
        except OutOfTime:
            _loop()

    with pytest.raises(OutOfTime), time_limit(0.05):
        swallow()
    assert time.monotonic() - start < 5


def test_an_import_is_not_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done, and the limit goes off after it."""
    (tmp_path / "slow_to_import.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)

    def load() -> None:
        importlib.import_module("slow_to_import")
        _loop()

    with pytest.raises(OutOfTime), time_limit(0.05):
        load()
    assert sys.modules.pop("slow_to_import").WHOLE
