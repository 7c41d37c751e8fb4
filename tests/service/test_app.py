"""The application as a whole: health, information, documentation, what it imports."""

from __future__ import annotations

import re
import subprocess
import sys

import httpx


def test_no_torch_in_the_service() -> None:
    """The service and its command load nothing that only training has."""
    code = (
        "import sys, service.app, service.cli, service.solvers.differentiate;"
        "print(sorted({'torch', 'symengine'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_health_says_ready(client: httpx.Client) -> None:
    """Live and ready answer 200 once the service is up, with the state of each part."""
    assert client.get("/health/live").status_code == 200
    answer = client.get("/health/ready")
    assert answer.status_code == 200
    assert answer.json()["verification"] == "2 of 2 workers up"


def test_info_names_models_and_limits(client: httpx.Client) -> None:
    """Each loaded model has a version, an execution provider and limits."""
    info = client.get("/info").json()
    assert info["name"] == "calcert"
    assert info["limits"]["body_bytes"] > 0
    for model in info["models"].values():
        assert model["version"]
        assert model["provider"].endswith("ExecutionProvider")
        assert model["limits"]


def test_docs_need_no_other_server(client: httpx.Client) -> None:
    """The page and every script and style it names come from the service itself."""
    page = client.get("/docs")
    assert page.status_code == 200
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert any(asset.endswith(".js") for asset in assets)
    for asset in assets:
        assert asset.startswith("/")
        assert client.get(asset).status_code == 200


def test_openapi_documents_problems_and_examples(client: httpx.Client) -> None:
    """Errors are documented as problem details, and the examples of requests are answered."""
    document = client.get("/openapi.json").json()
    operation = document["paths"]["/differentiate"]["post"]
    problem = operation["responses"]["422"]["content"]["application/problem+json"]["schema"]
    assert problem == {"$ref": "#/components/schemas/ProblemDetails"}
    assert "ProblemDetails" in document["components"]["schemas"]
    examples = document["components"]["schemas"]["DifferentiateRequest"]["examples"]
    assert examples
    for example in examples:
        assert client.post("/differentiate", json=example).json()["status"] == "solved"


def test_metrics_count_requests_by_route(client: httpx.Client) -> None:
    """A request shows up under its route template, and an unknown path under none."""
    client.get("/health/live")
    client.get("/some/path/nobody/knows")
    text = client.get("/metrics").text
    assert re.search(r'calcert_requests_total\{[^}]*route="/health/live"[^}]*\} [1-9]', text)
    assert "nobody" not in text
