"""Numeric differentiation of Trees in doubles: a screen that clears most derivatives.

What it clears, it clears without SymPy: the slope is that of central differences wherever these
settle, at many points of the sample, and nothing that the expression divides by is zero. What
it does not clear may be right all the same, and is looked at in many digits
(:func:`service.verification.differentiation.slope_counterexample`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from service.verification.chain import ONE, TWO
from service.verification.compositions import CIRCULAR
from service.verification.convert import CONSTRUCTORS
from service.verification.differentiation import SMALL_STEP, STEP, SUSPICION
from service.verification.screening import RULES, sample
from tokenizer.heads import ELEMENTARY
from tokenizer.tree import Tree

#: Points at which the slope has to agree.
ENOUGH: Final = 32

#: Differences of two steps that are further apart (relative) say nothing about the slope.
SETTLED: Final = 1e-2

#: A slope that is further off than this many times the distance of the two steps is another one.
STEPS_APART: Final = 2.0

#: Radians between two evaluations beyond which a circular function is not followed.
TURN: Final = 1.0

#: Imaginary parts that are no larger (relative) are rounding. In larger numbers they drown.
NOISE: Final = 1e-12
DROWNING: Final = 1e6

#: Smaller values may have lost their digits, or be zero for being out of range.
LOST: Final = 1e-250

#: Multiples of the points of the sample that are tried in turn: some functions are real close to
#: zero only, some nowhere. Off the real axis principal values have the same derivatives.
SCALES: Final = (1.0, 2.0**-10, 1.0 + 0.5j)

#: A sum that is larger than this part of its terms, at some point, is not zero everywhere.
PLAINLY_NOT_ZERO: Final = 1e-6

#: A function that is larger than this in doubles at some point is not zero.
TINY: Final = 1e-3

_FUNCTIONS: Final = {
    head: RULES[CONSTRUCTORS[head]]
    for head in ELEMENTARY
    if head not in ("Abs", "sign") and CONSTRUCTORS[head] in RULES
}
_CONSTANTS: Final = {"pi": np.pi, "E": np.e}

Values = NDArray[np.inexact[Any]]


class Unknown(Exception):
    """A part that has no rule here."""


class Points:
    """Values of Trees at some points, each part computed once; ``at``: shape (points,) each.

    Real coordinates give real values, complex ones principal values, that of the upper side
    on a cut.
    """

    def __init__(self, at: Mapping[str, Values]) -> None:
        self._at = at
        self._complex = any(np.iscomplexobj(column) for column in at.values())
        self._known: dict[Tree, Values | np.float64] = {}

    def value(self, tree: Tree) -> Values | np.float64:
        """Values, NaN or infinite where some part is no number. Raises ``Unknown``."""
        found = self._known.get(tree)
        if found is None:
            found = self._compute(tree)
            if self._complex:
                found = found + 0.0  # of -0.0, which is below a cut
            self._known[tree] = found
        return found

    def _compute(self, tree: Tree) -> Values | np.float64:
        head, args = tree.head, tree.args
        match head:
            case "integer":
                try:
                    return np.float64(int(tree.value or 0))
                except OverflowError:
                    raise Unknown from None
            case "symbol":
                return self._at[str(tree.value)]
            case "constant" if tree.value in _CONSTANTS:
                return np.float64(_CONSTANTS[tree.value])
            case "pow":
                return _power(self.value(args[0]), self.value(args[1]))
            case "add":
                return self.value(args[0]) + self.value(args[1])
            case "sub":
                return self.value(args[0]) - self.value(args[1])
            case "mul":
                return self.value(args[0]) * self.value(args[1])
            case "div":
                return self.value(args[0]) / self.value(args[1])
            case "neg":
                return -self.value(args[0])
            case "sqrt":
                return np.sqrt(self.value(args[0]))
        rule = _FUNCTIONS.get(head)
        if rule is None:
            raise Unknown
        values: Values = rule(self.value(args[0]))
        return values


def _power(base: Values | np.float64, exponent: Values | np.float64) -> Values | np.float64:
    if isinstance(exponent, np.ndarray) or not (1 < abs(exponent) <= 32 and exponent % 1 == 0):
        return np.power(base, exponent)
    # a few multiplications take a fraction of the time of a power
    result: Values | np.float64 = np.float64(1.0)
    square, left = base, abs(int(exponent))
    while left:
        if left % 2:
            result = result * square
        square, left = square * square, left // 2
    return result if exponent > 0 else 1.0 / result


@dataclass(frozen=True, slots=True)
class Screening:
    """What doubles say about a slope; False where they leave a doubt.

    ``agrees``: it is that of the expression, which has values. ``not_zero``: it is not zero.
    """

    agrees: bool
    not_zero: bool


_DOUBT: Final = Screening(agrees=False, not_zero=False)


def screened(expression: Tree, slope: Tree, variable: str) -> Screening:
    """Whether doubles leave no doubt that ``slope`` is that of ``expression``, and not zero.

    Independent of every differentiation rule: central differences of order four at the points
    of the sample. Points where two steps do not settle on a value are passed over. Where
    the expression is real at few of them, or flat, points close to zero are looked at as well,
    and then points off the real axis, if the slope is right where parts that are not real make
    a real value (and may lie on a cut).
    """
    names = tuple(sorted({*expression.symbols(), *slope.symbols()}))
    if variable not in names:
        return _DOUBT
    coordinates = sample(names).coordinates
    turning = [node.args[0] for node in expression.preorder() if node.head in CIRCULAR]
    good, telling, not_zero = 0, 0, False
    try:
        with np.errstate(all="ignore"):
            for scale in SCALES:
                differences = _Differences(expression, variable, turning, scale)
                if isinstance(scale, complex):
                    if good >= ENOUGH:
                        break
                    if _differs_on_the_axis(differences, slope, names, coordinates):
                        return _DOUBT
                at = {name: scale * coordinates[:, k] for k, name in enumerate(names)}
                points = Points(at)
                claimed = np.broadcast_to(points.value(slope), (len(coordinates),))
                agreeing = _agreeing(differences, claimed, at)
                if agreeing is None or _may_divide_by_zero(expression, points):
                    return _DOUBT
                good, telling = good + agreeing[0], telling + agreeing[1]
                not_zero = not_zero or telling >= ENOUGH or bool(np.any(np.abs(claimed) > TINY))
                if good >= ENOUGH and not_zero:
                    break
    except (Unknown, RecursionError):
        return _DOUBT
    return Screening(good >= ENOUGH, not_zero)


def _agreeing(
    differences: _Differences, claimed: Values, at: Mapping[str, Values]
) -> tuple[int, int] | None:
    """At how many points the differences are the slope, and at how many of them plainly not zero.

    None where they are another.
    """
    numeric, noise, turned = differences(at, STEP)
    known = np.isfinite(numeric)
    size = np.maximum(np.abs(claimed), np.abs(numeric)) + noise
    good = known & ~turned & (np.abs(numeric - claimed) <= SUSPICION * size)
    telling = good & (noise <= SETTLED * np.abs(claimed)) & (np.abs(claimed) > LOST)
    doubtful = np.flatnonzero(known & ~good)
    if len(doubtful):
        there = {name: column[doubtful] for name, column in at.items()}
        finer, noise, turned = differences(there, SMALL_STEP)
        claimed, coarse = claimed[doubtful], numeric[doubtful]
        size = np.maximum(np.abs(finer), np.abs(coarse))
        settled = (np.abs(finer - coarse) <= SETTLED * size) & (noise <= SETTLED * size) & ~turned
        settled &= np.maximum(size, np.abs(claimed)) > LOST
        settled &= (noise > 0) | (np.abs(claimed) > TINY)  # values of zero have lost all digits
        gap = np.abs(finer - claimed)
        right = gap <= SUSPICION * np.abs(claimed)
        # what is as near as the steps are to each other may be the limit of the differences
        if np.any(settled & ~right & (gap > STEPS_APART * np.abs(finer - coarse))):
            return None
        good[doubtful[right & ~turned]] = True
    return int(np.count_nonzero(good)), int(np.count_nonzero(telling))


@dataclass(frozen=True, slots=True)
class _Differences:
    """Central differences of an expression; ``turning``: arguments of circular functions."""

    expression: Tree
    variable: str
    turning: Sequence[Tree]
    scale: complex

    def __call__(
        self, at: Mapping[str, Values], step: float
    ) -> tuple[Values, Values, NDArray[np.bool_]]:
        """The differences, their rounding noise, and where a function turns in between.

        Shape (points,) each. A sine that turns by more than :data:`TURN` between two
        evaluations may look like any other.
        """
        x = at[self.variable]
        h = step * np.maximum(np.abs(x), abs(self.scale))
        offsets = np.array([-2.0, -1.0, 1.0, 2.0])
        shape = len(offsets), len(x)
        points = Points({**at, self.variable: x + offsets[:, None] * h})
        values = np.broadcast_to(points.value(self.expression), shape)
        turned = np.zeros(len(x), dtype=bool)
        for argument in self.turning:
            angle = points.value(argument)
            if angle.shape == shape:  # it depends on the variable
                turned |= np.max(np.abs(np.diff(angle, axis=0)), axis=0) > TURN
        numeric = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)
        return numeric, 1e-12 * np.max(np.abs(values), axis=0) / h, turned


def _differs_on_the_axis(
    differences: _Differences, slope: Tree, names: Sequence[str], coordinates: Values
) -> bool:
    """Whether it is another slope where the expression is real, if not in all of its parts."""
    at = {name: coordinates[:, k].astype(np.complex128) for k, name in enumerate(names)}
    values = np.broadcast_to(Points(at).value(differences.expression), (len(coordinates),))
    size = np.abs(values)
    real = (size < DROWNING) & (np.abs(values.imag) <= NOISE * size)
    if not np.any(real):
        return False
    there = {name: column[real] for name, column in at.items()}
    claimed = np.broadcast_to(Points(there).value(slope), (int(np.count_nonzero(real)),))
    return _agreeing(differences, claimed, there) is None


def _may_divide_by_zero(expression: Tree, points: Points) -> bool:
    """False only where it is plain that no divisor, base or logarithm's argument is zero.

    Only sums are zero without being so at sight.
    """
    for node in expression.preorder():
        below = {"div": 1, "pow": 0, "log": 0}.get(node.head)
        for factor in () if below is None else _factors(node.args[below]):
            size = sum(np.abs(points.value(term)) for term in _terms(factor))
            value = np.abs(points.value(factor))
            if not np.any((value > PLAINLY_NOT_ZERO * size) & np.isfinite(size)):
                return True
    return False


def plainly_not_zero(tree: Tree) -> bool:
    """Whether it is plain that ``tree`` is not zero everywhere; False where doubles cannot tell.

    A product is zero where a factor is, and only sums are zero without being so at sight.
    """
    names = tree.symbols()
    coordinates = sample(names).coordinates
    at = {name: coordinates[:, k].astype(np.complex128) for k, name in enumerate(names)}
    points = Points(at)
    try:
        with np.errstate(all="ignore"):
            return all(np.any(np.abs(points.value(sum_)) > TINY) for sum_ in _factors(tree))
    except (Unknown, RecursionError):
        return False


def _factors(tree: Tree) -> Iterator[Tree]:
    """The sums that ``tree`` is a product of powers of, but for those that are never zero."""
    match tree.head:
        case "sub" if _is_square_of_sech(tree):
            return
        case "add" | "sub":
            yield tree
        case "mul" | "div":
            yield from _factors(tree.args[0])
            yield from _factors(tree.args[1])
        case "neg" | "pow" | "sqrt":
            yield from _factors(tree.args[0])


def _is_square_of_sech(tree: Tree) -> bool:
    """Whether it is 1 - tanh(u)^2, which rounds to zero for large u."""
    one, square = tree.args
    if one != ONE or square.head != "pow":
        return False
    base, exponent = square.args
    return exponent == TWO and base.head == "tanh"


def _terms(tree: Tree) -> Iterator[Tree]:
    if tree.head in ("add", "sub", "neg"):
        for arg in tree.args:
            yield from _terms(arg)
    else:
        yield tree
