"""models.heat.panels and models.heat.propagator: exact formulas and their agreement."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.heat.boundary import Array, Boundary
from models.heat.panels import (
    IrregularFunctionError,
    PiecewisePolynomial,
    from_function,
    from_nodes,
    from_samples,
    smooth_nodes,
)
from models.heat.propagator import by_images, by_modes, propagate

X = np.linspace(0, 1, 33)

SHAPES: dict[str, tuple[Callable[[Array], Array], list[float]]] = {
    "parabola": (lambda x: x * (1 - x), []),
    "step": (lambda x: np.where(x <= 0.3, 1.0, -2.0), [0.3]),
    "step at a place not told": (lambda x: np.where(x <= 0.3, 1.0, -2.0), []),
    "peak": (lambda x: np.exp(-1e6 * (x - 0.5) ** 2), [0.5]),
    "root": (np.sqrt, []),
    "kinks": (lambda x: np.abs(np.sin(17 * x)), []),
}

samples = st.lists(st.floats(-5, 5), min_size=2, max_size=30).map(np.array)
boundaries = st.sampled_from(list(Boundary))
taus = st.floats(-11.5, 0.5).map(math.exp)


def linear(u: Array) -> PiecewisePolynomial:
    return from_samples(np.linspace(0, 1, len(u)), u, "piecewise_linear")


@pytest.mark.parametrize("shape", SHAPES)
def test_panels_reproduce_the_function(shape: str) -> None:
    """Away from jumps, panels are as good as the function itself."""
    function, breaks = SHAPES[shape]
    x = np.random.default_rng(0).uniform(size=500)
    assert np.abs(from_function(function, breaks)(x) - function(x)).max() < 1e-12


@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("shape", SHAPES)
def test_modes_and_images_agree(shape: str, boundary: Boundary) -> None:
    """Two formulas that share only the panels give the same solution, at every boundary kind."""
    function, breaks = SHAPES[shape]
    panels = from_function(function, breaks)
    for tau in (1e-5, 1e-3, 0.05, 0.3):
        modal = by_modes(panels, boundary, np.array([tau]), X)[0]
        assert np.abs(modal - by_images(panels, boundary, tau, X)).max() < 1e-13


@pytest.mark.parametrize("boundary", Boundary)
def test_a_point_mass_is_the_limit_of_narrow_peaks(boundary: Boundary) -> None:
    """A mass and a Gaussian of the same weight, far narrower than the kernel, look alike."""
    flat = PiecewisePolynomial(
        np.array([0.0, 1.0]), np.zeros((1, 1)), np.array([0.3]), np.array([2.0])
    )
    width = 1e-6
    peak = from_function(
        lambda x: 2 * np.exp(-(((x - 0.3) / width) ** 2)) / (width * math.sqrt(math.pi)), [0.3]
    )
    for tau in (1e-4, 1e-2):
        exact = propagate(flat, boundary, np.array([tau]), X)
        near = propagate(peak, boundary, np.array([tau]), X)
        assert np.abs(exact - near).max() < 1e-6 * np.abs(exact).max()


@pytest.mark.parametrize("tau", [1e-20, 1e-12, 1e-8])
def test_tiny_times_keep_their_digits(tau: float) -> None:
    """u = x(1-x) - 2τ inside, to rounding, however small τ is."""
    panels = from_function(lambda x: x * (1 - x))
    x = np.array([0.25, 0.5, 0.7])
    found = propagate(panels, Boundary.DIRICHLET, np.array([tau]), x)[0]
    assert np.abs(found - (x * (1 - x) - 2 * tau)).max() < 3e-16


@pytest.mark.parametrize("tau", [1e-300, 1e-40, 1e-20, 1e-9])
def test_beside_a_jump_the_solution_is_an_error_function(tau: float) -> None:
    """And the mean of both sides at the jump itself, also where no double lies that near."""
    panels = from_function(lambda x: np.where(x < 0.3, 1.0, -2.0), [0.3])
    away = np.array([-0.7, 0.0, 1.2])
    beside = 2 * math.sqrt(tau) * away
    found = by_images(panels, Boundary.NEUMANN, tau, np.full(3, 0.3), beside)
    assert found == pytest.approx([-0.5 - 1.5 * math.erf(z) for z in away], abs=1e-14)


@pytest.mark.parametrize("tau", [1e-300, 1e-20])
def test_where_a_ring_closes_both_ends_count(tau: float) -> None:
    """u₀ = x jumps from 1 to 0 there, and the jump is seen from either end."""
    found = by_images(linear(np.array([0.0, 1.0])), Boundary.PERIODIC, tau, np.array([0.0, 1.0]))
    assert found == pytest.approx([0.5, 0.5], abs=1e-9)


@pytest.mark.parametrize(
    ("function", "where"),
    [
        (lambda x: 1 / x, 0.0),
        (lambda x: 1 / (x - 0.3) ** 2, 0.3),
        (lambda x: np.sqrt(x - 0.5), 0.0),
        (lambda x: np.sin(1 / x), 0.0),
    ],
)
def test_what_cannot_be_followed_is_refused_with_a_place(
    function: Callable[[Array], Array], where: float
) -> None:
    """Infinite, complex and endlessly oscillating functions are errors, not wrong panels."""
    with np.errstate(all="ignore"), pytest.raises(IrregularFunctionError) as caught:
        from_function(function)
    assert caught.value.x == pytest.approx(where, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(samples, boundaries, taus)
def test_maximum_principle(u: Array, boundary: Boundary, tau: float) -> None:
    """No value leaves the range of the initial value, with zero where an end is held."""
    low, high = float(u.min()), float(u.max())
    if boundary.fixes_value:
        low, high = min(low, 0.0), max(high, 0.0)
    v = propagate(linear(u), boundary, np.array([tau]), X)
    slack = 1e-12 * max(1.0, high - low)
    assert v.min() >= low - slack
    assert v.max() <= high + slack


@settings(max_examples=25, deadline=None)
@given(samples, boundaries, taus)
def test_semigroup(u: Array, boundary: Boundary, tau: float) -> None:
    """S(τ)S(τ) = S(2τ)."""
    nodes = smooth_nodes(tau)
    once = propagate(linear(u), boundary, np.array([tau]), nodes.ravel())[0]
    twice = propagate(from_nodes(once.reshape(nodes.shape)), boundary, np.array([tau]), X)[0]
    whole = propagate(linear(u), boundary, np.array([2 * tau]), X)[0]
    assert np.abs(twice - whole).max() < 1e-11


@settings(max_examples=25, deadline=None)
@given(samples, st.floats(0.01, 10), st.sampled_from([Boundary.NEUMANN, Boundary.PERIODIC]))
def test_insulated_and_periodic_keep_the_mean(u: Array, tau: float, boundary: Boundary) -> None:
    """Heat is neither made nor lost, and at last it is even."""
    panels = linear(u)
    v = propagate(panels, boundary, np.array([tau, 50.0]), X)
    assert np.abs(v[1] - panels.mean()).max() < 1e-12
    assert by_modes(panels, boundary, np.array([tau]), X).shape == (1, 33)


def test_cell_averages_are_conserved() -> None:
    """Cells meet half-way between samples, so the total is the sum of value times cell."""
    x, u = np.array([0.0, 0.1, 0.6, 1.0]), np.array([1.0, -2.0, 3.0, 0.5])
    panels = from_samples(x, u, "cell_average")
    assert panels.mean() == pytest.approx(0.05 - 2 * 0.3 + 3 * 0.45 + 0.5 * 0.2)
    assert panels(np.array([0.04, 0.06, 0.34, 0.36])).tolist() == [1.0, -2.0, -2.0, 3.0]


@pytest.mark.parametrize(
    ("function", "breaks", "mean"),
    [
        (lambda y: np.exp(-1e9 * y), (), 1e-9),
        (lambda y: np.exp(-1e9 * (1 - y)), (), 1e-9),
        (lambda y: 1 - np.tanh(1e7 * y), (), math.log(2) / 1e7),
        (lambda y: np.maximum(0, 1 - 1e6 * np.abs(y - 0.3)), (0.299999, 0.3, 0.300001), 1e-6),
        (lambda y: np.maximum(0, 1 - 1e3 * np.abs(y - 0.3)), (0.299, 0.3, 0.301), 1e-3),
    ],
)
def test_a_thin_layer_or_hat_is_neither_missed_nor_called_infinite(
    function: Callable[[Array], Array], breaks: tuple[float, ...], mean: float
) -> None:
    """Panels are graded towards ends as well, and narrow ones by design are not a pole."""
    assert from_function(function, breaks).mean() == pytest.approx(mean, rel=1e-7)
