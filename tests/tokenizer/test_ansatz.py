"""The ansatz of a known antiderivative."""

from __future__ import annotations

import pytest

from tokenizer.ansatz import Term, ansatz_of, polynomial_degree
from tokenizer.parse import parse


def terms(text: str) -> list[tuple[str, int]]:
    return [(repr(t.factor), t.degree) for t in ansatz_of(parse(text), "x")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-7*cos(x)/3", [("cos(x)", 0)]),
        ("(3*x**2 - 1)*exp(x)/7", [("exp(x)", 2)]),
        ("x*exp(x) - exp(x)", [("exp(x)", 1)]),
        ("a**2*log(abs(a + b*x))/b**3 + x**2/2 - 5", [("log(add(a, mul(b, x)))", 0), ("1", 2)]),
        ("2*(1 + 3*x)**(5/2)/45 - 2*(1 + 3*x)**(3/2)/27", [("sqrt(add(1, mul(3, x)))", 2)]),
        ("1/(2 + x)**2 + 1/(2 + x)**4", [("div(1, pow(add(2, x), 4))", 2)]),
        ("sin(x)*exp(x) + exp(x)*sin(x)", [("mul(sin(x), exp(x))", 0)]),
        ("7*log(2)", []),
        ("x**10008/10008", [("pow(x, 10008)", 0)]),
    ],
)
def test_constants_are_dropped_and_polynomials_become_slots(
    text: str, expected: list[tuple[str, int]]
) -> None:
    """What multiplies a factor is left to linear algebra: numbers, parameters, polynomials."""
    assert sorted(terms(text)) == sorted(expected)


def test_sums_are_multiplied_out() -> None:
    """Each product of a sum has a coefficient of its own."""
    assert len(terms("(log(x) + sin(x))**2")) == 3


def test_an_expansion_that_explodes_is_left_as_one_factor() -> None:
    """A high power of a sum costs one term, not thousands."""
    assert terms("(sin(x) + log(x) + exp(x))**20") == [
        ("pow(add(add(sin(x), log(x)), exp(x)), 20)", 0)
    ]


def test_degree_counts_powers_and_products() -> None:
    """The degree is an upper bound, and None for anything that is no polynomial."""
    assert polynomial_degree(parse("(x + 1)**3*x/2"), "x") == 4
    assert polynomial_degree(parse("a*x"), "x") == 1
    assert polynomial_degree(parse("1/x"), "x") is None


def test_a_term_without_the_variable_needs_a_slot() -> None:
    """A constant differentiates to nothing and is no term."""
    assert Term(parse("1"), 0) not in ansatz_of(parse("x + 3"), "x")
