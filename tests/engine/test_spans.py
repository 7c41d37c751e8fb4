"""Items that share shelves do not touch, stay where they may, and keep what they have."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from models import artifacts
from service.engine.session import Array, ModelSession
from service.engine.shelves import Shelves
from service.engine.spans import BLOCK, Plan, Span, whole


def check(plan: Plan) -> None:
    """Spans are whole blocks, side by side, and none across what is added up at once."""
    for number, shelf in enumerate(plan.shelves):
        assert shelf
        end = 0
        for span in shelf:
            assert span.shelf == number
            assert span.first >= end
            assert span.first % BLOCK == span.size % BLOCK == 0
            end = span.first + span.size
            assert span.first == 0 or span.first // 512 == (end - 1) // 512
        assert end <= plan.length


@pytest.mark.parametrize("longest", [64, 1040])
def test_spans_do_not_touch(longest: int) -> None:
    """Whatever comes, grows and goes."""
    rng = random.Random(longest)
    plan = Plan(longest)
    spans: list[Span] = []
    for _ in range(600):
        if spans and rng.random() < 0.4:
            span = spans.pop(rng.randrange(len(spans)))
            alone, last = plan.shelves[span.shelf] == [span], len(plan.shelves) - 1
            assert plan.remove(span) == (alone and span.shelf != last)
            assert len(plan.shelves) == last + (not alone)
        elif spans and rng.random() < 0.5:
            span = rng.choice(spans)
            before, size = span.size, min(longest, span.size + BLOCK)
            grown = plan.grow(span, size)
            assert span.size == (size if grown else before)
        else:
            spans.append(plan.put(whole(rng.randrange(1, longest + 1))))
        check(plan)
        assert {id(span) for span in plan} == {id(span) for span in spans}


def test_short_ones_share() -> None:
    """A new shelf only where nothing else has room; of those that have, one with the fewest."""
    plan = Plan(64)
    spans = [plan.put(size) for size in (32, 64, 16, 16, 16)]
    assert [(span.shelf, span.first) for span in spans] == [
        (0, 0),
        (1, 0),
        (0, 32),
        (0, 48),
        (2, 0),
    ]
    plan.remove(spans[2])
    assert [plan.put(16).shelf for _ in range(4)] == [2, 0, 2, 2]


def test_what_is_written_stays(folder: Path) -> None:
    """Through growth, moves, other lengths and those who leave."""
    tiny = folder / "tiny"
    session = ModelSession(tiny, artifacts.read(tiny), device="cpu", threads=1)
    shelves = Shelves(session, session.bind(), session.caches, 2 * BLOCK)
    written: dict[Span, Array] = {}
    lengths = set()
    rng = np.random.default_rng(4)
    for _ in range(300):
        spans = [*written]
        match rng.integers(3):
            case 0 if spans:
                span = spans[rng.integers(len(spans))]
                shelves.remove(span)
                del written[span]
            case 1 if spans:
                span = spans[rng.integers(len(spans))]
                shelves.widen(span, span.size + int(rng.integers(1, 40)))
            case _:
                names, _, heads, _, head = shelves.tensors.shape
                size = int(rng.integers(1, 60))
                tensors = rng.standard_normal((size, names, heads, head)).astype(np.float32)
                written[shelves.add(tensors, size)] = tensors
        lengths.add(shelves.length)
        for span, tensors in written.items():
            own = slice(span.first, span.first + len(tensors))
            found = shelves.tensors[:, span.shelf, :, own]
            np.testing.assert_array_equal(found, tensors.transpose(1, 2, 0, 3))
    assert len(lengths) > 2
