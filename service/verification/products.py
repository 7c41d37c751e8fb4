"""Products of powers of bases, and how long they are when written.

What :mod:`service.verification.arranging` computes with: a sum is a base whose parts are its
terms, and every base knows how many nodes its Tree has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

#: A rational number; equal ones are equal and have one hash, whichever type they are.
Rational = int | Fraction

HALF: Final = Fraction(1, 2)


class Base:
    """What is raised to powers: a symbol, a number, a function, a sum or a product.

    ``kind`` is "leaf", "number" (under a root only), "call", "exp" (``exp(u)^c`` is
    exp(c u)), "sum" or "product" (under a root only). ``parts`` are its arguments or terms.
    Equal bases are one object.
    """

    __slots__ = ("head", "kind", "number", "parts", "place", "weight")

    def __init__(
        self, kind: str, head: str, parts: tuple[Product, ...], number: int, place: int
    ) -> None:
        self.kind, self.head, self.parts, self.number = kind, head, parts, number
        #: About when it was first met; orders what nothing else does.
        self.place = place
        #: Nodes of its Tree.
        self.weight = 1
        if kind == "call":
            self.weight = 1 + sum(part.weight for part in parts)
        elif kind == "product":
            self.weight = parts[0].weight
        elif kind == "sum":
            self.weight = sum_weight(parts)


class Product:
    """``coefficient`` times powers of bases; ``powers``: base -> exponent, none of them 0.

    Nothing may change once its key or its weight has been asked for.
    """

    __slots__ = ("_key", "_shape", "_weight", "coefficient", "powers")

    def __init__(self, coefficient: Rational, powers: dict[Base, Rational]) -> None:
        self.coefficient = coefficient
        self.powers = powers
        self._key: frozenset[tuple[Base, Rational]] | None = None
        self._shape: Shape | None = None
        self._weight = 0

    @property
    def key(self) -> frozenset[tuple[Base, Rational]]:
        """What it is but for the coefficient."""
        if self._key is None:
            self._key = frozenset(self.powers.items())
        return self._key

    @property
    def shape(self) -> Shape:
        """What the powers add to the weight."""
        if self._shape is None:
            self._shape = _shape(self.powers)
        return self._shape

    @property
    def alone(self) -> Base | None:
        """The base, where there is one with exponent 1."""
        if len(self.powers) == 1:
            ((base, exponent),) = self.powers.items()
            if exponent == 1:
                return base
        return None

    @property
    def weight(self) -> int:
        """Nodes of its Tree."""
        if not self._weight:
            spread = spread_of(self)
            self._weight = (
                _whole_weight(self.coefficient, self.shape) if spread is None else spread[0]
            )
        return self._weight

    def times(self, coefficient: Rational) -> Product:
        """The product with another coefficient times as large."""
        if coefficient == 1:
            return self
        return self.with_coefficient(plain(self.coefficient * coefficient))

    def with_coefficient(self, coefficient: Rational) -> Product:
        """The product with this coefficient instead."""
        product = Product(coefficient, self.powers)
        product._key, product._shape = self._key, self._shape
        return product


class Shape(NamedTuple):
    """What is written of powers: nodes of the factors, factors above and below, plain sums."""

    size: int
    above: int
    below: int
    sums: tuple[Base, ...]


ZERO: Final = Product(0, {})
ONE: Final = Product(1, {})


def size_of(number: Rational) -> Rational:
    """The absolute value."""
    return -number if number < 0 else number


def plain(number: Rational) -> Rational:
    """The same number, an ``int`` where it is whole."""
    return number.numerator if number.denominator == 1 else number


def quotient(a: Rational, b: Rational) -> Rational:
    """a/b."""
    if isinstance(a, int) and isinstance(b, int):
        whole, rest = divmod(a, b)
        return Fraction(a, b) if rest else whole
    return plain(Fraction(a) / b)


def is_below(base: Base, exponent: Rational) -> bool:
    """Whether the power is written in the denominator."""
    return exponent < 0 and base.kind != "exp"


def _power_weight(base: Base, exponent: Rational) -> int:
    if base.kind == "exp":
        return 1 + base.parts[0].times(exponent).weight
    exponent = size_of(exponent)
    if exponent == 1:
        return base.weight
    if exponent == HALF:
        return base.weight + 1
    return base.weight + (2 if exponent.denominator == 1 else 4)


def _shape(powers: Mapping[Base, Rational]) -> Shape:
    size = below = 0
    for base, exponent in powers.items():
        size += _power_weight(base, exponent)
        below += is_below(base, exponent)
    sums = tuple(base for base, exponent in powers.items() if base.kind == "sum" and exponent == 1)
    return Shape(size, len(powers) - below, below, sums)


def _whole_weight(coefficient: Rational, shape: Shape) -> int:
    """Nodes of the Tree of the product as it stands."""
    size, above, below, _ = shape
    if coefficient.numerator not in (1, -1):
        above, size = above + 1, size + 1
    if coefficient.denominator != 1:
        below, size = below + 1, size + 1
    return size + max(above, 1) - 1 + below + (0 if above else 1) + (coefficient < 0)


def spread_of(product: Product) -> tuple[int, Base, Rational] | None:
    """The sum that it is shorter to multiply by (a part of) the coefficient, and by what.

    The first item is the weight of the product then; None where nothing is shorter.
    """
    coefficient, shape = product.coefficient, product.shape
    if coefficient == 1 or not shape.sums:
        return None
    parts: set[Rational] = {coefficient}
    if isinstance(coefficient, Fraction):
        parts |= {coefficient.numerator, Fraction(1, coefficient.denominator)}
        parts.discard(1)
    best: tuple[int, Base, Rational] | None = None
    whole = _whole_weight(coefficient, shape)
    for base in shape.sums:
        for part in parts:
            left = _whole_weight(quotient(coefficient, part), shape) - base.weight
            size = left + sum_weight([term.times(part) for term in base.parts])
            # a sum alone looks better without a factor
            if size < (whole + (len(product.powers) == 1) if best is None else best[0]):
                best = size, base, part
    return best


def sum_weight(terms: Sequence[Product]) -> int:
    """Nodes of the Tree of the sum of ``terms``."""
    negative = sum(term.coefficient < 0 for term in terms)
    signs = negative - (negative == len(terms))
    return sum(term.weight for term in terms) + len(terms) - 1 - signs
