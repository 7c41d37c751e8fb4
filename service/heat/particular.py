"""What boundary values, fluxes and sources add to the homogeneous problem.

u = lift + v + driven: ``lift`` meets the boundary conditions and solves u_t = α u_xx,
``driven`` is Duhamel's integral ∫₀ᵗ S(α(t - s)/L²) f(·, s) ds, and v = S(τ)(u₀ - lift₀)
is the homogeneous problem that the model solves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from models.heat.boundary import Array, Boundary
from models.heat.panels import IrregularFunctionError, PiecewisePolynomial, from_function
from models.heat.propagator import propagate
from service.heat.evaluate import NotEvaluableError, breakpoints, evaluate
from service.heat.initial import expression_panels, split_deltas
from service.heat.question import Conditions, FieldError, Question
from tokenizer.tree import Tree, call, integer

#: Duhamel's integral is refined until it moves less than this, relative to its size.
_SETTLED = 1e-12
_MOST_PIECES = 48
_LEVELS = (0.25, 0.125, 0.0625, 0.03125, 0.015625)
#: τ from which a source flows by modes: few are needed, once and for all.
_MODES_FROM = 3e-4
#: A product of sums in t and x is multiplied out to at most this many terms.
_MOST_PARTS = 16
#: Shares of the length at which a source that does not separate is looked at over time.
_PLACES = (0.04, 0.21, 0.5, 0.77, 0.93)


def lift(conditions: Conditions, length: float, tau: Array, x: Array) -> Array:
    """The lift at τ (M,) and x/L (Q,), shape (M, Q)."""
    constant, slope, bend = _lift_polynomial(conditions, length)
    # u_τ = u_xx makes the quadratic drift at twice its coefficient
    return constant + slope * x + bend * (x**2 + 2 * tau[:, None])


def lift_panels(conditions: Conditions, length: float) -> PiecewisePolynomial:
    """The lift at τ = 0 as one panel."""
    constant, slope, bend = _lift_polynomial(conditions, length)
    # with x = (1 + y)/2: x² = 1/3 + y/2 + P₂(y)/6
    coefficients = np.array([[constant + slope / 2 + bend / 3, slope / 2 + bend / 2, bend / 6]])
    return PiecewisePolynomial(np.array([0.0, 1.0]), coefficients)


def homogeneous(question: Question, initial: PiecewisePolynomial) -> PiecewisePolynomial:
    """v₀ = u₀ - lift at t = 0; all zero when the two differ by rounding only."""
    if question.conditions.homogeneous:
        return initial
    left = initial.combine(lift_panels(question.conditions, question.length), -1.0)
    return left if left.scale() > 1e-14 * initial.scale() else left.scaled(0.0)


def _lift_polynomial(conditions: Conditions, length: float) -> tuple[float, float, float]:
    """Coefficients of 1, x and x² in units of L."""
    a, b = conditions.left, conditions.right
    match conditions.kind:
        case Boundary.DIRICHLET:
            return a, b - a, 0.0
        case Boundary.NEUMANN:
            return 0.0, a * length, (b - a) * length / 2
        case Boundary.DIRICHLET_NEUMANN:
            return a, b * length, 0.0
        case Boundary.NEUMANN_DIRICHLET:
            return b - a * length, a * length, 0.0
        case _:
            return 0.0, 0.0, 0.0


def driven(question: Question) -> tuple[Array, float]:
    """Duhamel's integral at every time and point asked, (M, Q), and its quadrature error.

    Raises :class:`FieldError`.
    """
    out = np.zeros((len(question.times), len(question.x)))
    worst = 0.0
    if question.source is not None:
        source = _Source(question.source, question)
        for m, time in enumerate(question.times):
            if time > 0:
                try:
                    out[m], error = _duhamel(source, float(time))
                except NotEvaluableError as error_of_head:
                    raise FieldError("source_term", str(error_of_head)) from None
                worst = max(worst, error)
    return out, worst


class _Source:
    """S(ατ/L²) f(·, t) for a source f, with everything kept that does not change with t.

    A sum of products of a function of t and a function of x has the panels and modes
    of its parts in x made once; any other source has panels made anew at each t.
    """

    def __init__(self, tree: Tree, question: Question) -> None:
        self._tree = tree
        self._question = question
        self.x = question.place
        self.rate = question.alpha / question.length / question.length
        parts = separate(tree)
        self._parts = None
        if parts is not None:
            self._parts = [(g, _Steady(self._panels(h, None, 128), question)) for g, h in parts]

    def flow(self, elapsed: float, time: float) -> Array:
        """The source at ``time``, after it has flowed for ``elapsed``, (Q,)."""
        tau = self.rate * elapsed
        if self._parts is not None:
            total = np.zeros(len(self.x))
            for factor, steady in self._parts:
                size = float(evaluate(factor, {"t": time}))
                if not math.isfinite(size):
                    raise FieldError("source_term", f"has no finite value at t = {time:g}")
                total += size * steady.flow(tau)
            return total
        panels = self._panels(self._tree, time, 32)
        return _flow(panels, self._question.conditions.kind, tau, self.x)

    def breaks(self, time: float) -> list[float]:
        """Times in (0, ``time``) where all of the source may jump, bend or peak, increasing."""
        each = [breakpoints(tree, partial(_over_time, time, x)) for tree, x in self._functions()]
        if self._parts is not None:
            found = sorted({b for some in each for b in some})
        else:
            # what happens at other times in other places is smoothed by the flow
            found = [b for b in each[0] if all(_near(b, some) for some in each[1:])]
        return [b * time for b in found if 0 < b * time < time]

    def complete(self, nodes: Array, weights: Array, time: float) -> bool:
        """Whether a rule with these nodes in [0, ``time``] sees all of the source.

        Two estimates that miss the same short pulse agree with each other, so its integral
        over time is compared with another rule's, by panels. Where those cannot follow the
        source there is no such check. A source that moves is smoothed by the flow: a rule
        may be good for it and poor for its values at one place.
        """
        tolerance = 1e-8 if self._parts is not None else 0.1
        ends = [b / time for b in self.breaks(time)]
        for tree, x in self._functions():

            def function(y: Array, tree: Tree = tree, x: float = x) -> Array:
                return evaluate(tree, _over_time(time, x, y))

            try:
                expected = from_function(function, ends).mean()
            except IrregularFunctionError:
                continue
            values = function(nodes / time)
            found, size = float(weights @ values), float(weights @ np.abs(values))
            if abs(found - time * expected) > tolerance * max(size, abs(time * expected)):
                return False
        return True

    def _functions(self) -> list[tuple[Tree, float]]:
        """Trees to look at as functions of time, each at a place."""
        if self._parts is not None:
            return [(factor, 0.0) for factor, _ in self._parts if factor.contains("t")]
        regular, _ = split_deltas(self._tree, "source_term")
        return [(regular, share * self._question.length) for share in _PLACES]

    def _panels(self, tree: Tree, time: float | None, start: int) -> PiecewisePolynomial:
        return expression_panels(
            tree,
            "source_term",
            self._question.length,
            time=time,
            periodic=self._question.conditions.kind is Boundary.PERIODIC,
            start=start,
        )


def _over_time(time: float, x: float, y: Array) -> dict[str, Array | float]:
    """Values of the symbols at one place and at shares y of a time."""
    return {"t": y * time, "x": x}


def _near(b: float, some: list[float]) -> bool:
    return any(abs(b - other) < 1e-6 for other in some)


class _Steady:
    """S(τ) h for one h and many τ."""

    def __init__(self, panels: PiecewisePolynomial, question: Question) -> None:
        self._panels = panels
        self._kind = question.conditions.kind
        self._x = question.place
        modes = self._kind.modes(self._kind.count_modes(_MODES_FROM))
        self._squares = np.square(modes.frequency)
        # each mode's coefficient times its values at the points, (K, Q)
        self._waves = panels.project(modes)[:, None] * modes.evaluate(self._x)

    def flow(self, tau: float) -> Array:
        if tau >= _MODES_FROM:
            return np.asarray(np.exp(-self._squares * tau) @ self._waves)
        return _flow(self._panels, self._kind, tau, self._x)


def _flow(panels: PiecewisePolynomial, kind: Boundary, tau: float, x: Array) -> Array:
    values: Array = propagate(panels, kind, np.array([tau]), x, _MODES_FROM)[0]
    return values


def separate(tree: Tree) -> list[tuple[Tree, Tree]] | None:
    """The tree as a sum of (function of t) · (function of x), or None where it is not one."""
    one = integer(1)
    if not tree.contains("t"):
        return [(one, tree)]
    if not tree.contains("x"):
        return [(tree, one)]
    if tree.head == "neg":
        inner = separate(tree.args[0])
        return None if inner is None else [(call("neg", g), h) for g, h in inner]
    if tree.head in ("add", "sub"):
        left, right = separate(tree.args[0]), separate(tree.args[1])
        if left is None or right is None:
            return None
        if tree.head == "sub":
            right = [(call("neg", g), h) for g, h in right]
        return left + right
    if tree.head in ("mul", "div"):
        left, right = separate(tree.args[0]), separate(tree.args[1])
        if left is None or right is None or (tree.head == "div" and len(right) != 1):
            return None
        if len(left) * len(right) > _MOST_PARTS:
            return None
        return [(call(tree.head, g, k), call(tree.head, h, j)) for g, h in left for k, j in right]
    return None


def _duhamel(source: _Source, time: float) -> tuple[Array, float]:
    """The integral piece by piece between the times where the source may jump or peak.

    A piece that has not settled is halved. The error is the last change of each piece's
    estimate, which grossly overstates it.
    """
    pieces = [_piece(source, time, *ends) for ends in pairwise([0.0, *source.breaks(time), time])]
    while True:
        total = np.sum([piece.estimate for piece in pieces], axis=0)
        size = float(np.abs(total).max())
        worst = max(pieces, key=lambda piece: piece.change)
        if worst.change <= _SETTLED * size or len(pieces) >= _MOST_PIECES:
            break
        pieces.remove(worst)
        middle = (worst.start + worst.end) / 2
        pieces += [
            _piece(source, time, worst.start, middle),
            _piece(source, time, middle, worst.end),
        ]
    change = sum(piece.change for piece in pieces)
    nodes = np.concatenate([piece.nodes for piece in pieces])
    weights = np.concatenate([piece.weights for piece in pieces])
    if change > 1e-6 * size or not source.complete(nodes, weights, time):
        raise FieldError("source_term", "varies too quickly in time to integrate")
    return total, change


@dataclass(frozen=True, slots=True)
class _Piece:
    """∫ over [start, end], (Q,), its last change, and the nodes and weights used."""

    start: float
    end: float
    estimate: Array
    change: float
    nodes: Array
    weights: Array


def _piece(source: _Source, time: float, start: float, end: float) -> _Piece:
    """Tanh-sinh quadrature, for the ends of a piece are where the integrand is singular."""
    width = end - start
    nodes: list[Array] = []
    weights: list[Array] = []

    def total(positions: Array, step: float) -> Array:
        angle = np.pi / 2 * np.sinh(positions)
        before = width / (1 + np.exp(2 * angle))  # end - s, with all its digits
        when = start + width / (1 + np.exp(-2 * angle))
        weight = width * np.pi / 4 * np.cosh(positions) / np.square(np.cosh(angle)) * step
        kept = weight > 1e-19 * width
        nodes.append(when[kept])
        weights.append(weight[kept])
        result = np.zeros(len(source.x))
        for b, s, w in zip(before[kept], when[kept], weight[kept], strict=True):
            result += w * source.flow(float(time - end + b), float(s))
        return result

    count = round(3.3 / _LEVELS[0])
    estimate = total(_LEVELS[0] * np.arange(-count, count + 1.0), _LEVELS[0])
    change = math.inf
    for step in _LEVELS[1:]:
        count = round(3.3 / step)
        between = step * np.arange(-count, count + 1.0)
        between = between[np.abs(np.arange(-count, count + 1)) % 2 == 1]
        weights[:] = [weight / 2 for weight in weights]
        finer = estimate / 2 + total(between, step)
        change = float(np.abs(finer - estimate).max())
        estimate = finer
        if change <= _SETTLED * float(np.abs(estimate).max()):
            break
    return _Piece(start, end, estimate, change, np.concatenate(nodes), np.concatenate(weights))
