"""exp of a fraction of atanh or acoth: a root of (1 + x)/(1 - x) in other words."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer, rational


def sample(rng: random.Random) -> Problem:
    """x**m exp(r atanh(u)), r a fraction; by E = exp(2 atanh(u)) = (1 + u)/(1 - u)."""
    w = Writer(rng)
    head = w.rng.choice(("atanh", "acoth"))
    u = X if w.chance(0.92) else call("mul", integer(w.small(2, 5)), X)
    f = call(head, u)
    e = call("exp", _multiple(w, f))
    m = w.rng.choice((0, 0, 1, 1, 2, 2, 3, -1, -1, -2, -2, -3, -4))
    x = raised(X, abs(m))
    factors = [x, e] if w.chance(0.5) else [e, x]
    tree = call("div", e, x) if m < 0 else product(factors)
    square = call("exp", call("mul", integer(2), f))
    # E is a pole at infinity, and where x is 0
    infinity, zero = call("add", square, ONE), call("sub", square, ONE)
    if head == "acoth":
        infinity, zero = zero, infinity
    poles = [e, *([infinity] if m >= -1 else []), *([zero] if m < 0 else [])]
    terms = [Term(call("log", product(poles)))]
    if m >= 0:
        terms.append(Term(e, m + 1))
    elif m < -1:
        terms.append(Term(call("div", e, raised(X, -m - 1)), -m - 1))
    return Problem(w.scaled(tree, 0.05), tuple(terms))


def _multiple(w: Writer, f: Tree) -> Tree:
    """r*f, r a fraction with a small denominator, of either sign."""
    r = Fraction(w.rng.choice((1, 1, 1, 2)), w.rng.choice((2, 3, 3, 3, 4)))
    if r.denominator == 1:
        r = Fraction(1, 3)
    over, under = r.numerator, integer(r.denominator)
    draw = w.rng.random()
    if draw < 0.5:
        tree = call("mul", rational(over, r.denominator), f)
    elif draw < 0.8:
        tree = call("div", f if over == 1 else call("mul", integer(over), f), under)
    else:
        tree = call("mul", f, rational(over, r.denominator))
    return call("neg", tree) if w.chance(0.12) else tree
