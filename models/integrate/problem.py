"""A training problem, and its label as tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tokenizer import vocabulary as v
from tokenizer.ansatz import Term
from tokenizer.codec import Encoded
from tokenizer.normalise import VARIABLE
from tokenizer.tree import Tree

#: Degrees that labels use. A degree is rounded up, which costs nothing and is easier to predict.
DEGREES: Final = (0, 1, 2, 3, 4, 6, 8, 12)


class Unlabelled(ValueError):
    """A term that cannot be spelled from the vocabulary and pieces of the integrand."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An integrand in ``x``, and terms (slots included) that span an antiderivative of it."""

    integrand: Tree
    terms: tuple[Term, ...]


def coarse(degree: int) -> int:
    """``degree`` rounded up to one of :data:`DEGREES`; the last of them stands for more, too."""
    return DEGREES[min(bisect_left(DEGREES, degree), len(DEGREES) - 1)]


def label(terms: Iterable[Term], source: Encoded, *, references: bool = True) -> list[int]:
    """``<TERM> t1 <TERM> t2 … <END>``, logarithm slots last, short terms first.

    Subtrees of two or more nodes that occur in the integrand, parameters and large
    integers are references to their first occurrence, unless ``references`` is False.
    Raises :class:`Unlabelled`.
    """
    places = _places(source) if references else {}
    spelled: dict[tuple[int, ...], bool] = {}
    for term in terms:
        tokens: list[int] = []
        if degree := coarse(term.degree):
            tokens.append(v.FIRST_SLOT + degree - 1)
        _spell(term.factor, places, tokens)
        spelled[tuple(tokens)] = term.factor.head == "log"
    order = sorted(spelled, key=lambda tokens: (spelled[tokens], len(tokens), tokens))
    return [token for tokens in order for token in (v.TERM, *tokens)] + [v.END]


def spell(tree: Tree, source: Encoded, *, references: bool = True) -> list[int]:
    """``tree`` itself as tokens, written as a factor in :func:`label` is."""
    tokens: list[int] = []
    _spell(tree, _places(source) if references else {}, tokens)
    return tokens


def _places(source: Encoded) -> dict[Tree, int]:
    """Where each subtree of the question occurs first."""
    places: dict[Tree, int] = {}
    for position, node in enumerate(source.nodes):
        places.setdefault(node, position)
    return places


def _spell(tree: Tree, places: dict[Tree, int], tokens: list[int]) -> None:
    if tree.args:
        if tree in places:
            tokens.append(v.SIZE + places[tree])
            return
        if tree.head not in v.ID:
            raise Unlabelled(tree.head)
        tokens.append(v.ID[tree.head])
        for arg in tree.args:
            _spell(arg, places, tokens)
        return
    if tree.head == "integer" and int(tree.value or 0) <= v.LARGEST_LITERAL:
        tokens.append(v.FIRST_LITERAL + int(tree.value or 0))
    elif tree.head == "symbol" and tree.value == VARIABLE:
        tokens.append(v.VAR)
    elif tree in places:
        tokens.append(v.SIZE + places[tree])
    elif tree.head == "constant" and str(tree.value) in v.ID:
        tokens.append(v.ID[str(tree.value)])
    else:
        raise Unlabelled(str(tree.value))
