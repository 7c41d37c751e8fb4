"""Piecewise polynomials on [0, 1]: the exact form of every initial value.

A sampled initial value under its contract is piecewise linear or constant; an
expression becomes Legendre series on panels that are halved until each series
is good to rounding, so jumps and kinks end up at panel edges. Integrals against
sin(ωx + phase) are exact at any frequency:

    ∫_{-d}^{d} P_l(y/d) exp(iωy) dy = 2d iˡ j_l(ωd)      (DLMF 10.54.2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.polynomial import legendre
from scipy.special import spherical_jn

from models.heat.boundary import Array, Modes

Contract = Literal["piecewise_linear", "cell_average"]

ORDER = 16
_NODES, _WEIGHTS = legendre.leggauss(ORDER)


def _inverse() -> Array:
    """Values at the nodes -> Legendre coefficients, (ORDER, ORDER).

    Gauss weights give it to a few rounding errors, Newton's iteration in extended
    precision to one: they would add up where all polynomials are 1, at panel edges.
    """
    vander = legendre.legvander(_NODES.astype(np.longdouble), ORDER - 1)
    inverse = (vander * _WEIGHTS[:, None] * (np.arange(ORDER) + 0.5)).T
    for _ in range(2):
        inverse = inverse @ (2 * np.eye(ORDER) - vander @ inverse)
    return np.asarray(inverse, np.float64)


_TO_COEFFICIENTS = _inverse()
_HALVINGS = 48
_SETTLING = 3
_MOST_PANELS = 20_000
#: Edges near an end: sixteen nodes see a layer anywhere between two of them.
_END_LADDER = 2.0 ** -np.arange(8, 44, 4)


class IrregularFunctionError(ValueError):
    """A function that panels cannot follow: infinite, not real, or too rough, near ``x``."""

    def __init__(self, message: str, x: float) -> None:
        super().__init__(message)
        self.x = x


def _empty() -> Array:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class PiecewisePolynomial:
    """Legendre series on panels, and point masses.

    ``edges`` (P+1,) increase from 0 to 1, ``coefficients`` (P, D) are of Legendre
    polynomials on each panel; ``masses`` (M,) sit at ``places`` (M,) strictly
    inside. ``error`` bounds what the panels leave out, as a share of ``scale``.
    """

    edges: Array
    coefficients: Array
    places: Array = field(default_factory=_empty)
    masses: Array = field(default_factory=_empty)
    error: float = 0.0

    @property
    def middles(self) -> Array:
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def halves(self) -> Array:
        return np.diff(self.edges) / 2

    def __call__(self, x: Array) -> Array:
        """Values at x, continuous from the right; point masses are left out."""
        panel = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.halves) - 1)
        y = (x - self.middles[panel]) / self.halves[panel]
        series = np.ascontiguousarray(self.coefficients.T)
        # Clenshaw's recurrence, every point with its own coefficients
        ahead = np.zeros_like(y)
        here = np.zeros_like(y)
        for degree in range(len(series) - 1, 0, -1):
            here, ahead = (
                series[degree][panel]
                + (2 * degree + 1) / (degree + 1) * y * here
                - (degree + 1) / (degree + 2) * ahead,
                here,
            )
        return np.asarray(series[0][panel] + y * here - ahead / 2)

    def bounds(self) -> tuple[float, float]:
        """Least and greatest value, seen at edges and at eight points of each panel."""
        y = np.cos(np.linspace(0, np.pi, 9))
        values = self.coefficients @ legendre.legvander(y, self.coefficients.shape[1] - 1).T
        return float(values.min()), float(values.max())

    def norm(self) -> float:
        """The L2 norm of the regular part."""
        degree = np.arange(self.coefficients.shape[1])
        squares = (self.coefficients**2 / (2 * degree + 1)).sum(axis=1) * 2 * self.halves
        return float(np.sqrt(squares.sum()))

    def scale(self) -> float:
        """A size to measure errors by: the greatest absolute value, and the masses."""
        low, high = self.bounds()
        return max(abs(low), abs(high), float(np.abs(self.masses).sum()))

    def mean(self) -> float:
        """The integral over [0, 1]."""
        return float(self.coefficients[:, 0] @ (2 * self.halves) + self.masses.sum())

    def project(self, modes: Modes) -> Array:
        """Coefficients c_k = norm_k ∫ u φ_k, shape (K,), exact for the panels."""
        halves, group = np.unique(self.halves, return_inverse=True)
        degrees = self.coefficients.shape[1]
        total = np.zeros(len(modes))
        quarter = np.array([1, 1j, -1, -1j])
        for g, half in enumerate(halves):
            members = np.flatnonzero(group == g)
            z = modes.frequency * half
            bessel = spherical_jn(np.arange(degrees)[:, None], z)  # (D, K)
            for chunk in np.array_split(members, max(1, len(members) * len(modes) // 2**21 + 1)):
                angle = modes.frequency[:, None] * self.middles[chunk] + modes.phase[:, None]
                wave = np.exp(1j * angle)  # (K, P)
                series = wave @ self.coefficients[chunk]  # (K, D)
                rotated = (series * quarter[np.arange(degrees) % 4]).imag
                total += 2 * half * (rotated * bessel.T).sum(axis=1)
        for place, mass in zip(self.places, self.masses, strict=True):
            total += mass * np.sin(modes.frequency * place + modes.phase)
        return np.asarray(modes.norm * total)

    def quadrature(self, width: float, order: int = ORDER) -> tuple[Array, Array, Array]:
        """Gauss nodes, weights and values on panels cut to at most ``width``.

        Shapes (T,) each; weights sum to 1. The masses are not among them.
        """
        pieces = np.maximum(1, np.ceil(2 * self.halves / width)).astype(int)
        owner = np.repeat(np.arange(len(pieces)), pieces)
        first = np.concatenate([[0], np.cumsum(pieces)[:-1]])
        step = (2 * self.halves / pieces)[owner]
        start = self.edges[owner] + (np.arange(len(owner)) - first[owner]) * step
        nodes, weights = legendre.leggauss(order)
        y = start[:, None] + step[:, None] * (nodes + 1) / 2
        weight = step[:, None] * weights / 2
        return y.ravel(), weight.ravel(), self(y.ravel())

    def combine(self, other: PiecewisePolynomial, factor: float) -> PiecewisePolynomial:
        """self + factor·other on the union of both sets of edges."""
        edges = np.union1d(self.edges, other.edges)
        degrees = max(self.coefficients.shape[1], other.coefficients.shape[1])
        nodes, weights = legendre.leggauss(degrees)
        y = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
        values = self(y) + factor * other(y)
        vander = legendre.legvander(nodes, degrees - 1) * weights[:, None]
        return PiecewisePolynomial(
            edges,
            values @ (vander * (np.arange(degrees) + 0.5)),
            np.concatenate([self.places, other.places]),
            np.concatenate([self.masses, factor * other.masses]),
            self.error + abs(factor) * other.error,
        )

    def scaled(self, factor: float) -> PiecewisePolynomial:
        """factor·self."""
        return PiecewisePolynomial(
            self.edges, self.coefficients * factor, self.places, self.masses * factor, self.error
        )


def from_samples(x: Array, u: Array, contract: Contract) -> PiecewisePolynomial:
    """The initial value that samples u at increasing x in [0, 1] stand for.

    ``piecewise_linear``: straight lines between the samples. ``cell_average``:
    constant on cells that meet half-way between samples (node-centred control
    volumes). In both, what lies outside the first and last x has their value.
    """
    if contract == "cell_average":
        edges = np.concatenate([[0.0], (x[1:] + x[:-1]) / 2, [1.0]])
        return PiecewisePolynomial(edges, u[:, None].astype(np.float64))
    if x[0] > 0:
        x, u = np.concatenate([[0.0], x]), np.concatenate([u[:1], u])
    if x[-1] < 1:
        x, u = np.concatenate([x, [1.0]]), np.concatenate([u, u[-1:]])
    return PiecewisePolynomial(x, np.stack([(u[1:] + u[:-1]) / 2, (u[1:] - u[:-1]) / 2], axis=1))


def smooth_nodes(tau: float) -> Array:
    """Where to sample a function that has been smoothed for τ, (P, ORDER)."""
    panels = int(np.clip(1 / np.sqrt(tau), 8, 4096))
    return np.asarray((np.arange(panels)[:, None] + (_NODES + 1) / 2) / panels)


def from_nodes(values: Array) -> PiecewisePolynomial:
    """The function with these values (P, ORDER) at :func:`smooth_nodes`."""
    edges = np.linspace(0, 1, len(values) + 1)
    return PiecewisePolynomial(edges, values @ _TO_COEFFICIENTS.T)


def from_function(
    function: Callable[[Array], Array],
    breakpoints: Sequence[float] = (),
    *,
    start: int = 128,
    infinite: float = 1e250,
) -> PiecewisePolynomial:
    """Panels for a function on [0, 1], good to rounding of its local size.

    ``breakpoints`` are where it may jump, bend or peak; panels are graded towards
    them and the ends so that a peak or layer far narrower than 1/``start`` is seen. Raises
    :class:`IrregularFunctionError` where it is infinite, not real (NaN), or needs
    more panels than any reasonable function.
    """
    inner = np.unique([b for b in breakpoints if 0 < b < 1])
    grid = np.linspace(0, 1, start + 1)
    ladder = 2.0 ** -np.arange(8, 44, 2) if len(inner) <= 16 else np.empty(0)
    graded = (inner[:, None] + np.concatenate([-ladder, ladder])).ravel()
    graded = np.concatenate([graded, _END_LADDER, 1 - _END_LADDER])
    others = np.unique(np.concatenate([grid[1:-1], graded[(graded > 0) & (graded < 1)]]))
    # of edges too close for a panel between them, the breakpoints stay
    exact = np.concatenate([[0.0], inner, [1.0]])
    after = np.searchsorted(exact, others)
    apart = np.minimum(others - exact[after - 1], exact[after] - others) > 1e-13
    others = others[apart]
    others = others[np.concatenate([[True], np.diff(others) > 1e-13])] if len(others) else others
    edges = np.union1d(exact, others)
    left, right = edges[:-1], edges[1:]
    parent = np.full(len(left), np.inf)
    done: list[tuple[Array, Array, Array]] = []
    count, biggest, usual, lost = 0, 0.0, 0.0, 0.0
    for halving in range(_HALVINGS + 1):
        half = (right - left) / 2
        nodes = (left + half)[:, None] + half[:, None] * _NODES
        values = function(nodes)
        bad = ~np.isfinite(values)
        if bad.any():
            where = float(nodes[bad][0])
            kind = "not a real number" if np.isnan(values[bad][0]) else "infinite"
            raise IrregularFunctionError(f"is {kind} near x = {where:.6g}", where)
        coefficients = values @ _TO_COEFFICIENTS.T
        local = np.abs(values).max(axis=1)
        biggest = max(biggest, float(local.max()))
        if biggest > infinite:
            where = float(left[local.argmax()])
            raise IrregularFunctionError(f"is infinite near x = {where:.6g}", where)
        tail = np.abs(coefficients[:, -3:]).max(axis=1)
        # halving does not help where x itself is not known better
        steepness = np.abs(np.diff(values) / np.diff(nodes)).max(axis=1)
        rounding = 1e-13 * biggest + 2e-15 * right * steepness
        noise = (tail <= rounding) & (tail >= parent / 4)
        narrow = (half < 1e-14) | (halving == _HALVINGS)
        # what is left of rounding is no part of the function
        noise_floor = 1.2e-16 * local[:, None] * (np.arange(ORDER) + 0.5)
        coefficients[np.abs(coefficients) <= noise_floor] = 0
        converged = (tail <= 4e-15 * local) | (tail < 1e-20 * biggest)
        if (converged | noise).any():
            usual = max(usual, float(local[converged | noise].max()))
        steep = (half < 1e-10) & ~converged & (local > 20 * usual)
        # at first, what is usual is not known yet, and panels may be that narrow by design
        if halving > _SETTLING and steep.any():
            where = float(left[steep][0])
            raise IrregularFunctionError(f"is infinite near x = {where:.6g}", where)
        good = converged | noise | narrow
        lost += float((tail * 2 * half)[good].sum())
        done.append((left[good], right[good], coefficients[good]))
        count += int(good.sum())
        left, right, tail = left[~good], right[~good], tail[~good]
        if not len(left):
            break
        if count + 2 * len(left) > _MOST_PANELS:
            raise IrregularFunctionError(
                f"varies too quickly to follow near x = {float(left[0]):.6g}", float(left[0])
            )
        middle = (left + right) / 2
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        parent = np.concatenate([tail, tail])
    starts = np.concatenate([part[0] for part in done])
    order = np.argsort(starts)
    coefficients = np.concatenate([part[2] for part in done])[order]
    return PiecewisePolynomial(
        np.append(starts[order], 1.0), coefficients, error=lost / biggest if biggest else 0.0
    )
