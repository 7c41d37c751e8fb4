"""The measuring sets of integration are what they are said to be, and never trained on."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from models.held_out import is_held_out
from models.integrate.ablation import WAYS, Way, pairs
from models.integrate.excluded import Measured
from models.integrate.test_sets import (
    KINDS,
    LONGEST,
    PAPER,
    Generator,
    robustness,
    stored,
    variations,
)
from models.random_trees import RandomTrees
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


def test_backward_questions_are_drawn_without_end() -> None:
    """The generator of the stored sets still draws questions of the test fold."""
    generator = object.__new__(Generator)  # its table of known problems takes minutes
    generator.rng, generator.trees = random.Random(3), RandomTrees(PAPER)
    for text in islice(generator.questions("backward"), 2):
        ids = encode(normalise(parse(text, variables=("x",)), "x").tree).ids
        assert is_held_out(ids)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_way_of_the_ablation_accepts_its_own_labels(way: Way) -> None:
    """A label is right by the measure that answers are measured by."""
    for pair in pairs(8, 15, Measured()):
        source = encode(pair.integrand)
        assert way.is_right(way.tokens(pair, source), source, pair.integrand)
        assert not way.is_right([], source, pair.integrand)
