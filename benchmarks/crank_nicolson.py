"""Crank–Nicolson as good as we can make it, and the cheapest setting for an accuracy.

The samples stay nodes of every finer grid, so the bends of the initial value do, too, and
the error falls with the square of the grid and of the step from the start; four half-steps
of backward Euler come first (Rannacher, 1984), or the bends would ring. With an error in
even powers, runs with grid and step halved are combined by Richardson's extrapolation.
Like the kernel model it is linear: a large batch is its hat functions and one product.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dpttrf, dpttrs

from models.heat.boundary import Array

_HALF_STEPS = 4

#: A setting is tried while its grid refinement times its steps is at most this; the largest
#: takes about two seconds.
MOST = 8192
#: Seconds for which a setting is run again and again.
_CLOCKED_S = 0.1
_REFINEMENTS = (1, 2, 4, 8, 16, 32, 64)
_STEPS = tuple(2**k for k in range(2, 11))
_LEVELS = (1, 2, 3)


def crank_nicolson(u0: Array, tau: float, refinement: int, steps: int) -> Array:
    """v(τ) at the samples' places (B, n): Dirichlet, a grid ``refinement`` times finer."""
    places = u0.shape[1]
    if len(u0) > places:
        hats = crank_nicolson(np.eye(places), tau, refinement, steps)
        return np.asarray(u0 @ hats)
    cells = (places - 1) * refinement
    fine, x = np.linspace(0, 1, cells + 1)[1:-1], np.linspace(0, 1, places)
    u = np.stack([np.interp(fine, x, row) for row in u0]).T  # (cells - 1, B), by columns
    rate = tau / steps * cells**2
    # the half step of backward Euler and the step of Crank–Nicolson share their matrix A
    diagonal, beside, _ = dpttrf(np.full(cells - 1, 1 + rate), np.full(cells - 2, -rate / 2))
    for _ in range(_HALF_STEPS):
        u, _ = dpttrs(diagonal, beside, u, overwrite_b=1)
    for _ in range(steps - _HALF_STEPS // 2):
        # (2 - A) u' = A u, so that A⁻¹(2 - A) = 2A⁻¹ - 1
        solved, _ = dpttrs(diagonal, beside, u)
        solved *= 2
        solved -= u
        u = solved
    out = np.zeros_like(u0)
    out[:, 1:-1] = u[refinement - 1 :: refinement].T
    return out


def extrapolated(runs: list[Array]) -> Array:
    """Runs with grid and step halved from one to the next, their error's even powers removed."""
    power = 4.0
    while len(runs) > 1:
        runs = [(power * fine - coarse) / (power - 1) for coarse, fine in pairwise(runs)]
        power *= 4
    return runs[0]


@dataclass(frozen=True, slots=True)
class Setting:
    """The coarsest run's grid and steps, and how many runs are combined."""

    refinement: int
    steps: int
    levels: int

    def runs(self) -> Iterator[tuple[int, int]]:
        """(refinement, steps) of each run."""
        return ((self.refinement << k, self.steps << k) for k in range(self.levels))

    def finer(self) -> Setting:
        """Grid and step halved."""
        return Setting(2 * self.refinement, 2 * self.steps, self.levels)

    def __str__(self) -> str:
        first = f"{self.refinement}× grid, {self.steps} steps"
        return first + (f", extrapolated from {self.levels} runs" if self.levels > 1 else "")


@dataclass(frozen=True, slots=True)
class Reached:
    """``seconds`` a batch takes and its ``error`` in a setting that ran.

    ``expected`` is None where the accuracy wanted was reached; otherwise the fewest seconds
    that the error's fall up to this setting lets expect for it.
    """

    setting: Setting
    seconds: float
    error: float
    expected: float | None = None


class Trials:
    """Every setting within :data:`MOST`, run once; ``error`` is of values (B, n)."""

    def __init__(self, u0: Array, tau: float, error: Callable[[Array], float]) -> None:
        values: dict[tuple[int, int], Array] = {}
        seconds: dict[tuple[int, int], float] = {}
        for refinement in _REFINEMENTS:
            for steps in _STEPS:
                if refinement * steps <= MOST:
                    run = refinement, steps
                    values[run], seconds[run] = _clocked(u0, tau, *run)
        self._found: dict[Setting, Reached] = {}
        for setting in (Setting(*run, levels) for run in values for levels in _LEVELS):
            runs = list(setting.runs())
            if all(run in values for run in runs):
                self._found[setting] = Reached(
                    setting,
                    sum(seconds[run] for run in runs),
                    error(extrapolated([values[run] for run in runs])),
                )

    def cheapest(self, wanted: float) -> Reached:
        """The cheapest setting within ``wanted``, or the one that would get there first."""
        good = [reached for reached in self._found.values() if reached.error <= wanted]
        if good:
            return min(good, key=lambda reached: reached.seconds)
        expectations = (self._expect(reached, wanted) for reached in self._found.values())
        return min(expectations, key=lambda reached: reached.expected or math.inf)

    def _expect(self, coarse: Reached, wanted: float) -> Reached:
        """From two settings, grid and step halved, where the second has the lower error."""
        fine = self._found.get(coarse.setting.finer())
        if fine is None or fine.error >= coarse.error:
            return Reached(coarse.setting, coarse.seconds, coarse.error, math.inf)
        order = math.log2(coarse.error / fine.error)
        halvings = math.log2(fine.error / wanted) / order
        return Reached(fine.setting, fine.seconds, fine.error, fine.seconds * 4**halvings)


def _clocked(u0: Array, tau: float, refinement: int, steps: int) -> tuple[Array, float]:
    """Values and the seconds they took; of a short run, those of the fastest of some."""
    times: list[float] = []
    while not times or sum(times) < _CLOCKED_S:
        started = time.perf_counter()
        found = crank_nicolson(u0, tau, refinement, steps)
        times.append(time.perf_counter() - started)
    return found, min(times)
