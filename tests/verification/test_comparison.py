from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from sympy import Abs, Piecewise, Rational, log, sqrt

from service.verification.comparison import compare
from tests.cases import Case, parameters
from tokenizer.limits import DEFAULT_LIMITS
from tokenizer.parse import parse

x, s = sympy.symbols("x s", real=True)


@pytest.mark.parametrize("case", parameters("equivalence"))
def test_cases(case: Case) -> None:
    """Each pair from the bug reports is related as it ought to be."""
    limits = replace(DEFAULT_LIMITS, power_digits=10_000)  # one holds factorial(2006)
    lhs, rhs = (parse(case.typed(side), limits=limits) for side in ("lhs", "rhs"))
    assert compare(lhs, rhs, case.variable).relation == case.record["verdict"]


@pytest.mark.parametrize(
    ("lhs", "rhs", "relation", "condition"),
    [
        (sqrt(x**2 - 2 * x + 1), x - 1, "equal_on", "x - 1 > 0"),
        (Abs(x), -x, "equal_on", "x < 0"),
        ((x**2 - 1) / (x - 1), x + 1, "equal_on", "x != 1"),
        ((s**2 - s * x) / (s - x), s, "equal_on", "s - x != 0"),
        ((x + 1) ** 2, x**2 + 2 * x + 1, "equal", None),
        (log(x), log(3 * x), "equal_up_to_constant", "difference -1.09861228866811"),
        (x, x + Rational(1, 10**40), "equal_up_to_constant", "difference -1.0e-40"),
        (x**2, x**3, "not_equal", None),
        (Piecewise((x, x < 3), (x + 1, True)), x, "not_equal", None),
    ],
)
def test_relations(lhs: sympy.Expr, rhs: sympy.Expr, relation: str, condition: str | None) -> None:
    """The relation comes with the condition under which it holds."""
    result = compare(lhs, rhs, "x")
    assert result.relation == relation
    assert condition is None or result.condition == condition


def test_equal_on_is_proved_under_its_condition() -> None:
    """Where the condition is a sign, the equality there has a verdict of its own."""
    result = compare(log(x**2), 2 * log(x), "x")
    assert result.condition == "x > 0"
    assert result.proof is not None
    assert result.proof.status == "proved"
    assert result.witness is not None
