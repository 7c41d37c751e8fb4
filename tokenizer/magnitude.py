"""What the literal numbers of a Tree would come to, found without computing it.

``9**9**9`` is a few characters and 369 million digits. Sizes are estimated from
logarithms, and values computed only where the estimate says they are small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from tokenizer.errors import ParseError
from tokenizer.limits import Limits
from tokenizer.tree import Tree

#: Functions that SymPy evaluates at whole numbers by products or sums as long as these.
_FACTORIAL_LIKE = frozenset("factorial gamma loggamma digamma binomial beta polylog".split())

#: Nothing else can be a number that grows or zero: not a symbol, nor a function of anything.
_COUNTED = _FACTORIAL_LIKE | frozenset("integer neg sqrt add sub mul div pow Mod".split())


def check(tree: Tree, limits: Limits, positions: Mapping[int, int]) -> None:
    """Refuse numbers that grow too large, and divisions by what is plainly zero.

    ``positions`` maps ``id(node)`` to its place in the source. Raises
    :class:`ParseError`.
    """
    _Check(limits, positions).run(tree)


class _Check:
    """One walk, children before parents.

    Digits and values are kept by ``id(node)`` where they are not 0 and None.
    """

    def __init__(self, limits: Limits, positions: Mapping[int, int]) -> None:
        self.limits = limits
        self.positions = positions
        self.digits: dict[int, float] = {}
        self.values: dict[int, Fraction] = {}
        self.seen: set[int] = set()

    def run(self, tree: Tree) -> None:
        for node in reversed(list(tree.preorder())):
            if node.head not in _COUNTED:
                continue
            key = id(node)
            if key in self.seen:
                continue
            self.seen.add(key)
            digits = self._digits(node)
            if digits > self.limits.power_digits:
                raise ParseError(
                    f"a number here would have more than {self.limits.power_digits} digits",
                    position=self.positions.get(key),
                    hint="use a symbol in its place",
                    code="number-too-large",
                )
            if digits:
                self.digits[key] = digits
            value = self._value(node)
            if value is not None:
                self.values[key] = value

    def value(self, node: Tree) -> Fraction | None:
        """The exact value, where the node is made of literal numbers only."""
        return self.values.get(id(node))

    def digits_of(self, node: Tree) -> float:
        return self.digits.get(id(node), 0.0)

    def _digits(self, node: Tree) -> float:
        """An upper estimate of the decimal digits that SymPy would write out."""
        head, args = node.head, node.args
        if head == "integer":
            return math.log10(int(node.value or 0) or 1)
        if head in ("neg", "sqrt"):
            return self.digits_of(args[0])
        if head in ("mul", "div"):
            return self.digits_of(args[0]) + self.digits_of(args[1])
        if head in ("add", "sub"):
            first, second = args
            if self.value(first) is None or self.value(second) is None:
                return 0.0
            return self.digits_of(first) + self.digits_of(second) + 0.31
        if head == "pow":
            return self._power_digits(node)
        if head in _FACTORIAL_LIKE:
            largest = max(abs(self.value(arg) or Fraction(0)) for arg in args)
            if largest > 10**9:
                return math.inf
            return math.lgamma(float(largest) + 1) / math.log(10)
        return 0.0

    def _power_digits(self, node: Tree) -> float:
        base, exponent = node.args
        value = self.value(exponent)
        digits = self.digits_of(base)
        if value is None or digits == 0:
            return 0.0
        if abs(value) > self.limits.exponent:
            raise ParseError(
                f"the exponent is larger than {self.limits.exponent}",
                position=self.positions.get(id(node)),
                hint="use a symbol in its place",
                code="number-too-large",
            )
        return float(abs(value)) * digits

    def _value(self, node: Tree) -> Fraction | None:
        head, args = node.head, node.args
        if head == "integer":
            return Fraction(int(node.value or 0))
        values = [self.value(arg) for arg in args]
        if head in ("div", "Mod") and (values[1] == 0):
            raise self._zero_division(node)
        if head == "pow" and values[0] == 0 and values[1] is not None and values[1] < 0:
            raise self._zero_division(node)
        zero = self._zero(node, values)
        if zero:
            return Fraction(0)
        if not args or any(value is None for value in values):
            return None
        first = values[0]
        assert first is not None
        if head == "neg":
            return -first
        if len(args) != 2:
            return None
        second = values[1]
        assert second is not None
        if head == "add":
            return first + second
        if head == "sub":
            return first - second
        if head == "mul":
            return first * second
        if head == "div":
            return first / second
        if head == "pow" and second.denominator == 1 and (first or second >= 0):
            return first ** int(second)
        return None

    def _zero(self, node: Tree, values: list[Fraction | None]) -> bool:
        """Whether the node is zero whatever its symbols are."""
        head, args = node.head, node.args
        if head == "sub":
            return args[0] == args[1]
        if head == "add":
            first, second = args
            return (first.head == "neg" and first.args[0] == second) or (
                second.head == "neg" and second.args[0] == first
            )
        if head == "mul":
            return 0 in values
        if head in ("div", "neg", "sqrt"):
            return values[0] == 0
        return head == "pow" and values[0] == 0 and values[1] is not None and values[1] > 0

    def _zero_division(self, node: Tree) -> ParseError:
        return ParseError(
            "division by zero",
            position=self.positions.get(id(node)),
            hint="the denominator is zero whatever the symbols stand for",
            code="division-by-zero",
        )
