"""The test fold: nothing in it is trained on."""

from __future__ import annotations

from models.differentiate.data import Drawn, examples
from models.differentiate.test_sets import SPLIT, digests
from models.held_out import digest, is_held_out


def test_training_examples_are_outside_the_test_fold() -> None:
    """The generator of training examples never emits a question of the test fold."""
    drawn = Drawn()
    emitted = list(examples(seed=5, count=3000, drawn=drawn))
    assert not any(is_held_out(e.source) for e in emitted)
    assert drawn.held_out > 0


def test_the_stored_split_is_the_one_that_is_measured() -> None:
    """The digests on disk are those of the sets, all in the test fold, and not trained on."""
    stored = SPLIT.read_text().split()
    assert stored == digests()
    trained = {digest(e.source) for e in examples(seed=1 * 100_003, count=3000, drawn=Drawn())}
    assert not trained & set(stored)
