"""Sums that by parts make elementary, though neither term is: x f**n + c x f**m, and f**p g'.

People write such pairs to test a program: what is left of one term by parts is taken away by
the other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer, rational

#: f -> the g with (f**n)' = c*g*f**(n + e), e, and a, b, d with
#: (f**n)'' = a*n**2*f**n + b*n*(n + d)*f**(n + 2*d).
_SECOND: Final = {
    "sin": ("cos", -1, -1, 1, -1),
    "cos": ("sin", -1, -1, 1, -1),
    "sinh": ("cosh", -1, 1, 1, -1),
    "cosh": ("sinh", -1, 1, -1, -1),
    "sec": ("sin", 1, -1, 1, 1),
    "csc": ("cos", 1, -1, 1, 1),
    "sech": ("sinh", 1, 1, -1, 1),
    "csch": ("cosh", 1, 1, 1, 1),
}  # fmt: skip


def sample(rng: random.Random) -> Problem:
    """One sum of two or three terms."""
    w = Writer(rng)
    return _powers(w) if w.chance(0.75) else _inverse(w)


def _powers(w: Writer) -> Problem:
    """x*(A f**n + B f**(n + 2*k)), a sum of second derivatives of powers of f, times x or x**2."""
    head = w.rng.choice(tuple(_SECOND))
    other, step, a, b, d = _SECOND[head]
    u = w.argument(0.7)
    f, g = call(head, u), call(other, u)
    n = w.rng.choice([Fraction(k, 2) for k in (-7, -5, -3, -1, 1, 3, 5, 7)])
    if w.chance(0.15):
        n = w.rng.choice([Fraction(k, 3) for k in (-7, -5, -4, -2, -1, 1, 2, 4, 5, 7)])
    steps = w.rng.choice((1, 1, 1, 2, 2, 3))
    # the powers whose second derivatives are added up so that those between cancel
    powers = [n + 2 * d * k for k in range(steps)]
    first, last = Fraction(a) * n * n, Fraction(1)
    for k, p in enumerate(powers):
        rise = b * p * (p + d)
        if k + 1 < steps:
            last *= -rise / (a * powers[k + 1] ** 2)
        else:
            last *= rise
    ends = [(first, n), (last, powers[-1] + 2 * d)]
    square = steps == 1 and u == X and w.chance(0.2)
    x = X if square or w.chance(0.85) else w.linear(unit=0.4)
    pairs = [(c, raised(x, 2) if square else x, p) for c, p in ends]
    if square:
        pairs.append((Fraction(-2), ONE, n))
    lead = w.rng.choice(pairs[:2])[0]
    tree = _sum(w, [(c / lead, factor, [(f, p)]) for c, factor, p in pairs])
    low, count = min(powers), 2 * (steps - 1)
    terms = (
        Term(_power_slot(w, g, f, low + step, count), 2 if square else 1),
        Term(_power_slot(w, ONE, f, low, count), 1 if square else 0),
    )
    return Problem(tree, terms)


def _power_slot(w: Writer, g: Tree, f: Tree, p: Fraction, count: int) -> Tree:
    """g f**p, g f**(p + 1) … g f**(p + count)."""
    slot = powers_of(f, count)
    if p == 0:
        return product([slot, g])
    power = w.power(f, abs(p))
    return product([slot, g, power]) if p > 0 else call("div", product([slot, g]), power)


def _inverse(w: Writer) -> Problem:
    """f**p g' + p f**(p - 1) f' g, or what is left of f**p g' after two steps by parts."""
    head = w.rng.choice(("asin", "asin", "acos", "asinh", "atan", "atanh", "log"))
    f = call(head, X)
    square = raised(X, 2)
    plus = head in ("asinh", "atan")
    base = call("add" if plus else "sub", ONE, square)
    sign = 1 if plus else -1
    p = Fraction(w.rng.choice((-3, -1, 1, 3, 3, 5, -2, -4)), 2)
    if head == "log":
        base, k = X, Fraction(w.rng.choice((-3, -2, -1, 1, 2, 3)))
        slope, order, down = Fraction(1), 1, Fraction(-1)
    else:
        k = w.rng.choice([Fraction(j, 2) for j in (-4, -3, -2, -1, 1, 2, 3)])
        slope, order = Fraction(-1 if head == "acos" else 1), 2
        down = Fraction(-1, 2) if head in ("asin", "acos", "asinh") else Fraction(-1)
    # the derivative of base**k is k*c*x**(order - 1)*base**(k - 1)
    c = Fraction(1) if order == 1 else Fraction(2 * sign)
    x = ONE if order == 1 else X
    if order == 2 and w.chance(0.35):
        # (x*base**m)' = base**(m - 1)
        m = Fraction(-1, 2)
        g_down = m - 1 - down
        if g_down == 0 or p == 1:
            return _inverse(w)
        # F = f**p*base**g_down - p*f**(p - 1)*slope*x*base**m
        tree = _sum(
            w,
            [
                (c * g_down, X, [(f, p), (base, g_down - 1)]),
                (-p * (p - 1) * slope * slope, X, [(f, p - 2), (base, m + down)]),
            ],
            monic=True,
        )
        terms = (
            Term(_times(w, ONE, [(f, p), (base, g_down)])),
            Term(_times(w, X, [(f, p - 1), (base, m)])),
        )
        return Problem(tree, terms)
    tree = _sum(
        w,
        [
            (k * c, x, [(f, p), (base, k - 1)]),
            (p * slope, ONE, [(f, p - 1), (base, k + down)]),
        ],
        monic=True,
    )
    return Problem(tree, (Term(_times(w, ONE, [(f, p), (base, k)])),))


_Powers = Sequence[tuple[Tree, Fraction]]


def _sum(w: Writer, parts: Sequence[tuple[Fraction, Tree, _Powers]], monic: bool = False) -> Tree:
    """coefficient * factor * powers of each part, in the style of the writer."""
    lead = w.rng.choice(parts)[0] if monic else Fraction(1)
    written: list[tuple[int, Tree]] = []
    for coefficient, factor, powers in parts:
        c = coefficient / lead
        above = [factor, *(w.power(b, e) for b, e in powers if e > 0)]
        below = [w.power(b, -e) for b, e in powers if e < 0]
        sign, size = (-1 if c < 0 else 1), abs(c)
        if size.denominator == 1 or w.chance(0.7):
            number = integer(size.numerator)
            if size.denominator > 1:
                number = rational(size.numerator, size.denominator)
            above.insert(0, number)
        else:
            above.insert(0, integer(size.numerator))
            below.insert(0, integer(size.denominator))
        top = product(above)
        written.append((sign, call("div", top, product(below)) if below else top))
    if w.chance(0.5):
        written.reverse()
    if written[0][0] < 0 and w.chance(0.8):
        written.sort(key=lambda part: -part[0])
    return w.sum(written)


def _times(w: Writer, factor: Tree, powers: _Powers) -> Tree:
    above = [factor, *(w.power(b, e) for b, e in powers if e > 0)]
    below = [w.power(b, -e) for b, e in powers if e < 0]
    return call("div", product(above), product(below)) if below else product(above)
