"""Trees out of products, in the order in which people write factors and terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, Protocol

from service.verification.products import (
    HALF,
    Base,
    Product,
    Rational,
    is_below,
    quotient,
    size_of,
    spread_of,
)
from tokenizer.tree import Tree, call, constant, integer, rational, symbol


class Algebra(Protocol):
    """What makes new products while one is written."""

    def gathered(self, terms: Sequence[Product]) -> Product:
        """The shortest form of a sum."""

    def exponential(self, of: Product) -> Product:
        """exp of a product."""

    def call(self, head: str, of: Product) -> Product:
        """A function of a product."""


class Writer:
    """Trees out of the products of one algebra; what occurs twice is one Tree."""

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra
        self._written: dict[Base, Tree] = {}

    def product(self, product: Product) -> Tree:
        """The Tree of a product."""
        spread = spread_of(product)
        sums: dict[Base, Tree] = {}
        if spread is not None:
            _, base, part = spread
            sums[base] = self._sum([term.times(part) for term in base.parts])
            product = product.times(quotient(1, part))
        size = self._size(product, sums)
        return call("neg", size) if product.coefficient < 0 else size

    def _size(self, product: Product, sums: Mapping[Base, Tree]) -> Tree:
        """The Tree of the product without its sign, with these Trees for sums of it."""
        above: list[Tree] = []
        below: list[Tree] = []
        for base, exponent in sorted(self._joined(product).items(), key=_factor_order):
            if base in sums:
                above.append(sums[base])
            elif is_below(base, exponent):
                below.append(self._raised(base, -exponent))
            else:
                above.append(self._raised(base, exponent))
        coefficient = size_of(product.coefficient)
        if coefficient.numerator != 1 or not above:
            above.insert(0, integer(coefficient.numerator))
        if coefficient.denominator != 1:
            below.insert(0, integer(coefficient.denominator))
        tree = _chain(above)
        return call("div", tree, _chain(below)) if below else tree

    def _joined(self, product: Product) -> Mapping[Base, Rational]:
        """The powers with exponentials multiplied, and sin/cos as tan."""
        powers = product.powers
        exponentials = [base for base in powers if base.kind == "exp"]
        if len(exponentials) > 1:
            powers = dict(powers)
            argument = self._algebra.gathered(
                [base.parts[0].times(powers.pop(base)) for base in exponentials]
            )
            powers |= self._algebra.exponential(argument).powers
        for sine in [base for base in powers if base.head in ("sin", "sinh")]:
            cosine = self._algebra.call(sine.head.replace("sin", "cos"), sine.parts[0]).alone
            if cosine is not None and powers.get(cosine) == -powers[sine]:
                powers = dict(powers)
                tangent = self._algebra.call(sine.head.replace("sin", "tan"), sine.parts[0]).alone
                assert tangent is not None
                exponent = powers.get(tangent, 0) + powers.pop(sine)
                del powers[cosine]
                powers.pop(tangent, None)
                if exponent:
                    powers[tangent] = exponent
        return powers

    def _raised(self, base: Base, exponent: Rational) -> Tree:
        if base.kind == "exp":
            return call("exp", self.product(base.parts[0].times(exponent)))
        tree = self._base(base)
        if exponent == 1:
            return tree
        if exponent == HALF:
            return call("sqrt", tree)
        return call("pow", tree, rational(exponent.numerator, exponent.denominator))

    def _base(self, base: Base) -> Tree:
        found = self._written.get(base)
        if found is None:
            found = self._written[base] = self._compute(base)
        return found

    def _compute(self, base: Base) -> Tree:
        match base.kind:
            case "leaf":
                return constant("pi") if base.head == "pi" else symbol(base.head)
            case "number":
                return integer(base.number)
            case "sum":
                return self._sum(base.parts)
            case "product":
                return self.product(base.parts[0])
        return call(base.head, self.product(base.parts[0]))

    def _sum(self, terms: Sequence[Product]) -> Tree:
        ordered = sorted(terms, key=_term_order)
        first = next((i for i, term in enumerate(ordered) if term.coefficient > 0), 0)
        ordered.insert(0, ordered.pop(first))
        total = self.product(ordered[0])
        for term in ordered[1:]:
            if term.coefficient < 0:
                total = call("sub", total, self.product(term.times(-1)))
            else:
                total = call("add", total, self.product(term))
        return total


def _chain(factors: Sequence[Tree]) -> Tree:
    return reduce(lambda a, b: call("mul", a, b), factors)


_RANKS: Final = {"number": 0, "leaf": 2, "sum": 3, "product": 3, "exp": 4, "call": 5}


def _factor_order(power: tuple[Base, Rational]) -> tuple[int, str, int]:
    base, _ = power
    is_pi = base.kind == "leaf" and base.head == "pi"
    return 1 if is_pi else _RANKS[base.kind], base.head, base.place


def _term_order(term: Product) -> tuple[float, bool, int, list[tuple[int, str, int]]]:
    """Higher powers of symbols first, numbers last."""
    degree = sum(e for base, e in term.powers.items() if base.kind == "leaf" and base.head != "pi")
    factors = sorted(_factor_order(power) for power in term.powers.items())
    return -float(degree), not term.powers, len(factors), factors
