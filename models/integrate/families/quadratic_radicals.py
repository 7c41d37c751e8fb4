"""P(x) (d + e x)^m (f + g x)^n (a + b x + c x^2)^(p/2), and x^m (a + b x^n)^(p/2)."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families.algebraic import algebraic, slot_degree
from models.integrate.problem import Problem
from models.integrate.writing import ONE, Power, Writer, X, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer


def sample(rng: random.Random) -> Problem:
    """One problem with the square root of a quadratic or of a binomial."""
    writer = Writer(rng)
    kinds = (_quadratic, _linear_over_quadratic, _binomial, _stretched, _square, _two)
    return rng.choices(kinds, (42, 13, 24, 11, 4, 6))[0](writer)


def _quadratic(w: Writer) -> Problem:
    base = w.quadratic()
    factors: list[Power] = [
        (base, Fraction(w.rng.choice((1, 1, 1, 1, 3, 5, 7, -1, -1, -1, -1, -3, -5)), 2))
    ]
    numerator: list[Tree] = []
    if w.chance(0.5):
        numerator = (
            [w.linear(unit=0.4)]
            if w.chance(0.6)
            else [w.any_polynomial(w.rng.choice((1, 2, 2, 3)))]
        )
    draw = w.rng.random()
    if draw < 0.65:
        other = X if w.chance(0.5) else w.quadratic() if w.chance(0.12) else w.linear(unit=0.4)
        if other != base:
            m = w.rng.choice((1, 1, 2, 2, 3, 4, 5, -1, -1, -1, -1, -2, -2, -3, -4, -6, -8))
            if other.size > 4 and other.args[0].size > 4:
                m = -1
            factors.append((other, Fraction(m)))
    return algebraic(w, factors, numerator)


def _stretched(w: Writer) -> Problem:
    """x**k (d + e x**n) (a + b x**n + c x**(2n))**(p/2), and linear radicands in x**n."""
    n = w.rng.choice((2, 2, 2, 2, 3, 4))
    base = w.quadratic() if w.chance(0.8) else w.linear()
    p = w.rng.choice((1, 1, 1, 3, -1, -1, -1, -3))
    factors: list[Power] = [(base, Fraction(p, 2))]
    if m := w.rng.choice((0, 0, 1, 1, 2, -1, -1, -2, -3)):
        factors.append((X, Fraction(m)))
    if w.chance(0.2):
        factors.append((w.linear(), Fraction(w.rng.choice((-1, -1, -2)))))
    numerator = [w.linear(unit=0.4)] if w.chance(0.45) else []
    return algebraic(w, factors, numerator, stretch=n)


def _square(w: Writer) -> Problem:
    """x**m (a**2 + 2 a b x + b**2 x**2)**(p/2), a perfect square under the root."""
    if w.chance(0.2):
        return _square_of_quotient(w)
    a, b = w.small(1, 6) * w.rng.choice((1, -1)), w.rng.choice((1, 1, 2, 3))
    base = w.polynomial([a * a, 2 * a * b, b * b])
    if w.chance(0.2):
        base = raised(w.linear(unit=0.5), 2)
    p = w.rng.choice((1, 1, 3, 5, -1, -1, -3, -5))
    factors: list[Power] = [(base, Fraction(p, 2))]
    if w.chance(0.6):
        other = X if w.chance(0.7) else w.linear(unit=0.5)
        factors.append((other, Fraction(w.rng.choice((1, 1, 2, 3, -1, -2)))))
    return algebraic(w, factors)


def _square_of_quotient(w: Writer) -> Problem:
    """sqrt(x**(2*n) + 2 + 1/x**(2*n)) and its powers, in any order."""
    n = w.rng.choice((1, 1, 2, 2, 3))
    up = raised(X, 2 * n)
    parts = [(w.rng.choice((1, 1, -1)), integer(2)), (1, up), (1, call("div", ONE, up))]
    w.rng.shuffle(parts)
    if parts[0][0] < 0:
        parts.reverse()
    root = w.power(w.sum(parts), Fraction(1, 2))
    below = call("add" if all(sign > 0 for sign, _ in parts) else "sub", up, ONE)
    terms = [Term(call("div", root, below), 2 * n + 1)]
    if n == 1:
        terms.append(Term(call("div", product([root, call("log", X)]), below), 1))
    return Problem(root, tuple(terms))


def _two(w: Writer) -> Problem:
    """Powers of a quadratic beside the root of another quadratic, a long numerator."""
    base, other = w.quadratic(), w.quadratic()
    if base == other:
        return _quadratic(w)
    factors: list[Power] = [(base, Fraction(w.rng.choice((1, 1, 3, 5, -1, -1, -3)), 2))]
    numerator = (
        [w.any_polynomial(w.rng.choice((1, 2, 2, 3, 4)), dense=0.8)] if w.chance(0.7) else []
    )
    if w.chance(0.5):
        factors.append((other, Fraction(w.rng.choice((1, 1, 2, 3, -1)))))
    else:
        factors.append((w.linear(unit=0.4), Fraction(w.rng.choice((1, 2, -1, -1, -2, -3, -4, -5)))))
    return algebraic(w, factors, numerator)


def _linear_over_quadratic(w: Writer) -> Problem:
    """(f + g x) (d + e x)^(m/2) (a + b x + c x^2)^p: rational in the root."""
    r, s = w.linear(unit=0.3), w.linear(unit=0.3)
    factors: list[Power] = [
        (w.linear(unit=0.3), Fraction(w.rng.choice((1, 1, 3, 5, 7, -1, -1, -3, -5)), 2))
    ]
    if w.chance(0.5):
        a, b, c, d = (w.small(1, 5) for _ in range(4))
        # a quadratic that splits over Q, multiplied out
        factors.append(
            (
                w.polynomial([a * c, a * d + b * c, b * d]),
                Fraction(w.rng.choice((-1, -1, -1, -2, -3, 1, 2, 3))),
            )
        )
    elif w.chance(0.6):
        factors.append((w.quadratic(), Fraction(w.rng.choice((-1, -1, -1, 1, 2, 3)))))
    else:
        factors += [(r, Fraction(-1)), (s, Fraction(-1))] if r != s else [(r, Fraction(-1))]
    numerator = [w.linear(unit=0.4)] if w.chance(0.6) else []
    return algebraic(w, factors, numerator)


def _binomial(w: Writer) -> Problem:
    """x^m (a + b x^n)^(p/2) where Chebyshev's conditions hold."""
    n = w.rng.choice((1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 8, 10))
    p = w.rng.choice((1, 1, 1, -1, -1, -1, 3, -3, 5, -5))
    k = w.rng.choice((1, 1, 1, 2, 2, 3, 0, 0, -1, -1, -2))
    # (m + 1)/n or (m + 1)/n + p/2 is the integer k
    m = k * n - 1
    half = n % 2 == 0 and w.chance(0.4)
    if half:
        m = k * n - 1 + n // 2
    base = (
        w.pure(n) if not w.chance(0.1) else w.polynomial([1, *[0] * (n - 1), w.rng.choice((1, -1))])
    )
    factors: list[Power] = [(base, Fraction(p, 2))]
    if m:
        factors.append((X, Fraction(m)))
    quotient = w.quotient(factors)
    root = call("sqrt", base)
    terms = [Term(quotient.over(root if p > 0 else ONE), slot_degree(factors, ()))]
    if half:
        if n > 2 or m >= -1:
            terms.append(Term(call("log", call("add", raised(X, n // 2), root))))
    elif n > 1 or m < 0:
        terms.append(Term(call("log", call("div", root, X))))
    return Problem(quotient.tree, tuple(terms))
