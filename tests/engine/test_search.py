"""Beam search finds what there is to find."""

from __future__ import annotations

import itertools
import random

import pytest

from service.engine.search import Hypothesis, Search
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded

SOURCE = Encoded((v.VAR,), (0,), (), ())
TOKENS = [v.VAR, v.ID["sin"], v.ID["add"], v.ID["2"]]
LONGEST = 6


def log_prob(seed: int, tokens: tuple[int, ...], token: int) -> float:
    """A model made of random numbers: any history gives any preference."""
    return -3 * random.Random(f"{seed} {tokens} {token}").random() - 0.01


def continuations(search: Search, seed: int) -> tuple[list[float], list[int], list[int]]:
    """The best 2W of all continuations that fit, as the decoder gives them."""
    found = [
        (-(partial.score + log_prob(seed, partial.tokens, token)), origin, token)
        for origin, partial in enumerate(search.beam)
        for token in TOKENS
        if len(partial.tokens) + len(partial.open_slots) + v.arity(token) <= LONGEST
    ]
    best = sorted(found)[: 2 * search.width]
    return [-score for score, _, _ in best], [o for _, o, _ in best], [t for _, _, t in best]


def run(width: int, seed: int, spread: float = 1e9) -> list[Hypothesis]:
    search = Search(SOURCE, width, "expression", LONGEST, spread)
    while not search.done:
        search.extend(*continuations(search, seed))
        assert len(search.beam) <= width
    return search.finished


def every_tree(seed: int) -> list[Hypothesis]:
    """All trees of at most LONGEST tokens, best first."""
    found = []
    for length in range(1, LONGEST + 1):
        for tokens in itertools.product(TOKENS, repeat=length):
            open_after = list(itertools.accumulate([v.arity(t) - 1 for t in tokens], initial=1))
            if open_after[-1] == 0 and min(open_after[:-1]) > 0:
                score = sum(log_prob(seed, tokens[:i], t) for i, t in enumerate(tokens))
                found.append(Hypothesis(tokens, score))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_trees(seed: int) -> None:
    """With a beam as wide as there are partial trees, the search is exhaustive."""
    expected = every_tree(seed)
    found = run(200, seed)
    for hypothesis, truth in zip(found, expected, strict=False):
        assert hypothesis.tokens == truth.tokens
        assert hypothesis.score == pytest.approx(truth.score)
    assert len(found) == min(200, len(expected))


@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_beam_keeps_the_order(seed: int) -> None:
    """Hypotheses come best first, are all different, and no more than asked for."""
    found = run(4, seed)
    assert len(found) == 4
    assert len({hypothesis.tokens for hypothesis in found}) == 4
    scores = [hypothesis.score for hypothesis in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_early_end_loses_nothing(seed: int) -> None:
    """Stopping when the beam cannot win gives what going on to the last step gives."""

    class Patient(Search):
        @property
        def done(self) -> bool:
            return not self.beam

    patient = Patient(SOURCE, 4, "expression", LONGEST, 1e9)
    while not patient.done:
        patient.extend(*continuations(patient, seed))
    assert run(4, seed) == patient.finished


def test_spread_gives_up_the_improbable() -> None:
    """Hypotheses far below the best are not waited for."""
    best = run(4, 0)[0]
    found = run(4, 0, spread=0.0)
    assert found[0] == best
    assert len(found) < 4
