"""The grammar lets through what decodes, and nothing else."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.artifacts import Output
from service.engine import grammar
from tests import tiny_model
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, advance, decode, decode_terms

QUESTIONS = tiny_model.questions(6)


@given(st.data(), st.sampled_from(QUESTIONS), st.sampled_from(["expression", "terms"]))
def test_whatever_is_allowed_decodes(data: st.DataObject, source: Encoded, kind: str) -> None:
    """Any walk through allowed tokens ends in time and is a tree of the question's language."""
    output = cast(Output, kind)
    longest = data.draw(st.integers(3, 30))
    open_slots = [(v.START, 0)]
    tokens: list[int] = []
    choices = grammar.table(len(source.ids)) + grammar.names(source)
    while open_slots:
        rule = grammar.rule(
            grammar.kind(*open_slots[-1], output), longest - len(tokens), len(open_slots)
        )
        token = data.draw(st.sampled_from(np.flatnonzero(choices[rule] == 0).tolist()))
        advance(open_slots, token)
        tokens.append(token)
    assert len(tokens) <= longest
    if output == "expression":
        decode(tokens, source)
    else:
        assert decode_terms(tokens, source)


@pytest.mark.parametrize(
    ("slot", "token", "allowed"),
    [
        (grammar.EXPRESSION, "sin", True),
        (grammar.EXPRESSION, "<TERM>", False),
        (grammar.EXPRESSION, "<POLY1>", False),
        (grammar.EXPRESSION, "<START>", False),
        (grammar.FACTOR, "<POLY3>", True),
        (grammar.FACTOR, "<END>", False),
        (grammar.TERMS, "<END>", True),
        (grammar.TERMS, "sin", False),
        (grammar.FIRST_TERM, "<TERM>", True),
        (grammar.FIRST_TERM, "<END>", False),
    ],
)
def test_tokens_of_a_slot(slot: int, token: str, allowed: bool) -> None:
    """Each kind of slot takes the tokens of its own kind only."""
    rule = grammar.rule(slot, tokens_left=10, open_slots=1)
    assert bool(grammar.WORDS[rule, v.ID[token]] == 0) is allowed


def test_only_names_of_the_question() -> None:
    """Parameters and lifted numbers that the question lacks cannot be written."""
    source = Encoded((v.ID["add"], v.ID["<P1>"], v.VAR), (0, 1, 2), (), ())
    bias = grammar.names(source)[0]
    assert bias[v.ID["<P1>"]] == 0
    assert np.isneginf(bias[[v.ID["<P0>"], v.ID["<NUM0>"]]]).all()


def test_nothing_that_cannot_be_completed() -> None:
    """With as many tokens left as slots are open, only leaves fit."""
    rule = grammar.rule(grammar.EXPRESSION, tokens_left=3, open_slots=3)
    allowed = grammar.WORDS[rule] == 0
    assert allowed.any()
    assert not (allowed & (np.array(v.ARITIES) > 0)).any()
