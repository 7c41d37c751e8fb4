"""Integrands for expert iteration."""

from __future__ import annotations

import random
from itertools import islice

from models.integrate.unlabelled import LARGEST, integrands, replaced
from tokenizer.parse import parse


def test_integrands_are_different_and_short() -> None:
    """The same for the same seed, of moderate size, with the variable in them."""
    drawn = list(islice(integrands(random.Random(5)), 60))
    assert drawn == list(islice(integrands(random.Random(5)), 60))
    assert len(set(drawn)) > 50
    assert all(tree.size <= LARGEST and tree.contains("x") for tree in drawn)


def test_one_subtree_is_replaced() -> None:
    """The rest of the Tree stays as it was."""
    tree = parse("sin(2*x) + exp(x)")
    places = {str(node.head): i for i, node in enumerate(tree.preorder())}
    assert replaced(tree, places["exp"], parse("log(x)")) == parse("sin(2*x) + log(x)")
    assert replaced(tree, 0, parse("x")) == parse("x")
