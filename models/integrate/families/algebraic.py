"""The form of antiderivatives of products of powers of polynomials, for the algebraic families."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Power, Writer, X, product, raised
from tokenizer.ansatz import Term, polynomial_degree
from tokenizer.tree import Tree, call


def degree_of(tree: Tree) -> int:
    """Degree in x of a polynomial."""
    degree = polynomial_degree(tree, "x")
    assert degree is not None, "a polynomial was promised"
    return degree


def stretched(tree: Tree, n: int) -> Tree:
    """``tree`` with x replaced by x**n, powers of powers written as one."""
    if tree == X:
        return raised(X, n)
    if not tree.args:
        return tree
    if tree.head == "pow" and tree.args[0] == X and tree.args[1].head == "integer":
        return raised(X, n * int(tree.args[1].value or 0))
    return Tree(tree.head, tuple(stretched(arg, n) for arg in tree.args), tree.value)


def algebraic(
    writer: Writer, factors: Sequence[Power], numerator: Sequence[Tree] = (), *, stretch: int = 1
) -> Problem:
    """numerator * prod(base**exponent); half-integer exponents of degree 1 or 2 in total.

    With ``stretch`` n the same in v = x**n, times v' without its constant; the exponents
    of x itself must then be integers.

    Hermite reduction gives p(x)*Y/D + logarithms with D the denominator, Y the product
    of the roots of the numerator, and deg p <= 1 + the degree that is left for it at
    infinity. The logarithms come from 1/Y and from the factors of D.
    """
    degree = slot_degree(factors, numerator) * stretch
    kernel = raised(X, stretch)
    if stretch > 1:
        own = sum(int(e) for b, e in factors if b == X)
        numerator = [stretched(n, stretch) for n in numerator]
        factors = [(stretched(b, stretch), e) for b, e in factors if b != X]
        if power := (own + 1) * stretch - 1:
            factors = [(X, Fraction(power)), *factors]
    quotient = writer.quotient(factors, numerator)
    roots = [(b, e) for b, e in factors if e.denominator == 2]
    above = [call("sqrt", b) for b, e in roots if e > 0]
    poles = any(e < 0 and e.denominator == 1 for _, e in factors)
    terms = [Term(quotient.over(product(above)), degree)]
    if roots:
        # a base that occurs twice has one root
        root = product([call("sqrt", b) for b in dict.fromkeys(b for b, _ in roots)])
        if sum(degree_of(b) for b, _ in roots) == 2 * stretch:
            terms.append(Term(call("log", call("add", kernel, root))))
        if poles:
            terms.append(Term(call("log", quotient.over(root))))
    elif poles:
        below = quotient.below or tuple(call("div", ONE, b) for b in quotient.above)
        terms.append(Term(call("log", product(below))))
    return Problem(quotient.tree, tuple(terms))


def slot_degree(factors: Sequence[Power], numerator: Sequence[Tree]) -> int:
    """Degree of p in p*Y/D: an antiderivative grows like x*f, or tends to a constant."""
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
