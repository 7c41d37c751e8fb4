"""Run the exported kernel model; no PyTorch.

A :class:`Graph` is anything that maps named arrays to one array: an ONNX Runtime
session here, the service's own session there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial
from models.heat.tokens import REACH, ModeTokens, PointTokens, mode_tokens, point_tokens

Graph = Callable[[Mapping[str, Array]], Array]

#: Points are grouped no finer than this, since each group is a run of the graph.
_NARROWEST = 1 / 128


@dataclass(frozen=True, slots=True)
class Prepared:
    """One initial value, encoded for the branches that its times need. Picklable.

    ``early`` and ``late`` mark which τ (M,) each branch answers; τ = 0 is in neither.
    """

    tau: Array
    points: PointTokens | None
    modes: ModeTokens | None
    early: NDArray[np.bool_]
    late: NDArray[np.bool_]


def prepare(
    initial: PiecewisePolynomial, boundary: Boundary, tau: Array, threshold: float
) -> Prepared:
    """Tokens for every τ > 0: points below ``threshold``, modes from there on."""
    early, late = (tau > 0) & (tau < threshold), tau >= threshold
    points = None
    if early.any():
        points = point_tokens(initial, boundary, float(tau[early].min()), float(tau[early].max()))
    modes = mode_tokens(initial, boundary, float(tau[late].min())) if late.any() else None
    return Prepared(tau, points, modes, early, late)


@dataclass(frozen=True, slots=True)
class KernelPredictor:
    """The two graphs of the kernel model."""

    modes: Graph
    points: Graph

    def predict(self, prepared: Prepared, x: Array) -> Array:
        """v(τ, x) for one initial value, shape (M, Q); rows with τ = 0 are NaN."""
        out = np.full((len(prepared.tau), len(x)), np.nan)
        if prepared.modes is not None:
            out[prepared.late] = self.run_modes(prepared.modes, prepared.tau[prepared.late], x)[0]
        if prepared.points is not None:
            early = prepared.tau[prepared.early]
            out[prepared.early] = self.run_points(prepared.points, early, x)[0]
        return out

    def run_modes(self, tokens: ModeTokens, tau: Array, x: Array) -> Array:
        """Values (B, M, Q)."""
        return self.modes(
            {
                "coefficients": tokens.coefficients,
                "frequency": tokens.frequency,
                "phase": tokens.phase,
                "tau": tau,
                "x": x,
            }
        )

    def run_points(self, tokens: PointTokens, tau: Array, x: Array) -> Array:
        """Values (B, M, Q). Points are taken in groups that see the same few tokens."""
        reach = REACH * math.sqrt(4 * float(tau.max()))
        by_place = np.argsort(tokens.position, kind="stable")
        position = tokens.position[by_place]
        out = np.empty((len(tokens.strength), len(tau), len(x)))
        order = np.argsort(x, kind="stable")
        groups = np.floor(x[order] / max(reach, _NARROWEST)).astype(int)
        for group in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
            first, last = np.searchsorted(position, [x[group[0]] - reach, x[group[-1]] + reach])
            seen = by_place[first:last]
            out[:, :, group] = self.points(
                {
                    "strength": tokens.strength[:, seen],
                    "position": tokens.position[seen],
                    "mass": tokens.mass[seen],
                    "tau": tau,
                    "x": x[group],
                }
            )
        return out
