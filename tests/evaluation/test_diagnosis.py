"""Failures of the search are told apart, and SymPy is asked fairly."""

from __future__ import annotations

import math

from service.evaluation.rivals import ask
from service.integration.complete import misfit
from service.integration.diagnosis import failed_step
from tokenizer.ansatz import Term
from tokenizer.parse import parse


def test_terms_that_span_no_antiderivative_are_the_wrong_form() -> None:
    """The model's fault, not the verifier's."""
    hypotheses = [[Term(parse("exp(x)"))], [Term(parse("cos(x)"))]]
    assert failed_step(parse("1/(1 + x**2)"), "x", hypotheses, 30.0) == "wrong form"


def test_terms_that_span_one_are_not() -> None:
    """The step after the form is named when the form is there."""
    hypotheses = [[Term(parse("exp(x)"), 1)]]
    assert failed_step(parse("x*exp(x)"), "x", hypotheses, 30.0) == "not proved"


def test_no_time_is_a_reason_of_its_own() -> None:
    """Whoever is not given time is not called wrong."""
    hypotheses = [[Term(parse("exp(x)"), 1)]] * 50
    assert failed_step(parse("x*exp(x)"), "x", hypotheses, 1e-4) == "time"


def test_the_misfit_tells_right_terms_from_wrong() -> None:
    """Rounding for the ones, infinite for the others."""
    assert misfit(parse("x*exp(x)"), "x", [Term(parse("exp(x)"), 1)]) < 1e-9
    assert misfit(parse("x*exp(x)"), "x", [Term(parse("sin(x)"))]) == math.inf


def test_sympy_solves_what_it_can_and_no_more() -> None:
    """An answer counts once it is verified; an unevaluated integral is none."""
    easy = ask("manualintegrate", parse("x*exp(x)"), "x", 60.0)
    assert easy.tree is not None
    assert 0 < easy.integrator_s <= easy.total_s
    assert ask("manualintegrate", parse("exp(x)*sin(x**2)/x"), "x", 60.0).tree is None
