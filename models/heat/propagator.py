"""S(τ): the exact solution operator of v_τ = v_xx on [0, 1], by two formulas.

``by_modes`` sums eigenmodes with exact coefficients and suits large τ; ``by_images``
integrates the heat kernel against the continued initial value and suits small τ.
Where both apply they share no arithmetic but the panels, so each checks the other.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial

#: Below this τ, ``by_images`` is faster than the thousands of modes needed.
CROSSOVER = 1e-5
#: Above this τ, images reach over too many periods.
IMAGES_UP_TO = 0.5

_ORDER = 12
#: erfc(6.3) < 1e-18
_REACH = 6.3
_CHUNK = 2**21
#: A place nearer to the edge of its panel than this is moved inside; no panel is so narrow.
_INSIDE = 1e-15


def by_modes(initial: PiecewisePolynomial, boundary: Boundary, tau: Array, x: Array) -> Array:
    """v(τ, x), shape (M, Q), as Σ c_k exp(-ω_k²τ) φ_k(x). Every τ > 0."""
    modes = boundary.modes(boundary.count_modes(float(tau.min())))
    coefficients = initial.project(modes)
    decay = np.exp(-np.square(modes.frequency) * tau[:, None])  # (M, K)
    return np.asarray((decay * coefficients) @ modes.evaluate(x))


def by_images(
    initial: PiecewisePolynomial,
    boundary: Boundary,
    tau: float,
    x: Array,
    beside: Array | None = None,
) -> Array:
    """v(τ, x + beside), shape (Q,), as ∫ G(x - z, τ) v₀(z) dz over the continued v₀. τ > 0.

    ``beside`` (Q,) may be too small to be added to x in a double: the distances from x
    are exact, however narrow the kernel. x + beside may lie outside [0, 1].
    """
    width = math.sqrt(4 * tau)
    beside = np.zeros(len(x)) if beside is None else beside
    total = np.zeros(len(x))
    if initial.coefficients.any():
        total = _smear(initial, boundary, width, x, beside)
    if len(initial.masses):
        images = boundary.images(math.ceil(_REACH * width / 2) + 1)
        for place, mass in zip(initial.places, initial.masses, strict=True):
            seen = images.reflect * place + images.shift
            kernel = np.exp(-np.square((x[:, None] - seen + beside[:, None]) / width))
            total = total + mass / (math.sqrt(math.pi) * width) * (kernel @ images.sign)
    return total


def propagate(
    initial: PiecewisePolynomial,
    boundary: Boundary,
    tau: Array,
    x: Array,
    crossover: float = CROSSOVER,
) -> Array:
    """v(τ, x), shape (M, Q), each τ ≥ 0: modes from ``crossover`` on, images before.

    τ = 0 gives the panels.
    """
    out = np.empty((len(tau), len(x)))
    modal = tau >= crossover
    if modal.any():
        out[modal] = by_modes(initial, boundary, tau[modal], x)
    for m in np.flatnonzero(~modal):
        out[m] = by_images(initial, boundary, float(tau[m]), x) if tau[m] > 0 else initial(x)
    return out


def _smear(
    initial: PiecewisePolynomial, boundary: Boundary, width: float, x: Array, beside: Array
) -> Array:
    """Gauss quadrature of the kernel, split at every edge of the continued panels."""
    reach = _REACH * width + np.abs(beside)
    low = math.floor(float((x - reach).min()))
    high = math.ceil(float((x + reach).max())) + 1
    cells = np.arange(low, high, dtype=np.float64)
    if boundary is Boundary.PERIODIC:
        edges = (cells[:, None] + initial.edges[:-1]).ravel()
    else:
        mirrored = np.where(
            (cells % 2 == 0)[:, None], initial.edges[:-1], (1 - initial.edges)[::-1][:-1]
        )
        edges = (cells[:, None] + mirrored).ravel()
    edges = np.append(edges, float(high))
    # an edge at x itself is among them, however narrow the kernel
    first = np.searchsorted(edges, x - reach, side="left")
    last = np.searchsorted(edges, x + reach, side="right")
    steps = width * np.linspace(-_REACH, _REACH, 14)
    total = np.zeros(len(x))
    cost = (last - first + len(steps)) * _ORDER
    parts = int(cost.sum()) // _CHUNK + 1
    for queries in np.array_split(np.arange(len(x)), min(parts, len(x))):
        total[queries] = _smear_some(
            initial,
            boundary,
            width,
            x[queries],
            beside[queries],
            edges,
            first[queries],
            last[queries],
            steps,
        )
    return total


def _smear_some(
    initial: PiecewisePolynomial,
    boundary: Boundary,
    width: float,
    x: Array,
    beside: Array,
    edges: Array,
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    steps: Array,
) -> Array:
    """The same for a few queries, all their sub-intervals (ragged) at once."""
    number = last - first
    owner = np.repeat(np.arange(len(x)), number)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(number) - number, number)
    edge = np.repeat(first, number) + offset
    # distances from x + beside, not places
    inner = np.clip(edges[edge] - x[owner] - beside[owner], steps[0], steps[-1])
    query = np.concatenate([owner, np.repeat(np.arange(len(x)), len(steps))])
    away = np.concatenate([inner, np.tile(steps, len(x))])
    # the panel that each sub-interval lies in is that of the last edge before it
    panel = np.concatenate([edge, np.repeat(first - 1, len(steps))])
    order = np.lexsort((panel, away, query))
    query, away, panel = query[order], away[order], panel[order]
    turn = query * len(edges)
    panel = np.maximum.accumulate(panel + turn) - turn
    same = query[1:] == query[:-1]
    start, stop, query, panel = away[:-1][same], away[1:][same], query[1:][same], panel[:-1][same]
    nodes, weights = legendre.leggauss(_ORDER)
    half = (stop - start) / 2
    z = (start + half)[:, None] + half[:, None] * nodes
    # rounding must not carry a place over the edge of its panel
    least, most = edges[panel] + _INSIDE, edges[panel + 1] - _INSIDE
    place = (x + beside)[query][:, None] + z
    y, sign = boundary.fold(np.clip(place, least[:, None], most[:, None]))
    kernel = np.exp(-np.square(z / width)) * (half[:, None] * weights)
    share = (kernel * sign * initial(y)).sum(axis=1)
    return np.bincount(query, weights=share, minlength=len(x)) / (math.sqrt(math.pi) * width)
