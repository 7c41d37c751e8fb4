"""Sums of square roots in a denominator: (A + B)*(A - B) is a polynomial D.

1/(A + B)**n is (A - B)**n/D**n, so whatever stands over A + B is spanned by 1, A, B and
A*B over powers of D.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy
from sympy import S

from service.verification.convert import to_sympy
from tokenizer.tree import Tree, call


@dataclass(frozen=True, slots=True)
class Conjugates:
    """``A + B`` or ``A - B``; the squares of both are polynomials in ``x``, and one is a root."""

    first: Tree
    second: Tree
    squares: tuple[sympy.Expr, sympy.Expr]

    @property
    def norm(self) -> sympy.Expr:
        """A**2 - B**2."""
        return sympy.expand(self.squares[0] - self.squares[1])

    @property
    def span(self) -> tuple[Tree, ...]:
        """A, B and A*B: with 1, a basis over the rational functions."""
        return self.first, self.second, call("mul", self.first, self.second)

    @property
    def radicands(self) -> list[sympy.Expr]:
        """What stands under the roots: one polynomial or two."""
        sides = zip((self.first, self.second), self.squares, strict=True)
        return [square for side, square in sides if _has_root(side)]

    def degree(self, variable: str) -> int:
        """The larger degree of A**2 and B**2."""
        x = sympy.Symbol(variable, real=True)
        return max(int(sympy.degree(square, x)) for square in self.squares)


def conjugates(tree: Tree, variable: str) -> Conjugates | None:
    """``tree`` as a sum or difference of roots; None when it is anything else.

    Two polynomials have no roots, and of one root of a linear function everything is a
    rational function: neither needs a conjugate.
    """
    if tree.head not in ("add", "sub"):
        return None
    first, second = tree.args
    x = sympy.Symbol(variable, real=True)
    squares = [sympy.expand(to_sympy(side) ** 2) for side in (first, second)]
    if not all(square.is_polynomial(x) for square in squares):
        return None
    found = Conjugates(first, second, (squares[0], squares[1]))
    degrees = [sympy.degree(radicand, x) for radicand in found.radicands]
    if degrees in ([], [0], [1]) or found.norm == S.Zero:
        return None
    return found


def _has_root(tree: Tree) -> bool:
    return any(
        (node.head == "sqrt" and node.symbols())
        or (node.head == "pow" and node.args[1].head == "div" and node.args[0].symbols())
        for node in tree.preorder()
    )
