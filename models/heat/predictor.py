"""Run the exported kernel model; no PyTorch.

A :class:`Graph` is anything that maps named arrays to one array: an ONNX Runtime
session here, the service's own session there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from models.heat.boundary import Array, Boundary
from models.heat.panels import PiecewisePolynomial
from models.heat.tokens import ModeTokens, PointTokens, mode_tokens, point_tokens

Graph = Callable[[Mapping[str, Array]], Array]

#: Most numbers in one attention matrix (M·Q·T): 64 MiB in float64.
_MOST_SCORES = 2**23


@dataclass(frozen=True, slots=True)
class Prepared:
    """One initial value, encoded for the branches that its times need. Picklable.

    ``early`` and ``late`` index ``tau`` (M,); a τ of zero belongs to neither.
    """

    tau: Array
    points: PointTokens | None
    modes: ModeTokens | None
    early: Array
    late: Array


def prepare(
    initial: PiecewisePolynomial, boundary: Boundary, tau: Array, threshold: float
) -> Prepared:
    """Tokens for every τ > 0: points below ``threshold``, modes from there on."""
    early = np.flatnonzero((tau > 0) & (tau < threshold))
    late = np.flatnonzero(tau >= threshold)
    points = None
    if len(early):
        points = point_tokens(initial, boundary, float(tau[early].min()), float(tau[early].max()))
    modes = mode_tokens(initial, boundary, float(tau[late].min())) if len(late) else None
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
        """Values (B, M, Q), in pieces when the attention matrix would be large."""
        pieces = max(1, len(tau) * len(x) * len(tokens.mass) // _MOST_SCORES + 1)
        if pieces > 1 and len(tau) > 1:
            return np.concatenate([self.run_points(tokens, t[None], x) for t in tau], axis=1)
        if pieces > 1 and len(x) > 1:
            parts = np.array_split(x, min(pieces, len(x)))
            return np.concatenate([self.run_points(tokens, tau, part) for part in parts], axis=2)
        return self.points(
            {
                "strength": tokens.strength,
                "position": tokens.position,
                "mass": tokens.mass,
                "tau": tau,
                "x": x,
            }
        )
