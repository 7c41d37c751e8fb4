"""Equality with square roots of sums."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from service.verification.proofs import follows, identical
from service.verification.slopes import Points
from tokenizer.parse import parse
from tokenizer.tree import Tree


def read(text: str) -> Tree:
    """Text with single-letter names."""
    return parse(text, variables=("x", "a"))


@pytest.mark.parametrize(
    ("lhs", "rhs"),
    [
        ("(sqrt(x + 1)*a + 1)/sqrt(x + 1)", "a + 1/sqrt(x + 1)"),
        ("a/sqrt(x + 1) + x*a/sqrt(x + 1)", "a*sqrt(x + 1)"),
        ("(sqrt(x + 1) + 1)*(sqrt(x + 1) - 1)", "x"),
        ("(sqrt(x + 1) + sqrt(x + 2))**2", "2*x + 3 + 2*sqrt(x + 1)*sqrt(x + 2)"),
        ("1/(sqrt(x + 1) + sqrt(x))", "sqrt(x + 1) - sqrt(x)"),
        ("(sqrt(5*x) + 1)/sqrt(5*x)", "1 + 1/sqrt(5*x)"),
        ("(2*sqrt(x**2 + 1) + 2)/sqrt(4*x**2 + 4)", "1 + 1/sqrt(1 + x**2)"),
        ("sqrt(sqrt(64*x))", "2*sqrt(2*sqrt(x))"),
        ("(sqrt(3)*a + 3*x)/sqrt(3)", "a + sqrt(3)*x"),
        ("(a + (x + 1)**(3/2))/sqrt(x + 1)", "a/sqrt(x + 1) + x + 1"),
    ],
)
def test_the_square_of_a_root_is_its_radicand(lhs: str, rhs: str) -> None:
    """Also where the root and what divides by it are in different sums."""
    assert identical(read(lhs), read(rhs))
    assert not identical(read(lhs), read(f"{rhs} + x/10**9"))


@pytest.mark.parametrize(
    ("expression", "slope"),
    [
        (
            "log((x**2 + a)*sqrt(x**6 + 220))",
            "(2*x*(x**6 + 220) + 3*x**5*(x**2 + a))/((x**2 + a)*(x**6 + 220))",
        ),
        ("sqrt(x + sqrt(x))", "(2*sqrt(x) + 1)/(4*sqrt(x)*sqrt(x + sqrt(x)))"),
    ],
)
def test_derivatives_with_roots_are_proved(expression: str, slope: str) -> None:
    """However they are put together."""
    assert follows(read(expression), "x", read(slope))


SUMS = ("x + 1", "x**2 - 1", "(x + 1)**2", "1/(x + 1)", "-(x + 1)")


def values(tree: Tree) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """At real points on either side of every branch point, and at complex ones."""
    at = np.array([-7.3, -0.4, 0.6, 3.1, -2 + 1j, 0.3 - 2j, -0.2 + 0.1j, 4 + 5j])
    return np.broadcast_to(Points({"x": at}).value(tree), at.shape)


def test_what_is_identical_is_equal_everywhere() -> None:
    """All products and quotients of these roots with others and sums, held against each other."""
    roots, sums = [f"sqrt({u})" for u in SUMS], [f"({u})" for u in SUMS]
    texts = [f"{u}{sign}{v}" for u, v in product(roots, roots + sums) for sign in "*/"]
    texts += roots + sums
    trees = [read(text) for text in texts]
    found = 0
    with np.errstate(all="ignore"):
        known = [(tree, values(tree)) for tree in trees]
        for (lhs, left), (rhs, right) in combinations(known, 2):
            if not np.allclose(np.abs(left), np.abs(right)):
                continue  # no choice of branches makes them equal
            if identical(lhs, rhs):
                found += 1
                assert np.allclose(left, right), (lhs, rhs)
    assert found > 30
