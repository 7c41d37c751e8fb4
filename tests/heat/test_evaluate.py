"""service.heat.evaluate: values and breakpoints of a Tree."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

from service.heat.evaluate import NotEvaluableError, breakpoints, evaluate
from service.verification.convert import to_sympy
from tokenizer.heads import ELEMENTARY, SPECIAL
from tokenizer.parse import parse
from tokenizer.tree import Tree, call, integer, rational, symbol

X = np.array([0.3, 0.77, 1.9])


@pytest.mark.parametrize("head", sorted({*ELEMENTARY, *SPECIAL} - {"DiracDelta", "polylog"}))
def test_every_function_has_the_value_that_sympy_gives_it(head: str) -> None:
    """Same conventions and branches; NaN exactly where SymPy's value is not real."""
    arity = SPECIAL.get(head, 1)
    tree = call(head, symbol("x"), *[rational(3, 2)] * (arity - 1))
    expr = to_sympy(tree)
    for x, found in zip(X, evaluate(tree, {"x": X}), strict=True):
        value = complex(
            expr.subs(sympy.Symbol("x", real=True), sympy.Float(float(x), 30)).evalf(20)
        )
        if abs(value.imag) > 1e-15:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(value.real, rel=1e-13)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Piecewise((0, x <= 3/4), (1, True))", [0.75]),
        ("Heaviside(x - 1/3) + abs(x - 1/2)", [1 / 3, 0.5]),
        ("Piecewise((0, x < 1/4), (1, x <= 1/2), (2, x <= 3/4), (0, True))", [0.25, 0.5, 0.75]),
        ("floor(3*x)", [1 / 3, 2 / 3]),
        ("Max(x, 1 - x)", [0.5]),
        ("exp(-1000000*(x - 0.3141)**2)", [0.3141]),
        ("x*(1-x)", []),
        ("sign(sin(4*pi*x))", [0.25, 0.5, 0.75]),
    ],
)
def test_breakpoints_are_found_to_rounding(source: str, expected: list[float]) -> None:
    """Jumps, kinks and peaks are where the arguments that decide them vanish or turn."""
    found = breakpoints(parse(source, variables=("x",)), lambda x: {"x": x})
    for place in expected:
        assert min(abs(place - f) for f in found) < 1e-12
    assert len(found) <= 2 * len(expected)


@pytest.mark.parametrize(
    "source", ["Heaviside(sin(3*x - 0.3) - 0.9999999999)", "floor(sin(3*x - 0.3) + 1/10^10)"]
)
def test_both_edges_of_a_narrow_pulse_are_found(source: str) -> None:
    """It lies between two points of any grid: where what decides turns, it pokes above zero."""
    found = breakpoints(parse(source, variables=("x",)), lambda x: {"x": x})
    half = math.acos(0.9999999999) / 3
    peak = (math.pi / 2 + 0.3) / 3
    near = [b for b in found if abs(b - peak) < 1e-4]
    assert near == pytest.approx([peak - half, peak + half], abs=1e-8)


def test_too_many_jumps_are_refused() -> None:
    """A staircase with a hundred thousand steps is not followed step by step."""
    with pytest.raises(NotEvaluableError):
        breakpoints(parse("floor(100000*x)", variables=("x",)), lambda x: {"x": x})


def test_a_branch_not_taken_does_not_matter() -> None:
    """A pole in a branch of Piecewise that is not chosen leaves no trace."""
    tree = parse("Piecewise((1/x, x > 1), (2, True))", variables=("x",))
    assert evaluate(tree, {"x": np.array([0.0, 2.0])}).tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    "tree", [call("DiracDelta", symbol("x")), call("polylog", integer(2), symbol("x"))]
)
def test_heads_without_real_values_are_refused(tree: Tree) -> None:
    """They raise, and are never given a made-up number."""
    with pytest.raises(NotEvaluableError):
        evaluate(tree, {"x": X})
