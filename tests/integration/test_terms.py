"""Sums, term by term."""

from __future__ import annotations

from service.integration.agreement import imaginary_parts_cancel
from service.integration.answers import Antiderivative
from service.integration.search import add_up, solve_from_hypotheses
from tokenizer.ansatz import Term
from tokenizer.parse import parse
from tokenizer.render import to_text


def ansatz(*sources: str) -> tuple[Term, ...]:
    return tuple(Term(parse(source)) for source in sources)


def answered(*parts: tuple[str, tuple[Term, ...]]) -> list[Antiderivative]:
    """The antiderivative of each integrand from its ansatz."""
    answers = []
    for integrand, terms in parts:
        found = solve_from_hypotheses(parse(integrand), "x", [terms], (), True, True, 20).found
        assert found is not None
        answers.append(found)
    return answers


def test_a_sum_is_proved_by_linearity() -> None:
    """What its terms have is added."""
    answers = answered(("cos(x)", ansatz("sin(x)")), ("1/x", ansatz("log(x)")))
    terms = [parse("cos(x)"), parse("1/x")]
    found = add_up(answers, terms, parse("cos(x) + 1/x"), "x", True, 20)
    assert found is not None
    assert found.status == "proved"
    assert to_text(found.tree) == "sin(x) + log(Abs(x))"


def test_terms_that_are_not_those_of_the_sum_are_found_out() -> None:
    """The numbers have the last word on the whole."""
    answers = answered(("cos(x)", ansatz("sin(x)")), ("1/x", ansatz("log(x)")))
    terms = [parse("cos(x)"), parse("1/x")]
    assert add_up(answers, terms, parse("cos(x) + 2/x"), "x", True, 20) is None


def test_terms_whose_imaginary_parts_cancel_are_told() -> None:
    """sqrt(x) - sqrt(x) is real for x < 0, where its terms are not."""
    root, line = parse("sqrt(x)"), parse("x")
    assert imaginary_parts_cancel([root, parse("-sqrt(x)"), line], "x")
    assert not imaginary_parts_cancel([root, parse("tan(x)**2"), line], "x")


def test_a_term_that_is_huge_hides_no_domain() -> None:
    """Near the poles of tan a root of a negative number looks like rounding."""
    answers = answered(
        ("tan(x)**2", (*ansatz("tan(x)"), Term(parse("1"), 1))),
        ("1/sqrt(5-x**2)", ansatz("atan(x/sqrt(5-x**2))")),
    )
    terms = [parse("tan(x)**2"), parse("1/sqrt(5-x**2)")]
    assert add_up(answers, terms, parse("tan(x)**2 + 1/sqrt(5-x**2)"), "x", True, 20) is not None
