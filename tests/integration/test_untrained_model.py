"""What POST /integrate does when its model writes nonsense."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import httpx
import mpmath
import pytest

from models import artifacts
from service.evaluation.independent import check_antiderivative
from service.settings import Settings
from tests import tiny_model
from tests.service.http_server import serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    source = tiny_model.exported(tmp_path_factory) / "ansatz"
    folder = tmp_path_factory.mktemp("nonsense")
    shutil.copytree(source, folder / "integrate")
    replace(artifacts.read(source), name="integrate").write(folder / "integrate")
    with (
        serving(Settings(workers=2, artifacts=folder)) as service,
        httpx.Client(base_url=service.url, timeout=120) as client,
    ):
        yield client


INTEGRANDS = ("sin(x)**2", "x*exp(3*x)", "(1 + x)/(2 + x**2)", "a**x + log(x)")


@pytest.mark.parametrize("expression", INTEGRANDS)
def test_whatever_the_model_writes_an_answer_is_right(
    client: httpx.Client, expression: str
) -> None:
    """Wide rounds of nonsense end in no answer, or by luck in a right one; never in an error."""
    body = {"expression": expression, "variable": "x", "engine": "model", "timeout_s": 20}
    answer = client.post("/integrate", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["search"]["rounds"] >= 1
    assert found["search"]["hypotheses"] >= 1
    if found["status"] == "solved":
        assert found["source"] == "model"
        assert check_antiderivative(expression, found["answer"]["text"], "x") == "right"
    else:
        assert found["answer"] is None
        assert found["reason"]


@pytest.mark.parametrize("expression", INTEGRANDS)
def test_the_fallback_answers_instead(client: httpx.Client, expression: str) -> None:
    """engine=auto is right all the same, and says who answered."""
    body = {"expression": expression, "variable": "x", "timeout_s": 60}
    found = client.post("/integrate", json=body).json()
    assert found["status"] == "solved"
    assert (found["source"] == "sympy") == (found["model"] is None)
    assert check_antiderivative(expression, found["answer"]["text"], "x") == "right"


def test_a_definite_integral_has_its_value_without_the_model(client: httpx.Client) -> None:
    """engine=model never asks SymPy, but quadrature is no fallback: the value is there."""
    body = {
        "expression": "exp(x**2)*sin(x)", "lower": "0", "upper": "1", "engine": "model",
        "timeout_s": 20,
    }  # fmt: skip
    found = client.post("/integrate", json=body).json()
    assert found["status"] == "unsolved"
    wanted = mpmath.quad(lambda x: mpmath.exp(x**2) * mpmath.sin(x), [0, 1])
    assert abs(found["value"] - wanted) < 1e-12
