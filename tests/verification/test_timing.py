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


class Slow:
    """An object that takes ``seconds`` to go, and raises ``error`` then."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self.seconds = seconds
        self.error = error

    def __del__(self) -> None:
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            pass
        if self.error is not None:
            raise self.error


def test_an_interruption_of_a_finalizer_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exceptions go nowhere nobody hears of it, and the block still ends."""
    heard: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: heard.append(args.exc_type))

    def drop() -> None:
        Slow(0.3)
        _loop()

    with pytest.raises(OutOfTime), time_limit(0.05):
        drop()
    assert heard == []


def test_a_complaint_is_made_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other errors of finalizers are passed on, by a hook that is not interrupted."""
    heard: list[type[BaseException]] = []

    def complain(args: sys.UnraisableHookArgs) -> None:
        time.sleep(0.3)
        heard.append(args.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", complain)

    def drop() -> None:
        Slow(0, KeyError("lost"))
        _loop()

    with pytest.raises(OutOfTime), time_limit(0.05):
        drop()
    assert heard == [KeyError]
    assert sys.unraisablehook is complain
