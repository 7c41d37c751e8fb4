from __future__ import annotations

import asyncio

import pytest
import sympy
from sympy import (
    Abs,
    Heaviside,
    I,
    Max,
    Mod,
    Piecewise,
    Rational,
    acosh,
    asin,
    atan,
    binomial,
    cos,
    erf,
    exp,
    factorial,
    floor,
    gamma,
    log,
    pi,
    polylog,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

from service.verification.convert import ConversionError
from service.verification.equivalence import Verdict, prove_equal
from service.verification.pool import WorkerPool
from tokenizer.tree import call, integer, symbol

x, y, a = sympy.symbols("x y a", real=True)
tiny = Rational(1, 10**60)

#: Each is wrong on some region where the left-hand side is defined and real.
FALSE = [
    (Abs(x), x),
    (x, (x**3) ** Rational(1, 3)),
    (sqrt(x**2 - 2 * x + 1), x - 1),
    (sqrt(x**2 - 1), sqrt(x - 1) * sqrt(x + 1)),
    (sqrt(x - 1) * sqrt(x + 1), sqrt(x**2 - 1)),  # -sqrt(3) and sqrt(3) at -2
    (sqrt(x * y), sqrt(x) * sqrt(y)),
    (sqrt(sinh(x) ** 2), sinh(x)),
    (log(x**2), 2 * log(x)),
    (log(x * y), log(x) + log(y)),
    (log(Abs(x)), log(x)),
    (log(x**2) / 2, log(Abs(x + tiny))),
    ((x * y) ** a, x**a * y**a),
    (Abs(x) ** x, x**x),
    (atan(tan(x)), x),
    (asin(sin(x)), x),
    (2 * atan(x), asin(2 * x / (1 + x**2))),
    (atan(x) + atan(1 / x), pi / 2),
    (atan(x) + atan(y), atan((x + y) / (1 - x * y))),
    (atan(tan(x) / 2), atan(sin(x) / (2 * cos(x))) + floor(x / 100)),
    (Abs(x + y), Abs(x) + Abs(y)),
    (sign(x) * x, x),
    (floor(x + y), floor(x) + floor(y)),
    (Mod(x, 2), Mod(x, 1)),
    (Max(x, y), x),
    (Heaviside(x + 600), sympy.Integer(1)),
    (tanh(x), 1 - 2 * exp(-2 * x)),
    (erf(x), sign(x)),
    (sin(x), x - x**3 / 6 + x**5 / 120),
    (sin(x) ** 2, sin(x**2)),
    (sin(x) + tiny, sin(x)),
    (exp(x), exp(x) + exp(-1000)),
    (x + exp(-1000), x),
    (x + exp(-1000 - x**2), x),
    (x + 1 - tanh(x**2 + 227) ** 3, x + 1 - tanh(x**2 + 227) ** 2),
    (x * erf(x**2 + 20), x),
    (x + sympy.coth(x**2 + 150), x + 1),
    (exp(1000) + x, exp(1000) + 2 * x),
    (x, x * (1 + tiny)),
    (gamma(x + 1), gamma(x)),
    (binomial(x, y), binomial(y, x)),
    (x, x * floor(x) / floor(x / 2)),
    (Piecewise((x, x < 5000), (x + 1, True)), x),
    (Piecewise((0, x < 10**9), (1, True)), sympy.Integer(0)),
    (Piecewise((0, Abs(x - 3) > Rational(1, 10**4)), (1, True)), sympy.Integer(0)),
    (Piecewise((0, x < y), (1, True)), sympy.Integer(0)),
    (Abs(x - 10**7) + x, sympy.Integer(10**7)),
    (sqrt((x - 2000) ** 2 * (x**2 + 1)), (2000 - x) * sqrt(x**2 + 1)),
    (1 / factorial(2004), 1 / factorial(2006)),
    (Rational(1, 2**99), Rational(1, 2**98)),
    (sympy.exp(sympy.pi * sqrt(163)), sympy.Integer(640320**3 + 744)),
    (sqrt(-8 - sqrt(63)), I * (sqrt(14) - 3 * sqrt(2)) / 2),
    (polylog(2, x / 50), x / 50 + x**2 / 10**4),
    (1 / x, sympy.zoo),
    (log(x), log(-x)),
    (x, log(exp(x) + exp(-500))),
]

#: True on the whole real domain of the left-hand side, with the method that ought to see it.
TRUE = [
    (1 / sqrt(x), sqrt(1 / x), "signs"),
    (2 * log(x), log(x**2), "signs"),
    (log(x) + log(x + 1), log(x**2 + x), "signs"),
    (acosh(x), log(x + sqrt(x**2 - 1)), "signs"),
    (sqrt(x**4 - 2 * x**2 + 1), Abs(x**2 - 1), "kernels"),
    (Abs(x) / x, sign(x), "kernels"),
    (log(x**2 - 1), log(Abs(x - 1)) + log(Abs(x + 1)), "signs"),
    (sqrt(x**3 - 3 * x**2 + 4), Abs(x - 2) * sqrt(x + 1), "signs"),
    (sqrt(-8 - sqrt(63)), I * (3 * sqrt(2) + sqrt(14)) / 2, "minimal polynomial"),
    (sin(x) ** 4 - cos(x) ** 4, -cos(2 * x), "kernels"),
    ((x + 1) ** 2 / 2, x**2 / 2 + x + Rational(1, 2), "kernels"),
]


@pytest.mark.parametrize(("lhs", "rhs"), FALSE)
def test_false_identities_never_hold(lhs: sympy.Expr, rhs: sympy.Expr) -> None:
    """No identity that fails on a region of the domain is proved or called numeric."""
    verdict = prove_equal(lhs, rhs, deadline_s=10)
    assert not verdict.holds


@pytest.mark.parametrize(("lhs", "rhs", "method"), TRUE)
def test_true_identities_are_proved(lhs: sympy.Expr, rhs: sympy.Expr, method: str) -> None:
    """Identities over the reals are proved by the step that is meant for them."""
    verdict = prove_equal(lhs, rhs, deadline_s=20)
    assert (verdict.status, verdict.method) == ("proved", method)


def test_refutation_shows_a_witness() -> None:
    """A refuted equality comes with a point and both values."""
    witness = prove_equal(Abs(x), x, deadline_s=5).witness
    assert witness is not None
    ((name, value),) = witness.point
    assert name == "x"
    assert Rational(value) < 0
    assert witness.right is not None
    assert float(witness.left) == -float(witness.right)


REFLECTION = (
    polylog(2, x) + polylog(2, 1 - x),
    pi**2 / 6 - log(x) * log(1 - x),
)


def test_numeric_is_not_proved() -> None:
    """An identity nobody can prove here is numeric, with the number of points."""
    verdict = prove_equal(*REFLECTION, deadline_s=30)
    assert verdict.status == "numeric"
    assert verdict.points >= 8


def test_verdicts_repeat() -> None:
    """The same question gets the same answer, witness included."""
    first, second = (prove_equal(log(x**2), 2 * log(x), deadline_s=5) for _ in range(2))
    assert first == second


def decide_late() -> Verdict:
    return prove_equal(*REFLECTION, deadline_s=0.002)


def test_time_is_kept() -> None:
    """A comparison that needs more than its time ends undecided, long before it is killed."""

    async def main() -> Verdict:
        # in a process of its own: an interruption may strike inside a destructor
        async with WorkerPool(1) as pool:
            return await pool.run(decide_late, timeout_s=60)

    verdict = asyncio.run(main())
    assert (verdict.status, verdict.method) == ("undecided", "time")


def test_trees_are_accepted() -> None:
    """Sides may be Trees; identical Trees need no SymPy, conditions are refused."""
    tree = call("sin", symbol("x"))
    assert prove_equal(tree, tree, deadline_s=1).method == "identical"
    assert prove_equal(call("mul", tree, integer(2)), call("add", tree, tree), deadline_s=1).holds
    with pytest.raises(ConversionError):
        prove_equal(call("Lt", tree, tree), tree, deadline_s=1)
