"""The measuring sets of integration are what they are said to be, and never trained on."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from itertools import islice

import pytest

from models.held_out import is_held_out
from models.integrate.ablation import WAYS, Way, pairs
from models.integrate.excluded import Measured
from models.integrate.families.recipe import backward, by_parts
from models.integrate.problem import Problem
from models.integrate.test_sets import (
    KINDS,
    LONGEST,
    Generator,
    Teacher,
    robustness,
    stored,
    variations,
)
from models.numeric import is_real_somewhere
from service.integration.complete import complete
from tokenizer.codec import encode
from tokenizer.normalise import normalise
from tokenizer.parse import parse


@pytest.mark.parametrize("kind", KINDS)
def test_stored_questions_are_held_out(kind: str) -> None:
    """Each is different, of the test fold, and short enough for the model."""
    texts = stored(kind)
    assert len(set(texts)) == len(texts)
    for text in texts[:100]:
        ids = encode(normalise(parse(text, variables=("x",)), "x").tree).ids
        assert is_held_out(ids)
        assert len(ids) <= LONGEST


def test_robustness_reaches_the_sizes_it_names() -> None:
    """Numbers up to 11,000 in every kind of primitive, all of them readable."""
    texts = robustness()
    assert {"x**11000", "x**(1/11000)", "11000*x**42", "11000*x"} <= set(texts)
    for head in ("log", "exp", "sin", "cos", "tan"):
        assert any(text.startswith(f"11000*{head}(") for text in texts)
    for text in texts:
        assert parse(text, variables=("x",)).contains("x")


def test_variations_are_made_of_solved_problems_alone() -> None:
    """The same for the same seed; half are changed, half are sums."""
    solved = ["x", "sin(x)", "exp(x)", "log(x)"]
    texts = variations(solved, 20)
    assert texts == variations(solved, 20)
    assert len(texts) == 20
    assert sum(" + " in text for text in texts) >= 10


def test_variations_are_real_somewhere() -> None:
    """Terms that are nowhere real together are not added up, however small what is not real."""
    left, right = "sqrt(1-E**x)", "log(x)+E**x"
    texts = variations([left, right, "sin(x)", "cos(x)"], 60)
    assert any(left in text for text in texts)
    assert any(right in text for text in texts)
    assert not [text for text in texts if left in text and "log(x)" in text]


@pytest.mark.skipif(shutil.which("fricas") is None, reason="FriCAS, the teacher, is not installed")
def test_the_teacher_answers_what_is_elementary() -> None:
    """An integral that it leaves, or answers by a named function, is not answered."""
    asked = ["x*exp(x)", "sin(x)/x", "1/(1+x^2)", "x^x", "exp(-x^2)"]
    assert Teacher().integrates(asked) == [True, False, True, False, False]


def test_a_question_has_real_values() -> None:
    """What is complex on the whole real axis has no antiderivative over the reals."""
    rng = random.Random(4)
    for text, expected in [("acos(4)*x", False), ("acosh(cos(x))", False), ("log(x-3)", True)]:
        assert is_real_somewhere(parse(text), "x", rng) is expected


def test_backward_questions_are_drawn_without_end() -> None:
    """The generator of the stored sets still draws questions of the test fold."""
    for text in islice(Generator(3).questions("backward"), 2):
        ids = encode(normalise(parse(text, variables=("x",)), "x").tree).ids
        assert is_held_out(ids)


@pytest.mark.parametrize("sample", [backward, by_parts()], ids=["backward", "by parts"])
def test_problems_of_the_recipe_are_completed(sample: Callable[[random.Random], Problem]) -> None:
    """The form that a problem comes with leads to an antiderivative of its integrand."""
    rng = random.Random(11)
    drawn = [problem for problem in (sample(rng) for _ in range(20)) if problem.integrand.size < 30]
    solved = [complete(p.integrand, "x", p.terms, 5) is not None for p in drawn]
    assert len(drawn) >= 4
    assert sum(solved) >= len(drawn) - 2


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_way_of_the_ablation_accepts_its_own_labels(way: Way) -> None:
    """A label is right by the measure that answers are measured by."""
    for pair in pairs(8, 15, Measured()):
        source = encode(pair.integrand)
        assert way.is_right(way.tokens(pair, source), source, pair.integrand)
        assert not way.is_right([], source, pair.integrand)
