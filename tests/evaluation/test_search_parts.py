"""What ``calcert evaluate search`` asks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields

import pytest
from rich.progress import Progress

from service.evaluation import search_parts
from service.evaluation.integrate import Question
from service.settings import Settings
from service.solvers.antiderivative import ALL_PARTS, SearchParts


def test_every_part_is_switched_off_once() -> None:
    """A part of the search that is added is measured, too."""
    off = [
        [part.name for part in fields(SearchParts) if not getattr(parts, part.name)]
        for parts in search_parts.VARIANTS.values()
    ]
    assert off[0] == []
    assert sorted(off[1:]) == sorted([part.name] for part in fields(SearchParts))


def test_a_set_has_a_share_and_variations_of_what_was_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sums and multiples are made of the problems that all parts solved just before."""
    given: dict[str, list[str]] = {}
    texts = ["x", "cos(x)", "x**x", "1/x"]

    def questions(name: str, solved: Sequence[str]) -> list[Question]:
        given[name] = list(solved)
        asked = texts if name == "independent" else [f"2*({f})" for f in solved]
        return [Question(name, text, name) for text in asked]

    monkeypatch.setattr(search_parts, "questions", questions)
    monkeypatch.setattr(
        search_parts, "VARIANTS", {"all parts": ALL_PARTS, "bare": SearchParts(widening=False)}
    )
    settings = Settings(redis_url=None, cache_items=0, workers=1)
    rows = asyncio.run(
        search_parts.measure(["independent", "robustness:0.67"], 1.0, 5.0, settings, Progress())
    )
    assert sorted(given["robustness"]) == sorted(set(texts) - {"x**x"})
    assert [(row.variant, row.set, row.asked) for row in rows] == [
        ("all parts", "independent", 4),
        ("bare", "independent", 4),
        ("all parts", "robustness", 2),
        ("bare", "robustness", 2),
    ]
    assert all(row.solved == row.asked - (row.set == "independent") for row in rows)
