"""Routes for questions, which go around most of FastAPI and must not be told from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Depends, Request

from service.resources import ResourcesOf
from service.routes.admission import admit
from service.routes.question import QuestionRoute
from service.schemas import DifferentiateRequest, Formula

QUESTION = '{"expression": "x^2 + \\u0033 x"}'


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", QUESTION.encode()),
        ("application/json; charset=utf-8", QUESTION.encode()),
        ("APPLICATION/JSON", QUESTION.encode()),
        ("application/merge-patch+json", QUESTION.encode()),
        ("application/json", QUESTION.encode("utf-8-sig")),
        ("application/json", QUESTION.encode("utf-16")),
    ],
)
def test_all_that_is_json_is_read(client: httpx.Client, content_type: str, body: bytes) -> None:
    """Whatever way a valid body takes to the endpoint, its answer is the same."""
    answer = client.post("/differentiate", content=body, headers={"Content-Type": content_type})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["answer"]["text"] == "2*x + 3"


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (b'{"expression": "x"', 400, "malformed-body"),
        (b'{"expression": "x", "order": 1.5}', 422, "invalid-request"),
        (b'{"expression": "x", "timeout_s": NaN}', 422, "invalid-request"),
        (b"[" * 100_000, 400, "malformed-body"),
        (b"\xff\xfe\xff", 400, "malformed-body"),
        (b"", 422, "invalid-request"),
    ],
)
def test_all_else_is_refused_by_its_kind(
    client: httpx.Client, body: bytes, status: int, slug: str
) -> None:
    """A body that is no question gets FastAPI's findings as a problem."""
    headers = {"Content-Type": "application/json"}
    answer = client.post("/differentiate", content=body, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{slug}")


async def _more(request: DifferentiateRequest, resources: ResourcesOf, more: Request) -> Formula:
    raise NotImplementedError


async def _plain(request: DifferentiateRequest, resources: ResourcesOf) -> Formula:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("dependencies", "endpoint"), [([Depends(admit)], _more), ([], _plain)], ids=["more", "open"]
)
def test_a_route_that_needs_more_is_refused(
    dependencies: list[Any], endpoint: Callable[..., Any]
) -> None:
    """A parameter that would not be given, or a route without admission, fails at once."""
    router = APIRouter(route_class=QuestionRoute, dependencies=dependencies)
    with pytest.raises(TypeError):
        router.post("/differentiate")(endpoint)
