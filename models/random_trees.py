"""Random expressions, uniform over tree shapes.

    rng = random.Random(0)
    tree = RandomTrees(Alphabet()).sample(rng, operators=7)

The scheme is appendix C of Lample & Charton (2020, arXiv:1912.01412): a
unary–binary tree with n internal nodes is drawn so that every shape is equally
likely, then operators and leaves are drawn from weighted lists.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from tokenizer.heads import ELEMENTARY
from tokenizer.tree import Tree, call, constant, integer, rational, symbol


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What the nodes of a random Tree may be, with relative weights."""

    binary: tuple[tuple[str, float], ...] = (
        ("add", 4),
        ("sub", 3),
        ("mul", 5),
        ("div", 3),
        ("pow", 2),
    )
    unary: tuple[tuple[str, float], ...] = (
        ("neg", 2),
        *((head, 4.0 if head in ("exp", "log", "sqrt", "sin", "cos") else 1.0)
          for head in ELEMENTARY),
    )  # fmt: skip
    variable: float = 0.65
    integer: float = 0.25
    parameter: float = 0.08
    pi: float = 0.02
    parameters: int = 4
    #: integers are drawn to ±5, and with this chance to ±10**5, uniform in the logarithm
    large: float = 0.2


class RandomTrees:
    """Draws Trees from an :class:`Alphabet`."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet

    def sample(self, rng: random.Random, operators: int) -> Tree:
        """A Tree with ``operators`` internal nodes, signs and fractions of numbers not counted."""
        return self._fill(_shape(rng, operators), rng)

    def _fill(self, shape: Shape, rng: random.Random) -> Tree:
        if not shape:
            return self.leaf(rng)
        if len(shape) == 1:
            return call(_weighted(rng, self.alphabet.unary), self._fill(shape[0], rng))
        head = _weighted(rng, self.alphabet.binary)
        left = self._fill(shape[0], rng)
        if head == "pow" and rng.random() < 0.7:
            # most powers that anybody writes have a constant exponent
            shape = (shape[0], ()) if not shape[1] else shape
            right = exponent(rng, self) if not shape[1] else self._fill(shape[1], rng)
            return call("pow", left, right)
        return call(head, left, self._fill(shape[1], rng))

    def leaf(self, rng: random.Random) -> Tree:
        """The variable, a number, a parameter or pi."""
        a, draw = self.alphabet, rng.random()
        if draw < a.variable:
            return symbol("x")
        if draw < a.variable + a.integer:
            value = magnitude(rng, a.large)
            return integer(-value if rng.random() < 0.3 else value)
        if draw < a.variable + a.integer + a.parameter:
            return symbol(f"p{rng.randrange(a.parameters)}")
        return constant("pi")


def magnitude(rng: random.Random, large: float) -> int:
    """A positive integer, small unless the chance ``large`` comes up."""
    if rng.random() < large:
        return int(10 ** rng.uniform(0.7, 5))
    return rng.randint(1, 5)


def exponent(rng: random.Random, trees: RandomTrees) -> Tree:
    """An exponent as people write them: integers, simple fractions, sometimes a letter."""
    draw = rng.random()
    if draw < 0.6:
        value = rng.choice((2, 2, 2, 3, 3, 4, 5, 6, magnitude(rng, 0.5)))
        return integer(-value if rng.random() < 0.25 else value)
    if draw < 0.85:
        return rational(rng.choice((1, 1, 2, 3, 4, 5, -1, -2, -3)), rng.choice((2, 2, 3, 3, 4, 5)))
    if draw < 0.9:
        return rational(magnitude(rng, 0.5), magnitude(rng, 0.5) + 1)
    return symbol(f"p{rng.randrange(trees.alphabet.parameters)}")


#: A shape is the tuple of its children's shapes; a leaf is ().
Shape = tuple["Shape", ...]


@cache
def _count(empty: int, operators: int) -> int:
    """Ways to hang ``operators`` unary or binary nodes on ``empty`` open places (their D(e, n))."""
    if empty == 0:
        return 0
    if operators == 0:
        return 1
    return (
        _count(empty - 1, operators)
        + _count(empty, operators - 1)
        + _count(empty + 1, operators - 1)
    )


def _shape(rng: random.Random, operators: int) -> Shape:
    """A unary–binary tree shape, all equally likely."""
    arities: list[int] = []  # in preorder, leaves included
    empty = 1
    while operators:
        total = _count(empty, operators)
        draw = rng.randrange(total)
        # the next open place is a leaf, a unary or a binary node
        leaf, unary = _count(empty - 1, operators), _count(empty, operators - 1)
        if draw < leaf:
            arities.append(0)
            empty -= 1
        else:
            binary = draw >= leaf + unary
            arities.append(2 if binary else 1)
            empty += binary
            operators -= 1
    arities.extend([0] * empty)
    places = iter(arities)

    def build() -> Shape:
        return tuple(build() for _ in range(next(places)))

    return build()


def _weighted(rng: random.Random, choices: tuple[tuple[str, float], ...]) -> str:
    return rng.choices([c for c, _ in choices], [w for _, w in choices])[0]
