"""A random F, differentiated: after Lample & Charton (2020), kept small.

F is drawn from trees of few operators, SymEngine differentiates, and the ansatz is
read off F. Alone this makes a poor teacher of what people ask; it covers what no
recipe foresees.
"""

from __future__ import annotations

import random
from typing import Any, Final

import symengine

from models.integrate.problem import Problem, Unlabelled
from models.integrate.recipe import to_symengine
from models.integrate.writing import ONE, Writer, product, raised
from models.random_trees import Alphabet, RandomTrees
from tokenizer.ansatz import ansatz_of
from tokenizer.tree import Tree, call, constant, integer, negated, rational, symbol

SMALL: Final = Alphabet(
    binary=(("add", 5), ("sub", 3), ("mul", 6), ("div", 3), ("pow", 1)),
    unary=(
        ("exp", 4), ("log", 4), ("sqrt", 3), ("sin", 4), ("cos", 4), ("tan", 1.5), ("neg", 0.5),
        ("asin", 1), ("acos", 0.7), ("atan", 1.5), ("sinh", 1), ("cosh", 1), ("tanh", 0.7),
        ("asinh", 0.6), ("acosh", 0.4), ("atanh", 0.5),
    ),
    variable=0.62, integer=0.36, parameter=0.01, pi=0.01, parameters=2, large=0.02,
)  # fmt: skip
_TREES: Final = RandomTrees(SMALL)

#: Largest number in an integrand; powers of numbers are multiplied out and grow past it.
LARGEST_NUMBER: Final = 10**9

#: Most nodes of an antiderivative and of its derivative.
_SIZES: Final = (24, 56)


def sample(rng: random.Random) -> Problem:
    """The derivative of a random expression with one to six operators."""
    return draw(rng)[0]


def draw(rng: random.Random) -> tuple[Problem, Tree]:
    """As :func:`sample`, with the random expression beside it."""
    while True:
        operators = rng.choices((1, 2, 3, 4, 5, 6), (6, 14, 22, 24, 20, 14))[0]
        tree = _TREES.sample(rng, operators)
        if tree.size > _SIZES[0] or not tree.contains("x") or _is_costly(tree):
            continue
        try:
            slope = symengine.diff(to_symengine(tree), symengine.Symbol("x"))
            if rng.random() < 0.25:
                slope = symengine.expand(slope)
            integrand = from_symengine(slope, Writer(rng))
        except (Unlabelled, ArithmeticError, RuntimeError, ValueError, TypeError):
            continue
        if integrand.size > _SIZES[1] or not integrand.contains("x"):
            continue
        terms = ansatz_of(tree, "x")
        if terms:
            return Problem(integrand, tuple(terms)), tree


def _is_costly(tree: Tree) -> bool:
    """Powers that SymEngine would multiply out: of numbers, or to a large exponent."""
    return any(
        node.head == "pow"
        and (
            not node.contains("x")
            or any(isinstance(n.value, int) and n.value > 12 for n in node.args[1].preorder())
        )
        for node in tree.preorder()
    )


def from_symengine(e: Any, writer: Writer) -> Tree:
    """The Tree in which ``writer`` would write ``e``; raises Unlabelled for other functions."""
    if e.is_Integer:
        return integer(_moderate(e))
    if e.is_Rational:
        return rational(_moderate(e.p), _moderate(e.q))
    if e.is_Symbol:
        return symbol(str(e))
    if e == symengine.pi:
        return constant("pi")
    if e == symengine.E:
        return call("exp", ONE)
    if e.is_Add:
        return _sum([from_symengine(arg, writer) for arg in _ordered(e.args, writer)])
    if e.is_Mul:
        return _quotient(_ordered(e.args, writer), writer)
    if e.is_Pow:
        return _power(e.args[0], e.args[1], writer)
    head = type(e).__name__.lower()
    if head == "abs" or len(e.args) != 1:
        raise Unlabelled(head)
    return call(head, from_symengine(e.args[0], writer))


def _moderate(number: Any) -> int:
    """The integer, if anybody would write it down."""
    value = int(number)
    if abs(value) > LARGEST_NUMBER:
        raise Unlabelled("a number too large")
    return value


def _ordered(args: tuple[Any, ...], writer: Writer) -> list[Any]:
    # SymEngine's order follows hashes; people put numbers first and are not consistent otherwise
    ordered = sorted(args, key=lambda arg: (not arg.is_Number, str(arg)))
    if writer.shuffled:
        rest = [arg for arg in ordered if not arg.is_Number]
        writer.rng.shuffle(rest)
        ordered = [arg for arg in ordered if arg.is_Number] + rest
    return ordered


def _sum(terms: list[Tree]) -> Tree:
    tree = terms[0]
    for term in terms[1:]:
        negative = term.head == "neg"
        tree = call("sub" if negative else "add", tree, negated(term) if negative else term)
    return tree


def _quotient(factors: list[Any], writer: Writer) -> Tree:
    above: list[Tree] = []
    below: list[Tree] = []
    negative = False
    for factor in factors:
        if factor.is_Rational:
            p, q = _moderate(factor.p), _moderate(factor.q)
            negative = p < 0
            above += [integer(abs(p))] if abs(p) != 1 else []
            below += [integer(q)] if q != 1 else []
        elif factor.is_Pow and factor.args[1].is_Number and factor.args[1].is_negative:
            below.append(_power(factor.args[0], -factor.args[1], writer))
        else:
            above.append(from_symengine(factor, writer))
    tree = product(above)
    if below:
        tree = call("div", tree, product(below))
    return call("neg", tree) if negative else tree


def _power(base: Any, exponent: Any, writer: Writer) -> Tree:
    if base == symengine.E:
        return call("exp", from_symengine(exponent, writer))
    if exponent.is_Number and exponent.is_negative:
        return call("div", ONE, _power(base, -exponent, writer))
    tree = from_symengine(base, writer)
    if exponent.is_Integer:
        return raised(tree, int(exponent))
    if (
        exponent.is_Rational
        and (int(exponent.p), int(exponent.q)) == (1, 2)
        and not writer.root_as_power
    ):
        return call("sqrt", tree)
    return call("pow", tree, from_symengine(exponent, writer))
