"""Equivalent forms of an integrand."""

from __future__ import annotations

import pytest
import sympy

from service.integration.forms import (
    forms,
    split,
    substituted,
    with_named_constants,
    without_factors,
    without_imaginary_unit,
)
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
    "cosh(asin(x/2))",
    "x*sin(acosh(x + 1))",
    "exp(2*log(3*x))",
    "cos(x)*sqrt(x**2)",
    "-(3*exp(x)/(pi*sqrt(2*x)))/7",
]


@pytest.mark.parametrize("integrand", INTEGRANDS)
def test_every_form_is_the_integrand(integrand: str) -> None:
    """But for a constant factor, and in another variable for its derivative."""
    f = to_sympy(parse(integrand))
    for form in forms(parse(integrand), "x"):
        g = to_sympy(form.tree)
        for name, meaning in form.meaning:
            inner = to_sympy(meaning)
            g = g.subs(sympy.Symbol(name, real=True), inner)
            if name == "x":
                g *= inner.diff(x)
        first, second = (
            sympy.N((g / f).subs(x, point), 30)
            for point in (sympy.Rational(3, 10), sympy.Rational(7, 5))
        )
        assert abs(first - second) < 1e-20, form.name
        assert form.meaning or abs(first - 1) < 1e-20, form.name


@pytest.mark.parametrize(
    ("integrand", "form", "new_variable"),
    [
        ("1/(x*(1 + x**5 + x**10))", "1/(5*x*(1 + x + x**2))", "x**5"),
        ("x**3/(1 + x**4)**(4/3)", "1/(4*(1 + x)**(4/3))", "x**4"),
        ("sqrt(x)*atan(x)", "2*x**2*atan(x**2)", "sqrt(x)"),
        ("sqrt(x + x**(5/2))", "2*sqrt(1 + x)/3", "x**(3/2)"),
        ("x/sqrt(1 + 2*x)**3", "(x**2/2 - 1/2)/x**2", "sqrt(2*x + 1)"),
        ("exp(x)*tan(exp(x))", "tan(x)", "exp(x)"),
        ("1/(1 + 4*(x**6)**(1/3))", "1/(1 + 4*x**2)", "x"),
        ("x*exp(x)/sqrt(1 + exp(x))", "log(x)/sqrt(1 + x)", "exp(x)"),
        ("1/((x + 1)**2*(x - 1)**4)**(1/3)", "3/(2*x**2)", "Abs((x - 1)/(x + 1))**(1/3)"),
        ("(x**2 - 1)/((x**2 + 1)*sqrt(x**4 + 1))", "1/(x*sqrt(x**2 - 2))", "x + 1/x"),
        ("(x - 1)/((x + 1)*sqrt(x**3 + x**2 + x))", "1/((x + 2)*sqrt(x + 1))", "x + 1/x"),
        ("(1 + x**2)/((1 - x**2)*sqrt(1 + x**4))", "-1/(x*sqrt(x**2 + 2))", "x - 1/x"),
        ("csc(x)*sqrt(sin(2*x))", "sqrt(2)/(sqrt(x)*(1 + x**2))", "tan(x)"),
        ("1/(sqrt(cos(x))*sqrt(1 + cos(x)))", "sqrt(2)/sqrt(1 - x**2)", "tan(x/2)"),
        ("sqrt(3 + 3*sech(x))", "2*sqrt(6)/((1 - x**2)*sqrt(1 + x**2))", "tanh(x/2)"),
    ],
)
def test_substitutions_leave_a_function_of_the_new_variable(
    integrand: str, form: str, new_variable: str
) -> None:
    """f dx = g du but for a sign, where x is positive."""
    g, u = to_sympy(parse(form)), to_sympy(parse(new_variable))
    found = {
        (to_sympy(change.tree), to_sympy(dict(change.meaning)["x"]))
        for change in substituted(parse(integrand), "x")
    }
    assert any(sympy.simplify(tree - g) == 0 and inner == u for tree, inner in found)
    for tree, inner in found:
        back = tree.subs(x, inner) * inner.diff(x) / to_sympy(parse(integrand))
        assert abs(abs(sympy.N(back.subs(x, sympy.Rational(7, 10)), 30)) - 1) < 1e-20


def test_no_substitution_without_a_function_of_it() -> None:
    """A part is no new variable where something else stays."""
    for integrand in ("sin(x**2)", "x*sin(x)", "sqrt(1 + x**2)*sin(x)"):
        found = substituted(parse(integrand), "x")
        assert {dict(form.meaning)["x"] for form in found} <= {parse("x")}


@pytest.mark.parametrize("integrand", INTEGRANDS)
def test_forms_start_with_the_integrand_and_are_different(integrand: str) -> None:
    """The given form comes first, and none comes twice."""
    found = forms(parse(integrand), "x")
    assert found[0].tree == parse(integrand)
    assert len({form.tree for form in found}) == len(found)


def test_awkward_numbers_go() -> None:
    """cos(10391*x + 2) is integrated like cos(x)."""
    (scaled,) = [form for form in forms(parse("cos(10391*x + 2)"), "x") if form.name == "scaled"]
    assert scaled.tree == parse("cos(x)")
    assert scaled.meaning == (("x", parse("10391*x + 2")),)


@pytest.mark.parametrize(
    ("integrand", "bare"),
    [
        ("7*sin(x)/2", "sin(x)"),
        ("-a/(3*(x + 1))", "1/(x + 1)"),
        ("(x*log(x)*5)/(pi*exp(x))", "x*log(x)/exp(x)"),
        ("2*x + 2", "2*x + 2"),
        ("a/7", "1"),
    ],
)
def test_constant_factors_go(integrand: str, bare: str) -> None:
    """Those of a product or quotient, whatever they are; the terms of a sum keep theirs."""
    assert without_factors(parse(integrand), "x") == parse(bare)


def test_what_a_constant_is_does_not_matter() -> None:
    """Functions of numbers get a name; numbers and fractions keep their own."""
    named = with_named_constants(parse("x*exp(x)/(asinh(3) + p0) + sqrt(2)*x"), "x")
    assert named is not None
    assert named.tree == parse("x*exp(x)/p1 + sqrt(2)*x")
    assert named.meaning == (("p1", parse("asinh(3) + p0")),)
    assert with_named_constants(parse("2*x**(1/3)/pi"), "x") is None


def test_a_sum_splits_into_its_terms() -> None:
    """Linearity: each term, or each term of the numerator, is a question of its own."""
    assert len(split(parse("exp(x) + sin(x)/x"), "x")) == 2
    assert len(split(parse("(1 + x)/(2 + x**2)"), "x")) == 2
    assert len(split(parse("sin(x)"), "x")) == 1


def test_the_imaginary_unit_goes_where_it_can() -> None:
    """exp(I*x) + exp(-I*x) is 2*cos(x); exp(I*x) alone stays."""
    assert without_imaginary_unit(parse("exp(I*x) + exp(-I*x)")) == parse("2*cos(x)")
    assert without_imaginary_unit(parse("exp(I*x)")) == parse("exp(I*x)")
