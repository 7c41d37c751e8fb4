"""The heat problems of real bug reports, over HTTP.

``heat_cases.jsonl`` has exact values to 12 digits; the problems that the other case
file states in words are written out below. Never trained on.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.heat.conftest import Post

FOLDER = Path(os.environ.get("CALCERT_CASES", Path(__file__).parents[3] / "shared" / "cases"))
FILE = FOLDER / "heat_cases.jsonl"


def cases() -> list[Any]:
    if not FILE.is_file():
        reason = f"no heat_cases.jsonl in {FOLDER}; set CALCERT_CASES"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason))]
    read = [json.loads(line) for line in FILE.read_text().splitlines()]
    return [pytest.param(case, id=case["id"]) for case in read]


def body(case: dict[str, Any], engine: str) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "initial_condition": case["initial_condition"],
        "alpha": case["alpha"],
        "length": case["length"],
        "times": [case["t"]],
        "boundary": case["bc"],
        "engine": engine,
    }
    if isinstance(case.get("grid"), list):
        asked["x"] = case["grid"]
    elif case["points"]:
        # the origin too: a grid has at least two points
        asked["x"] = [0.0, *(float(point["x"]) for point in case["points"])]
    return asked


@pytest.mark.parametrize("engine", ["auto", "spectral"])
@pytest.mark.parametrize("case", cases())
def test_case(case: dict[str, Any], engine: str, post: Post) -> None:
    """Every value right to the 12 digits given, every bad question a 422 that names its field."""
    answer = post(**body(case, engine))
    if case["expect"] == "error_422":
        assert answer.status_code == 422
        named = answer.json()["errors"][0]["field"]
        assert named.split(".")[0] in (
            "alpha",
            "times",
            "length",
            "initial_condition",
            "x",
            "boundary",
        )
        return
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["verification"]["status"] in ("proved", "numeric")
    values = dict(zip(found["x"], found["u"][0], strict=True))
    for point in case["points"]:
        u, expected = values[float(point["x"])], float(point["u"])
        # one unit in the twelfth digit, and rounding of u(x, 0) where the value is zero
        assert u == pytest.approx(expected, rel=5e-12, abs=1e-15)


def test_conflicting_corners_take_the_boundary_value_after_the_start(post: Post) -> None:
    """u₀ = 0 beside a hot end: the corner is u₀ at t = 0, the boundary value later, never NaN."""
    found = post(
        initial_condition="0", times=[0, 1e-9, 0.1], boundary={"kind": "dirichlet", "left": 1}
    ).json()
    assert [row[0] for row in found["u"]] == [0, 1, 1]
    assert all(0 <= value <= 1 for row in found["u"] for value in row)


def test_fixed_right_end_does_not_depend_on_conductivity(post: Post) -> None:
    """0 and 5 at the ends give a straight line in the end, whatever alpha is."""
    found = post(
        initial_condition="3",
        alpha=2.5,
        times=100,
        boundary={"kind": "dirichlet", "right": 5},
        points=6,
    ).json()
    assert found["u"][0] == pytest.approx([0, 1, 2, 3, 4, 5], abs=1e-12)


@pytest.mark.parametrize("kind", ["neumann", "periodic"])
def test_steady_state_is_the_mean(kind: str, post: Post) -> None:
    """Insulated and periodic problems end at the mean of u₀, not at 0, inf or NaN."""
    found = post(initial_condition="x^2", times=1000, boundary={"kind": kind}, points=5).json()
    assert found["u"][0] == pytest.approx([1 / 3] * 5, rel=1e-12)


def test_series_coefficients_of_a_step_on_another_length(post: Post) -> None:
    """Ten terms of a step on L = 1.5 at t = 0 tend to 1 at x = 1, with the right coefficients."""
    found = post(
        initial_condition="Piecewise((0, x <= 3/4), (1, True))",
        length=1.5,
        alpha=25,
        times=0,
        x=[0, 1],
    ).json()
    assert found["u"][0] == [0, 1]
    assert found["closed_form"]["terms"] == 8
    n = np.arange(1, 9)
    coefficients = 2 / (n * math.pi) * (np.cos(n * math.pi / 2) - np.cos(n * math.pi))
    partial = coefficients @ np.sin(n * math.pi / 1.5)
    # the formula skips modes that are zero, so it reaches at least as far
    assert abs(found["closed_form"]["max_abs"] - abs(1 - partial)) < 0.2


@pytest.mark.parametrize("engine", ["model", "spectral"])
@pytest.mark.parametrize("tau_over_h2", [0.5, 5.0])
def test_spikes_and_plugs_neither_oscillate_nor_overshoot(
    engine: str, tau_over_h2: float, post: Post
) -> None:
    """Where explicit schemes and Crank–Nicolson ring, values stay within those of u₀."""
    spikes = [1.0 if i in (20, 21, 44) else 0.0 for i in range(65)]
    found = post(
        initial_condition=spikes,
        times=tau_over_h2 / 64**2,
        boundary={"kind": "periodic"},
        points=65,
        engine=engine,
    ).json()
    u = np.array(found["u"][0])
    assert u.min() >= 0
    assert u.max() <= 1
    turns = np.sign(np.diff(np.sign(np.diff(u[np.abs(u) > 1e-9]))))
    assert np.count_nonzero(turns) <= 4
    assert found["verification"]["maximum_principle"] is True


def test_initial_values_that_miss_the_boundary_follow_the_heat_kernel(post: Post) -> None:
    """u₀ = 1 with cold ends is erf(x / 2√t) near the end; no derivative is assumed."""
    x = [0, 0.001, 0.01, 0.02]
    found = post(initial_condition="1", times=1e-4, x=x, engine="model").json()
    expected = [math.erf(value / (2 * math.sqrt(1e-4))) for value in x]
    assert found["u"][0] == pytest.approx(expected, rel=1e-10)


def test_a_non_uniform_grid_has_the_right_weights(post: Post) -> None:
    """A straight line given on an uneven grid is still that line to the boundary kind."""
    grid = [0, 0.01, 0.2, 0.25, 0.9, 1]
    found = post(
        initial_condition={"x": grid, "u": grid},
        times=0.05,
        boundary={"kind": "dirichlet", "right": 1},
        x=grid,
    ).json()
    assert found["u"][0] == pytest.approx(grid, abs=1e-14)


@pytest.mark.parametrize("kind", ["neumann", "periodic"])
def test_a_constant_stays_constant(kind: str, post: Post) -> None:
    """A constant is no error and does not change."""
    found = post(initial_condition=7, times=[0.001, 3], boundary={"kind": kind}, points=9).json()
    assert np.array(found["u"]) == pytest.approx(7.0, rel=1e-13)


def test_a_source_heats_an_insulated_rod(post: Post) -> None:
    """Source 1, insulated, u₀ = 0: the mean, and every value, is t."""
    found = post(
        initial_condition="0",
        source_term="1",
        times=[0.5, 2],
        boundary={"kind": "neumann"},
        points=5,
    ).json()
    assert np.array(found["u"]) == pytest.approx(np.array([[0.5] * 5, [2.0] * 5]), rel=1e-11)
    assert found["closed_form"]["text"] == "t"


def test_periodic_joins_slopes_as_well_as_values(post: Post) -> None:
    """u and u_x agree at both ends, so x = 0 and x = L are one point of a ring."""
    h = 1e-4
    found = post(
        initial_condition="x", times=0.01, boundary={"kind": "periodic"}, x=[0, h, 1 - h, 1]
    ).json()
    u = found["u"][0]
    assert u[0] == pytest.approx(u[3], abs=1e-14)
    assert (u[1] - u[0]) / h == pytest.approx((u[3] - u[2]) / h, rel=1e-3)
