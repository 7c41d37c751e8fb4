"""Labels of the differentiation model against an independent differentiator."""

from __future__ import annotations

import cmath
import random

import pytest
import symengine

from models.dataset import example
from models.differentiate.data import question
from models.differentiate.rules import OUTER, Labeller
from models.numeric import is_finite
from models.random_trees import Alphabet, RandomTrees
from tokenizer.codec import decode, encode
from tokenizer.tree import Tree, call, symbol

_BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
}
_UNARY = {"Abs": symengine.Abs, "neg": lambda a: -a, "sqrt": symengine.sqrt}
_CONSTANTS = {"pi": symengine.pi, "E": symengine.E}


def to_symengine(tree: Tree) -> symengine.Basic:
    """A Tree in SymEngine, head by head."""
    if tree.head == "integer":
        return symengine.Integer(tree.value)
    if tree.head == "symbol":
        return symengine.Symbol(str(tree.value))
    if tree.head == "constant":
        return _CONSTANTS[str(tree.value)]
    args = [to_symengine(arg) for arg in tree.args]
    if tree.head in _BINARY:
        return _BINARY[tree.head](*args)
    function = _UNARY.get(tree.head) or getattr(symengine, tree.head)
    return function(*args)


def agree(tree: Tree, rng: random.Random) -> bool:
    """Whether label and SymEngine give the same number at a random complex point."""
    source = encode(tree)
    label = to_symengine(decode(Labeller(source).label(), source))
    reference = symengine.diff(to_symengine(tree), symengine.Symbol("x"))
    at = {
        symengine.Symbol(name): symengine.sympify(
            complex(rng.uniform(0.3, 1.5), rng.uniform(-1, 1))
        )
        for name in {*tree.symbols(), "x"}
    }
    a, b = (complex(e.subs(at).n(53, real=False)) for e in (label, reference))
    return cmath.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)


@pytest.mark.parametrize("head", sorted(set(OUTER) - {"Abs"}))
def test_every_function_differentiates_like_symengine(head: str) -> None:
    """Each rule of the table, under a chain, agrees with SymEngine."""
    inner = call("mul", symbol("p0"), call("pow", symbol("x"), symbol("p1")))
    assert agree(call(head, inner), random.Random(3))


def test_random_questions_differentiate_like_symengine() -> None:
    """Labels of the training distribution agree with SymEngine wherever both have a value."""
    rng = random.Random(11)
    trees = RandomTrees(Alphabet())
    checked = 0
    while checked < 300:
        tree = question(rng, trees)
        # SymEngine has no complex derivative of Abs and sign, and writes that of acosh with one
        # root, which has the other sign in the left half-plane
        heads = {node.head for node in tree.preorder()}
        if heads & {"Abs", "sign", "acosh"} or not is_finite(tree, rng):
            continue
        checked += 1
        try:
            # doubles lose all digits of sin(...)**(-131) at some points
            assert any(agree(tree, rng) for _ in range(4)), tree
        except (RuntimeError, OverflowError):
            continue  # the derivative has a pole or overflows at this point


def test_references_and_plain_labels_are_the_same_tree() -> None:
    """Writing a reference out as tokens changes nothing but the length."""
    rng = random.Random(12)
    trees = RandomTrees(Alphabet())
    for _ in range(200):
        tree = question(rng, trees)
        source = encode(tree)
        if len(source.numbers) > 8 or any(s in tree.symbols() for s in ("p8", "p9")):
            continue
        pointed = Labeller(source).label()
        plain = Labeller(source, references=False).label()
        assert decode(pointed, source) == decode(plain, source)
        assert len(pointed) <= len(plain)
        assert len(example(source, pointed).parents) == len(pointed)
