"""Answers arranged for reading, by our own algebra of products and sums."""

from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.expressions import expressions
from service.verification.arranging import Outside, arranged
from service.verification.chain import slope
from service.verification.equivalence import prove_equal
from service.verification.proofs import identical
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree


def read(text: str) -> Tree:
    """Text with single-letter names."""
    return parse(text, variables=("x", "y", "a"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x*exp(x) + exp(x)", "(x + 1)*exp(x)"),
        ("7*x**(7 - 1)/(x**7 + 1)", "7*x**6/(x**7 + 1)"),
        ("cosh(exp(3*x))*(exp(3*x)*3)", "3*exp(3*x)*cosh(exp(3*x))"),
        ("x + x + 2*(x + 1)", "4*x + 2"),
        ("x/2 + 1/3 + y/x", "x/2 + y/x + 1/3"),
        ("1/x + 1/x**2", "(x + 1)/x**2"),
        ("cos(x)/x - sin(x)/x**2", "(x*cos(x) - sin(x))/x**2"),
        ("x**2 + x", "x**2 + x"),
        ("x + 1/x", "x + 1/x"),
        ("1/9/(2*sqrt(x/9))", "1/(6*sqrt(x))"),
        ("1/7/sqrt(1 - (x/7)**2)", "1/sqrt(49 - x**2)"),
        ("143/(2*sqrt(143*x))/(sqrt(143*x)**2 + 1)", "143/(2*sqrt(143*x)*(143*x + 1))"),
        ("x/sqrt(3*x)", "sqrt(3*x)/3"),
        ("sqrt(x)*x/x**2", "1/sqrt(x)"),
        ("sqrt(x)*sqrt(3*x)*(x + 1)", "sqrt(3)*x*(x + 1)"),
        ("sqrt(3*x)/sqrt(x)", "sqrt(3)"),
        ("sqrt(x)*sqrt(1 - x)", "sqrt(x)*sqrt(1 - x)"),
        ("sqrt(12)*x", "2*sqrt(3)*x"),
        ("1/(2*sqrt(log(x)))/(2*sqrt(sqrt(log(x))))", "1/(4*log(x)**(3/4))"),
        ("exp(x)*exp(x**2)", "exp(x**2 + x)"),
        ("-exp(-x)*(0 - 1)", "exp(-x)"),
        ("sin(x)/cos(x)", "tan(x)"),
        ("cosh(x)/sinh(x)*2", "2/tanh(x)"),
        ("cos(asin(x/4))*x", "x*sqrt(16 - x**2)/4"),
        ("exp(log(x + 1))", "x + 1"),
        ("exp(x*log(x))*log(x) + exp(x*log(x))*x/x", "(log(x) + 1)*exp(x*log(x))"),
        ("2*exp(-log(x)**2)/sqrt(pi)*(1/x)", "2*exp(-log(x)**2)/(sqrt(pi)*x)"),
        ("cosh(asin(x))*(1/sqrt(1 - x**2))", "cosh(asin(x))/sqrt(1 - x**2)"),
        ("(-x - 1)*sin(x)", "-(x + 1)*sin(x)"),
        ("(x - 1)/(1 - x)", "-1"),
        ("x - x", "0"),
        ("2*(x + 1)", "2*x + 2"),
        ("6*(x + exp(x))*cos(x)/12", "(x + exp(x))*cos(x)/2"),
        ("cos(x/2)*(1/2) + 3", "cos(x/2)/2 + 3"),
    ],
)
def test_forms(source: str, expected: str) -> None:
    """What a person would write, and the same function."""
    tree = arranged(read(source))
    assert to_text(tree) == expected
    assert prove_equal(read(source), tree, deadline_s=10).status == "proved"


@pytest.mark.parametrize(
    "source",
    [
        "sqrt(x**2)",  # |x|
        "sqrt(x**4 + 0*x)",
        "sqrt(exp(x))",
        "sin(0)*x",
        "log(exp(x))",
        "sin(x + pi)",
        "cos(-x)",
        "exp(2*log(x))",
        "exp(sqrt(2)*log(x))",
        "exp(pi)*x",
        "x**a",
        "2**x",
        "gamma(x)",
        "I*x",
        "abs(x)",
        "(3*x)**2000",
        "sqrt(-3)*x",
    ],
)
def test_what_it_does_not_know_is_left_to_sympy(source: str) -> None:
    """Where SymPy knows more, it is asked."""
    with pytest.raises(Outside):
        arranged(read(source))


def test_the_order_of_terms_does_not_matter() -> None:
    """Equal sums are one base, whichever way they were written."""
    assert to_text(arranged(read("(x + sin(x))/(sin(x) + x)"))) == "1"
    assert to_text(arranged(read("(x + y)*cos(x) - (y + x)*cos(x)"))) == "0"


def test_derivatives_by_the_rules() -> None:
    """What the rules write about many expressions gets no longer, and is proved the same."""
    shorter = 0
    for text in islice(expressions(7), 300):
        tree = slope(parse(text), "x", {})
        if tree is None:
            continue
        try:
            answer = arranged(tree)
        except Outside:
            continue
        assert answer.size <= tree.size + 4, text
        assert identical(tree, answer) or prove_equal(tree, answer, deadline_s=10).holds, text
        assert arranged(answer).size <= answer.size + 4, text
        shorter += answer.size < tree.size
    assert shorter > 200
