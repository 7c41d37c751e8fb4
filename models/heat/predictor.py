"""Run the exported kernel model; no PyTorch.

A graph is anything that maps rows to their values: a session of ONNX Runtime here,
the service's engine with its batches there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial
from models.heat.rows import MOST, Graph, Row
from models.heat.tokens import (
    REACH,
    ModeTokens,
    PointTokens,
    encode_modes,
    encode_points,
    mode_tokens,
    point_tokens,
)

#: Points are taken in groups this wide, a row of the graph each: wide ones while there
#: are few scores (points × tokens) in all.
_WIDE, _NARROW = 1 / 8, 1 / 128
_FEW_SCORES = 2**20


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

    def on_grid(
        self, u: Array, x: Array, boundary: Boundary, tau: float, threshold: float
    ) -> Array:
        """v(τ, x) on the grid x (n,) of the samples u (B, n) themselves, (B, n).

        The model is linear in the samples, so a large batch is n hat functions
        through the graph and one matrix product.
        """
        if len(u) > len(x):
            return u @ self.on_grid(np.eye(len(x)), x, boundary, tau, threshold)
        times = np.array([tau])
        if tau < threshold:
            return self.run_points(encode_points(u, x, boundary, tau), times, x)[:, 0]
        return self.run_modes(encode_modes(u, x, boundary, tau), times, x)[:, 0]

    def run_modes(self, tokens: ModeTokens, tau: Array, x: Array) -> Array:
        """Values (B, M, Q)."""
        most = max(1, MOST // (len(tau) * len(tokens.frequency)))
        rows = [
            Row(tokens.coefficients, tokens.frequency, tokens.phase, tau, x[start : start + most])
            for start in range(0, len(x), most)
        ]
        return np.concatenate(self.modes(rows), axis=2)

    def run_points(self, tokens: PointTokens, tau: Array, x: Array) -> Array:
        """Values (B, M, Q). Points are taken in groups that see the same few tokens."""
        reach = REACH * math.sqrt(4 * float(tau.max()))
        wide = len(x) * len(tokens.mass) < _FEW_SCORES
        order = np.argsort(x, kind="stable")
        groups = np.floor(x[order] / max(reach, _WIDE if wide else _NARROW)).astype(int)
        rows = []
        for group in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
            first, last = np.searchsorted(
                tokens.position, [x[group[0]] - reach, x[group[-1]] + reach]
            )
            seen = slice(first, last)
            most = max(1, MOST // (len(tau) * (last - first)))
            rows += [
                Row(
                    tokens.strength[:, seen],
                    tokens.position[seen],
                    tokens.mass[seen],
                    tau,
                    x[group[start : start + most]],
                )
                for start in range(0, len(group), most)
            ]
        out = np.empty((len(tokens.strength), len(tau), len(x)))
        out[:, :, order] = np.concatenate(self.points(rows), axis=2)
        return out
