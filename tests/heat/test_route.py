"""POST /pde/heat over real HTTP: forms, fields, refusals, verification."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import math
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest
from scipy.integrate import quad

from service.accept import negotiate
from service.heat.question import Question
from service.heat.reference import Analysis, analyse
from service.heat.route import OFFERED
from service.heat.schema import LIMITS
from service.problems import Problem
from service.settings import Settings
from tests.heat.conftest import Post
from tests.service.http_server import serving


def test_the_answer_has_what_the_interface_promises(post: Post) -> None:
    """The request of the documentation, field by field."""
    found = post(
        initial_condition="x*(1-x)",
        alpha=1.0,
        length=1.0,
        times=[0.01, 0.1],
        boundary={"kind": "dirichlet", "left": 0, "right": 0},
        points=129,
        contract="piecewise_linear",
        source_term="0",
        engine="auto",
    ).json()
    assert found["status"] == "solved"
    assert found["source"] == "model"
    assert len(found["x"]) == 129
    assert [len(row) for row in found["u"]] == [129, 129]
    check = found["verification"]
    assert check["status"] == "numeric"
    assert check["reference"] == "spectral"
    assert max(check["relative_l2"]) < 1e-6
    assert max(check["max_abs"]) < 1e-9
    assert check["maximum_principle"] is True
    assert check["energy_decay"] is True
    assert check["semigroup"] < 1e-9
    assert check["input_error_bound"] < 1e-12
    assert found["closed_form"]["exact"] is False
    assert found["model"]["name"] == "heat-kernel"
    assert found["timing_ms"]["total"] > 0


def test_a_sum_of_modes_is_proved(post: Post) -> None:
    """SymPy proves the formula and the values agree with it."""
    found = post(initial_condition="sin(pi*x)", times=0.1, points=5).json()
    assert found["verification"]["status"] == "proved"
    assert found["closed_form"]["text"] == "exp(-pi**2*t)*sin(pi*x)"
    assert found["u"][0][2] == pytest.approx(math.exp(-(math.pi**2) / 10), rel=1e-14)


def test_spellings_share_an_answer(post: Post) -> None:
    """LaTeX after text is a hit: the Trees and numbers are the same."""
    fields: dict[str, Any] = {"times": [0.0123], "points": 7, "length": "pi/2"}
    first = post(initial_condition="sin(x)**2 / (1 + x^2)", **fields).json()
    again = post(initial_condition=r"\frac{\sin^2 x}{1+x^2}", **fields).json()
    assert first["cached"] is False
    assert again["cached"] is True
    assert again["u"] == first["u"]


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("alpha", {"alpha": -1}),
        ("alpha", {"alpha": "y"}),
        ("times", {"times": -0.1}),
        ("times", {"times": []}),
        ("times", {"times": "oo"}),
        ("length", {"length": 0}),
        ("times", {"times": [True]}),
        ("points", {"points": 1}),
        ("points", {"points": LIMITS["heat_points"] + 1}),
        ("points", {"points": LIMITS["heat_points"], "times": [0.1] * 100}),
        ("times", {"times": [0.1] * (LIMITS["heat_times"] + 1)}),
        ("x", {"x": [0.5]}),
        ("x", {"x": [0.5, 0.5]}),
        ("x", {"x": [0, 2]}),
        ("initial_condition", {"initial_condition": "x*y"}),
        ("initial_condition", {"initial_condition": "t"}),
        ("initial_condition", {"initial_condition": "1/x"}),
        ("initial_condition", {"initial_condition": "tan(2*x)"}),
        ("initial_condition", {"initial_condition": "sqrt(x - 1/2)"}),
        ("initial_condition", {"initial_condition": "I*x"}),
        ("initial_condition", {"initial_condition": "sin(1/x)"}),
        ("initial_condition", {"initial_condition": "foo(x)"}),
        ("initial_condition", {"initial_condition": "DiracDelta(x)"}),
        ("initial_condition", {"initial_condition": "DiracDelta(x - 1/2)**2"}),
        ("initial_condition", {"initial_condition": "floor(100000*x)"}),
        ("initial_condition", {"initial_condition": [1.0]}),
        ("initial_condition", {"initial_condition": [0] * (LIMITS["heat_samples"] + 1)}),
        ("initial_condition", {"initial_condition": ["0", "1"]}),
        ("initial_condition.x", {"initial_condition": {"x": [0, 0, 1], "u": [1, 2, 3]}}),
        ("initial_condition.x", {"initial_condition": {"x": [0, 0.7, 0.6], "u": [1, 2, 3]}}),
        ("initial_condition.u", {"initial_condition": {"x": [0, 1], "u": [1, 2, 3]}}),
        ("source_term", {"source_term": "1/x"}),
        ("source_term", {"source_term": "u"}),
        ("source_term", {"source_term": "DiracDelta(t - 1/20)"}),
        ("times", {"length": 1e-200}),
        ("boundary.left", {"boundary": {"kind": "dirichlet", "left": "x"}}),
        ("boundary.left", {"boundary": {"kind": "periodic", "left": 1}}),
        ("boundary.right", {"boundary": {"kind": "mixed", "right": 3}}),
        ("boundary.kind", {"boundary": {"kind": "robin"}}),
        ("engine", {"engine": "magic"}),
        ("surprise", {"surprise": 1}),
    ],
)
def test_refusals_name_the_field(field: str, body: dict[str, Any], post: Post) -> None:
    """A bad request is a 422 whose first error is about the field that is wrong."""
    answer = post(**{"initial_condition": "x", "times": [0.1], **body})
    assert answer.status_code == 422
    named = answer.json()["errors"][0]["field"]
    assert named == field or named.startswith(f"{field}.")
    assert all(re.fullmatch(r"[a-z_.0-9]+", entry["field"]) for entry in answer.json()["errors"])


def test_an_interval_so_long_that_nothing_flows_keeps_its_values(post: Post) -> None:
    """A length whose square is no number is no fault."""
    answer = post(initial_condition="1", length=1e200, times=[1], boundary={"kind": "neumann"})
    assert answer.status_code == 200
    assert answer.json()["u"][0] == pytest.approx([1.0] * 129, rel=1e-15)


@pytest.mark.parametrize("alpha", [1e-300, 1e-33, 1e-18])
def test_the_first_instant_is_checked_like_any_other(alpha: float, post: Post) -> None:
    """A jump becomes the mean of both sides at once, and the second formula agrees."""
    found = post(
        initial_condition="Heaviside(x - 1/2)", alpha=alpha, times=1, boundary={"kind": "neumann"},
        x=[0, 0.25, 0.5, 0.75, 1],
    ).json()  # fmt: skip
    assert found["u"][0] == pytest.approx([0, 0, 0.5, 1, 1], abs=1e-12)
    assert found["verification"]["status"] == "numeric"
    assert found["verification"]["semigroup"] < 1e-10
    assert found["verification"]["max_abs"][0] < 1e-10


def test_nan_and_infinity_in_json_are_refused(heat_url: str) -> None:
    """JSON's outlaws do not get as far as arithmetic."""
    for text in (
        '{"initial_condition": [NaN, 1], "times": 1}',
        '{"initial_condition": "x", "times": Infinity}',
    ):
        answer = httpx.post(
            f"{heat_url}/pde/heat", content=text, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422


def test_zero_diffusivity_and_zero_time_keep_the_initial_condition(post: Post) -> None:
    """Both give u₀ itself, jumps and all."""
    source = "Piecewise((0, x < 1/2), (1, True))"
    for fields in ({"alpha": 0, "times": [0.1, 5]}, {"times": [0]}):
        found = post(initial_condition=source, points=5, **fields).json()
        assert all(row == [0, 0, 1, 1, 1] for row in found["u"])


def test_table_has_a_row_a_point_and_every_digit(post: Post) -> None:
    """CSV reads back to the very numbers of the JSON answer."""
    fields: dict[str, Any] = {"initial_condition": "x", "times": [0.1, 0.2], "points": 5}
    answer = post("text/csv", **fields)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["x-verification"] == "numeric"
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["x", "t=0.1", "t=0.2"]
    columns = np.array(rows[1:], dtype=float).T
    found = post(**fields).json()
    assert columns[0].tolist() == found["x"]
    assert columns[1:].tolist() == found["u"]


@pytest.mark.parametrize("times", [[0.1], [0, 1e-6, 1e-3, 0.1]])
def test_pictures_are_drawn(times: list[float], post: Post) -> None:
    """PNG and SVG of profiles and map, one time or several."""
    fields: dict[str, Any] = {"initial_condition": "Heaviside(x-1/3)", "times": times, "points": 33}
    png = post("image/png", **fields)
    assert png.headers["content-type"] == "image/png"
    assert png.content.startswith(b"\x89PNG\r\n")
    svg = post("image/svg+xml", **fields)
    assert ElementTree.fromstring(svg.content).tag.endswith("svg")


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", "application/json"),
        ("text/csv, application/json;q=0.5", "text/csv"),
        ("image/*", "image/png"),
        ("image/png;q=0.1, image/svg+xml", "image/svg+xml"),
        ("text/html, */*;q=0.1", "application/json"),
    ],
)
def test_negotiation(accept: str, form: str) -> None:
    """The most wanted of what is offered."""
    assert negotiate(accept, OFFERED) == form


def test_a_form_that_is_not_offered_is_406() -> None:
    """HTML is not to be had."""
    with pytest.raises(Problem) as caught:
        negotiate("text/html", OFFERED)
    assert caught.value.status == 406


def test_engines_agree(post: Post) -> None:
    """Model and formulas give the same values where both answer, at early and late times."""
    fields: dict[str, Any] = {
        "initial_condition": "abs(x - 1/3) + Heaviside(x - 1/2)",
        "times": [2e-5, 1e-3, 0.2],
        "boundary": {"kind": "mixed", "left": "u_x = 2", "right": "u = 1"},
        "points": 33,
    }
    model = post(**fields, engine="model").json()
    exact = post(**fields, engine="spectral").json()
    assert (model["source"], exact["source"]) == ("model", "spectral")
    assert np.array(model["u"]) == pytest.approx(np.array(exact["u"]), abs=1e-9)
    assert exact["verification"]["status"] == "numeric"
    assert exact["verification"]["reference"] == "images"


def test_times_too_early_for_the_model_fall_back_and_say_so(post: Post) -> None:
    """auto answers by formula; model refuses and names the times."""
    fields: dict[str, Any] = {"initial_condition": "x*(1-x)", "times": [1e-9], "x": [0, 0.5]}
    assert post(**fields).json()["source"] == "spectral"
    refused = post(**fields, engine="model")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "times"


def test_a_steady_source_ends_in_the_steady_state(post: Post) -> None:
    """u_xx = -1 with cold ends is x(1-x)/2."""
    found = post(initial_condition="0", source_term="1", times=[10], points=5).json()
    x = np.array(found["x"])
    assert found["u"][0] == pytest.approx(x * (1 - x) / 2, abs=1e-11)


def test_a_source_in_time_is_duhamels_integral(post: Post) -> None:
    """sin(πx) cos t against the same integral by another quadrature."""
    found = post(
        initial_condition="0", source_term="sin(pi*x)*cos(t)", times=[0.7], x=[0, 0.5], alpha=0.3
    ).json()
    rate = 0.3 * math.pi**2
    expected = quad(lambda s: math.exp(-rate * (0.7 - s)) * math.cos(s), 0, 0.7, epsabs=1e-14)[0]
    assert found["u"][0][1] == pytest.approx(expected, rel=1e-11)
    assert found["verification"]["maximum_principle"] is None


def test_samples_say_what_they_may_hide(post: Post) -> None:
    """The bound for straight lines is h²/8 max|u''|, and the true error is within it."""
    x = np.linspace(0, 1, 17)
    found = post(initial_condition=np.sin(np.pi * x).tolist(), times=[0.01], points=17).json()
    exact = math.exp(-(math.pi**2) * 0.01) * np.sin(np.pi * x)
    bound = found["verification"]["input_error_bound"]
    assert bound == pytest.approx(math.pi**2 / 8 / 16**2, rel=0.01)
    assert np.abs(np.array(found["u"][0]) - exact).max() <= bound


def test_nothing_hangs(post: Post) -> None:
    """A source that is costly to integrate is answered or given up within its deadline."""
    started = time.monotonic()
    found = post(
        initial_condition="0",
        source_term="sin(40*t)*Heaviside(sin(50*x + 30*t))",
        times=[0.1 * k for k in range(1, 60)],
        points=500,
        timeout_s=2,
    )
    assert time.monotonic() - started < 30
    assert found.status_code in (200, 422)
    if found.status_code == 200:
        assert found.json()["status"] == "unsolved"
        assert "deadline" in found.json()["reason"]


def dying(folder: str, question: Question, threshold: float | None, check: bool) -> Analysis:
    """``analyse``, in a worker that is killed once."""
    with contextlib.suppress(FileExistsError):
        (Path(folder) / "died").touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    return analyse(question, threshold, check)


def failing(*_: object) -> Analysis:
    """What SymPy may raise on odd input."""
    raise ArithmeticError("odd")


@pytest.mark.parametrize("function", [dying, failing])
def test_a_worker_that_is_lost_costs_no_answer(
    function: Callable[..., Analysis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed one is asked again; what cannot be computed is said, and is no crash."""
    worker = functools.partial(function, str(tmp_path))
    monkeypatch.setattr("service.heat.solver.analyse", worker)
    body = {"initial_condition": "sin(pi*x)", "times": 0.1, "points": 5, "engine": "spectral"}
    with serving(Settings(workers=1, artifacts=tmp_path)) as running:
        found = httpx.post(f"{running.url}/pde/heat", json=body, timeout=60)
    assert found.status_code == 200
    if function is dying:
        assert found.json()["status"] == "solved"
    else:
        assert found.json()["reason"] == "a worker failed on it"
