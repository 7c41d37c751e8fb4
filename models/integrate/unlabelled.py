"""Integrands of the shapes that people write, without an answer: problems changed a little.

Expert iteration asks the model about them and trains on what is proved (Anthony et al.,
2017, arXiv:1705.08439). Many have no elementary antiderivative.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from models.integrate.data import SINGLE
from models.integrate.families.backward import SMALL
from models.integrate.recipe import PAPER
from models.random_trees import RandomTrees
from tokenizer.tree import Tree, call, integer

#: Largest integrand, in nodes.
LARGEST: Final = 40

#: Heads that take each other's place.
_ALIKE: Final = (
    ("sin", "cos", "tan"),
    ("sinh", "cosh", "tanh"),
    ("exp", "log", "sqrt"),
    ("asin", "acos", "atan"),
    ("asinh", "acosh", "atanh"),
    ("add", "sub"),
    ("mul", "div"),
)
_OTHERS: Final = {head: group for group in _ALIKE for head in group}


def integrands(rng: random.Random) -> Iterator[Tree]:
    """Integrands in ``x`` without end; three fifths are changed problems, the rest random."""
    small, paper = RandomTrees(SMALL), RandomTrees(PAPER)
    while True:
        draw = rng.random()
        if draw < 0.6:
            tree = changed(rng)
        elif draw < 0.8:
            tree = small.sample(rng, rng.randint(2, 6))
        else:
            tree = paper.sample(rng, rng.randint(2, 9))
        if tree.size <= LARGEST and tree.contains("x"):
            yield tree


def changed(rng: random.Random) -> Tree:
    """A problem of the families with one or two of its pieces replaced."""
    samplers, weights = list(SINGLE), list(SINGLE.values())
    tree, other = (problem(rng).integrand for problem in rng.choices(samplers, weights, k=2))
    for _ in range(rng.choice((1, 1, 2))):
        tree = rng.choice((_renumbered, _swapped, _crossed, _multiplied))(tree, other, rng)
    return tree


def _renumbered(tree: Tree, _: Tree, rng: random.Random) -> Tree:
    places = [i for i, node in enumerate(tree.preorder()) if node.head == "integer"]
    return replaced(tree, rng.choice(places), integer(rng.randint(1, 9))) if places else tree


def _swapped(tree: Tree, _: Tree, rng: random.Random) -> Tree:
    nodes = list(tree.preorder())
    places = [i for i, node in enumerate(nodes) if node.head in _OTHERS]
    if not places:
        return tree
    place = rng.choice(places)
    node = nodes[place]
    return replaced(tree, place, call(rng.choice(_OTHERS[node.head]), *node.args))


def _crossed(tree: Tree, other: Tree, rng: random.Random) -> Tree:
    places = _pieces(tree, 7)
    pieces = list(other.preorder())
    found = _pieces(other, 9)
    if not places or not found:
        return tree
    return replaced(tree, rng.choice(places), pieces[rng.choice(found)])


def _multiplied(tree: Tree, other: Tree, rng: random.Random) -> Tree:
    pieces = list(other.preorder())
    found = _pieces(other, 9)
    if not found:
        return tree
    pair = [tree, pieces[rng.choice(found)]]
    rng.shuffle(pair)
    return call(rng.choice(("mul", "mul", "div", "add")), *pair)


def _pieces(tree: Tree, largest: int) -> Sequence[int]:
    """Where subtrees with the variable in them begin that are no larger than ``largest``."""
    return [i for i, n in enumerate(tree.preorder()) if n.size <= largest and n.contains("x")]


def replaced(tree: Tree, place: int, piece: Tree) -> Tree:
    """``tree`` with the subtree at preorder position ``place`` replaced by ``piece``."""
    if place == 0:
        return piece
    args, start = [], 1
    for arg in tree.args:
        inside = start <= place < start + arg.size
        args.append(replaced(arg, place - start, piece) if inside else arg)
        start += arg.size
    return Tree(tree.head, tuple(args), tree.value)
