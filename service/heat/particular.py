"""What boundary values, fluxes and sources add to the homogeneous problem.

u = lift + v + driven: ``lift`` meets the boundary conditions and solves u_t = α u_xx,
``driven`` is Duhamel's integral ∫₀ᵗ S(α(t - s)/L²) f(·, s) ds, and v = S(τ)(u₀ - lift₀)
is the homogeneous problem that the model solves.
"""

from __future__ import annotations

import math

import numpy as np

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial
from models.heat.propagator import propagate
from service.heat.evaluate import evaluate
from service.heat.initial import expression_panels
from service.heat.question import Conditions, FieldError, Question
from tokenizer.tree import Tree, call, integer

#: Duhamel's integral is refined until it moves less than this, relative to its size.
_SETTLED = 1e-12
_LEVELS = (0.25, 0.125, 0.0625, 0.03125)
#: τ from which a source flows by modes: few are needed, once and for all.
_MODES_FROM = 3e-4
#: A product of sums in t and x is multiplied out to at most this many terms.
_MOST_PARTS = 16


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
                out[m], error = _duhamel(source, float(time))
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
        self.rate = question.alpha / question.length**2
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

    def _panels(self, tree: Tree, time: float | None, start: int) -> PiecewisePolynomial:
        return expression_panels(
            tree,
            "source_term",
            self._question.length,
            time=time,
            periodic=self._question.conditions.kind is Boundary.PERIODIC,
            start=start,
        )


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
    """Tanh-sinh quadrature in the elapsed time, which is singular at its start.

    The error is the last change of the estimate, which grossly overstates it.
    """

    def total(positions: Array, step: float) -> Array:
        angle = np.pi / 2 * np.sinh(positions)
        elapsed = time / (1 + np.exp(-2 * angle))
        earlier = time / (1 + np.exp(2 * angle))  # time - elapsed, with all its digits
        weight = time * np.pi / 4 * np.cosh(positions) / np.square(np.cosh(angle)) * step
        result = np.zeros(len(source.x))
        for s, when, w in zip(elapsed, earlier, weight, strict=True):
            if w > 1e-19 * time:
                result += w * source.flow(float(s), float(when))
        return result

    count = round(3.3 / _LEVELS[0])
    estimate = total(_LEVELS[0] * np.arange(-count, count + 1.0), _LEVELS[0])
    for step in _LEVELS[1:]:
        count = round(3.3 / step)
        between = step * np.arange(-count, count + 1.0)
        between = between[np.abs(np.arange(-count, count + 1)) % 2 == 1]
        finer = estimate / 2 + total(between, step)
        change = float(np.abs(finer - estimate).max())
        estimate = finer
        if change <= _SETTLED * float(np.abs(estimate).max()):
            return estimate, change
    if change > 1e-6 * float(np.abs(estimate).max()):
        raise FieldError("source_term", "varies too quickly in time to integrate")
    return estimate, change
