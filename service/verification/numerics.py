"""Numeric refutation and agreement of two expressions over the reals.

Doubles look for points where they seem to differ (:mod:`screening`), many
digits decide there (:mod:`precision`). What counts is every real point at
which the left-hand side has a real value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import S

from service.verification.precision import PointComparison, UndefinedError, evaluator, settle
from service.verification.screening import (
    NotRealError,
    Sample,
    Values,
    complex_values,
    dense_sample,
    real_values,
    sample,
)

#: Relative difference of two doubles that is worth a closer look.
SUSPICION: Final = 1e-7

#: Points looked at more closely when they are suspicious.
CONFIRMATIONS: Final = 8

#: Points at which an agreement to 30 digits has to be seen.
POINTS: Final = 8

#: Most digits spent on the check that no small difference hides below 30 digits.
DEEP_DIGITS: Final = 4000

#: Digits of that check beyond the range of the values met.
DEEP_MARGIN: Final = 100

#: Branch points looked at, and the degree of the polynomials whose zeros are found.
MAX_GUARDS: Final = 16
MAX_GUARD_DEGREE: Final = 12

#: Where between two branch points to look: not in the middle, where symmetry puts exceptions.
OFF_CENTRE: Final = 0.4375731


@dataclass(frozen=True, slots=True)
class Witness:
    """A point where two sides differ: exact coordinates, values to 20 digits, None if undefined."""

    point: tuple[tuple[str, str], ...]
    left: str
    right: str | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Number of points that agree to 30 digits, or the witness against it."""

    points: int
    witness: Witness | None = None


class Pair:
    """Two expressions and a sample of real points for them."""

    def __init__(self, lhs: sympy.Expr, rhs: sympy.Expr) -> None:
        self.lhs = lhs
        self.rhs = rhs
        free = lhs.free_symbols | rhs.free_symbols
        self.symbols: list[sympy.Symbol] = sorted(free, key=lambda symbol: str(symbol.name))
        self._names = tuple(symbol.name for symbol in self.symbols)
        self.sample = self._within(sample(self._names))
        self._dense = False
        self._memo: dict[sympy.Basic, Values] = {}

    def _within(self, points: Sample) -> Sample:
        positive = [k for k, symbol in enumerate(self.symbols) if symbol.is_positive]
        return points.positive(positive) if positive else points

    def at(self, index: int) -> dict[sympy.Symbol, sympy.Rational]:
        """The point as a substitution."""
        return dict(zip(self.symbols, self.sample.point(index), strict=True))

    @property
    def left(self) -> Values | None:
        """Values of the left-hand side, shape (points,); None if it has no real rule.

        Where few points lie in its domain, a denser sample is taken instead.
        """
        try:
            values = self._values(self.lhs)
            scarce = np.count_nonzero(np.isfinite(values)) < POINTS
            if self.symbols and scarce and not self._dense:
                self._resample(dense_sample(self._names).joined(self.sample.coordinates))
                self._dense = True
                values = self._values(self.lhs)
        except NotRealError:
            return None
        return values

    def _resample(self, points: Sample) -> None:
        self.sample = self._within(points)
        self._memo.clear()

    def refine(self) -> None:
        """Add points on every side of the zeros of the branch points.

        A difference that is confined to ``x > 5000`` must not be missed.
        """
        found: list[list[float]] = []
        opaque = False
        branch_points = guards(self.lhs, self.rhs)[:MAX_GUARDS]
        for column, symbol in enumerate(self.symbols):
            pieces: list[sympy.Expr] = []
            for guard in branch_points:
                if guard.has(symbol):
                    polynomials = [p for p in _without_abs(guard) if p.is_polynomial(symbol)]
                    pieces += polynomials
                    opaque = opaque or not polynomials
            for row in self.sample.coordinates[:3]:
                for value in self._around_zeros(pieces, symbol, row):
                    point = [float(c) for c in row]
                    point[column] = value
                    found.append(point)
        points = self.sample
        if opaque and len(self.symbols) == 1:
            points = dense_sample(self._names)
            self._dense = True
        if found or points is not self.sample:
            self._resample(points.joined(found) if found else points)

    def _around_zeros(
        self, pieces: Sequence[sympy.Expr], symbol: sympy.Symbol, row: NDArray[np.float64]
    ) -> list[float]:
        """Values of the symbol between and beyond all zeros, the others as in ``row``."""
        others = {
            s: sympy.Rational(*float(c).as_integer_ratio())
            for s, c in zip(self.symbols, row, strict=True)
            if s != symbol
        }
        zeros: set[float] = set()
        for piece in pieces:
            polynomial = sympy.Poly(piece.subs(others), symbol)
            if 0 < polynomial.degree() <= MAX_GUARD_DEGREE:
                zeros.update(_real_zeros(polynomial))
        if not zeros:
            return []
        ordered = sorted(zeros)
        beyond = [ordered[0] - OFF_CENTRE * (abs(ordered[0]) + 1)]
        beyond.append(ordered[-1] + OFF_CENTRE * (abs(ordered[-1]) + 1))
        between = [a + OFF_CENTRE * (b - a) for a, b in pairwise(ordered)]
        return beyond + between

    def _values(self, expr: sympy.Basic) -> Values:
        return real_values(expr, self.sample.columns(self.symbols), self._memo)

    def compare(self, index: int) -> PointComparison | None:
        """The two sides at a point, in many digits; None outside the domain of ``lhs``."""
        try:
            return settle(self.lhs, self.rhs, self.at(index))
        except UndefinedError:
            return None

    def witness(self, index: int, comparison: PointComparison) -> Witness:
        """The point and both values, for people."""
        point = tuple((s.name, str(v)) for s, v in self.at(index).items())
        right = None if comparison.right is None else mpmath.nstr(comparison.right, 20)
        return Witness(point, mpmath.nstr(comparison.left, 20), right)

    # refutation

    def counterexample(self) -> Witness | None:
        """A real point where ``lhs`` is real and ``rhs`` is something else, if one is found."""
        if not self.symbols or self.left is None:
            return self._slow_counterexample()
        left = self.left
        try:
            right = self._values(self.rhs)
        except NotRealError:
            right = np.full_like(left, np.nan)
        inside = np.isfinite(left)
        with np.errstate(all="ignore"):
            gap = np.abs(left - right) / np.maximum(np.abs(left), np.abs(right))
        # 0 against 0 is no gap; a missing right-hand side is the widest
        gap = np.where(left == right, 0.0, np.where(np.isfinite(right), gap, np.inf))
        suspects = np.flatnonzero(inside & (gap > SUSPICION))
        for index in _widest(suspects, gap):
            found = self._judge(int(index))
            if found is not None:
                return found
        return None

    def _judge(self, index: int) -> Witness | None:
        comparison = self.compare(index)
        if comparison is None or comparison.agree is not False:
            return None
        if not self._counts(comparison):
            return None
        if comparison.right is None and not self._undefined_beside(index):
            return None
        return self.witness(index, comparison)

    def _undefined_beside(self, index: int) -> bool:
        """Whether ``rhs`` has no value close to the point either, so that it is no isolated gap."""
        shift = sympy.Rational(998, 997)
        beside = {symbol: value * shift for symbol, value in self.at(index).items()}
        try:
            comparison = settle(self.lhs, self.rhs, beside)
        except UndefinedError:
            return False
        return comparison.agree is False

    def _counts(self, comparison: PointComparison) -> bool:
        """Whether the point is in the real domain of ``lhs``, or that is complex by its nature."""
        return not _complex(comparison.left) or self.lhs.has(S.ImaginaryUnit) or not self.symbols

    def _slow_counterexample(self) -> Witness | None:
        for index in range(min(6, len(self.sample)) if self.symbols else 1):
            found = self._judge(index)
            if found is not None:
                return found
        return None

    def hidden_counterexample(self) -> Witness | None:
        """As :meth:`counterexample`, where ``lhs`` is real although parts of it are not."""
        if self.left is None or not self.symbols:
            return None
        outside = ~np.isfinite(self.left)
        if not outside.any():
            return None
        at = self.sample.columns(self.symbols)
        left, right = (complex_values(side, at) for side in (self.lhs, self.rhs))
        with np.errstate(all="ignore"):
            gap = np.abs(left - right) / np.maximum(np.abs(left), np.abs(right))
        real = outside & np.isfinite(left) & (left.imag == 0)
        suspects = np.flatnonzero(real & ~(gap <= SUSPICION) & (left != right))
        gap = np.where(np.isfinite(gap), gap, np.inf)
        for index in _widest(suspects, gap):
            found = self._judge(index)
            if found is not None:
                return found
        return None

    # agreement

    def agreement(self, wanted: int = POINTS) -> Agreement:
        """How many points agree to 30 digits, every sign pattern of the branch points included."""
        agreed = 0
        deep = 2
        for index in self.representatives(wanted) if self.symbols else [0]:
            comparison = self.compare(index)
            if comparison is None or not self._counts(comparison):
                continue
            if comparison.agree is False:
                witness = self._judge(index)
                if witness is not None:
                    return Agreement(agreed, witness)
            if not comparison.agree:
                continue
            if deep:
                closer = self._compare_deeply(index)
                if closer is None or closer.agree is None:
                    continue
                if not closer.agree:
                    return Agreement(agreed, self.witness(index, closer))
                deep -= 1
            agreed += 1
        # without it, exp(-1000) + x would pass for x
        return Agreement(0 if deep == 2 else agreed)

    def _compare_deeply(self, index: int) -> PointComparison | None:
        """The two sides with so many digits that no part of them is lost; None out of reach."""
        at = self.at(index)
        needed = max(evaluator(40).range(side, at) for side in (self.lhs, self.rhs)) + DEEP_MARGIN
        needed = 100 * -(-needed // 100)
        if 2 * needed > DEEP_DIGITS:
            return None
        return settle(self.lhs, self.rhs, at, digits=(needed, 2 * needed), agreement=needed - 50)

    def representatives(self, wanted: int, *, everywhere: bool = False) -> list[int]:
        """Indices of at least ``wanted`` points with every sign pattern of the branch points.

        Outside the real domain of ``lhs`` only if ``everywhere``, or if that is empty.
        """
        count = len(self.sample)
        if self.left is None:
            return list(range(min(2 * wanted, count)))
        candidates = np.flatnonzero(np.isfinite(self.left))
        if everywhere or len(candidates) == 0:
            candidates = np.arange(len(self.sample))
        _, first, groups = np.unique(
            self._patterns()[candidates], axis=0, return_index=True, return_inverse=True
        )
        chosen = [int(i) for i in candidates[first]][: 3 * wanted]
        groups = groups.reshape(-1)
        for group in range(len(first)):
            chosen += [int(i) for i in candidates[groups == group][1:3]]
        chosen += [int(i) for i in candidates[:: max(1, len(candidates) // wanted)]]
        return list(dict.fromkeys(chosen))[: max(wanted, min(3 * wanted, 3 * len(first)))]

    def _patterns(self) -> NDArray[np.int8]:
        """Signs of everything at which a branch changes, shape (points, guards)."""
        # the first few symbols too: a sign change may hide in a function without a branch point
        signs = np.sign(self.sample.coordinates[:, :3]).astype(np.int8)
        rows = [np.zeros(len(self.sample), dtype=np.int8), *signs.T]
        for guard in guards(self.lhs, self.rhs):
            try:
                values = self._values(guard)
            except NotRealError:
                continue
            rows.append(np.where(np.isfinite(values), np.sign(values), 2).astype(np.int8))
        return np.stack(rows, axis=1)


def guards(*exprs: sympy.Basic) -> list[sympy.Expr]:
    """Subexpressions at whose zeros a function used here changes branch or is not smooth."""
    found: dict[sympy.Expr, None] = {}
    for expr in exprs:
        for node in sympy.preorder_traversal(expr):
            for guard in _guards_of(node):
                if guard.free_symbols:
                    found[guard] = None
    return list(found)


def _guards_of(node: sympy.Basic) -> Iterator[sympy.Expr]:
    if node.is_Pow and not node.exp.is_Integer:
        yield node.base
    elif isinstance(node, sympy.log | sympy.Abs | sympy.sign | sympy.Heaviside):
        yield node.args[0]
    elif isinstance(node, sympy.asin | sympy.acos | sympy.atanh | sympy.acosh):
        yield node.args[0] - 1
        yield node.args[0] + 1
    elif isinstance(node, sympy.asec | sympy.acsc | sympy.acoth | sympy.asech | sympy.acot):
        yield node.args[0]
        yield node.args[0] - 1
        yield node.args[0] + 1
    elif isinstance(node, sympy.Max | sympy.Min):
        first = node.args[0]
        yield from (first - other for other in node.args[1:])
    elif isinstance(node, sympy.atan2):
        yield from node.args
    elif node.is_Relational:
        yield node.args[0] - node.args[1]


def _complex(number: Any) -> bool:
    return bool(number.imag != 0)


def _widest(suspects: NDArray[np.intp], gap: Values) -> Sequence[int]:
    """Half of them the widest gaps, half spread over the sample."""
    if len(suspects) <= CONFIRMATIONS:
        return [int(i) for i in suspects]
    half = CONFIRMATIONS // 2
    order = suspects[np.argsort(-gap[suspects], kind="stable")]
    spread = suspects[:: len(suspects) // half]
    return list(dict.fromkeys(int(i) for i in (*order[:half], *spread[:half])))


def _without_abs(guard: sympy.Expr) -> list[sympy.Expr]:
    """The guard with each ``Abs(u)`` as u and as -u."""
    variants = [guard]
    for node in list(guard.atoms(sympy.Abs))[:3]:
        inner = node.args[0]
        variants = [v.xreplace({node: sign * inner}) for v in variants for sign in (1, -1)]
    return variants


def _real_zeros(polynomial: sympy.Poly) -> list[float]:
    try:
        roots = np.roots([complex(c).real for c in polynomial.all_coeffs()])
    except (TypeError, OverflowError, ValueError, np.linalg.LinAlgError):
        return []
    return [float(r.real) for r in roots if abs(r.imag) <= 1e-6 * (1 + abs(r.real))]
