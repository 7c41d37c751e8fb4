"""Rational functions, as people write them: factored, expanded, with powers."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families.algebraic import algebraic, stretched
from models.integrate.problem import Problem
from models.integrate.writing import ONE, Power, Writer, X, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer


def sample(rng: random.Random) -> Problem:
    """One rational function."""
    writer = Writer(rng)
    kinds = (_powers, _factored, _expanded, _binomial, _trinomial, _even, _nested, _laurent, _long)
    kind = rng.choices(kinds, (14, 27, 22, 15, 10, 6, 4, 4, 4))
    return kind[0](writer)


def _powers(w: Writer) -> Problem:
    """P(x) x^m (a + b x + c x^2)^p."""
    base = w.quadratic() if w.chance(0.7) else w.linear()
    p = w.rng.choice((1, 1, 2, 2, 3, 4))
    factors: list[Power] = [(base, Fraction(-p))]
    if w.chance(0.5):
        m = w.rng.choice((1, 1, 2, 2, 3, 4, 5, -1, -1, -2, -3))
        factors.append((X if w.chance(0.6) else w.linear(), Fraction(m)))
    return algebraic(w, factors, _numerator(w, 0.25))


def _factored(w: Writer) -> Problem:
    """P(x) / product of linear and quadratic factors."""
    factors: dict[Tree, Fraction] = {}
    for _ in range(w.rng.choice((1, 2, 2, 2, 3))):
        base = X if w.chance(0.25) else w.linear() if w.chance(0.55) else w.quadratic()
        factors[base] = -Fraction(w.rng.choice((1, 1, 1, 1, 2, 2, 3)))
    return algebraic(w, list(factors.items()), _numerator(w, 0.6))


def _expanded(w: Writer) -> Problem:
    """P/Q with Q multiplied out."""
    q = [1]
    for _ in range(w.rng.choice((1, 2, 2, 2, 3, 3, 4))):
        sign = w.rng.choice((1, -1))
        draw = w.rng.random()
        if draw < 0.2:
            other = [0, 1]
        elif draw < 0.65:
            other = [sign * w.small(1, 6), 1 if w.chance(0.75) else w.small(2, 4)]
        elif draw < 0.85:
            other = [w.small(1, 6), 0, 1]
        else:
            other = [w.small(1, 6), sign * w.small(1, 4), 1]
        q = [
            sum(q[i] * other[k - i] for i in range(len(q)) if 0 <= k - i < len(other))
            for k in range(len(q) + len(other) - 1)
        ]
    if max(map(abs, q)) > 200:
        return _expanded(w)
    below = w.polynomial(q)
    factors: list[Power] = [(below, -Fraction(w.rng.choice((1, 1, 1, 1, 1, 2, 3))))]
    if w.chance(0.15):
        factors.append((X, -Fraction(w.rng.choice((1, 2, 3)))))
    return algebraic(w, factors, _numerator(w, 0.7))


def _binomial(w: Writer) -> Problem:
    """x^m (a + b x^n)^p, n up to 8."""
    n = w.rng.choice((2, 2, 3, 3, 4, 4, 4, 6, 6, 8, 5))
    factors: list[Power] = []
    if w.chance(0.75):
        m = w.rng.choice((1, 1, 2, 2, 3, 4, 5, 6, 7, -1, -1, -2, -3, -4, -5, -7))
        factors.append((X, Fraction(m)))
    a, b = (1, 1) if w.chance(0.5) else (w.small(1, 9), w.small(1, 4))
    signs = w.rng.choice(((1, 1), (1, -1), (1, 1), (1, -1), (-1, 1)))
    # mixed roots of large numbers have no form that people ask for
    if n > 4:
        a, b = 1, 1
    base = w.polynomial([signs[0] * a, *[0] * (n - 1), signs[1] * b])
    p = w.rng.choice((-1, -1, -1, -2, -3) if n <= 4 else (-1, -1, -1, -2))
    if w.chance(0.08):
        p = w.rng.choice((2, 3, 4, 5))
    factors.append((base, Fraction(p)))
    return algebraic(w, factors)


def _trinomial(w: Writer) -> Problem:
    """(d + e x^n) x^m / (a + b x^n + c x^(2n))."""
    n = w.rng.choice((2, 2, 2, 2, 3, 3, 4, 4, 5, 6))
    r, s = w.small(1, 6), w.small(1, 6)
    sign = w.rng.choice((1, -1))
    shape = w.rng.random()
    if shape < 0.45:
        a, b, c = r * s, sign * (r + s), 1
    elif shape < 0.7:
        a, b, c = 1, w.rng.choice((0, 1, -1, 3, -3)), 1
    elif shape < 0.85:
        a, b, c = r * r, sign * 2 * r, 1
    else:
        a, b, c = r, sign * s, 1
    if n > 2 and not (b == 0 or (b * b >= 4 * a * c) or w.chance(0.5)):
        a, b, c = 1, w.rng.choice((1, -1)), 1
    base = w.polynomial([a, *[0] * (n - 1), b, *[0] * (n - 1), c])
    factors: list[Power] = [(base, -Fraction(w.rng.choice((1, 1, 1, 2))))]
    if w.chance(0.6):
        m = w.rng.choice((n - 1, n - 1, 1, 2, 3, 4, 2 * n - 1, 3 * n - 1, -1, -1, -2, -3, -1 - n))
        factors.append((X, Fraction(m)))
    numerator = [w.pure(n)] if w.chance(0.45) else []
    return algebraic(w, [(b, e) for b, e in factors if e], numerator)


def _even(w: Writer) -> Problem:
    """x**m P(x**2)/(a + b x**2 + c x**4)**p."""
    base = w.quadratic(raised(X, 2))
    p = w.rng.choice((1, 1, 2, 2, 3))
    top = w.any_polynomial(w.rng.choice((1, 1, 2, 3)), raised(X, 2), dense=0.8)
    top = stretched(top, 1)
    factors: list[Power] = [(stretched(base, 1), Fraction(-p))]
    if m := w.rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 6, 8, -1, -2, -3, -5)):
        factors.append((X, Fraction(m)))
    return algebraic(w, factors, [top])


def _nested(w: Writer) -> Problem:
    """Powers of a quadratic of a linear function: x**2/(1 + (x - 1)**2), (1 - (1 + x)**2)**-2."""
    inner = w.linear(unit=0.7)
    base = w.linear(raised(inner, 2), unit=0.7)
    factors: list[Power] = [(base, Fraction(w.rng.choice((-1, -1, -1, -2, -3))))]
    draw = w.rng.random()
    if draw < 0.35:
        factors.append((X, Fraction(w.rng.choice((1, 2, 3)))))
    elif draw < 0.6:
        factors.append((inner, Fraction(w.rng.choice((1, 2)))))
    return algebraic(w, factors)


def _laurent(w: Writer) -> Problem:
    """Negative powers of x inside: 1/((15 + 2/x**2 + 13/x)*x)."""
    n = w.rng.choice((1, 2, 2, 2, 3))
    terms = [
        (1, integer(w.small(1, 9))),
        (w.rng.choice((1, 1, -1)), call("div", integer(w.small(1, 9)), raised(X, n))),
    ]
    if n == 2 and w.chance(0.7):
        terms.append((w.rng.choice((1, 1, -1)), call("div", integer(w.small(1, 9)), X)))
    elif w.chance(0.4):
        c = w.small(1, 5)
        k = w.rng.choice((1, 2))
        terms[0] = (1, raised(X, k) if c == 1 else call("mul", integer(c), raised(X, k)))
    w.rng.shuffle(terms)
    base = w.sum(terms)
    p = w.rng.choice((1, 1, 1, 1, 2))
    m = w.rng.choice((0, 0, 1, 2, -1, -1, -2, -3, -5))
    factors: list[Power] = [(base, Fraction(-p))]
    if m:
        factors.append((X, Fraction(m)))
    quotient = w.quotient(factors)
    found = [Term(call("log", base)), Term(ONE, max(m, 0) + 2)]
    if m < -1:
        found.append(Term(call("div", ONE, raised(X, -m - 1)), -m - 2))
    if p > 1:
        found.append(Term(call("div", ONE, base), 2))
    return Problem(quotient.tree, tuple(found))


def _long(w: Writer) -> Problem:
    """A long numerator over powers of one or two quadratics or cubics."""
    below = (
        w.quadratic()
        if w.chance(0.7)
        else w.pure(4)
        if w.chance(0.5)
        else w.quadratic(raised(X, 2))
    )
    p = w.rng.choice((1, 1, 2, 2, 3, 4))
    if p > 1 and below.size > 9:
        p = 2
    top = w.any_polynomial(w.rng.choice((3, 4, 4, 5, 6)), dense=0.8)
    factors: list[Power] = [(below, Fraction(-p))]
    if w.chance(0.3):
        factors.append(
            (X if w.chance(0.5) else w.linear(), Fraction(w.rng.choice((-1, -2, -3, 1, 2))))
        )
    return algebraic(w, factors, [top])


def _numerator(w: Writer, share: float) -> list[Tree]:
    if not w.chance(share):
        return [integer(w.small(2, 9))] if w.chance(0.15) else []
    degree = w.rng.choice((1, 1, 1, 2, 2, 3, 3, 4))
    if w.chance(0.15):
        return [raised(X, degree)]
    tree = w.any_polynomial(degree)
    return [] if tree == ONE else [tree]
