"""What a search found is brought to its shortest form."""

from __future__ import annotations

import pytest

from service.integration.distil import distil
from tokenizer.ansatz import Term
from tokenizer.parse import parse


def terms(*sources: str) -> tuple[Term, ...]:
    """``"3 : exp(x)"`` is exp(x) times a polynomial of degree 3."""
    found = []
    for source in sources:
        degree, _, factor = source.rpartition(":")
        found.append(Term(parse(factor), int(degree or 0)))
    return tuple(found)


@pytest.mark.parametrize(
    ("integrand", "hypotheses", "shortest"),
    [
        # one hypothesis with a term too many
        ("x*exp(x)", [terms("1: exp(x)", "log(x)")], terms("1: exp(x)")),
        # two that need each other
        ("cos(x) + 1/x", [terms("sin(x)", "exp(x)"), terms("log(x)", "x")],
         terms("sin(x)", "log(x)")),
        # a slot of which one term is used
        ("1/(1+x**2)", [terms("log(1+x**2)", "3: 1")], terms("log(1+x**2)")),
    ],
)  # fmt: skip
def test_only_what_is_needed_is_left(
    integrand: str, hypotheses: list[tuple[Term, ...]], shortest: tuple[Term, ...]
) -> None:
    """Terms that the antiderivative does not use are dropped, whichever hypothesis has them."""
    found = distil(parse(integrand), "x", hypotheses, 10)
    assert found is not None
    assert set(found) == set(shortest)


def test_what_is_not_solved_has_no_label() -> None:
    """Hypotheses that hold no antiderivative leave nothing to train on."""
    assert distil(parse("exp(x**2)"), "x", [terms("exp(x**2)", "x")], 10) is None
