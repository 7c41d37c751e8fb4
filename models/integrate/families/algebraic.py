"""The form of antiderivatives of products of powers of polynomials, for the algebraic families."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from models.integrate.problem import Problem
from models.integrate.writing import ONE, X, Power, Writer, product
from tokenizer.ansatz import Term, polynomial_degree
from tokenizer.tree import Tree, call


def degree_of(tree: Tree) -> int:
    """Degree in x of a polynomial."""
    degree = polynomial_degree(tree, "x")
    assert degree is not None, "a polynomial was promised"
    return degree


def algebraic(
    writer: Writer, factors: Sequence[Power], numerator: Sequence[Tree] = (), *, logs: bool = True
) -> Problem:
    """numerator * prod(base**exponent); half-integer exponents of degree 1 or 2 in total.

    Hermite reduction gives p(x)*Y/D + logarithms with D the denominator, Y the product
    of the roots of the numerator, and deg p <= 1 + the degree that is left for it at
    infinity. The logarithms come from 1/Y and from the factors of D.
    """
    quotient = writer.quotient(factors, numerator)
    roots = [(b, e) for b, e in factors if e.denominator == 2]
    above = [call("sqrt", b) for b, e in roots if e > 0]
    degree = slot_degree(factors, numerator)
    poles = any(e < 0 and e.denominator == 1 for _, e in factors)
    terms = [Term(quotient.over(product(above)), degree)]
    if not logs:
        return Problem(quotient.tree, tuple(terms))
    if roots:
        # a base that occurs twice has one root
        root = product([call("sqrt", b) for b in dict.fromkeys(b for b, _ in roots)])
        if sum(degree_of(b) for b, _ in roots) == 2:
            terms.append(Term(call("log", call("add", X, root))))
        if poles:
            terms.append(Term(call("log", quotient.over(root))))
    elif poles:
        below = quotient.below or tuple(call("div", ONE, b) for b in quotient.above)
        terms.append(Term(call("log", product(below))))
    return Problem(quotient.tree, tuple(terms))


def slot_degree(factors: Sequence[Power], numerator: Sequence[Tree]) -> int:
    """Degree of p in p*Y/D: an antiderivative grows like x*f; with roots it may tend to a constant."""
    growth = Fraction(1 + sum(degree_of(n) for n in numerator))
    over = Fraction(0)
    for base, e in factors:
        growth += degree_of(base) * e
        if e < 0:
            over += degree_of(base) * e
        elif e.denominator == 2:
            over += Fraction(degree_of(base), 2)
    if any(e.denominator == 2 for _, e in factors):
        growth = max(growth, Fraction(0))
    return max(ceil(growth - over), 0)
