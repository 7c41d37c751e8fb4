"""(a + b x)^m (c + d x)^n (e + f x)^p with integer and half-integer exponents (Rubi 1.1.1)."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families.algebraic import algebraic
from models.integrate.problem import Problem
from models.integrate.writing import Power, Writer, X
from tokenizer.tree import Tree


def sample(rng: random.Random) -> Problem:
    """Two or three different linear factors, at most two under roots."""
    writer = Writer(rng)
    count = rng.choices((1, 2, 3), (15, 35, 50))[0]
    bases: list[Tree] = []
    while len(bases) < count:
        base = X if writer.chance(0.12) else writer.linear(unit=0.3)
        if base not in bases and base.head != "neg":
            bases.append(base)
    roots = rng.choices((0, 1, 2), (35, 30, 35))[0]
    factors: list[Power] = []
    budget = 11
    for i, base in enumerate(bases):
        if i < roots:
            n = rng.choice((1, 1, 1, 3, 3, 5, 7)) * rng.choice((1, -1))
            e = Fraction(n, 2)
        else:
            size = min(1 + int(rng.expovariate(0.35)), 8)
            e = Fraction(size if writer.chance(0.45) else -size)
        if e > 0:
            e = min(e, Fraction(budget) if e.denominator == 1 else e)
            budget -= int(e)
            if budget < 0:
                e = -e
        factors.append((base, e or Fraction(1)))
    rng.shuffle(factors)
    return algebraic(writer, factors)
