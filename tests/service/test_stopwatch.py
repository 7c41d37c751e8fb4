"""Where the time of a question went."""

from __future__ import annotations

import pytest

from service.stopwatch import Stopwatch


def test_work_side_by_side_counts_once() -> None:
    """Two spans that overlap are as long as what they cover; the other stages stay empty."""
    watch = Stopwatch(10)
    watch.add("model", 300, ago_ms=100)  # from 400 to 100 milliseconds ago
    watch.add("model", 200, ago_ms=0)
    watch.add("model", 50, ago_ms=1000)
    assert watch.ms["model"] == pytest.approx(450, abs=1)
    assert watch.ms["verify"] == 0


def test_a_stage_is_timed() -> None:
    """A block counts, also when it fails."""
    watch = Stopwatch(10)
    with pytest.raises(ValueError, match="odd"), watch.stage("parse"):
        raise ValueError("odd")
    assert 0 < watch.ms["parse"] <= watch.total_ms
