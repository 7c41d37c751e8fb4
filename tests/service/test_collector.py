"""What the garbage collector looks at once the service is ready."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from service.collector import YOUNG, settle


class _Node:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collector() -> Iterator[None]:
    """The collector as it was, afterwards."""
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


@pytest.mark.usefixtures("collector")
def test_what_is_there_is_left_alone() -> None:
    """Objects from before are in no generation that the collector goes through."""
    before = _Node()
    settle()
    assert gc.get_freeze_count() > 0
    assert not any(found is before for found in gc.get_objects())


@pytest.mark.usefixtures("collector")
def test_later_garbage_goes() -> None:
    """Cycles made afterwards are still found, without being asked for."""
    settle()
    first = weakref.ref(_Node())
    for _ in range(2 * YOUNG):
        _Node()
    assert first() is None
