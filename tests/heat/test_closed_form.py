"""service.heat.closed_form: formulas and their proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.heat.closed_form import Formula, closed_form
from service.heat.question import understand
from service.heat.reference import analyse
from service.heat.schema import HeatRequest

PROVED = {"equation": "proved", "boundary": "proved", "initial_value": "proved"}
NEUMANN = {"kind": "neumann"}
MIXED = {"kind": "mixed", "left": "u=0", "right": "u_x=0"}


def write(initial: Any, **fields: Any) -> tuple[Formula | None, float]:
    """The formula, and how far its values are from the reference."""
    asked = {"initial_condition": initial, "times": [0.01, 0.1], "points": 9, **fields}
    question = understand(HeatRequest.model_validate(asked))
    formula = closed_form(question)
    analysis = analyse(question, None, False)
    if formula is None:
        return None, np.inf
    reference = analysis.added + analysis.homogeneous
    return formula, float(np.abs(formula.values - reference).max())


@pytest.mark.parametrize(
    ("initial", "fields", "text"),
    [
        ("sin(pi*x)", {}, "exp(-pi**2*t)*sin(pi*x)"),
        ("sin(x)", {"length": "pi", "alpha": 2}, "exp(-2*t)*sin(x)"),
        ("sin(pi*x)*cos(pi*x)", {}, "exp(-4*pi**2*t)*sin(2*pi*x)/2"),
        ("cos(pi*x) + 2", {"boundary": NEUMANN}, "2 + exp(-pi**2*t)*cos(pi*x)"),
        ("sin(pi*x/2)", {"boundary": MIXED}, "exp(-pi**2*t/4)*sin(pi*x/2)"),
        ("x", {"boundary": {"kind": "dirichlet", "right": 1}}, "x"),
        ("0", {"source_term": "1", "boundary": NEUMANN}, "t"),
    ],
)
def test_a_finite_sum_of_modes_is_exact_and_proved(
    initial: str, fields: dict[str, Any], text: str
) -> None:
    """Equation, boundary and initial value are proved, and the formula is the shortest one."""
    formula, gap = write(initial, **fields)
    assert formula is not None
    assert (formula.text, formula.exact, formula.checks) == (text, True, PROVED)
    assert gap < 1e-13


@pytest.mark.parametrize(
    ("initial", "fields"),
    [
        ("sin(pi*x)**3", {"alpha": 0.1}),
        ("cos(pi*x)**4 - cos(pi*x)**2*cos(3*pi*x)", {"boundary": NEUMANN}),
        ("sin(pi*x)**5", {}),
        ("cos(4*pi*x)**2 + sin(2*pi*x + 1)", {"boundary": {"kind": "periodic"}}),
        ("sin(pi*x)", {"source_term": "sin(2*pi*x)"}),
        ("1 + 2*x + sin(pi*x)", {"boundary": {"kind": "dirichlet", "left": 1, "right": 3}}),
        ("cos(pi*x/2) + 1", {"boundary": {"kind": "mixed", "left": "u_x=0", "right": "u=1"}}),
    ],
)
def test_products_powers_shifts_sources_and_lifts_are_exact_too(
    initial: str, fields: dict[str, Any]
) -> None:
    """What can be rewritten as modes is, and proved."""
    formula, gap = write(initial, **fields)
    assert formula is not None
    assert formula.exact
    assert formula.checks == PROVED
    assert gap < 1e-13


@pytest.mark.parametrize(
    ("initial", "begins"),
    [
        ("x*(1-x)", "8*exp(-pi**2*t)*sin(pi*x)/pi**3 + 8*exp(-9*pi**2*t)*sin(3*pi*x)/(27*pi**3)"),
        ("Heaviside(x - 1/2)", "2*exp(-pi**2*t)*sin(pi*x)/pi - 2*exp(-4*pi**2*t)*sin(2*pi*x)/pi"),
        ("DiracDelta(x - 1/2)", "2*exp(-pi**2*t)*sin(pi*x) - 2*exp(-9*pi**2*t)*sin(3*pi*x)"),
    ],
)
def test_a_series_has_exact_coefficients_where_they_can_be_had(initial: str, begins: str) -> None:
    """Eight modes that are not zero, equation and boundary proved, initial value truncated."""
    formula, gap = write(initial)
    assert formula is not None
    assert formula.text.startswith(begins)
    assert not formula.exact
    assert formula.terms == 8
    assert formula.checks == {**PROVED, "initial_value": "truncated"}
    assert gap < 1e-4


@pytest.mark.parametrize("initial", ["exp(-1000*(x - 1/2)**2)", [0.0, 1.0, 2.0, 0.5]])
def test_a_series_with_decimal_coefficients(initial: Any) -> None:
    """Samples and general functions give the leading modes with decimal coefficients."""
    formula, gap = write(initial)
    assert formula is not None
    assert not formula.exact
    assert formula.checks["equation"] == "proved"
    assert gap < 1e-3


def test_an_almost_mode_is_not_called_exact() -> None:
    """sin(3.14 x) is no eigenmode on [0, 1], however close."""
    formula, _ = write("sin(3.14*x)")
    assert formula is None or not formula.exact


def test_a_source_in_time_has_no_formula() -> None:
    """It is left out instead of being guessed."""
    assert write("0", source_term="x*sin(t)")[0] is None
