"""Antiderivatives without jumps where the integrand has none."""

from __future__ import annotations

import pytest
import sympy

from service.integration.continuity import make_continuous

x = sympy.Symbol("x", real=True)


@pytest.mark.parametrize(
    ("antiderivative", "integrand"),
    [
        (x * sympy.floor(x), sympy.floor(x)),
        (x**2 * sympy.ceiling(x) / 2, x * sympy.ceiling(x)),
        (x * sympy.floor(2 * x + 1), sympy.floor(2 * x + 1)),
        (x * sympy.floor(x) ** 2, sympy.floor(x) ** 2),
    ],
)
def test_steps_are_closed(antiderivative: sympy.Expr, integrand: sympy.Expr) -> None:
    """A polynomial in x and a step function has no jump left at any step."""
    mended = make_continuous(antiderivative, integrand, x)
    for half in range(-5, 6):
        place, near = sympy.Rational(half, 2), sympy.Rational(1, 10**9)
        gap = mended.subs(x, place + near) - mended.subs(x, place - near)
        assert abs(gap) < 1e-7
