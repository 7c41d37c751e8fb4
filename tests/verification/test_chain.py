"""Derivatives proved by the rules alone."""

from __future__ import annotations

import pytest

from service.verification.chain import slope
from service.verification.derivative import check_derivative
from service.verification.proofs import follows, identical
from tokenizer.parse import parse
from tokenizer.tree import Tree


def read(text: str) -> Tree:
    """Text with single-letter names."""
    return parse(text, variables=("x", "a", "b", "n"))


RIGHT = [
    ("x**n", "n*x**(n - 1)"),
    ("x**309 + a", "309*x**308"),
    ("sqrt(sin(x))", "cos(x)/(2*sqrt(sin(x)))"),
    ("coth(x*x)", "(1 - coth(x*x)**2)*2*x"),
    ("sec(a*x)", "a*sec(a*x)*tan(a*x)"),
    ("x**(x**2)", "x**(x**2)*(2*x*log(x) + x**2/x)"),
    ("acosh(exp(x))", "exp(x)/(sqrt(exp(x) - 1)*sqrt(exp(x) + 1))"),
    ("log(Abs(x))", "sign(x)/Abs(x)"),
    ("erf(2*x)", "2*exp(-(2*x)**2)/sqrt(pi)*2"),
]
WRONG = [
    ("x**n", "n*x**n"),
    ("sin(x)", "-cos(x)"),
    ("tan(x)", "tan(x)**2 - 1"),
    ("exp(2*x)", "exp(2*x)"),
    ("sqrt(x)", "1/sqrt(x)"),
    ("log(a*x)", "1/(a*x)"),
    ("a**x", "a**x*log(x)"),
    ("atan(x)", "1/(1 + x)**2"),
]


@pytest.mark.parametrize(("expression", "slope"), RIGHT)
def test_what_the_rules_give_is_recognised(expression: str, slope: str) -> None:
    """Right derivatives in the shapes of the rules are proved without simplification."""
    assert follows(read(expression), "x", read(slope))


@pytest.mark.parametrize(("expression", "slope"), WRONG)
def test_wrong_derivatives_are_not(expression: str, slope: str) -> None:
    """Derivatives with a typical mistake are never proved, by the rules or by the whole check."""
    assert not follows(read(expression), "x", read(slope))
    outcome = check_derivative(read(expression), "x", [read(slope)], 10.0)
    assert outcome.verdict.status == "refuted"


def test_the_rule_for_abs_needs_real_arguments() -> None:
    """|i·x| is |x|, so sign(i·x)·i is no slope of it though the rule for Abs says so."""
    expression, slope = read("Abs(sqrt(-4)*x)"), read("sign(sqrt(-4)*x)*sqrt(-4)")
    outcome = check_derivative(expression, "x", [slope], 10.0)
    assert outcome.answer is None


def test_numbers_that_sympy_cannot_raise_do_not_stop_a_proof() -> None:
    """A large root of a number is carried along, not computed."""
    expression = read("(x/30516)**(4/4244)")
    slope = read("(4/4244)*(x/30516)**(4/4244 - 1)*(1/30516)")
    assert check_derivative(expression, "x", [slope], 30.0).verdict.status == "proved"


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ("sqrt(x)*sqrt(x)", "x"),
        ("sqrt(x)*x**(1/3)", "x**(5/6)"),
        ("(x + 1)/sqrt(x + 1)", "sqrt(x + 1)"),
        ("sqrt(sqrt(x + 1))*sqrt(x + 1)", "(x + 1)**(3/4)"),
        ("sqrt(12)*x", "2*sqrt(3)*x"),
        ("sqrt(1 - x**2/49)", "sqrt(49 - x**2)/7"),
        ("sqrt(x/2)", "sqrt(2)*sqrt(x)/2"),
        ("(sqrt(x) + 1)*(sqrt(x) - 1)", "x - 1"),
        ("cos(asin(x))/sqrt(1 - x**2)", "1"),
        ("sin(atan(x))", "x*cos(atan(x))"),
        ("tan(x)*cos(x)", "sin(x)"),
        ("(1 - 1)/x + x", "x"),
        ("((x + 1)**(1/89))**2*(x + 1)", "(x + 1)**(91/89)"),
        ("sqrt(x + 1)*(x + 1)**(1/3)", "(x + 1)**(5/6)"),
        ("(x/30516)**(2/1061)*x**(3/7)", "x**(2/1061 + 3/7)*30516**(-2/1061)"),
        ("(2*x + 2)**(1/3)", "2**(1/3)*(x + 1)**(1/3)"),
        ("sqrt(4*x + 4)*sqrt(2)", "sqrt(8)*sqrt(x + 1)"),
        ("exp(x)**2", "exp(2*x)"),
        ("exp(x)*exp(x/7)", "exp(8*x/7)"),
        ("exp(x + 2*sin(x) + 3)", "exp(x)*exp(sin(x))**2*exp(1)**3"),
        ("exp(2*(x - exp(a)))*exp(exp(a))", "exp(2*x - exp(a))"),
        ("exp(-(x/2)**2)*exp(x**2/3)", "exp(x**2/12)"),
        ("exp(x*a/3)**3*exp(-a*x)", "1"),
        ("sinh(2*x)", "2*sinh(x)*cosh(x)"),
        ("exp(10**40*x)/exp(x*10**40)", "1"),
        ("exp(x/10007)/exp(2*x/20014)", "1"),
    ],
)
def test_what_holds_everywhere_is_identical(lhs: str, rhs: str) -> None:
    """Powers of one base, roots of roots, rational factors of radicands, inverse functions."""
    assert identical(read(lhs), read(rhs))


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ("sqrt(x**2)", "x"),
        ("sqrt(x**2)", "-x"),
        ("(x**3)**(1/3)", "x"),
        ("sqrt(a)*sqrt(b)", "sqrt(a*b)"),
        ("sqrt(-x)", "sqrt(x)"),
        ("sqrt(-4*x)", "2*sqrt(x)"),
        ("sqrt(1/x)", "1/sqrt(x)"),
        ("(x**(3/2))**(1/3)", "sqrt(x)"),
        ("asin(sin(x))", "x"),
        ("log(exp(x))", "x"),
        ("sqrt(2)*sqrt(3)", "sqrt(5)"),
        ("sqrt(exp(2*x))", "exp(x) + 0*sqrt(x)"),
        ("exp(x/2)**2", "exp(2*x)"),
        ("exp(a*x)", "exp(a)*exp(x)"),
        ("exp(a - x)", "exp(a)*exp(x)"),
        ("exp(-(x/2)**2)", "exp(-x**2/2)"),
        ("exp(0*x)", "0"),
        ("exp(10**40*x)", "exp(10**40*x + x)"),
    ],
)
def test_what_fails_somewhere_is_not(lhs: str, rhs: str) -> None:
    """Identities that are wrong for some arguments are never used."""
    assert not identical(read(lhs), read(rhs))


@pytest.mark.parametrize("variable", ["x", "a"])
def test_the_rules_write_nothing_for_what_is_constant(variable: str) -> None:
    """A zero derivative is None, and one factor without the variable is kept as it is."""
    assert slope(read("b*sin(n)"), variable, {}) is None
    assert slope(read("sign(x)"), "x", {}) is None
    assert str(slope(read("b*x"), "x", {})) == "mul(1, b)"
