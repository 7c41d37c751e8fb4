"""What hypotheses explain of an integrand, and what is left to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from service.evaluation.independent import check_antiderivative
from service.integration.answers import Antiderivative
from service.integration.forms import Form
from service.integration.remainder import Part, complexity, explain, put_together
from service.metrics import Metrics
from service.noanswer import NoAnswer
from service.resources import open_resources
from service.settings import Settings
from service.solvers import antiderivative as search
from service.solvers.integrate_schema import IntegrateRequest
from service.stopwatch import Stopwatch
from tokenizer.ansatz import Term
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree

LIMIT = 10.0


def tree(text: str) -> Tree:
    return parse(text, variables=("x",))


def explained(integrand: str, *hypotheses: Sequence[str]) -> Part | None:
    terms = [[Term(tree(text)) for text in hypothesis] for hypothesis in hypotheses]
    return explain(tree(integrand), "x", terms, LIMIT)


@pytest.mark.parametrize(
    ("integrand", "hypotheses", "done", "left"),
    [
        # by parts
        ("x*atan(x)", [["x**2*atan(x)"]], "x**2*atan(x)/2", "-x**2/(2*(x**2 + 1))"),
        # some terms of a sum
        ("x*exp(x) + sin(x**2)", [["x*exp(x)", "exp(x)"]], "x*exp(x) - exp(x)", "sin(x**2)"),
        # terms of several hypotheses
        (
            "x*exp(x) + 3/(x**5 + x + 1)",
            [["x*exp(x)", "sin(x)"], ["exp(x)", "cos(x)"]],
            "x*exp(x) - exp(x)",
            "3/(x**5 + x + 1)",
        ),
        # a multiple of a term is left
        ("(x + 1)*log(x)", [["x**2*log(x)", "x**2"]], "x**2*log(x)/2 - x**2/4", "log(x)"),
    ],
)
def test_a_part_is_integrated_and_the_rest_is_simpler(
    integrand: str, hypotheses: list[list[str]], done: str, left: str
) -> None:
    """Exactly: the derivative of the part and what is left are the integrand."""
    part = explained(integrand, *hypotheses)
    assert part is not None
    assert part.left is not None
    assert (to_text(part.done), to_text(part.left)) == (done, left)
    assert complexity(part.left, "x") < complexity(tree(integrand), "x")
    assert check_antiderivative(f"{integrand} - ({left})", to_text(part.done), "x") == "right"


@pytest.mark.parametrize(
    ("integrand", "hypothesis"),
    [
        ("exp(x**2)", ["x*exp(x**2)"]),
        ("exp(x)*sin(x)", ["exp(x)*sin(x)"]),
        ("x*exp(x) + sin(x**2)", ["tan(x)"]),
        ("sqrt(1 + x**4)", ["x", "x**2"]),
    ],
)
def test_nothing_is_explained_by_what_leaves_as_much(integrand: str, hypothesis: list[str]) -> None:
    """A by-product no simpler than the question, or terms that are not in it, are no progress."""
    assert explained(integrand, hypothesis) is None


def test_nothing_is_left_where_terms_of_several_hypotheses_suffice() -> None:
    """Each alone leaves something, together they do not."""
    integrand = "x*exp(x) + exp(x)*sin(x)"
    alone = explained(integrand, ["x*exp(x)", "exp(x)"])
    assert alone is not None
    assert alone.left is not None
    together = explained(integrand, ["x*exp(x)", "exp(x)*cos(x)"], ["exp(x)*sin(x)", "exp(x)"])
    assert together is not None
    assert together.left is None


def test_functions_count_before_length() -> None:
    """A long rational function is simpler than a short transcendental one; powers count once."""
    assert complexity(tree("(x**7 + 3*x + 1)/(x**9 + 2*x**2 + 5)"), "x") < (1, 0)
    assert complexity(tree("sqrt(x)*(1 + x**(3/2))"), "x")[0] == 1
    assert complexity(tree("exp(x)*sin(exp(x))"), "x")[0] == 2
    assert complexity(tree("exp(a)"), "x")[0] == 0


def test_a_wrong_rest_is_not_added() -> None:
    """The sum is proved as a whole."""
    part = tree("x**2*atan(x)/2")
    right, wrong = tree("atan(x)/2 - x/2"), tree("atan(x)/2 + x/2")
    found = put_together([part, right], tree("x*atan(x)"), "x", True, LIMIT)
    assert found is not None
    assert found.status == "proved"
    assert put_together([part, wrong], tree("x*atan(x)"), "x", True, LIMIT) is None


def ask(monkeypatch: pytest.MonkeyPatch, parts: search.SearchParts) -> Antiderivative:
    """``x*atan(x) + x`` of a search whose model knows one term of it, and rational functions."""

    async def said(forms: Sequence[Form], *_: Any) -> list[tuple[Term, ...]]:
        hard = any(node.head == "atan" for node in forms[0].tree.preorder())
        terms = ["x**2*atan(x)"] if hard else ["x", "x**2", "atan(x)"]
        return [tuple(Term(tree(text)) for text in terms)]

    async def find() -> Antiderivative:
        settings = Settings(redis_url=None, cache_items=0, workers=1)
        request = IntegrateRequest(expression="x*atan(x) + x", variable="x", engine="model")
        async with open_resources(settings, Metrics()) as resources:
            watch = Stopwatch(20.0)
            found, source = await search.find_antiderivative(
                tree("x*atan(x) + x"), request, resources, watch,
                search.Effort(replace(parts, splitting=False)), watch.deadline,
            )  # fmt: skip
            assert source == "model"
            return found

    monkeypatch.setattr(search, "hypotheses", said)
    return asyncio.run(find())


def test_the_search_asks_for_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One hypothesis for a part and one for the rest make a proved answer."""
    found = ask(monkeypatch, search.ALL_PARTS)
    assert found.status == "proved"
    assert check_antiderivative("x*atan(x) + x", to_text(found.tree), "x") == "right"


def test_without_its_remainder_the_search_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part is switched off by its name."""
    with pytest.raises(NoAnswer):
        ask(monkeypatch, replace(search.ALL_PARTS, remainder=False))
