"""The judges of the cases from bug reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.evaluation.cases import judge_definite, judge_indefinite

GAUSS: dict[str, Any] = {
    "expected": "t/2 for t > 0; divergent otherwise",
    "variable": "x",
    "lower": "0",
    "upper": "oo",
}
ANSWER: dict[str, Any] = {
    "status": "solved",
    "answer": {"text": "t/2"},
    "assumptions": ["t > 0"],
    "cases": [{"condition": "t < 0", "answer": None, "note": "divergent"}],
    "convergence": "improper",
    "value": None,
}


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, True),
        ({"assumptions": [], "cases": []}, False),
        ({"answer": {"text": "t/3"}}, False),
        ({"cases": [{"condition": "t < 0", "answer": {"text": "t/2"}, "note": ""}]}, False),
        ({"status": "unsolved"}, False),
    ],
)
def test_parameters_are_sampled(change: dict[str, Any], right: bool) -> None:
    """A formula counts where its conditions hold, and divergence is seen there, too."""
    said = json.dumps(ANSWER | change)
    assert (judge_definite(GAUSS, "x*exp(-x**2/t)", said) == "") is right


@pytest.mark.parametrize(
    ("expected", "said", "right"),
    [
        ("2*pi/3", {"value": 2.0943951023932, "answer": {"text": "2*pi/3"}}, True),
        ("2*pi/3", {"value": 2.0943951023932, "answer": {"text": "pi/3"}}, False),
        ("divergent (+oo); never 0", {"convergence": "divergent", "answer": {"text": "oo"}}, True),
        ("divergent (+oo); never 0", {"value": 0.0, "answer": {"text": "0"}}, False),
        ("1.5 (numeric only)", {"status": "unsolved", "value": 1.5, "answer": None}, True),
        ("3/2", {"status": "unsolved", "value": 1.5, "answer": None}, False),
    ],
)
def test_values_are_compared_with_what_is_expected(
    expected: str, said: dict[str, Any], right: bool
) -> None:
    """Exactly where that is expected, and divergence is no value."""
    row = {"expected": expected, "variable": "x", "lower": "0", "upper": "1"}
    whole = {"status": "solved", "convergence": "proper", "value": None, **said}
    assert (judge_definite(row, "x", json.dumps(whole)) == "") is right


@pytest.mark.parametrize(
    ("said", "expected", "right"),
    [
        ({"status": "solved", "answer": {"text": "x**2/2"}}, "x**2/2 + C", True),
        ({"status": "solved", "answer": {"text": "x**2"}}, "x**2/2 + C", False),
        ({"status": "unsolved"}, "x**2/2 + C", False),
        ({"status": "unsolved"}, "no elementary antiderivative", True),
    ],
)
def test_antiderivatives_are_differentiated(
    said: dict[str, Any], expected: str, right: bool
) -> None:
    """None is right only where none exists."""
    row = {"expected": expected, "variable": "x"}
    assert (judge_indefinite(row, "x", json.dumps(said)) == "") is right
