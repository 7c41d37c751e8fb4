"""Proofs that two expressions are the same element of a field, and of derivatives by the rules."""

from __future__ import annotations

from service.verification import square_roots
from service.verification.chain import ZERO, DifferentialField, Unsupported, slope
from tokenizer.tree import Tree


class Derivation:
    """The derivative of ``expression`` by the rules alone, to hold hypotheses against."""

    def __init__(self, expression: Tree, variable: str) -> None:
        self._field = DifferentialField()
        #: Whether there are rules for all of the expression.
        self.known = True
        #: The derivative as the rules write it.
        self.slope: Tree = ZERO
        try:
            self.slope = slope(expression, variable, {}) or ZERO
        except (Unsupported, RecursionError):
            self.known = False

    def proves(self, hypothesis: Tree) -> bool:
        """Whether ``hypothesis`` is the derivative; False when that is unknown.

        Needs its arguments of ``Abs`` and ``sign`` to be real, which it does not check.
        """
        return self.known and self.equal(self.slope, hypothesis)

    def equal(self, lhs: Tree, rhs: Tree) -> bool:
        """Whether both are the same element; False when that is unknown."""
        return _same(self._field, lhs, rhs)


def follows(expression: Tree, variable: str, hypothesis: Tree) -> bool:
    """Whether ``hypothesis`` is the derivative by the rules alone; see :class:`Derivation`."""
    return Derivation(expression, variable).proves(hypothesis)


def identical(lhs: Tree, rhs: Tree) -> bool:
    """Whether both are the same element of a field; False when that is unknown."""
    return _same(DifferentialField(), lhs, rhs)


def _same(field: DifferentialField, lhs: Tree, rhs: Tree) -> bool:
    try:
        same = field.value(lhs) == field.value(rhs)
    except (Unsupported, RecursionError):
        return False
    return same or (field.rooted and square_roots.identical(lhs, rhs))
