"""What boundary values, fluxes and sources add to the homogeneous problem.

u = lift + v + driven: ``lift`` meets the boundary conditions and solves u_t = α u_xx,
``driven`` is Duhamel's integral ∫₀ᵗ S(α(t - s)/L²) f(·, s) ds, and v = S(τ)(u₀ - lift₀)
is the homogeneous problem that the model solves.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial
from models.heat.propagator import propagate
from service.heat.initial import expression_panels
from service.heat.question import Conditions, FieldError, Question
from tokenizer.tree import Tree

#: Duhamel's integral is refined until it moves less than this, relative to its size.
_SETTLED = 1e-12
_LEVELS = (0.25, 0.125, 0.0625, 0.03125)


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
                out[m], error = _duhamel(source, question, float(time))
                worst = max(worst, error)
    return out, worst


class _Source:
    """f(·, t) as panels; built once when it does not depend on t."""

    def __init__(self, tree: Tree, question: Question) -> None:
        self._tree = tree
        self._length = question.length
        self._periodic = question.conditions.kind is Boundary.PERIODIC
        self._steady = not tree.contains("t")
        self._at = lru_cache(maxsize=4096)(self._build)

    def at(self, time: float) -> PiecewisePolynomial:
        return self._at(0.0 if self._steady else time)

    def _build(self, time: float) -> PiecewisePolynomial:
        return expression_panels(
            self._tree,
            "source_term",
            self._length,
            time=time,
            periodic=self._periodic,
            start=128 if self._steady else 32,
        )


def _duhamel(source: _Source, question: Question, time: float) -> tuple[Array, float]:
    """Tanh-sinh quadrature in the elapsed time, which is singular at its start.

    The error is the last change of the estimate, which grossly overstates it.
    """
    rate = question.alpha / question.length**2
    x = question.place
    kind = question.conditions.kind

    def total(positions: Array, step: float) -> Array:
        angle = np.pi / 2 * np.sinh(positions)
        elapsed = time / (1 + np.exp(-2 * angle))
        weight = time * np.pi / 4 * np.cosh(positions) / np.square(np.cosh(angle)) * step
        result = np.zeros(len(x))
        for s, w in zip(elapsed, weight, strict=True):
            if w > 1e-19 * time:
                earlier = source.at(max(time - float(s), 0.0))
                result += w * propagate(earlier, kind, np.array([rate * s]), x)[0]
        return result

    count = round(3.3 / _LEVELS[0])
    estimate = total(_LEVELS[0] * np.arange(-count, count + 1.0), _LEVELS[0])
    for step in _LEVELS[1:]:
        count = round(3.3 / step)
        between = np.arange(-count, count + 1) * step
        between = between[np.abs(np.arange(-count, count + 1)) % 2 == 1]
        finer = estimate / 2 + total(between, step)
        change = float(np.abs(finer - estimate).max())
        estimate = finer
        if change <= _SETTLED * float(np.abs(estimate).max()):
            return estimate, change
    if change > 1e-6 * float(np.abs(estimate).max()):
        raise FieldError("source_term", "varies too quickly in time to integrate")
    return estimate, change
