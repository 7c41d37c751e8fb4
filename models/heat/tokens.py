"""What the kernel model reads: an initial value as mode tokens or as point tokens.

This is the encoder, and nothing in it is learned. A mode token is (frequency,
phase, exact coefficient); a point token is (position, mass, strength), a node of a
quadrature of the initial value continued to the line by mirror images. A point
mass is one more point token, without a share in the attention's denominator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.special import spherical_jn

from models.heat.boundary import Array, Boundary, Modes
from models.heat.panels import ORDER, PiecewisePolynomial

_POINT_ORDER = 6
_GAUSS = legendre.leggauss(_POINT_ORDER)
#: exp(-REACH²) < 1e-17: how far the kernel sees, in units of √(4τ).
REACH = 6.3


@dataclass(frozen=True, slots=True)
class ModeTokens:
    """``coefficients`` (B, K); ``frequency``, ``phase`` (K,)."""

    coefficients: Array
    frequency: Array
    phase: Array


@dataclass(frozen=True, slots=True)
class PointTokens:
    """``strength`` (B, T), sign · weight · value; ``position``, increasing, ``mass`` (T,)."""

    strength: Array
    position: Array
    mass: Array


def mode_tokens(initial: PiecewisePolynomial, boundary: Boundary, tau: float) -> ModeTokens:
    """One initial value as the modes alive at ``tau`` (the least asked for) and later."""
    modes = boundary.modes(boundary.count_modes(tau))
    return ModeTokens(initial.project(modes)[None], modes.frequency, modes.phase)


def point_tokens(
    initial: PiecewisePolynomial, boundary: Boundary, tau: float, latest: float
) -> PointTokens:
    """One initial value as points dense enough for ``tau``, the least asked for.

    Images are kept as far out as the kernel reaches at ``latest``, the greatest.
    """
    # enough nodes for the panel's own polynomial, and for the kernel on it
    order, width = (_POINT_ORDER, 1.2) if initial.coefficients.shape[1] <= 4 else (ORDER, 3.0)
    position, mass, value = initial.quadrature(width * math.sqrt(2 * tau), order)
    position = np.concatenate([position, initial.places])
    strength = np.concatenate([mass * value, initial.masses])
    mass = np.concatenate([mass, np.zeros(len(initial.places))])
    return mirror(PointTokens(strength[None], position, mass), boundary, latest)


def mirror(tokens: PointTokens, boundary: Boundary, tau: float) -> PointTokens:
    """The same points and their images, as far outside [0, 1] as matters at ``tau``."""
    point, sign, place = _seen(tokens.position, boundary, tau)
    return PointTokens(sign * tokens.strength[:, point], place, tokens.mass[point])


def _seen(position: Array, boundary: Boundary, tau: float) -> tuple[NDArray[np.intp], Array, Array]:
    """Index, sign and place of every point and image that matters, by increasing place."""
    reach = REACH * math.sqrt(4 * tau)
    images = boundary.images(math.ceil(reach / 2) + 1)
    places = images.reflect[:, None] * position + images.shift[:, None]  # (I, T)
    image, point = np.nonzero((places > -reach) & (places < 1 + reach))
    place = places[image, point]
    order = np.argsort(place, kind="stable")
    return point[order], images.sign[image[order]], place[order]


def hat_projection(x: Array, modes: Modes) -> Array:
    """norm_k ∫ hat_j φ_k for the hat functions of a grid x (n,) from 0 to 1: (n, K)."""
    half = np.diff(x)[:, None] / 2
    angle = (x[1:] + x[:-1])[:, None] / 2 * modes.frequency + modes.phase
    widths, group = np.unique(half[:, 0], return_inverse=True)
    even = 2 * half * spherical_jn(0, widths[:, None] * modes.frequency)[group] * np.sin(angle)
    odd = 2 * half * spherical_jn(1, widths[:, None] * modes.frequency)[group] * np.cos(angle)
    matrix = np.zeros((len(x), len(modes)))
    matrix[:-1] += (even - odd) / 2
    matrix[1:] += (even + odd) / 2
    return np.asarray(matrix * modes.norm)


def encode_modes(u: Array, x: Array, boundary: Boundary, tau: float) -> ModeTokens:
    """A batch of samples u (B, n) on one grid, straight lines between them."""
    modes = boundary.modes(boundary.count_modes(tau))
    return ModeTokens(u @ hat_projection(x, modes), modes.frequency, modes.phase)


def encode_points(u: Array, x: Array, boundary: Boundary, tau: float) -> PointTokens:
    """The same as point tokens."""
    nodes, weights = _GAUSS
    pieces = np.maximum(1, np.ceil(np.diff(x) / (1.2 * math.sqrt(2 * tau)))).astype(np.intp)
    cell = np.repeat(np.arange(len(pieces)), pieces)
    first = np.repeat(np.cumsum(pieces) - pieces, pieces)
    step = 1 / pieces[cell]
    share = ((np.arange(len(cell)) - first) * step)[:, None] + step[:, None] * (nodes + 1) / 2
    width = np.diff(x)[cell]
    position = (x[cell][:, None] + share * width[:, None]).ravel()
    mass = ((step * width)[:, None] * weights / 2).ravel()
    cell, share = np.repeat(cell, _POINT_ORDER), share.ravel()
    point, sign, place = _seen(position, boundary, tau)
    left, right = cell[point], cell[point] + 1
    near, far = sign * mass[point] * (1 - share[point]), sign * mass[point] * share[point]
    return PointTokens(u[:, left] * near + u[:, right] * far, place, mass[point])
