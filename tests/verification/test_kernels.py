from __future__ import annotations

import pytest
import sympy
from sympy import (
    Abs,
    Max,
    Mod,
    Rational,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    exp,
    floor,
    gamma,
    log,
    pi,
    sec,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

from service.verification.field import Field, NonResidueError
from service.verification.kernels import Outcome, zero_test

x, y, a, n = sympy.symbols("x y a n", real=True)

TRUE = [
    (sin(3 * x), 3 * sin(x) - 4 * sin(x) ** 3),
    (tan(x / 2), sin(x) / (1 + cos(x))),
    (cos(x + pi / 3), cos(x) / 2 - sqrt(3) / 2 * sin(x)),
    (sin(x + y) * sin(x - y), sin(x) ** 2 - sin(y) ** 2),
    (tanh(x), (exp(2 * x) - 1) / (exp(2 * x) + 1)),
    (cosh(x) ** 2 - sinh(x) ** 2, sympy.Integer(1)),
    (exp(sympy.I * x), cos(x) + sympy.I * sin(x)),
    (asinh(x), log(x + sqrt(x**2 + 1))),
    (atanh(x), log(1 + x) / 2 - log(1 - x) / 2),
    (acosh(x), log(x + sqrt(x - 1) * sqrt(x + 1))),
    (sin(2 * asin(x)), 2 * x * sqrt(1 - x**2)),
    (cos(3 * atan(x)), (1 - 3 * x**2) / (1 + x**2) ** Rational(3, 2)),
    (sqrt(4 * x + 4), 2 * sqrt(x + 1)),
    (1 / (sqrt(x) + sqrt(x + 1)), sqrt(x + 1) - sqrt(x)),
    ((x + 1) ** 2000 * (x + 2), (x + 1) ** 2001 + (x + 1) ** 2000),
    (x ** Rational(-9999, 10000) * x, x ** Rational(1, 10000)),
    (6 ** (x + 1), 6 * 2**x * 3**x),
    (x ** (a + 2), x * x**a * x),
    (log(12) - log(3), 2 * log(2)),
    (gamma(x + 3), x * (x + 1) * (x + 2) * gamma(x)),
    (Abs(x) * sign(x), x),
    (Max(x, y) + sympy.Min(x, y), x + y),
    (floor(x + 2), floor(x) + 2),
    (Mod(x, 3), x - 3 * floor(x / 3)),
    (sec(x) ** 2 - tan(x) ** 2, sympy.Integer(1)),
]

#: Some hold on a part of the line: there is a choice of root or logarithm for which they fail.
FALSE_FOR_SOME_BRANCH = [
    (sqrt(cosh(x) ** 2 - 1), sinh(x)),
    (sqrt(x - 1) * sqrt(x + 1), sqrt(x**2 - 1)),
    ((x - 1) ** Rational(1, 3) * (x + 1) ** Rational(1, 3), (x**2 - 1) ** Rational(1, 3)),
    (sqrt(x**2 - 2 * x + 1), x - 1),
    (Abs(x), x),
    (sign(x), sympy.Integer(1)),
    (1 / sqrt(x), sqrt(1 / x)),
    (log(x * y), log(x) + log(y)),
    (log(x**2), 2 * log(x)),
    (atan(x) + atan(1 / x), pi / 2),
    (asin(sin(x)), x),
    (sqrt(1 + sqrt(x)) * sqrt(1 - sqrt(x)), sqrt(1 - x)),
    ((x * y) ** a, x**a * y**a),
    (x + Rational(1, 10**90), x),
    (floor(x + y), floor(x) + floor(y)),
    (sqrt(Abs(x)) ** 2 * sqrt(x**2 + 1), x * sqrt(x**2 + 1)),
]


@pytest.mark.parametrize(("lhs", "rhs"), TRUE)
def test_identities_are_found(lhs: sympy.Expr, rhs: sympy.Expr) -> None:
    """Identities that hold for complex principal values are zero."""
    assert zero_test(lhs, rhs).outcome is Outcome.ZERO


@pytest.mark.parametrize(("lhs", "rhs"), FALSE_FOR_SOME_BRANCH)
def test_no_branch_is_taken_for_granted(lhs: sympy.Expr, rhs: sympy.Expr) -> None:
    """What fails for some choice of branch is never zero, however often it is asked."""
    assert all(zero_test(lhs, rhs).outcome is not Outcome.ZERO for _ in range(20))


def test_rational_functions_are_decided() -> None:
    """Nonzero is final where symbols are the only kernels."""
    assert zero_test((x + 1) ** 2, x**2 + 2 * x + 2).rational
    assert not zero_test(sin(x), x).rational


def test_division_by_zero_is_unknown() -> None:
    """An expression that is nowhere defined is not called zero."""
    zero = sin(x) ** 2 + cos(x) ** 2 - 1
    assert zero_test(1 / zero, 1 / zero + 1).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("order", [2, 4, 6, 10, 12])
def test_roots_in_the_field(order: int) -> None:
    """A power has a root of its degree, and the root of unity has exactly that order."""
    field = Field(order)
    for base in (2, 3, 12345678901234567890):
        power = pow(base, order, field.p)
        assert pow(field.root(power), order, field.p) == power
    assert [k for k in range(1, order + 1) if pow(field.unity, k, field.p) == 1] == [order]
    assert field.i**2 % field.p == field.p - 1


def test_non_residues_are_reported() -> None:
    """About half of all numbers have no square root."""
    field = Field(2)
    rejected = 0
    for number in range(100, 200):
        try:
            root = field.root(number)
        except NonResidueError:
            rejected += 1
        else:
            assert root * root % field.p == number
    assert 0 < rejected < 100
