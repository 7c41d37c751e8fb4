"""Equality of expressions with square roots: elements of a field and its square roots.

:mod:`service.verification.chain` takes a root of a sum for a generator that nothing is known
about, but for how powers of one base multiply. So it does not see that
``(sqrt(x + 1)*y + 1)/sqrt(x + 1)`` is ``y + 1/sqrt(x + 1)``. Here each root g of a radicand b
is a square root of it modulo the prime. With b for a square every element is a polynomial of
degree at most 1 in each root, and two of them are equal if their values are for every choice
of signs of the roots. That sqrt(a) sqrt(b) = sqrt(a b), which fails on a cut, is not taken for
granted: it does not hold for every choice.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Final

import sympy
from flint import fmpz_mod_ctx

from service.verification.chain import DifferentialField, Unsupported
from service.verification.products import Rational
from tokenizer.tree import Tree

#: Radicands of one comparison; their roots have 2^MOST choices of signs.
MOST: Final = 4

#: Random points at which all radicands are looked for being squares, as one in 2^MOST is.
TRIES: Final = 48


class NotSquare(Unsupported):
    """A radicand has no square root at these values."""


@cache
def _residues() -> fmpz_mod_ctx:
    """A prime field in which -1 is no square and all primes below 100 are.

    A prime p = -1 modulo 8 and modulo these primes is such a one by quadratic reciprocity.
    """
    step = 4 * math.prod(sympy.primerange(100))
    rng = random.Random(1)  # noqa: S311 - chances are counted, secrets not needed
    factor = rng.getrandbits(256 - step.bit_length())
    while not sympy.isprime(factor * step - 1):
        factor += 1
    return fmpz_mod_ctx(factor * step - 1)


class RootField(DifferentialField):
    """Random values in which the square root number k is the one that bit k of ``signs`` names."""

    def __init__(self, seed: int, signs: int) -> None:
        super().__init__(_residues(), seed)
        self._signs = signs
        #: Radicand -> its square root.
        self.roots: dict[int, int] = {}

    def _root(self, base: int, exponent: Rational) -> int:
        if exponent.denominator != 2:
            raise Unsupported("a root that is no square root")
        root = self.roots.get(base)
        if root is None:
            root = self._raised(base, (self.prime + 1) // 4)
            if root * root % self.prime != base:
                raise NotSquare
            if self._signs >> len(self.roots) & 1:
                root = self.prime - root
            self.roots[base] = root
        return root


def identical(lhs: Tree, rhs: Tree) -> bool:
    """Whether both are the same element; False when that is unknown."""
    for seed in range(TRIES):
        field = RootField(seed, 0)
        try:
            same = field.value(lhs) == field.value(rhs)
        except NotSquare:
            continue
        except (Unsupported, RecursionError):
            return False
        choices = range(1, 2 ** len(field.roots))
        return (
            same
            and len(choices) < 2**MOST
            and all(
                _identical(lhs, rhs, RootField(seed, signs), [*field.roots]) for signs in choices
            )
        )
    return False


def _identical(lhs: Tree, rhs: Tree, field: RootField, radicands: list[int]) -> bool:
    try:
        same = field.value(lhs) == field.value(rhs)
    except Unsupported:
        return False
    # the radicands are others where they have roots in them: not all choices would be met
    return same and [*field.roots] == radicands
