"""service.heat.particular: lifts and Duhamel's integral."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from service.heat.particular import driven, homogeneous, lift, lift_panels, separate
from service.heat.question import FieldError, Question, understand
from service.heat.schema import HeatRequest
from service.problems import Problem
from tokenizer.parse import parse
from tokenizer.tree import Tree


def question(**fields: Any) -> Question:
    asked = {"initial_condition": "0", "times": [0.2], "points": 7, **fields}
    return understand(HeatRequest.model_validate(asked))


def source(text: str) -> Tree:
    return parse(text, variables=("x", "t"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x^2", 1),
        ("exp(-t)", 1),
        ("x*exp(-t) - sin(x)", 2),
        ("(x + t)*(1 - t)", 2),
        ("sin(x)*cos(t)/(1 + t)", 1),
    ],
)
def test_sums_of_products_come_apart(text: str, parts: int) -> None:
    """Each part is a function of t times a function of x, and together they are the source."""
    found = separate(source(text))
    assert found is not None
    assert len(found) >= parts
    assert all(not g.contains("x") and not h.contains("t") for g, h in found)


@pytest.mark.parametrize("text", ["sin(x + t)", "exp(-x*t)", "x/(x + t)", "Heaviside(x - t)"])
def test_what_moves_does_not_come_apart(text: str) -> None:
    """Travelling sources are left whole."""
    assert separate(source(text)) is None


def test_both_ways_of_a_source_agree() -> None:
    """sin(x + t) whole, and as sin x cos t + cos x sin t in parts."""
    whole, error = driven(question(source_term="sin(x + t)"))
    parts, _ = driven(question(source_term="sin(x)*cos(t) + cos(x)*sin(t)"))
    assert np.abs(whole - parts).max() < 1e-12
    assert error < 1e-9


@pytest.mark.parametrize(
    "boundary",
    [
        {"kind": "dirichlet", "left": 2, "right": -1},
        {"kind": "neumann", "left": 3, "right": 0.5},
        {"kind": "mixed", "left": "u=2", "right": "u_x=-3"},
        {"kind": "mixed", "left": "u_x=1", "right": "u=4"},
    ],
)
def test_the_lift_meets_its_conditions_and_the_equation(boundary: dict[str, Any]) -> None:
    """Values and slopes at the ends, u_t = u_xx inside, panels the same at the start."""
    asked = question(boundary=boundary, length=2, points=3)
    conditions, length = asked.conditions, asked.length
    h, x = 1e-3, np.array([0.0, 1e-3, 0.5 - 1e-3, 0.5, 0.5 + 1e-3, 1 - 1e-3, 1.0])
    tau = np.array([0.0, 0.1, 0.1 + 1e-4])
    u = lift(conditions, length, tau, x)
    assert lift_panels(conditions, length)(x) == pytest.approx(u[0], abs=1e-14)
    bend = (u[1, 2] - 2 * u[1, 3] + u[1, 4]) / h**2
    assert (u[2, 3] - u[1, 3]) / 1e-4 == pytest.approx(bend, abs=1e-6)
    slopes = (u[1, 1] - u[1, 0]) / (h * length), (u[1, 6] - u[1, 5]) / (h * length)
    values = u[1, 0], u[1, 6]
    wanted = (conditions.left, conditions.right)
    for end, kind in enumerate(conditions.kind.value):
        found = values[end] if kind == "u" else slopes[end]
        assert found == pytest.approx(wanted[end], abs=5e-3)


def test_a_stationary_start_leaves_nothing_to_diffuse() -> None:
    """u₀ equal to the lift up to rounding is zero, not rounding noise to be propagated."""
    asked = question(initial_condition="x/3", boundary={"kind": "dirichlet", "right": "1/3"})
    rest = homogeneous(asked, lift_panels(asked.conditions, 1.0))
    assert rest.scale() == 0


def test_a_source_too_fast_in_time_is_refused() -> None:
    """A million oscillations are not integrated to a wrong number."""
    with pytest.raises(FieldError, match="too quickly in time"):
        driven(question(source_term="sin(10000000*t)", boundary={"kind": "neumann"}))


@pytest.mark.parametrize(
    ("factor", "function", "times"),
    [
        ("exp(-(t - 0.0437)**2*10**8)", lambda s: math.exp(-1e8 * (s - 0.0437) ** 2), (0.0437,)),
        (
            "Piecewise((1000, (t > 0.0437) & (t < 0.0438)), (0, True))",
            lambda s: 1000.0 * (0.0437 < s < 0.0438),
            (0.0437, 0.0438),
        ),
        ("Heaviside(t - 0.05)", lambda s: float(s > 0.05), (0.05,)),
        ("sin(3000*t)", lambda s: math.sin(3000 * s), tuple(np.linspace(0.001, 0.199, 199))),
        ("exp(-10**6*t)", lambda s: math.exp(-1e6 * s), (1e-6, 1e-5, 1e-4)),
    ],
)
def test_a_source_that_is_short_in_time_is_not_passed_over(
    factor: str, function: Callable[[float], float], times: tuple[float, ...]
) -> None:
    """A pulse between the nodes of a first rule counts in full, and a switch is exact."""
    asked = question(source_term=f"({factor})*sin(pi*x)", x=[0, 0.5])
    found, error = driven(asked)
    rate = math.pi**2
    edges = [0.0, *times, 0.2]
    edges = sorted({*edges, *(t + d for t in times for d in (-1e-3, -2e-4, 2e-4, 1e-3))})
    edges = [edge for edge in edges if 0 <= edge <= 0.2]
    expected = sum(
        quad(lambda s: math.exp(-rate * (0.2 - s)) * function(s), low, high, epsabs=1e-16)[0]
        for low, high in pairwise(edges)
    )
    assert found[0, 1] == pytest.approx(expected, rel=1e-9)
    assert error < 1e-6 * abs(found[0, 1])


def test_a_pulse_of_a_source_that_does_not_separate_is_not_passed_over() -> None:
    """Its jumps in time are the same in all places, so they are found at any."""
    text = "Piecewise((1000*sin(pi*x), (t > 0.0437) & (t < 0.0438)), (0, True))"
    found, _ = driven(question(source_term=text, x=[0, 0.5]))
    rate = math.pi**2
    expected = 1000 * (math.exp(-rate * 0.1562) - math.exp(-rate * 0.1563)) / rate
    assert found[0, 1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("text", ["DiracDelta(t - 0.05)*x", "I*t*x", "zeta(t)*x"])
def test_a_source_without_real_values_is_refused(text: str) -> None:
    """The field is named; nothing fails on our side."""
    with pytest.raises((FieldError, Problem)):
        driven(question(source_term=text))
