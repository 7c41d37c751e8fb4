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
from models.heat.propagator import CROSSOVER, IMAGES_UP_TO, by_images, propagate
from service.heat.initial import initial_panels, initial_values, sampling_error
from service.heat.particular import driven, homogeneous, lift
from service.heat.question import FieldError, Question

#: Below this τ point tokens would be too many; the formulas answer alone.
LEAST_MODEL_TAU = 1e-7

#: A second formula is tried at this many points and times, spread over those asked.
_CHECK_POINTS = 9
_CHECK_TIMES = 4
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
    """The reference against another exact formula.

    ``relative_l2`` of u and ``max_abs``, at some of the points, one a time (M,), NaN
    where it was not tried; ``passed`` whether all agree; ``semigroup`` as in the answer.
    """

    relative_l2: Array
    max_abs: Array
    passed: bool
    semigroup: float | None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the main process needs; arrays over times (M,) and points (Q,).

    u = ``added`` + ``homogeneous``, both (M, Q): lift and driven part, and the reference
    for v. Where no time passes, homogeneous is u₀ itself. ``low`` and ``high`` bound v
    (None with point masses) and ``range`` bounds u where the maximum principle holds;
    ``scale`` is max |v₀|. ``prepared`` and ``halved`` hold the tokens of v₀/scale for
    all times and for half the last one, or None where the model is not asked.
    """

    added: Array
    homogeneous: Array
    low: float | None
    high: float | None
    range: tuple[float, float] | None
    scale: float
    input_error: float
    probe: Probe
    second: SecondOpinion | None
    prepared: Prepared | None
    halved: Prepared | None


def analyse(question: Question, threshold: float | None, check: bool) -> Analysis:
    """The reference for a question, and tokens when the ``threshold`` of a model is given.

    ``check`` asks for a second opinion on the reference itself. Raises
    :class:`FieldError` for an initial condition or source that has no finite real
    values or cannot be followed.
    """
    kind, tau, x = question.conditions.kind, question.tau, question.place
    whole = initial_panels(question)
    panels = homogeneous(question, whole)
    still = tau <= 0
    with np.errstate(over="ignore", invalid="ignore"):
        scale = panels.scale()
        source, source_error = driven(question)
        added = source + lift(question.conditions, question.length, tau, x)
    if not math.isfinite(scale) or not np.isfinite(added).all():
        raise FieldError("initial_condition", "the solution is too large for a number")
    unit = panels.scaled(1 / scale) if scale > 0 else panels
    v = scale * pin(kind, x, propagate(unit, kind, tau, x))
    if still.any():
        v[still], added[still] = initial_values(question, whole), source[still]
    low, high = _bounds(unit, kind)
    sampled = sampling_error(question)
    prepared = halved = None
    if threshold is not None and (tau[~still] >= LEAST_MODEL_TAU).all():
        prepared = prepare(unit, kind, tau, threshold)
        if not still.all():
            halved = prepare(unit, kind, tau[~still][-1:] / 2, threshold)
    return Analysis(
        added,
        v,
        None if low is None else scale * low,
        None if high is None else scale * high,
        _range(question, whole),
        scale,
        source_error + (sampled if sampled is not None else unit.error * scale),
        _probe(unit, kind, tau),
        _second_opinion(unit, question, added, scale) if check else None,
        prepared,
        halved,
    )


def _bounds(unit: PiecewisePolynomial, kind: Boundary) -> tuple[float | None, float | None]:
    """What v stays between, by the maximum principle; None with point masses."""
    if len(unit.masses):
        return None, None
    low, high = unit.bounds()
    return (min(low, 0.0), max(high, 0.0)) if kind.fixes_value else (low, high)


def _range(question: Question, whole: PiecewisePolynomial) -> tuple[float, float] | None:
    """What u stays between, or None where heat is added, by source, flux or point mass."""
    conditions = question.conditions
    ends = list(zip(conditions.kind.value, (conditions.left, conditions.right), strict=True))
    flux = any(kind == "u_x" and value != 0 for kind, value in ends)
    if question.source is not None or flux or len(whole.masses):
        return None
    held = [value for kind, value in ends if kind == "u"]
    low, high = whole.bounds()
    return min([low, *held]), max([high, *held])


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
    return Probe(x, np.tile(weights / 2 / panels, panels), propagate(unit, kind, tau, x), energy)


def _second_opinion(
    unit: PiecewisePolynomial, question: Question, added: Array, scale: float
) -> SecondOpinion:
    kind, tau = question.conditions.kind, question.tau
    points = np.unique(np.linspace(0, len(question.x) - 1, _CHECK_POINTS).astype(int))
    x = question.place[points]
    relative, absolute = np.full(len(tau), np.nan), np.full(len(tau), np.nan)
    passed, semigroup = True, None
    positive = np.flatnonzero(tau > 0)
    if len(positive):
        chosen = np.linspace(0, len(positive) - 1, _CHECK_TIMES).astype(int)
        for m in positive[np.unique(chosen)]:
            first = propagate(unit, kind, tau[m : m + 1], x)[0]
            difference = scale * np.abs(first - _other_formula(unit, kind, float(tau[m]), x))
            u = added[m, points] + scale * first
            absolute[m] = difference.max()
            relative[m] = relative_l2(difference, u)
            passed &= agrees(difference, scale * first, scale, EXACT)
        last = float(tau[positive[-1]])
        whole = propagate(unit, kind, np.array([last]), x)[0]
        semigroup = float(np.abs(whole - _in_two_steps(unit, kind, last, x)).max())
    return SecondOpinion(relative, absolute, passed, semigroup)


#: Relative L2 within which two exact formulas agree.
EXACT = 1e-10
#: A solution that has decayed to nothing is compared by this share of the initial size.
NOTHING = 1e-12


def relative_l2(difference: Array, value: Array) -> float:
    """‖difference‖ / ‖value‖ over points; 0 for 0/0."""
    # scaled, since the square of 1e300 is not a number
    size = float(np.abs(value).max()) or 1.0
    top, bottom = float(np.linalg.norm(difference / size)), float(np.linalg.norm(value / size))
    return 0.0 if top == 0 else top / bottom if bottom else math.inf


def agrees(difference: Array, value: Array, scale: float, tolerance: float) -> bool:
    """Relative L2 within ``tolerance``, or nowhere more than NOTHING of ``scale`` off."""
    return bool(
        relative_l2(difference, value) <= tolerance or np.abs(difference).max() <= NOTHING * scale
    )


def _other_formula(unit: PiecewisePolynomial, kind: Boundary, tau: float, x: Array) -> Array:
    """S(τ) by what ``propagate`` does not use at this τ."""
    if CROSSOVER <= tau <= IMAGES_UP_TO:
        return by_images(unit, kind, tau, x)
    return _in_two_steps(unit, kind, tau, x)


def _in_two_steps(unit: PiecewisePolynomial, kind: Boundary, tau: float, x: Array) -> Array:
    """S(τ) = S(τ - step) S(step), the second by images as far as they go."""
    if tau < CROSSOVER:
        return _in_two_local_steps(unit, kind, tau, x)
    step = min(tau / 2, IMAGES_UP_TO / 2)
    nodes = smooth_nodes(tau - step)
    middle = propagate(unit, kind, np.array([tau - step]), nodes.ravel())[0]
    return by_images(from_nodes(middle.reshape(nodes.shape)), kind, step, x)


def _in_two_local_steps(unit: PiecewisePolynomial, kind: Boundary, tau: float, x: Array) -> Array:
    """S(τ) = S(τ/2) S(τ/2) by images, the second only as far as the kernel reaches."""
    width = math.sqrt(2 * tau)
    nodes, weights = legendre.leggauss(12)
    cells = np.arange(-7, 7)
    z = (cells[:, None] + (nodes + 1) / 2).ravel()
    share = np.tile(weights / 2, len(cells)) * np.exp(-np.square(z)) / math.sqrt(math.pi)
    beside = np.tile(width * z, len(x))
    middle = by_images(unit, kind, tau / 2, np.repeat(x, len(z)), beside)
    return middle.reshape(len(x), len(z)) @ share
