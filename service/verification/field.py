"""Prime fields for testing identities: large random primes with the roots of unity we need."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from typing import Final

from sympy import isprime

#: Size of a prime. A test at one random point errs with probability about degree / 2**BITS.
BITS: Final = 120

#: With p = 1 modulo this, I and the square roots of 2, 3, 5 and 7 exist in the field.
STEP: Final = 840

_DRAW: Final = random.SystemRandom()


class NonResidueError(ArithmeticError):
    """The number has no root in the field; another point may have."""


class Field:
    """Integers modulo a prime p with all ``order``-th roots of unity, ``order`` even."""

    def __init__(self, order: int) -> None:
        self.order = order
        step = math.lcm(STEP, order)
        p = 1
        while not isprime(p):
            p = step * _DRAW.randrange(2**BITS // step, 2 ** (BITS + 1) // step) + 1
        self.p = p
        # p - 1 = small * coprime, where small holds all factors that order has
        small, coprime = 1, p - 1
        while (common := math.gcd(coprime, order)) > 1:
            small, coprime = small * common, coprime // common
        self._small = small
        self._to_coprime = small * pow(small, -1, coprime)  # 1 mod coprime, 0 mod small
        self._root = self._to_coprime * pow(order, -1, coprime) % (p - 1)
        self._powers: dict[int, int] = {}
        generator = self._generator(small)
        power = 1
        for exponent in range(small):
            self._powers[power] = exponent
            power = power * generator % p
        self._generator_small = generator
        #: A primitive ``order``-th root of unity.
        self.unity = pow(generator, small // order, p)
        #: A square root of -1.
        self.i = self._imaginary_unit()

    def _generator(self, order: int) -> int:
        """An element of exactly this order."""
        factors = [q for q in range(2, order + 1) if order % q == 0 and isprime(q)]
        while True:
            g = pow(_DRAW.randrange(2, self.p), (self.p - 1) // order, self.p)
            if all(pow(g, order // q, self.p) != 1 for q in factors):
                return g

    def _imaginary_unit(self) -> int:
        while True:
            i = pow(_DRAW.randrange(2, self.p), (self.p - 1) // 4, self.p)
            if i * i % self.p == self.p - 1:
                return i

    def root(self, b: int) -> int:
        """Some ``order``-th root of b. Raises :class:`NonResidueError`."""
        p = self.p
        if b == 0:
            return 0
        rest = pow(b, (1 - self._to_coprime) % (p - 1), p)
        exponent = self._powers[rest]
        if exponent % self.order:
            raise NonResidueError
        return pow(b, self._root, p) * pow(self._generator_small, exponent // self.order, p) % p

    def rational(self, residue: int, bound: int) -> tuple[int, int] | None:
        """The fraction n/d with |n|, d <= bound that the residue stands for, if there is one."""
        a, b, u, v = self.p, residue, 0, 1
        while b > bound:
            quotient = a // b
            a, b, u, v = b, a - quotient * b, v, u - quotient * v
        if v == 0 or abs(v) > bound:
            return None
        return (b, v) if v > 0 else (-b, -v)


@lru_cache(maxsize=64)
def field(order: int, index: int) -> Field:
    """The ``index``-th field of this process with ``order``-th roots of unity."""
    del index
    return Field(order)


def draw(p: int) -> int:
    """A random non-zero residue."""
    return _DRAW.randrange(1, p)
