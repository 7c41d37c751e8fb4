"""POST /steps, /parse and /sample over real HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from service.steps import OUTER, Derivation
from service.verification.derivation import check_steps
from tokenizer.heads import ELEMENTARY
from tokenizer.parse import parse
from tokenizer.tree import call


def steps(client: httpx.Client, **question: Any) -> dict[str, Any]:
    """The answer with status 200."""
    answer = client.post("/steps", json={"timeout_s": 30, **question})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def rules(found: dict[str, Any]) -> list[str]:
    return [step["rule"] for section in found["sections"] for step in section["steps"]]


@pytest.mark.parametrize("head", sorted(OUTER))
def test_the_rule_of_every_function_is_right(head: str) -> None:
    """The table of outer derivatives agrees with SymPy's, inside a chain as well."""
    tree = call(head, parse("x^2/3 + 1/2" if head not in ("acosh", "acoth") else "x^2 + 2"))
    derivation = Derivation("x")
    result = derivation.derive(tree)
    checked = check_steps([(tree, result)], "x", result, 20.0)
    assert checked.checks[0] in ("proved", "numeric")


def test_every_elementary_function_has_a_rule() -> None:
    """Nothing that the models are trained on is without steps."""
    assert set(ELEMENTARY) <= set(OUTER)


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("x^2 sin(x)", "Product rule"),
        ("sin(x)/x", "Quotient rule"),
        ("1/(1+x^2)", "Reciprocal rule"),
        ("(x^2+1)^5", "Power and chain rule"),
        ("x^(-1/2)", "Power rule"),
        ("2^x", "Exponential rule"),
        ("x^x", "Logarithmic differentiation"),
        ("x + sin(x)", "Sum rule"),
        ("3 sin(x)", "Constant factor"),
        ("Piecewise((x, x < 0), (x^2, True))", "Case by case"),
        ("atan2(x, 2)", "Angle of a point"),
        ("7", "Constant"),
        ("x", "The variable itself"),
    ],
)
def test_rules_are_named_and_each_step_is_checked(
    client: httpx.Client, expression: str, rule: str
) -> None:
    """The outermost rule is the first step, and every step passed a check of its own."""
    found = steps(client, task="differentiate", expression=expression)
    assert rules(found)[0] == rule
    for step in found["sections"][0]["steps"]:
        assert step["check"] in ("proved", "numeric")


def test_higher_orders_are_derived_one_after_the_other(client: httpx.Client) -> None:
    """Each order is a section that goes on from the last result."""
    found = steps(client, task="differentiate", expression="t^3", order=3)
    assert [section["title"] for section in found["sections"]] == [
        "Derivative 1 of 3",
        "Derivative 2 of 3",
        "Derivative 3 of 3",
    ]
    assert found["sections"][2]["steps"][-1]["latex"].endswith("= 6")


def test_an_integral_by_rules_and_back(client: httpx.Client) -> None:
    """By parts, then the proof: the answer's derivative is the integrand."""
    found = steps(client, task="integrate", expression="x e^x")
    assert [section["title"] for section in found["sections"]] == [
        "By rules",
        "Differentiated back",
    ]
    assert "Integration by parts" in rules(found)
    assert found["sections"][-1]["steps"][-1]["check"] == "proved"


def test_a_definite_integral_ends_with_its_bounds(client: httpx.Client) -> None:
    """F(b) - F(a) is compared with the value."""
    found = steps(client, task="integrate", expression="x cos(x^2)", lower="0", upper="1")
    last = found["sections"][-1]["steps"][-1]
    assert (last["rule"], last["check"]) == ("Fundamental theorem", "proved")


def test_what_has_no_rule_is_said(client: httpx.Client) -> None:
    """No steps is a problem, not an empty derivation."""
    answer = client.post("/steps", json={"task": "differentiate", "expression": "polylog(2, x)"})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/no-steps")


def test_a_long_derivation_stays_short(client: httpx.Client) -> None:
    """A hundred terms are derived, the innermost without being shown."""
    expression = "+".join(f"sin({k}*x)" for k in range(1, 80))
    found = steps(client, task="differentiate", expression=expression)
    assert len(found["sections"][0]["steps"]) <= 62
    assert found["notes"]


def test_parse_shows_the_question_and_its_bounds(client: httpx.Client) -> None:
    """The echo has the whole question typeset and the bounds as numbers."""
    found = client.post(
        "/parse", json={"expression": "a x", "task": "integrate", "lower": "0", "upper": "2pi"}
    ).json()
    assert found["question"]["text"] == "Integral(a*x, (x, 0, 2*pi))"
    assert found["symbols"] == ["a", "x"]
    assert found["interval"] == {"lower": 0.0, "upper": pytest.approx(6.283185307)}


def test_parse_refuses_as_the_answer_would(client: httpx.Client) -> None:
    """Mistakes, unclear variables and wrong tasks are the same problems as when asked."""
    for body, slug in (
        ({"expression": "1+foo(x)"}, "unknown-function"),
        ({"expression": "a b"}, "ambiguous-variable"),
        ({"expression": "\\int x\\,dx", "task": "differentiate"}, "wrong-task"),
        ({"expression": "x", "task": "integrate", "lower": "0"}, "missing-bound"),
    ):
        assert client.post("/parse", json=body).json()["type"] == f"/problems/{slug}"


def test_sample_gives_values_where_there_are_any(client: httpx.Client) -> None:
    """Poles and complex values are null, other symbols are 1 unless given."""
    found = client.post(
        "/sample",
        json={
            "expressions": ["sqrt(x)", "a/x", "polylog(2, x)"],
            "variable": "x",
            "lower": -1,
            "upper": 1,
            "points": 3,
            "parameters": {"a": 2},
        },
    ).json()
    assert found["curves"][0]["values"] == [None, 0.0, 1.0]
    assert found["curves"][1]["values"] == [-2.0, None, 2.0]
    assert found["curves"][2]["values"] is None
    assert found["parameters"] == {"a": 2.0}


@pytest.mark.parametrize(
    "fields",
    [
        {"lower": 1, "upper": 0},
        {"lower": -1e308, "upper": 1e308},
        {"lower": -(10**400)},
        {"points": 10**9},
        {"parameters": {"a": 10**400}},
    ],
)
def test_sample_is_bounded(client: httpx.Client, fields: dict[str, Any]) -> None:
    """An empty or infinite interval and too many points are refused."""
    body = {"expressions": ["x"], "variable": "x", "lower": 0, "upper": 1, **fields}
    assert client.post("/sample", json=body).status_code == 422


def test_a_derivative_too_deep_to_write_out_is_a_problem(client: httpx.Client) -> None:
    """The deepest input is answered with steps or refused in words, never with a crash."""
    for expression in ("x" + "^x" * 60, "sin(" * 60 + "x" + ")" * 60, "(" * 40 + "x" + ")^x" * 40):
        body = {"task": "differentiate", "expression": expression, "timeout_s": 10}
        assert client.post("/steps", json=body).status_code in (200, 422)
