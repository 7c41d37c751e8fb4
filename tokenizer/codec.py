"""Trees to token ids with tree positions, and token ids back to Trees.

A sequence is the Tree in preorder (Polish order), one token a node. Each token
carries a *path code*: two bits a level, the lowest pair telling which argument
of its parent the node is (1, 2, or 3 for any later one), the next pair the same
of the parent, and so on (after Shiv & Quirk, 2019, "Novel positional encodings
to enable tree-based transformers").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tokenizer import vocabulary as v
from tokenizer.normalise import VARIABLE
from tokenizer.tree import Tree, constant, integer, symbol

#: Levels of a path that are kept, the ones nearest the node.
PATH_LEVELS = 20
_PATH_MASK = (1 << 2 * PATH_LEVELS) - 1


class Unencodable(ValueError):
    """A Tree with something in it that is not in the models' vocabulary."""


class Malformed(ValueError):
    """Token ids that are no tree."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A Tree as a model reads it; all fields but the last have one entry a token.

    ``ids`` are token ids, ``paths`` path codes, ``nodes`` the subtrees that a
    reference to that position stands for, ``numbers`` the lifted integers:
    ``<NUMi>`` stands for ``numbers[i]``.
    """

    ids: tuple[int, ...]
    paths: tuple[int, ...]
    nodes: tuple[Tree, ...]
    numbers: tuple[int, ...]


def child_path(path: int, slot: int) -> int:
    """Path code of argument ``slot`` (0-based) of the node at ``path``."""
    return (path << 2 | min(slot, 2) + 1) & _PATH_MASK


def encode(tree: Tree) -> Encoded:
    """Token ids, paths and references of a normalised Tree.

    Raises :class:`Unencodable` for a head, constant or symbol that is not in
    the vocabulary.
    """
    ids: list[int] = []
    paths: list[int] = []
    nodes: list[Tree] = []
    numbers: dict[int, int] = {}
    stack = [(tree, 0)]
    while stack:
        node, path = stack.pop()
        ids.append(_leaf_id(node, numbers) if not node.args else _head_id(node))
        paths.append(path)
        nodes.append(node)
        if node.args:
            stack += [(arg, child_path(path, slot)) for slot, arg in enumerate(node.args)][::-1]
    return Encoded(tuple(ids), tuple(paths), tuple(nodes), tuple(numbers))


def _head_id(node: Tree) -> int:
    token = v.ID.get(node.head)
    if token is None:
        raise Unencodable(f"the models do not know {node.head}")
    return token


def _leaf_id(leaf: Tree, numbers: dict[int, int]) -> int:
    value = leaf.value
    if isinstance(value, int):
        if value <= v.LARGEST_LITERAL:
            return v.FIRST_LITERAL + value
        # past the last number token they share it: references keep them apart
        return v.FIRST_NUMBER + min(numbers.setdefault(value, len(numbers)), v.NUMBERS - 1)
    if leaf.head == "symbol":
        if value == VARIABLE:
            return v.VAR
        if value is not None and value[0] == "p" and value[1:].isdecimal():
            return v.FIRST_PARAMETER + min(int(value[1:]), v.PARAMETERS - 1)
    token = v.ID.get(str(value)) if leaf.head == "constant" else None
    if token is None:
        raise Unencodable(f"the models do not know {value}")
    return token


def slots(tokens: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For each token, where it hangs: the id of its parent token and its path code.

    A decoder is told both for the token it is about to write. Stops when the
    tree is complete; raises :class:`Malformed` if tokens run out or are left over.
    """
    open_slots = [(v.START, 0)]
    for token in tokens:
        if not open_slots:
            raise Malformed("tokens are left over")
        yield open_slots[-1]
        advance(open_slots, token)
    if open_slots:
        raise Malformed("the tree is not complete")


def advance(open_slots: list[tuple[int, int]], token: int) -> None:
    """Fill the last of ``open_slots`` (parent, path) with ``token``; its own slots are pushed."""
    _, path = open_slots.pop()
    if token < v.SIZE:  # a reference has no slots
        for slot in range(v.ARITIES[token] - 1, -1, -1):
            open_slots.append((token, child_path(path, slot)))


def decode(tokens: Sequence[int], source: Encoded) -> Tree:
    """The Tree that ``tokens`` spell, references resolved in ``source``.

    Raises :class:`Malformed` when they are no complete expression.
    """
    tree, position = _read(tokens, 0, source)
    if position != len(tokens):
        raise Malformed("tokens are left over")
    return tree


def decode_terms(tokens: Sequence[int], source: Encoded) -> list[tuple[Tree, int]]:
    """The terms of an ansatz, each with the degree of its polynomial slot (0 for none).

    Raises :class:`Malformed` when ``tokens`` are no ``<TERM>`` list.
    """
    terms: list[tuple[Tree, int]] = []
    position = 0
    while position < len(tokens) and tokens[position] == v.TERM:
        position += 1
        degree = 0
        if position < len(tokens) and v.FIRST_SLOT <= tokens[position] < v.SIZE:
            degree = tokens[position] - v.FIRST_SLOT + 1
            position += 1
        tree, position = _read(tokens, position, source)
        terms.append((tree, degree))
    if tokens[position:] != [v.END] and tuple(tokens[position:]) != (v.END,):
        raise Malformed("the list of terms does not end")
    return terms


def _read(tokens: Sequence[int], start: int, source: Encoded) -> tuple[Tree, int]:
    # an explicit stack: a model may nest deeper than Python recurses
    pending: list[tuple[str, int, list[Tree]]] = []
    for position in range(start, len(tokens)):
        token = tokens[position]
        arity = v.ARITIES[token] if token < v.SIZE else 0
        if arity:
            if token >= v.TERM:
                raise Malformed("a term inside a term")
            pending.append((v.TOKENS[token], arity, []))
            continue
        tree = _LEAVES.get(token) or _leaf(token, source)
        while pending:
            head, arity, args = pending[-1]
            args.append(tree)
            if len(args) < arity:
                break
            pending.pop()
            tree = Tree(head, tuple(args))
        else:
            return tree, position + 1
    raise Malformed("the tree is not complete")


def _leaves() -> dict[int, Tree]:
    """The leaves that are the same whatever the input is, by their tokens."""
    leaves = {v.FIRST_LITERAL + value: integer(value) for value in range(v.LARGEST_LITERAL + 1)}
    leaves |= {v.FIRST_PARAMETER + index: symbol(f"p{index}") for index in range(v.PARAMETERS)}
    leaves |= {v.ID[name]: constant(name) for name in ("pi", "E", "I")}
    return leaves | {v.VAR: symbol(VARIABLE)}


_LEAVES: Final = _leaves()


def _leaf(token: int, source: Encoded) -> Tree:
    if token >= v.SIZE:
        if token - v.SIZE >= len(source.nodes):
            raise Malformed("a reference past the end of the input")
        return source.nodes[token - v.SIZE]
    if v.FIRST_NUMBER <= token < v.FIRST_NUMBER + v.NUMBERS:
        index = token - v.FIRST_NUMBER
        if index >= len(source.numbers):
            raise Malformed("a number that is not in the input")
        return integer(source.numbers[index])
    raise Malformed(f"{v.TOKENS[token]} is no expression")
