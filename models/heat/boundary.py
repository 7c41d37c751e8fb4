"""Homogeneous boundary conditions on [0, 1], as eigenmodes and as mirrored images.

Both views say the same thing. The eigenmodes φ(x) = sin(ωx + phase) of -d²/dx²
decay as exp(-ω²τ) with τ = αt/L²; or the initial value is continued to the whole
line by reflections, odd at u = 0 and even at u_x = 0, and convolved with the
Gaussian heat kernel (Carslaw & Jaeger, *Conduction of Heat in Solids*, §2.2, §10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: exp(-NEGLIGIBLE) is below half a unit in the last place of a double.
NEGLIGIBLE = 42.0


@dataclass(frozen=True, slots=True)
class Modes:
    """Eigenmodes, one entry each (K,): φ = sin(frequency·x + phase), ∫φ² = 1/norm."""

    frequency: Array
    phase: Array
    norm: Array

    def __len__(self) -> int:
        return len(self.frequency)

    def evaluate(self, x: Array) -> Array:
        """φ_k(x_q), shape (K, Q)."""
        return np.sin(self.frequency[:, None] * x[None, :] + self.phase[:, None])


@dataclass(frozen=True, slots=True)
class Images:
    """Mirror images (I,): a point y of [0, 1] is seen at reflect·y + shift with a sign."""

    reflect: Array
    shift: Array
    sign: Array


class Boundary(Enum):
    """Homogeneous conditions at (left, right): "u" for u = 0, "u_x" for u_x = 0."""

    DIRICHLET = ("u", "u")
    NEUMANN = ("u_x", "u_x")
    DIRICHLET_NEUMANN = ("u", "u_x")
    NEUMANN_DIRICHLET = ("u_x", "u")
    PERIODIC = ("wrap", "wrap")

    @property
    def signs(self) -> tuple[int, int]:
        """Sign of a reflection at the left and at the right end."""
        left, right = self.value
        return (-1 if left == "u" else 1), (-1 if right == "u" else 1)

    @property
    def fixes_value(self) -> bool:
        """Whether an end is held at zero, so that heat leaves and zero is in the range."""
        return "u" in self.value

    def modes(self, count: int) -> Modes:
        """The ``count`` slowest modes, slowest first."""
        k = np.arange(count, dtype=np.float64)
        if self is Boundary.PERIODIC:
            turns = np.ceil(k / 2)  # 0, 1, 1, 2, 2, …: sine and cosine of each
            phase = np.where(k % 2 == 0, math.pi / 2, 0.0)
            return Modes(2 * math.pi * turns, phase, np.where(k == 0, 1.0, 2.0))
        offset = {
            Boundary.DIRICHLET: 1.0,
            Boundary.NEUMANN: 0.0,
        }.get(self, 0.5)
        frequency = math.pi * (k + offset)
        phase = np.zeros(count) if self.value[0] == "u" else np.full(count, math.pi / 2)
        return Modes(frequency, phase, np.where(frequency == 0, 1.0, 2.0))

    def count_modes(self, tau: float) -> int:
        """How many modes have not decayed to nothing at τ (1/1 of the largest at τ = 0+)."""
        reach = math.sqrt(NEGLIGIBLE / tau) / math.pi
        return math.ceil(reach) + 2

    def images(self, reach: int) -> Images:
        """The images whose cells lie within ``reach`` periods of [0, 1]."""
        m = np.arange(-reach, reach + 1, dtype=np.float64)
        if self is Boundary.PERIODIC:
            return Images(np.ones_like(m), m, np.ones_like(m))
        left, right = self.signs
        turn = np.where(m % 2 == 0, 1.0, float(left * right))
        return Images(
            np.concatenate([np.ones_like(m), -np.ones_like(m)]),
            np.concatenate([2 * m, 2 * m]),
            np.concatenate([turn, left * turn]),
        )

    def fold(self, z: Array) -> tuple[Array, Array]:
        """Where in [0, 1] the continued initial value at z comes from, and its sign."""
        cell = np.floor(z)
        inside = z - cell
        if self is Boundary.PERIODIC:
            return inside, np.ones_like(z)
        left, right = self.signs
        odd = cell % 2 != 0
        turn = np.where(np.floor(cell / 2) % 2 == 0, 1.0, float(left * right))
        return np.where(odd, 1.0 - inside, inside), np.where(odd, right * turn, turn)
