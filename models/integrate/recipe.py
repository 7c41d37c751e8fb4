"""Random problems after the recipe of Lample & Charton (2020, arXiv:1912.01412).

Section 3 and appendix C: expressions with up to 15 operators of their table, integers
to 5. *Backward* differentiates a random F. *By parts* takes F·G' where F'·G is the
derivative of something known: then the answer is F·G less that.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import symengine

from models.random_trees import Alphabet, RandomTrees
from tokenizer.heads import ELEMENTARY
from tokenizer.tree import Tree

_NOT_IN_PAPER: Final = frozenset(
    "Abs sign erf cot sec csc acot asec acsc coth sech csch acoth asech acsch".split()
)
#: Operators of their table, integers to 5, no parameters; chances as they state them.
PAPER: Final = Alphabet(
    binary=(("add", 10), ("mul", 10), ("sub", 5), ("div", 5)),
    unary=tuple((head, 1.0) for head in ELEMENTARY if head not in _NOT_IN_PAPER),
    variable=0.75,
    integer=0.25,
    parameter=0.0,
    pi=0.0,
    large=0.0,
)
#: Short problems with known answers that a search by parts begins with, and holds at most.
_KNOWN: Final = 20_000
_MOST_KNOWN: Final = 200_000
_TREES: Final = RandomTrees(PAPER)
_X: Final = symengine.Symbol("x")
#: What SymEngine raises for expressions without a value.
FAILURES: Final = (RuntimeError, ZeroDivisionError)


def to_symengine(tree: Tree) -> Any:
    """The expression with SymEngine's automatic simplifications."""
    match tree.head:
        case "integer":
            return symengine.Integer(tree.value)
        case "symbol":
            return symengine.Symbol(str(tree.value))
        case "constant":
            return {"pi": symengine.pi, "E": symengine.E, "I": symengine.I}[str(tree.value)]
    args = [to_symengine(arg) for arg in tree.args]
    match tree.head:
        case "neg":
            return -args[0]
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] / args[1]
        case "pow":
            return args[0] ** args[1]
    return getattr(symengine, tree.head)(args[0])


@dataclass(slots=True)
class Recipe:
    """Draws integrands as SymEngine expressions in ``x``, with an antiderivative where known.

    Each method may raise one of :data:`FAILURES`.
    """

    rng: random.Random
    #: integrand, multiplied out -> antiderivative
    known: dict[str, Any] = field(default_factory=dict)

    def function(self, least: int, most: int) -> Any:
        """A random expression with ``least`` to ``most`` operators."""
        return to_symengine(_TREES.sample(self.rng, self.rng.randint(least, most)))

    def backward(self, least: int = 1, most: int = 15) -> tuple[Any, Any]:
        """F' and F."""
        function = self.function(least, most)
        return symengine.diff(function, _X), function

    def by_parts(self) -> tuple[Any, Any] | None:
        """F·G' and its antiderivative; None when F'·G is nothing known."""
        while len(self.known) < _KNOWN:
            with suppress(*FAILURES):
                self._learn(*self.backward(0, 4))
        f, g = self.function(0, 5), self.function(0, 5)
        first, second = symengine.diff(f, _X) * g, f * symengine.diff(g, _X)
        # a constant factor leaves nothing to do by parts
        if first == 0 or second == 0:
            return None
        other = self.known.get(_expanded(first))
        if other is None:
            return None
        answer = f * g - other
        if len(self.known) < _MOST_KNOWN:
            self._learn(second, answer)
        return second, answer

    def _learn(self, integrand: Any, antiderivative: Any) -> None:
        self.known.setdefault(_expanded(integrand), antiderivative)


def _expanded(expression: Any) -> str:
    return str(symengine.expand(expression))
