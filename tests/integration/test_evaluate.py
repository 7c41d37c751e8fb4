"""Values and derivatives of Trees in floating point and in ball arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from flint import acb

from service.integration.evaluate import (
    BallField,
    CannotEvaluate,
    Evaluator,
    FloatField,
    value_function,
)
from service.verification.convert import to_sympy
from tokenizer.heads import ELEMENTARY
from tokenizer.parse import parse

#: Heads that are real elsewhere.
ELSEWHERE = ("sqrt", "acoth", "acosh", "asec", "acsc")
#: Formulas with each elementary head and the named non-elementary ones.
FORMULAS = [
    *(f"{head}(x/2 + 1/5)" for head in ELEMENTARY if head not in ELSEWHERE),
    "sqrt(x)", "acoth(x + 2)", "acosh(x + 2)", "asec(x + 2)", "acsc(x + 2)",
    "x**(2/3)", "x**-3", "2**x", "x**x", "(x + 1)/x",
    "erfc(x)", "erfi(x)", "Ei(x)", "Si(x)", "Ci(x)", "Shi(x)", "Chi(x)", "li(x + 2)",
    "fresnels(x)", "fresnelc(x)", "polylog(2, x/3)", "gamma(x + 1)", "loggamma(x + 1)",
    "Max(x, 2*x)", "Min(x, 1/3)", "Heaviside(x)", "floor(x)",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_value_and_derivative_agree_with_sympy(formula: str) -> None:
    """Both fields give SymPy's value and derivative at a point on the axis."""
    x = sympy.Symbol("x", real=True)
    tree = parse(formula)
    e = to_sympy(tree)
    at = sympy.Rational(13, 16)
    value = complex(e.subs(x, at).evalf(20))
    slope_formula = (
        sympy.limit((e.subs(x, at + x) - e.subs(x, at)) / x, x, 0)
        if e.has(sympy.floor, sympy.Heaviside)
        else e.diff(x).subs(x, at)
    )
    slope = complex(slope_formula.evalf(20))
    point = np.array([float(at)], dtype=np.complex128)
    fast = Evaluator(FloatField(), {"x": point}, "x").dual(tree)
    exact = Evaluator(BallField(), {"x": acb(float(at))}, "x").dual(tree)
    compiled = value_function(tree, "x")(acb(float(at)))
    for found in (np.asarray(fast[0]).ravel()[0], complex(exact[0]), complex(compiled)):
        assert abs(found - value) < 1e-12 * (1 + abs(value))
    for found in (np.asarray(fast[1]).ravel()[0], complex(exact[1])):
        assert abs(found - slope) < 1e-12 * (1 + abs(slope))


def test_piecewise_takes_the_first_condition_that_holds() -> None:
    """Each point falls into its own case."""
    tree = parse("Piecewise((x**2, x < 0), (3*x, x < 1), (5, True))")
    points = np.array([-2.0, 0.5, 4.0], dtype=np.complex128)
    value, slope = Evaluator(FloatField(), {"x": points}, "x").dual(tree)
    assert value.real.tolist() == [4.0, 1.5, 5.0]
    assert slope.real.tolist() == [-4.0, 3.0, 0.0]


def test_what_has_no_rule_says_so() -> None:
    """A head without a rule is an error, not a wrong value."""
    with pytest.raises(CannotEvaluate):
        Evaluator(FloatField(), {"x": np.array([1 + 0j])}, "x").dual(parse("beta(x, 2)"))
