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


@pytest.mark.parametrize(
    ("antiderivative", "integrand", "places"),
    [
        ((x**3 / 3 - x) * sympy.sign(x**2 - 1), sympy.Abs(x**2 - 1), (-1, 1)),
        ((x**4 / 4 - x**2) * sympy.sign(x**3 - 2 * x), sympy.Abs(x**3 - 2 * x), (0, sympy.sqrt(2))),
        (-sympy.exp(-x) * sympy.Heaviside(x - 1), sympy.exp(-x) * sympy.Heaviside(x - 1), (1,)),
        (x * sympy.sign(x - 1) + x * sympy.sign(x - 2), sympy.sign(x - 1), (1, 2)),
        (x * sympy.Heaviside(x**2 - x), sympy.Heaviside(x**2 - x), (0, 1)),
    ],
)
def test_signs_are_closed(
    antiderivative: sympy.Expr, integrand: sympy.Expr, places: tuple[sympy.Expr, ...]
) -> None:
    """No jump is left where a polynomial inside a sign changes its own."""
    mended = make_continuous(antiderivative, integrand, x)
    for place in places:
        near = sympy.Rational(1, 10**9)
        gap = sympy.N(mended.subs(x, place + near) - mended.subs(x, place - near))
        assert abs(gap) < 1e-7


@pytest.mark.parametrize("root", [sympy.sqrt(5), sympy.pi, sympy.sqrt(2) + sympy.sqrt(3)])
def test_signs_with_irrational_coefficients_are_looked_at(root: sympy.Expr) -> None:
    """A polynomial with such coefficients inside a sign is no reason to give no answer."""
    antiderivative = sympy.log(sympy.Abs(2 * x**4 - root + 3))
    integrand = 8 * x**3 / (2 * x**4 - root + 3)
    assert make_continuous(antiderivative, integrand, x) == antiderivative
