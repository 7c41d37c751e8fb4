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
    def radicands(self) -> tuple[list[sympy.Expr], list[sympy.Expr]]:
        """What stands under the roots of A and of B; nothing for a polynomial.

        Roots of a product stay apart: sqrt(x)*sqrt(1 + x) is not sqrt(x + x**2) for x < -1.
        """
        return _radicands(self.first), _radicands(self.second)

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
    roots = [radicand for side in found.radicands for radicand in side]
    degree = sum(sympy.degree(radicand, x) for radicand in roots)
    if degree < 1 or (degree == 1 and len(roots) == 1) or found.norm == S.Zero:
        return None
    return found


def _radicands(tree: Tree) -> list[sympy.Expr]:
    """The radicands of the square roots among the factors of ``tree``."""
    if tree.head == "mul":
        return [radicand for arg in tree.args for radicand in _radicands(arg)]
    if tree.head == "div":
        return _radicands(tree.args[0])
    if tree.head == "sqrt" or (tree.head == "pow" and tree.args[1].head == "div"):
        return [to_sympy(tree.args[0])] if tree.args[0].symbols() else []
    return []
