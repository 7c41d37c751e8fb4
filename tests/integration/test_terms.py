"""Sums, term by term."""

from __future__ import annotations

from service.integration.agreement import imaginary_parts_cancel
from service.integration.search import solve_terms
from tokenizer.ansatz import Term
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree


def ansatz(*sources: str) -> tuple[Term, ...]:
    return tuple(Term(parse(source)) for source in sources)


def test_a_sum_is_proved_by_linearity() -> None:
    """Each term with the hypotheses of its own."""
    parts = [
        (parse("cos(x)"), [ansatz("cos(x)"), ansatz("sin(x)")]),
        (parse("1/x"), [ansatz("log(x)")]),
    ]
    outcome = solve_terms(parse("cos(x) + 1/x"), "x", parts, True, True, 20)
    assert outcome.found is not None
    assert outcome.found.status == "proved"
    assert to_text(outcome.found.tree) == "sin(x) + log(Abs(x))"


def test_one_term_without_an_answer_ends_it() -> None:
    """exp(x**2) has no antiderivative among the hypotheses, so the sum has none."""
    parts = [(parse("exp(x**2)"), [ansatz("exp(x**2)")]), (parse("1/x"), [ansatz("log(x)")])]
    outcome = solve_terms(parse("exp(x**2) + 1/x"), "x", parts, True, True, 20)
    assert outcome.found is None


def test_terms_that_are_not_those_of_the_sum_are_found_out() -> None:
    """The numbers have the last word on the whole."""
    parts = [(parse("cos(x)"), [ansatz("sin(x)")]), (parse("1/x"), [ansatz("log(x)")])]
    assert solve_terms(parse("cos(x) + 2/x"), "x", parts, True, True, 20).found is None


def test_terms_whose_imaginary_parts_cancel_are_told() -> None:
    """sqrt(x) - sqrt(x) is real for x < 0, where its terms are not."""
    root, line = parse("sqrt(x)"), parse("x")
    assert imaginary_parts_cancel([root, parse("-sqrt(x)"), line], "x")
    assert not imaginary_parts_cancel([root, parse("tan(x)**2"), line], "x")


def test_a_term_that_is_huge_hides_no_domain() -> None:
    """Near the poles of tan a root of a negative number looks like rounding."""
    parts: list[tuple[Tree, list[tuple[Term, ...]]]] = [
        (parse("tan(x)**2"), [(*ansatz("tan(x)"), Term(parse("1"), 1))]),
        (parse("1/sqrt(5-x**2)"), [ansatz("atan(x/sqrt(5-x**2))")]),
    ]
    outcome = solve_terms(parse("tan(x)**2 + 1/sqrt(5-x**2)"), "x", parts, True, True, 20)
    assert outcome.found is not None
