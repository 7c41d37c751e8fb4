"""POST /integrate from end to end."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
import sympy

from service.evaluation.independent import check_antiderivative
from service.verification.convert import to_sympy
from tests.cases import Case, parameters
from tokenizer.errors import ParseError
from tokenizer.parse import parse


def ask(client: httpx.Client, expression: str, **fields: Any) -> dict[str, Any]:
    """The JSON of an answer with status 200."""
    body = {"expression": expression, "timeout_s": 60, **fields}
    answer = client.post("/integrate", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_an_antiderivative_comes_with_its_constant_and_proof(client: httpx.Client) -> None:
    """The answer, C, how it was verified, and what it took."""
    found = ask(client, "x*exp(x)")
    assert found["status"] == "solved"
    assert found["constant"] == "C"
    assert found["value"] is None
    assert found["verification"]["status"] == "proved"
    assert set(found["search"]) == {"hypotheses", "rounds"}
    assert check_antiderivative("x*exp(x)", found["answer"]["text"], "x") == "right"


def test_latex_brings_its_own_variable_and_bounds(client: httpx.Client) -> None:
    """The integral sign says all that the fields would."""
    found = ask(client, r"\int_0^1 t^2\,dt")
    assert found["input"]["variable"] == "t"
    assert found["input"]["lower"]["text"] == "0"
    assert found["answer"]["text"] == "1/3"
    assert found["constant"] is None
    assert found["convergence"] == "proper"
    assert abs(found["value"] - 1 / 3) < 1e-15


def test_names_come_back_as_they_were_sent(client: httpx.Client) -> None:
    """Parameters and the variable keep their names, in conditions and cases too."""
    found = ask(client, "theta**k", variable="theta")
    assert found["assumptions"] == ["k != -1"]
    assert [(c["condition"], c["answer"]["text"]) for c in found["cases"]] == [
        ("k = -1", "log(Abs(theta))")
    ]


def test_a_bound_may_use_the_name_of_the_variable(client: httpx.Client) -> None:
    """The variable of integration is bound; the x of the upper bound is another one."""
    found = ask(client, "2*x", variable="x", lower="0", upper="x")
    assert found["answer"]["text"] == "x**2"


def test_a_divergent_integral_says_so(client: httpx.Client) -> None:
    """No value, but the principal value where there is one."""
    found = ask(client, "1/x", lower="-1", upper="2")
    assert found["status"] == "solved"
    assert found["convergence"] == "divergent"
    assert found["answer"] is None
    assert found["principal_value"]["text"] == "log(2)"


def test_the_complex_domain_is_left_complex(client: httpx.Client) -> None:
    """log(x), not log|x|."""
    assert ask(client, "1/x", domain="complex")["answer"]["text"] == "log(x)"


def test_without_a_proof_there_is_no_answer(client: httpx.Client) -> None:
    """An elliptic integral is unsolved; between bounds it still has a value."""
    found = ask(client, "1/sqrt(1 + x**3)", timeout_s=8)
    assert found["status"] == "unsolved"
    assert found["answer"] is None
    assert found["reason"]
    found = ask(client, "sin(x**2)*exp(sqrt(x))", lower="1", upper="2", timeout_s=20)
    assert found["status"] == "unsolved"
    assert abs(found["value"] - 1.48254829467529) < 1e-13
    assert found["error_estimate"] < 1e-12


@pytest.mark.parametrize(
    "integrand",
    [
        # heavy terms that no system holds together
        "1/(sqrt(x**2 - 1)*(sqrt(x) + sqrt(x**2 - 1))**2) + exp(x)",
        "2*cos(x)*sqrt(x**2)",  # a sign that no coefficient can be
        "cosh(asin(2*x))",  # known in u = asin(2*x)
        "x*exp(x)/(asinh(3) + cos(log(2)))",  # a constant in words of its own
        "max(x, 1)*sin(x)",  # a function that the model has no word for
        "1/(x*(1 + x**5 + x**10))",  # rational in u = x**5
        "sqrt(x**2*(3 - 3*x**2 + x**4))",  # in u = x**2, with another sign for x < 0
        "1/(sqrt(1 + x)*sqrt(1 - x**2))",  # in u = sqrt(1 + x)
        "exp(x)*tan(exp(x))",  # in u = exp(x)
        "(x**2 - 1)/((x**2 + 1)*sqrt(x**4 + 1))",  # in u = x + 1/x
        "1/((x + 1)**2*(x - 1)**4)**(1/3)",  # in u = ((x + 1)/(x - 1))**(1/3), with signs
        "csc(x)*sqrt(sin(2*x))",  # in u = tan(x)
    ],
)
def test_the_search_widens_by_itself(client: httpx.Client, integrand: str) -> None:
    """Terms one by one, other forms, other variables, each proved for the whole."""
    found = ask(client, integrand, engine="model")
    assert found["status"] == "solved", found["reason"]
    assert found["timing_ms"]["model"] <= found["timing_ms"]["total"]
    assert check_antiderivative(integrand, found["answer"]["text"], "x") == "right"


def test_no_imaginary_unit_is_left_where_a_root_undoes_it(client: httpx.Client) -> None:
    """I*sqrt(-x) is real for negative x and written so."""
    found = ask(client, "asin(sqrt(x/(1 + x)))", engine="model")
    assert found["status"] == "solved", found["reason"]
    assert "I*" not in found["answer"]["text"]


def test_the_second_time_it_comes_from_the_cache(client: httpx.Client) -> None:
    """The same question in other names has the same answer, kept."""
    ask(client, "sqrt(a + x)/3")
    found = ask(client, "sqrt(b + z)/3", variable="z")
    assert found["cached"]
    assert check_antiderivative("sqrt(b + z)/3", found["answer"]["text"], "z") == "right"


@pytest.mark.parametrize(
    ("body", "slug"),
    [
        ({"expression": "x", "lower": "0"}, "missing-bound"),
        ({"expression": "oo*x"}, "undefined-expression"),
        ({"expression": "x", "lower": "0", "upper": "1 + oo"}, "undefined-expression"),
        ({"expression": r"\int_0^1 x\,dx", "lower": "0", "upper": "2"}, "contradiction"),
        ({"expression": r"\int x\,dx", "variable": "t"}, "contradiction"),
        ({"expression": "a*b"}, "ambiguous-variable"),
        ({"expression": "x", "beam": 0}, "invalid-request"),
        ({"expression": "x", "domain": "quaternion"}, "invalid-request"),
        ({"expression": "x", "lower": "0", "upper": "foo("}, None),
    ],
)
def test_bad_questions_are_problems(
    client: httpx.Client, body: dict[str, Any], slug: str | None
) -> None:
    """Each mistake is named; none is an error of the service."""
    answer = client.post("/integrate", json=body)
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["detail"]
    if slug is not None:
        assert problem["type"].endswith(f"/{slug}")


@pytest.mark.parametrize("case", parameters("integrate"))
def test_reported_integrals(client: httpx.Client, case: Case) -> None:
    """Integrals that other systems got wrong: right, or said to be unsolved."""
    unsolved = case.expected.startswith("no ")
    limit = 10 if unsolved else 60
    found = ask(client, case.source, variable=case.variable, timeout_s=limit)
    if unsolved:
        assert found["status"] == "unsolved"
        return
    assert found["status"] == "solved"
    text = found["input"]["text"]
    assert check_antiderivative(text, found["answer"]["text"], case.variable) == "right"


@pytest.mark.parametrize("case", parameters("definite"))
def test_reported_definite_integrals(client: httpx.Client, case: Case) -> None:
    """Values as confirmed by others, divergence where they diverge."""
    numeric = "numeric only" in case.expected
    found = ask(
        client,
        case.typed("integrand"),
        variable=case.variable,
        lower=case.typed("lower"),
        upper=case.typed("upper"),
        timeout_s=15 if numeric else 60,
    )
    if case.expected.startswith(("divergent (", "divergent at", "divergent for every")) or (
        case.expected in ("divergent", "+oo (divergent)")
    ):
        assert found["convergence"] == "divergent"
        assert found["answer"] is None or found["answer"]["text"] in ("oo", "-oo")
        return
    if numeric:
        assert abs(found["value"] - float(case.expected.split()[0])) < 1e-12
        return
    assert found["status"] == "solved"
    expected = _value(case.expected)
    if expected is not None and found["value"] is not None:
        value = found["value"]
        number = complex(sympy.sympify(value)) if isinstance(value, str) else complex(value)
        assert abs(number - expected) < 1e-12 * max(1, abs(expected))
    elif found["answer"] is not None and expected is None:
        assert found["assumptions"] or found["cases"] or case.id == "definite-30"


def _value(expected: str) -> complex | None:
    """The number that ``expected`` starts with; None when it depends on parameters."""
    text = re.split(r"\s{2,}|;| for | \(", expected)[0]
    try:
        value = to_sympy(parse(text))
    except ParseError:
        return None
    return None if value.free_symbols else complex(value)
