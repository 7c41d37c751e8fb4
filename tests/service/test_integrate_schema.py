"""What the body of POST /integrate may say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from service.solvers.integral_question import understand
from service.solvers.integrate_schema import IntegrateRequest
from tokenizer.errors import ParseError
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


@pytest.mark.parametrize("given", ["x^2 dx", "x^2\\,dx", "1/x dx", "x^2*y dy"])
def test_a_differential_may_stand_without_its_sign(given: str) -> None:
    """People who type into a field called integrand end with dx all the same."""
    question = understand(IntegrateRequest(expression=given))
    assert question.variable == given[-1]
    assert not question.integrand.contains("d")


def test_a_misplaced_differential_points_at_its_own_place() -> None:
    """The position is that of what was typed, and a half-written integral is still refused."""
    with pytest.raises(ParseError) as refused:
        understand(IntegrateRequest(expression="x dx + 3"))
    assert refused.value.position == 2
    with pytest.raises(ParseError):
        understand(IntegrateRequest(expression="∫ sin x"))
