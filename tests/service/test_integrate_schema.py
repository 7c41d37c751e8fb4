"""What the body of POST /integrate may say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from service.solvers.integrate import understand
from service.solvers.integrate_schema import IntegrateRequest
from tokenizer.parse import parse
from tokenizer.tree import Tree


def lower(bound: str) -> Tree | None:
    """The lower bound as it is understood, from JSON source."""
    body = f'{{"expression": "x^2", "lower": {bound}, "upper": 1}}'
    return understand(IntegrateRequest.model_validate_json(body)).lower


@pytest.mark.parametrize(
    ("given", "text"),
    [("0", "0"), ("-3", "-3"), ("0.1", "0.1"), ("1e-7", "0.0000001"), ('"2pi"', "2pi")],
)
def test_a_bound_may_be_a_number(given: str, text: str) -> None:
    """A JSON number means the decimal that stands there."""
    assert lower(given) == parse(text)


@pytest.mark.parametrize("given", ["true", '""', "1e999", "[0]", "{}"])
def test_what_is_no_bound_is_refused(given: str) -> None:
    """Neither truth values nor infinities nor lists."""
    with pytest.raises(ValidationError):
        lower(given)


def test_the_schema_offers_both() -> None:
    """Generated clients may send a string or a number."""
    member: dict[str, Any] = IntegrateRequest.model_json_schema()["properties"]["lower"]
    assert {'"string"', '"number"', '"integer"', '"null"'} <= set(
        json.dumps(member).replace("}", " ").replace(",", " ").split()
    )
