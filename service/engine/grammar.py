"""Which tokens may stand at an open slot of a tree.

A hypothesis is a tree in preorder and is complete when it has no open slot, so
there is no end token. What may fill a slot follows from the slot's *kind* and
from how many tokens are left: every other open slot needs at least one of them.
Both together make a *rule*, a row of :data:`WORDS`.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from models.artifacts import Output
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded

Floats = npt.NDArray[np.float32]

EXPRESSION, FACTOR, TERMS, FIRST_TERM = range(4)
_KINDS: Final = 4
_MOST_ARGUMENTS: Final = max(v.ARITIES)


def kind(parent: int, path: int, output: Output) -> int:
    """The kind of the slot at ``path`` below the token ``parent``.

    In an ansatz ``<TERM> factor terms``, a factor may start with ``<POLYd>`` and
    the terms go on with ``<TERM>`` or stop with ``<END>``.
    """
    if parent == v.START:
        return EXPRESSION if output == "expression" else FIRST_TERM
    if parent == v.TERM:
        return FACTOR if path & 3 == 1 else TERMS
    return EXPRESSION


@functools.cache
def kinds(output: Output) -> tuple[int, ...]:
    """The :func:`kind` of every slot, at ``parent << 2 | path & 3``."""
    return tuple(kind(parent, path, output) for parent in range(v.SIZE) for path in range(4))


def rule(kind_of_slot: int, tokens_left: int, open_slots: int) -> int:
    """The row of the tables for a slot that is one of ``open_slots``.

    ``tokens_left`` counts the token to come; at least ``open_slots``.
    """
    return kind_of_slot * (_MOST_ARGUMENTS + 1) + min(tokens_left - open_slots, _MOST_ARGUMENTS)


def _word_table() -> Floats:
    ids = np.arange(v.SIZE)
    structural = ids >= v.TERM
    expression = (ids > v.START) & ~structural
    slot = (ids >= v.FIRST_SLOT) & structural
    allowed = np.array(
        [expression, expression | slot, (ids == v.TERM) | (ids == v.END), ids == v.TERM]
    )
    arities = np.array(v.ARITIES)
    fits = np.array([arities <= room for room in range(_MOST_ARGUMENTS + 1)])
    both = (allowed[:, None] & fits[None]).reshape(-1, v.SIZE)
    return np.where(both, 0, -np.inf).astype(np.float32)


#: (rules, V): 0 where a token is allowed, -inf where it is not.
WORDS: Final = _word_table()
#: (rules, 1): the same for references, which are expressions without arguments.
REFERENCES: Final = (
    np.where(np.arange(len(WORDS)) // (_MOST_ARGUMENTS + 1) <= FACTOR, 0, -np.inf)
    .astype(np.float32)
    .reshape(-1, 1)
)


@functools.lru_cache(maxsize=64)
def table(source: int) -> Floats:
    """(rules, V + S) for questions that are padded to ``source`` tokens."""
    return np.concatenate([WORDS, np.repeat(REFERENCES, source, axis=1)], axis=1)


def names(source: Encoded) -> Floats:
    """(1, V + S): -inf for parameters and lifted numbers that are not in the question."""
    bias = np.zeros((1, v.SIZE + len(source.ids)), np.float32)
    bias[0, v.FIRST_PARAMETER : v.FIRST_PARAMETER + v.PARAMETERS] = -np.inf
    bias[0, v.FIRST_NUMBER : v.FIRST_NUMBER + v.NUMBERS] = -np.inf
    bias[0, list(source.ids)] = 0
    return bias
