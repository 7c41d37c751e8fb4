"""Drafts save steps and change nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from models import artifacts
from service.engine.batch import Batch, Item
from service.engine.draft import Context, Drafter, DraftTable, Trail
from service.engine.search import Hypothesis, Search
from service.engine.session import ModelSession
from tests import tiny_model
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, encode
from tokenizer.parse import parse

#: So that a random network, too, often goes on from one hypothesis alone.
NARROW = 0.2

QUESTIONS = tiny_model.questions(24)


@pytest.fixture(scope="module")
def session(folder: Path) -> ModelSession:
    """The small model, ready to run."""
    tiny = folder / "tiny"
    return ModelSession(tiny, artifacts.read(tiny), device="cpu", threads=1)


def answers(
    session: ModelSession, table: DraftTable, beam: int, at_once: int
) -> tuple[list[list[Hypothesis]], int, int]:
    """Of all questions, with what the table has to say; decoder steps, and tokens guessed."""
    batch = Batch(session, at_once, 1 << 30, table)
    searches = [Search(q, beam, "expression", 40, NARROW) for q in QUESTIONS]
    steps = 0
    for start in range(0, len(searches), at_once):
        batch.join([Item(search, None, 0.0) for search in searches[start : start + at_once]])
        while batch.items:
            batch.step()
            steps += 1
            for item in [item for item in batch.items if item.done]:
                batch.leave(item)
    return [search.finished for search in searches], steps, sum(s.drafted for s in searches)


class Silent(DraftTable):
    """Has no idea."""

    def guess(self, context: Context) -> None:
        """Nothing."""


class Liar(DraftTable):
    """Is sure of anything but what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(1)

    def guess(self, context: Context) -> tuple[int, float]:
        """Any symbol, ways to nowhere included."""
        return self.random.randrange(v.START + 1, v.SIZE + 53), 1.0


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("at_once", [1, 8])
def test_answers_are_the_same_in_fewer_steps(
    session: ModelSession, beam: int, at_once: int
) -> None:
    """Whatever is guessed, rightly or wrongly, answers and scores stay, to the last bit."""
    plain, steps, guessed = answers(session, Silent(), beam, at_once)
    assert guessed == 0
    table = DraftTable()
    answers(session, table, beam, at_once)
    drafted, fewer, guessed = answers(session, table, beam, at_once)
    assert drafted == plain
    assert guessed > 0
    assert fewer < steps
    lied_to, _, _ = answers(session, Liar(), beam, at_once)
    assert lied_to == plain


@pytest.mark.parametrize("source", QUESTIONS, ids=lambda source: str(len(source.ids)))
def test_a_way_leads_back_to_its_token(source: Encoded) -> None:
    """A symbol stands for one token, in any place; longer ways stand for none."""
    trail = Trail(source)
    rng = random.Random(2)
    tokens: tuple[int, ...] = ()
    for _ in range(40):
        token = rng.choice([rng.randrange(v.SIZE), v.SIZE + rng.randrange(len(source.ids))])
        assert trail.token(trail.symbol(token)) in (token, None)
        tokens = (*tokens, token)
        trail.follow(tokens)
    near = Trail(encode(parse("sin(x) + x")))
    assert [near.token(near.symbol(v.SIZE + i)) for i in range(4)] == [v.SIZE + i for i in range(4)]


def test_what_is_learned_holds_for_other_questions() -> None:
    """``f'(g) g'``: the reference that follows is told by the way, not by the position."""
    table = DraftTable()

    def context(source: Encoded, tokens: tuple[int, ...]) -> tuple[Trail, Context]:
        trail = Trail(source)
        trail.follow(tokens)
        return trail, trail.context(v.ID["mul"], 2)

    short, long = encode(parse("2 + cos(x)")), encode(parse("exp(2*x) + cos(x)"))
    cos_in = [source.ids.index(v.ID["cos"]) for source in (short, long)]
    assert cos_in[0] != cos_in[1]
    before, after = ((v.ID["mul"], v.SIZE + at) for at in cos_in)
    trail, seen = context(short, before)
    table.learn(seen, trail.symbol(v.SIZE + cos_in[0] + 1))
    trail, now = context(long, after)
    guess = table.guess(now)
    assert guess is not None
    assert trail.token(guess[0]) == v.SIZE + cos_in[1] + 1


def test_a_table_changes_its_mind_and_forgets() -> None:
    """What is no longer written loses its place; old contexts make room for new ones."""
    table = DraftTable(most_contexts=10)
    context = (1, -1)
    for _ in range(20):
        table.learn(context, 7)
    guess = table.guess(context)
    assert guess is not None
    assert guess[0] == 7
    assert guess[1] > 0.9
    for _ in range(8):
        table.learn(context, 8)
    changed = table.guess(context)
    assert changed is not None
    assert changed[0] == 8
    for i in range(2, 12):
        table.learn((i, -i), 9)
    assert table.guess(context) is None
    assert table.guess((11, -11)) is not None


def test_only_one_hypothesis_gets_a_draft(session: ModelSession) -> None:
    """A draft never ends the tree, nor leaves less room than its open slots need."""
    search = Search(QUESTIONS[3], 4, "expression", 5, NARROW)
    assert search.guess(v.VAR) is None  # it would be complete
    for _ in range(3):
        assert search.guess(v.ID["sin"]) is not None
    assert search.guess(v.ID["add"]) is None  # two more do not fit
    assert search.guess(v.ID["sin"]) is not None
    assert len(search.draft) == 4
    assert search.guess(v.ID["sin"]) is None
    search.draft = []
    search.beam *= 2
    drafter = Drafter(search, Liar())
    drafter.propose(0.0, 5)
    assert search.draft == []
