"""Polynomials, as sums, products and powers, and sums of powers of x."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families.algebraic import degree_of
from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, rational


def sample(rng: random.Random) -> Problem:
    """One polynomial, or a sum of integer and fractional powers."""
    w = Writer(rng)
    return rng.choices((_sum, _product, _laurent), (35, 35, 30))[0](w)


def _sum(w: Writer) -> Problem:
    degree = w.rng.choice((1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8))
    tree = w.any_polynomial(degree, dense=0.6)
    return Problem(w.scaled(tree, 0.05), (Term(ONE, degree + 1),))


def _product(w: Writer) -> Problem:
    factors: list[Tree] = []
    for _ in range(w.rng.choice((1, 1, 2, 2, 3))):
        if w.chance(0.25):
            factors.append(raised(X, w.rng.choice((1, 1, 2, 3, 4))))
        else:
            base = w.linear() if w.chance(0.6) else w.any_polynomial(w.rng.choice((2, 2, 3)))
            factors.append(raised(base, w.rng.choice((1, 1, 2, 2, 3, 4, 5, 6, 8))))
    tree = product(factors)
    return Problem(tree, (Term(ONE, degree_of(tree) + 1),))


def _laurent(w: Writer) -> Problem:
    """c1*x**r1 + c2*x**r2 + …, exponents integers or halves or thirds; perhaps over a power."""
    denominator = w.rng.choice((1, 1, 2, 2, 3))
    pieces: dict[Fraction, Tree] = {}
    for _ in range(w.rng.choice((1, 2, 2, 2, 3))):
        e = Fraction(w.rng.randint(-4, 6), denominator if w.chance(0.6) else 1)
        if e == 0:
            pieces[e] = ONE
        elif e > 0:
            pieces[e] = w.power(X, e)
        elif w.negative_powers:
            pieces[e] = call("pow", X, call("neg", rational(-e.numerator, e.denominator)))
        else:
            pieces[e] = call("div", ONE, w.power(X, -e))
    terms = []
    for tree in map(w.with_factor, pieces.values()):
        terms.append((1 if w.chance(0.65) else -1, tree))
    tree = w.sum(terms)
    over = Fraction(0)
    if len(pieces) > 1 and w.chance(0.3):
        over = Fraction(w.rng.choice((1, 2, 3)), denominator)
        tree = call("div", tree, w.power(X, over))
    found: dict[Term, None] = {}
    for e in sorted(e - over for e in pieces):
        whole = e.numerator // e.denominator
        rest = e - whole
        if e == -1:
            found[Term(call("log", X))] = None
        elif rest == 0:
            if e >= 0:
                found = {t: None for t in found if t.factor != ONE}
                found[Term(ONE, whole + 1)] = None
            else:
                found[Term(call("div", ONE, raised(X, -whole - 1)))] = None
        elif e > 0:
            found[Term(w.power(X, rest), whole + 1)] = None
        else:
            up = e + 1
            found[Term(w.power(X, up) if up > 0 else call("div", ONE, w.power(X, -up)))] = None
    return Problem(tree, tuple(found))
