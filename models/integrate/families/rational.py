"""Rational functions, as people write them: factored, expanded, with powers."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families.algebraic import algebraic
from models.integrate.problem import Problem
from models.integrate.writing import ONE, X, Power, Writer, raised
from tokenizer.tree import Tree, integer


def sample(rng: random.Random) -> Problem:
    """One rational function."""
    writer = Writer(rng)
    kind = rng.choices((_powers, _factored, _expanded, _binomial, _trinomial), (15, 30, 25, 18, 12))
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
    n = w.rng.choice((2, 2, 2, 2, 3, 4))
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


def _numerator(w: Writer, share: float) -> list[Tree]:
    if not w.chance(share):
        return [integer(w.small(2, 9))] if w.chance(0.15) else []
    degree = w.rng.choice((1, 1, 1, 2, 2, 3, 3, 4))
    if w.chance(0.15):
        return [raised(X, degree)]
    tree = w.any_polynomial(degree)
    return [] if tree == ONE else [tree]
