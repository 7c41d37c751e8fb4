"""Families of initial values to train and test on, drawn on a uniform grid of [0, 1].

Each drawer takes a random generator and the grid x (n,) and gives samples (n,) of
size about one. What counts as the truth is the heat flow of the straight lines
between the samples, so every resolution is a fair question.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from models.heat.boundary import Array, Boundary
from models.heat.panels import from_samples
from models.heat.propagator import CROSSOVER, by_images
from models.heat.tokens import hat_projection

Drawer = Callable[[np.random.Generator, Array], Array]


def fourier(rng: np.random.Generator, x: Array) -> Array:
    """A few sine modes with random amplitudes, decaying like a random power."""
    k = np.arange(1, rng.integers(2, 21))
    amplitude = rng.normal(size=len(k)) / k ** rng.uniform(0, 2)
    return np.asarray(amplitude @ np.sin(math.pi * k[:, None] * x))


def gaussian_field(rng: np.random.Generator, x: Array) -> Array:
    """A Gaussian random field, squared-exponential with a random length scale."""
    k = np.arange(64)
    scale = math.exp(rng.uniform(math.log(0.02), math.log(0.5)))
    spectrum = np.exp(-((math.pi * k * scale) ** 2) / 4)
    spectrum /= math.sqrt((spectrum**2).sum())
    a, b = rng.normal(size=(2, len(k))) * spectrum
    return np.asarray(a @ np.cos(math.pi * k[:, None] * x) + b @ np.sin(math.pi * k[:, None] * x))


def step(rng: np.random.Generator, x: Array) -> Array:
    """Constant between one and four jumps."""
    jumps = np.sort(rng.uniform(0.02, 0.98, size=rng.integers(1, 5)))
    levels = rng.normal(size=len(jumps) + 1)
    return np.asarray(levels[np.searchsorted(jumps, x)])


def hat(rng: np.random.Generator, x: Array) -> Array:
    """One triangle."""
    centre, width = rng.uniform(0.2, 0.8), rng.uniform(0.03, 0.5)
    return np.asarray(np.maximum(0, 1 - np.abs(x - centre) / width) * rng.choice([-1, 1]))


def near_delta(rng: np.random.Generator, x: Array) -> Array:
    """A Gaussian peak; one sample high at the least, so that no grid misses it."""
    width = math.exp(rng.uniform(math.log(2e-3), math.log(3e-2)))
    centre = x[rng.integers(1, len(x) - 1)]
    return np.asarray(np.exp(-(((x - centre) / width) ** 2) / 2))


def brownian(rng: np.random.Generator, x: Array) -> Array:
    """A Brownian path."""
    steps = rng.normal(size=len(x)) * math.sqrt(1 / (len(x) - 1))
    return np.asarray(np.cumsum(steps))


def sawtooth(rng: np.random.Generator, x: Array) -> Array:
    """Up to eight rising teeth with a random offset."""
    teeth = rng.integers(1, 9)
    return np.asarray(2 * np.mod(teeth * x + rng.uniform(), 1.0) - 1)


def single_mode(rng: np.random.Generator, x: Array) -> Array:
    """One sine mode, k up to 32 where the grid can tell it from a lower one."""
    k = rng.integers(1, min(32, len(x) - 2) + 1)
    return np.asarray(np.sin(math.pi * k * x))


FAMILIES: Final[dict[str, Drawer]] = {
    "fourier": fourier,
    "gaussian_field": gaussian_field,
    "step": step,
    "hat": hat,
    "near_delta": near_delta,
    "brownian": brownian,
    "sawtooth": sawtooth,
    "single_mode": single_mode,
}

#: What the article calls pathological: to be a tenth of its training set.
PATHOLOGICAL: Final = ("step", "hat", "near_delta")


def truth(u: Array, boundary: Boundary, tau: Array) -> Array:
    """v(τ_b, x) of each row of u (B, n), its own τ (B,), on the grid of the samples.

    By exact modes of the straight lines, and by mirror images where τ is too small.
    """
    grid = np.linspace(0, 1, u.shape[1])
    out = np.empty_like(u)
    for b in np.flatnonzero(tau < CROSSOVER):
        panels = from_samples(grid, u[b], "piecewise_linear")
        out[b] = by_images(panels, boundary, float(tau[b]), grid)
    slow = tau >= CROSSOVER
    if slow.any():
        modes = boundary.modes(boundary.count_modes(float(tau[slow].min())))
        coefficients = u[slow] @ hat_projection(grid, modes)
        coefficients *= np.exp(-np.square(modes.frequency) * tau[slow, None])
        out[slow] = coefficients @ modes.evaluate(grid)
    return out
