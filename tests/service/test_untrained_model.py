"""What the service does when its model writes nonsense, or cannot keep up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from models import artifacts
from service.settings import Settings
from tests import tiny_model
from tests.service.http_server import serving


@pytest.fixture(scope="module")
def nonsense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Artifacts with random weights under the name of the real model."""
    source = tiny_model.exported(tmp_path_factory) / "tiny"
    folder = tmp_path_factory.mktemp("nonsense")
    shutil.copytree(source, folder / "differentiate")
    replace(artifacts.read(source), name="differentiate").write(folder / "differentiate")
    return folder


@pytest.fixture(scope="module")
def client(nonsense: Path) -> Iterator[httpx.Client]:
    with (
        serving(Settings(workers=2, artifacts=nonsense)) as service,
        httpx.Client(base_url=service.url, timeout=60) as client,
    ):
        yield client


EXPRESSIONS = ("sin(x)^2", "x*exp(3x)", "log(x)/x", "atan(5x^2)", "x^a", "sqrt(x+1)")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_nonsense_is_never_an_answer(client: httpx.Client, expression: str) -> None:
    """Without a fallback there is no answer; the model is named as the one that was asked."""
    body = {"expression": expression, "variable": "x", "engine": "model"}
    found = client.post("/differentiate", json=body).json()
    assert (found["status"], found["answer"]) == ("unsolved", None)
    assert found["model"]["version"] == "1.0"
    assert found["timing_ms"]["model"] > 0


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_fallback_answers_instead(client: httpx.Client, expression: str) -> None:
    """engine=auto is right all the same, and says that SymPy answered."""
    found = client.post("/differentiate", json={"expression": expression, "variable": "x"}).json()
    assert (found["status"], found["source"], found["model"]) == ("solved", "sympy", None)


def test_metrics_count_fallbacks_by_reason(client: httpx.Client) -> None:
    """An operator sees how often, and why, SymPy had to answer."""
    client.post("/differentiate", json={"expression": "cosh(x)*x"})
    text = client.get("/metrics").text
    assert 'calcert_fallbacks_total{reason="not_verified",task="differentiate"}' in text


def test_info_and_health_name_the_model(client: httpx.Client) -> None:
    """A loaded model is listed with its version and provider, and nothing is degraded."""
    model = client.get("/info").json()["models"]["differentiate"]
    assert (model["version"], model["provider"]) == ("1.0", "CPUExecutionProvider")
    assert client.get("/health/ready").json()["models"]["differentiate"] == "loaded"


def test_too_many_questions_are_told_to_come_back(nonsense: Path) -> None:
    """A full queue answers 429 with Retry-After; what was admitted is answered."""
    settings = Settings(workers=1, artifacts=nonsense, queue_items=1, batch_items=1)
    with (
        serving(settings) as service,
        httpx.Client(base_url=service.url, timeout=60) as client,
        ThreadPoolExecutor(24) as threads,
    ):
        answers = list(
            threads.map(
                lambda k: client.post("/differentiate", json={"expression": f"sin(x)^{k}*x"}),
                range(2, 50),
            )
        )
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert all(answer.headers["retry-after"] == "1" for answer in refused)
    assert all(answer.json()["type"] == "/problems/queue-full" for answer in refused)
    admitted = [answer.json() for answer in answers if answer.status_code == 200]
    assert len(admitted) + len(refused) == len(answers)
    assert admitted
    assert all(answer["status"] == "solved" for answer in admitted)
