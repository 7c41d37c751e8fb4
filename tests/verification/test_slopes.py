"""Derivatives that doubles clear."""

from __future__ import annotations

import pytest

from service.verification.derivative import check_derivative
from service.verification.slopes import plainly_not_zero, screened
from tokenizer.parse import parse
from tokenizer.tree import Tree


def read(text: str) -> Tree:
    """Text with single-letter names."""
    return parse(text, variables=("x", "a"))


@pytest.mark.parametrize(
    ("expression", "slope"),
    [
        ("sin(x)", "cos(x)"),
        ("sin(376*x)", "376*cos(376*x)"),
        ("tan(x**6 + 219)", "6*x**5*(tan(x**6 + 219)**2 + 1)"),
        ("a*x**3", "3*a*x**2"),
        ("asin(345*x)", "345/sqrt(1 - 119025*x**2)"),
        ("erf(sinh(131*x))", "262*exp(-sinh(131*x)**2)*cosh(131*x)/sqrt(pi)"),
        ("x + tan(x**4)", "1 + 4*x**3*(tan(x**4)**2 + 1)"),
        ("exp(365*x)", "365*exp(365*x)"),
        ("asin(x + 345)", "1/sqrt(1 - (x + 345)**2)"),
        ("log(x)", "1/x"),
        ("sqrt(1 - x**2)", "-x/sqrt(1 - x**2)"),
        (
            "x/((x**2 + 400)*(x + 8000))",
            "(8000*400 - 8000*x**2 - 2*x**3)/((x**2 + 400)*(x + 8000))**2",
        ),
        (
            "exp(x)*asin(x**4 + 288) + erf(x**10 + 304)",
            "exp(x)*asin(x**4 + 288) + exp(x)*4*x**3/sqrt(1 - (x**4 + 288)**2)"
            " + 20*exp(-(x**10 + 304)**2)*x**9/sqrt(pi)",
        ),
        ("x**8 + 9 + tan(226*x)", "8*x**7 + 226*(tan(226*x)**2 + 1)"),
        ("sin(log(tanh(x/4)))", "cos(log(tanh(x/4)))*(1 - tanh(x/4)**2)/(4*tanh(x/4))"),
        ("exp(-x**2)/(x + 1)", "-exp(-x**2)*(2*x**2 + 2*x + 1)/(x + 1)**2"),
    ],
)
def test_right_slopes_are_cleared(expression: str, slope: str) -> None:
    """Also where many points say nothing, for the function turns too fast there."""
    found = screened(read(expression), read(slope), "x")
    assert found.agrees
    assert found.not_zero


@pytest.mark.parametrize(
    ("expression", "slope"),
    [
        ("sin(x)", "-cos(x)"),
        ("sin(376*x)", "375*cos(376*x)"),
        ("log(x)", "1/abs(x)"),  # no rule
        ("log(x)", "1/x + 1/1000"),
        ("x**8 + 9 + tan(226*x)", "8*x**7 + 226*(tan(226*x)**2 + 2)"),
        ("sin(log(tanh(x/4)))", "cos(log(tanh(x/4)))*(1 - tanh(x/4)**2)/(3*tanh(x/4))"),
        ("x**2", "sqrt(4*x**2)"),  # right for half of the points
        ("exp(x)", "exp(x) + exp(x - 9)"),
        ("a*x", "a*x"),
        ("a", "0"),
        ("3", "0"),
        ("x/(sin(x)**2 + cos(x)**2 - 1)", "1/(sin(x)**2 + cos(x)**2 - 1)"),
        ("log(sin(x)**2 + cos(x)**2 - 1)", "1/x"),
        ("asin(x**7 + 340)", "7*x**6/sqrt((x**7 + 340)**2 - 1)"),  # wrong where it is complex
        (
            "(asin(x + 345) - pi/2)**2",
            "2*(asin(x + 345) - pi/2)/sqrt(1 - (x + 345)**2)",
        ),  # on a cut
        ("gamma(x)", "gamma(x)*digamma(x)"),
        ("I*x", "I"),
    ],
)
def test_the_rest_is_not(expression: str, slope: str) -> None:
    """Wrong ones, and those that need a closer look."""
    assert not screened(read(expression), read(slope), "x").agrees


@pytest.mark.parametrize(
    ("expression", "slope"),
    [
        ("sin(x)**2 + cos(x)**2", "2*sin(x)*cos(x) - 2*cos(x)*sin(x)"),
        ("tanh(x**2 + 322)", "2*x*(1 - tanh(x**2 + 322)**2)"),
    ],
)
def test_a_slope_that_may_be_zero(expression: str, slope: str) -> None:
    """It agrees with the differences, and doubles cannot tell it from zero."""
    found = screened(read(expression), read(slope), "x")
    assert found.agrees
    assert not found.not_zero


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("x", True),
        ("(x + 1)*exp(x)", True),
        ("asin(x + 345)*(x + 1)", True),
        ("1 - tanh(x**2 + 322)**2", True),
        ("1 - tanh(x**2 + 322)", False),
        ("x*(sin(x)**2 + cos(x)**2 - 1)", False),
        ("gamma(x) + 1", False),
    ],
)
def test_zero_is_told_from_other_functions(source: str, plain: bool) -> None:
    """Where doubles cannot tell, what is not zero may be taken for zero, never the reverse."""
    assert plainly_not_zero(read(source)) == plain


def test_a_deep_expression_is_no_crash() -> None:
    """What is nested beyond the stack is left to others."""
    tree = read("x")
    for _ in range(5000):
        tree = Tree("sin", (tree,))
    assert not screened(tree, tree, "x").agrees


def test_rounding_hides_no_zero_divisor() -> None:
    """(10^20 + x) - 10^20 - x is zero, though doubles say it is -x."""
    expression = read("1/((10**20 + x) - 10**20 - x)")
    assert check_derivative(expression, "x", [read("0"), read("1/x")], 5.0).answer is None
