"""Rational functions in lowest terms."""

from __future__ import annotations

import pytest

from service.verification.arranging import arranged
from service.verification.lowest_terms import NotRational, in_lowest_terms, is_rational
from service.verification.proofs import identical
from tokenizer.parse import parse
from tokenizer.render import to_text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(x**2 - 1)/(x + 1)", "x - 1"),
        ("43/((256*x + 43)**2*(x**2/(256*x + 43)**2 + 1))", "43/(65537*x**2 + 22016*x + 1849)"),
        ("((152*x + 60)*115 - 115*x*152)/(152*x + 60)**2", "1725/(4*(38*x + 15)**2)"),
        ("(9*x**8*(x**2 + 292) - 2*x*(x**9 + 382))/(x**2 + 292)**2", None),
        ("-(1 - x)/(x - 1)**2", "1/(x - 1)"),
        ("x/2 + 1/3", "x/2 + 1/3"),
        ("x*x**(-2)*x", "1"),
        ("(x + 1)**2 - x**2 - 2*x - 1", "0"),
    ],
)
def test_common_factors_are_gone(source: str, expected: str | None) -> None:
    """The same function, as a person would write it."""
    tree = parse(source)
    assert is_rational(tree)
    lowest = in_lowest_terms(tree, "x")
    assert identical(tree, lowest)
    if expected is not None:
        assert to_text(arranged(lowest)) == expected


@pytest.mark.parametrize(
    "source", ["x**100", "(x**7 + 1)**8", "1/(x*2 - x - x)", "x*y", "x**(1/2)"]
)
def test_what_is_refused(source: str) -> None:
    """High degrees, zero divisors, other symbols and roots."""
    with pytest.raises(NotRational):
        in_lowest_terms(parse(source, variables=("x", "y")), "x")


@pytest.mark.parametrize(
    ("source", "rational"), [("x**2/y", True), ("sin(x)", False), ("x**y", False)]
)
def test_what_is_rational(source: str, rational: bool) -> None:
    """Arithmetic and powers that are numbers."""
    assert is_rational(parse(source, variables=("x", "y"))) is rational
