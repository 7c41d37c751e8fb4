"""The tokens the models read and write.

One vocabulary serves every model. A token is a head, a leaf, or a word of the
ansatz language (:mod:`tokenizer.ansatz`). Ids from :data:`SIZE` upwards are
*references*: ``SIZE + i`` stands for the subtree of the input at preorder
position ``i``.

Order is part of the format: new tokens are appended, none is moved.
"""

from __future__ import annotations

from typing import Final

from tokenizer.heads import ARITHMETIC, ELEMENTARY, SPECIAL

PAD: Final = 0
#: The first thing a decoder reads, and the parent of the root.
START: Final = 1

#: Integers up to this one are tokens of their own, since they decide the form
#: of an answer (an exponent, a degree); larger ones are lifted to ``<NUM…>``.
LARGEST_LITERAL: Final = 10
NUMBERS: Final = 8
PARAMETERS: Final = 8
#: Highest degree of a polynomial slot ``<POLY d>`` in an ansatz.
LARGEST_SLOT: Final = 12

_CONSTANTS = ("pi", "E", "I")

TOKENS: Final[tuple[str, ...]] = (
    "<PAD>",
    "<START>",
    "<VAR>",
    *(f"<P{i}>" for i in range(PARAMETERS)),
    *(f"<NUM{i}>" for i in range(NUMBERS)),
    *(str(i) for i in range(LARGEST_LITERAL + 1)),
    *_CONSTANTS,
    *ARITHMETIC,
    *ELEMENTARY,
    *SPECIAL,
    "<TERM>",
    "<END>",
    *(f"<POLY{d}>" for d in range(1, LARGEST_SLOT + 1)),
)
SIZE: Final = len(TOKENS)
ID: Final[dict[str, int]] = {token: i for i, token in enumerate(TOKENS)}

VAR: Final = ID["<VAR>"]
FIRST_PARAMETER: Final = ID["<P0>"]
FIRST_NUMBER: Final = ID["<NUM0>"]
FIRST_LITERAL: Final = ID["0"]
#: ``<TERM> term rest`` and ``<END>`` make the list of terms of an ansatz one tree.
TERM: Final = ID["<TERM>"]
END: Final = ID["<END>"]
FIRST_SLOT: Final = ID["<POLY1>"]

#: Token id -> number of arguments.
ARITIES: Final[tuple[int, ...]] = tuple(
    2
    if token == "<TERM>"  # noqa: S105 - a token of the grammar, no password
    else 1
    if token.startswith("<POLY")
    else {**ARITHMETIC, **dict.fromkeys(ELEMENTARY, 1), **SPECIAL}.get(token, 0)
    for token in TOKENS
)


def arity(token: int) -> int:
    """Arguments that ``token`` takes; a reference takes none."""
    return ARITIES[token] if token < SIZE else 0
