"""Equivalent forms of an integrand."""

from __future__ import annotations

import pytest
import sympy

from service.integration.forms import forms, split, undo, without_imaginary_unit
from service.verification.convert import to_sympy
from tokenizer.parse import parse

x = sympy.Symbol("x", real=True)

INTEGRANDS = [
    "(x + 1)**2*exp(x)*exp(2*x)",
    "(1 + 2*x)/(2 + 3*x)",
    "sin(x)**2*cos(3*x)",
    "sinh(x)*exp(x)",
    "tan(x)*sec(x)",
    "1/(x**2 - 1)",
    "sqrt(x)*sqrt(x + 1)",
    "sin(10391*x + 2)",
]


@pytest.mark.parametrize("integrand", INTEGRANDS)
def test_every_form_is_the_integrand(integrand: str) -> None:
    """In the same variable or in a scaled one, a form has the same values."""
    f = to_sympy(parse(integrand))
    for form in forms(parse(integrand), "x"):
        g = to_sympy(form.tree)
        if form.scale is not None and form.shift is not None:
            g = g.subs(x, (x - to_sympy(form.shift)) / to_sympy(form.scale))
        for point in (sympy.Rational(3, 10), sympy.Rational(7, 5)):
            assert abs(sympy.N((f - g).subs(x, point), 30)) < 1e-20, form.name


@pytest.mark.parametrize("integrand", INTEGRANDS)
def test_forms_start_with_the_integrand_and_are_different(integrand: str) -> None:
    """The given form comes first, and none comes twice."""
    found = forms(parse(integrand), "x")
    assert found[0].tree == parse(integrand)
    assert len({form.tree for form in found}) == len(found)


def test_an_antiderivative_of_a_scaled_form_goes_back() -> None:
    """F(x) = scale * G((x - shift)/scale)."""
    found = forms(parse("cos(10391*x + 2)"), "x")
    (scaled,) = [form for form in found if form.name == "scaled"]
    assert scaled.tree == parse("cos(x)")
    big = undo(scaled, sympy.sin(x), x)
    assert sympy.simplify(big.diff(x) - sympy.cos(10391 * x + 2)) == 0


def test_a_sum_splits_into_its_terms() -> None:
    """Linearity: each term, or each term of the numerator, is a question of its own."""
    assert len(split(parse("exp(x) + sin(x)/x"), "x")) == 2
    assert len(split(parse("(1 + x)/(2 + x**2)"), "x")) == 2
    assert len(split(parse("sin(x)"), "x")) == 1


def test_the_imaginary_unit_goes_where_it_can() -> None:
    """exp(I*x) + exp(-I*x) is 2*cos(x); exp(I*x) alone stays."""
    assert without_imaginary_unit(parse("exp(I*x) + exp(-I*x)")) == parse("2*cos(x)")
    assert without_imaginary_unit(parse("exp(I*x)")) == parse("exp(I*x)")
