"""Worker side: the exact solution, its own check, and the tokens for the model.

:func:`analyse` runs in a worker process under a deadline; it uses no SymPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial, from_nodes, smooth_nodes
from models.heat.predictor import Prepared, prepare
from models.heat.propagator import CROSSOVER, IMAGES_UP_TO, by_images, by_modes, propagate
from service.heat.initial import initial_panels, initial_values, sampling_error
from service.heat.particular import driven, homogeneous, lift
from service.heat.question import FieldError, Question

#: Below this τ point tokens would be too many; the formulas answer alone.
LEAST_MODEL_TAU = 1e-7

#: Thousands of modes at a few points are still affordable down to here.
_LEAST_MODAL_TAU = CROSSOVER / 16
#: A second formula is tried at this many points and times, spread over those asked.
_CHECK_POINTS = 17
_CHECK_TIMES = 8
_ENERGY_ORDER = 8


@dataclass(frozen=True, slots=True)
class Probe:
    """Nodes (E,) for ∫v² with weights (E,), the reference there (M, E), and ∫v₀²."""

    x: Array
    weights: Array
    reference: Array
    energy: float


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The reference against another exact formula: worst relative L2 and absolute
    difference at each time (M,), NaN where it was not tried."""

    relative_l2: Array
    max_abs: Array


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the main process needs; arrays over times (M,) and points (Q,).

    ``initial`` (Q,) is u₀ at the points, when t = 0 is asked; ``added`` (M, Q) is lift
    and driven part; ``homogeneous`` (M, Q) is the reference for v = u - added.
    ``low`` and ``high`` bound v₀ (and the zero at the ends), ``scale`` is max |v₀|.
    ``prepared`` and ``halved`` hold the tokens of v₀/scale for all times and for half
    the last one, or None where the model is not asked.
    """

    initial: Array | None
    added: Array
    homogeneous: Array
    low: float
    high: float
    scale: float
    input_error: float
    probe: Probe
    second: SecondOpinion | None
    prepared: Prepared | None
    halved: Prepared | None


def analyse(question: Question, threshold: float | None, *, check: bool) -> Analysis:
    """The reference for a question, and tokens when the ``threshold`` of a model is given.

    ``check`` asks for a second opinion on the reference itself. Raises
    :class:`FieldError` for an initial condition or source that has no finite real
    values or cannot be followed.
    """
    kind, tau, x = question.conditions.kind, question.tau, question.place
    panels = initial_panels(question)
    still = tau <= 0
    initial = initial_values(question, panels) if still.any() else None
    panels = homogeneous(question, panels)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = panels.scale()
        added = lift(question.conditions, question.length, tau, x) + driven(question)
    if not math.isfinite(scale) or not np.isfinite(added).all():
        raise FieldError("initial_condition", "the solution is too large for a number")
    unit = panels.scaled(1 / scale) if scale > 0 else panels
    low, high = unit.bounds()
    if kind.fixes_value:
        low, high = min(low, 0.0), max(high, 0.0)
    sampled = sampling_error(question)
    prepared = halved = None
    if threshold is not None and (tau[~still] >= LEAST_MODEL_TAU).all():
        prepared = prepare(unit, kind, tau, threshold)
        if not still.all():
            halved = prepare(unit, kind, tau[~still][-1:] / 2, threshold)
    return Analysis(
        initial,
        added,
        scale * pin(kind, x, propagate(unit, kind, tau, x)),
        scale * low,
        scale * high,
        scale,
        sampled if sampled is not None else unit.error * scale,
        _probe(unit, kind, tau),
        _second_opinion(unit, kind, tau, x) if check else None,
        prepared,
        halved,
    )


def pin(kind: Boundary, x: Array, v: Array) -> Array:
    """v (M, Q) with exact zeros where x (Q,) is an end that is held at zero."""
    left, right = kind.value
    if left == "u":
        v[:, x == 0] = 0
    if right == "u":
        v[:, x == 1] = 0
    return v


def _probe(unit: PiecewisePolynomial, kind: Boundary, tau: Array) -> Probe:
    """Composite Gauss nodes, fine enough for a solution smoothed for the least τ."""
    positive = tau[tau > 0]
    finest = float(positive.min()) if len(positive) else 1.0
    panels = int(np.clip(1 / (3 * math.sqrt(finest)), 8, 64))
    nodes, weights = legendre.leggauss(_ENERGY_ORDER)
    x = ((np.arange(panels)[:, None] + (nodes + 1) / 2) / panels).ravel()
    energy = math.inf if len(unit.masses) else unit.norm() ** 2
    return Probe(
        x, np.tile(weights / 2 / panels, panels), propagate(unit, kind, tau, x), energy
    )


def _second_opinion(
    unit: PiecewisePolynomial, kind: Boundary, tau: Array, x: Array
) -> SecondOpinion:
    some = x[np.unique(np.linspace(0, len(x) - 1, _CHECK_POINTS).astype(int))]
    relative, absolute = np.full(len(tau), np.nan), np.full(len(tau), np.nan)
    positive = np.flatnonzero(tau > 0)
    if len(positive):
        chosen = np.linspace(0, len(positive) - 1, _CHECK_TIMES).astype(int)
        for m in positive[np.unique(chosen)]:
            first = propagate(unit, kind, tau[m : m + 1], some)[0]
            difference = first - _other_formula(unit, kind, float(tau[m]), some)
            absolute[m] = np.abs(difference).max()
            size = float(np.linalg.norm(first))
            relative[m] = np.linalg.norm(difference) / size if size else 0.0
    return SecondOpinion(relative, absolute)


def _other_formula(unit: PiecewisePolynomial, kind: Boundary, tau: float, x: Array) -> Array:
    """S(τ) by what ``propagate`` does not use at this τ."""
    if tau < _LEAST_MODAL_TAU:
        return _in_two_local_steps(unit, kind, tau, x)
    if tau < CROSSOVER:
        return by_modes(unit, kind, np.array([tau]), x)[0]
    if tau <= IMAGES_UP_TO:
        return by_images(unit, kind, tau, x)
    # S(τ) = S(step) S(τ - step), the last step by images
    step = IMAGES_UP_TO / 2
    nodes = smooth_nodes(tau - step)
    middle = by_modes(unit, kind, np.array([tau - step]), nodes.ravel())[0]
    return by_images(from_nodes(middle.reshape(nodes.shape)), kind, step, x)


def _in_two_local_steps(
    unit: PiecewisePolynomial, kind: Boundary, tau: float, x: Array
) -> Array:
    """S(τ) = S(τ/2) S(τ/2) by images, the second only as far as the kernel reaches."""
    width = math.sqrt(2 * tau)
    nodes, weights = legendre.leggauss(12)
    cells = np.arange(-7, 7)
    z = (cells[:, None] + (nodes + 1) / 2).ravel()
    share = np.tile(weights / 2, len(cells)) * np.exp(-np.square(z)) / math.sqrt(math.pi)
    y, sign = kind.fold(x[:, None] + width * z)
    middle = by_images(unit, kind, tau / 2, y.ravel()).reshape(y.shape)
    return np.asarray((sign * middle) @ share)
