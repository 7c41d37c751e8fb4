"""Hypothesis strategies for Trees, as the parser makes them."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from tokenizer.errors import ParseError
from tokenizer.functions import exponential, junction, power
from tokenizer.heads import ELEMENTARY, RELATIONS, SPECIAL
from tokenizer.limits import DEFAULT_LIMITS
from tokenizer.magnitude import check
from tokenizer.tree import Tree, call, constant, integer, symbol

#: Plain names, and those that are easily taken for something else.
NAMES = tuple(
    "x y t a k n i j theta alpha omega x_1 x1 A_BC theta_1 velocity "
    "d e E f g lambda beta gamma Gamma Chi Alpha hbar ab sinus x_alpha x_1_a N_a_b".split()
)
_UNARY = tuple(
    name for name in (*ELEMENTARY, *(s for s, n in SPECIAL.items() if n == 1)) if name != "exp"
)
_BINARY = tuple(name for name, arity in SPECIAL.items() if arity == 2)


def symbols() -> st.SearchStrategy[Tree]:
    """Symbol leaves."""
    return st.sampled_from(NAMES).map(symbol)


def leaves() -> st.SearchStrategy[Tree]:
    """Symbols, integers of up to 30 digits, constants."""
    numbers = st.integers(0, 12) | st.integers(0, 10**30)
    constants = st.sampled_from(("pi", "E", "I", "oo")).map(constant)
    return st.one_of(symbols(), symbols(), numbers.map(integer), constants)


def _grow(draw: st.DrawFn, budget: int) -> Tree:
    """A tree of at most ``budget`` operators."""
    if budget <= 0 or draw(st.integers(0, 7)) == 0:
        return draw(leaves())
    shape = draw(st.integers(0, 11))
    if shape in (0, 1):
        return call("neg", _grow(draw, budget - 1))
    if shape == 2:
        return exponential(_grow(draw, budget - 1))
    if shape in (3, 4):
        return call(draw(st.sampled_from(_UNARY)), _grow(draw, budget - 1))
    if shape == 5:
        return _piecewise(draw, budget - 1)
    left = draw(st.integers(0, budget - 1))
    first, second = _grow(draw, left), _grow(draw, budget - 1 - left)
    if shape in (6, 7):
        small = draw(st.booleans())
        return power(first, integer(draw(st.integers(1, 9))) if small else second)
    if shape == 8:
        return call(draw(st.sampled_from((*_BINARY, "Max", "Min"))), first, second)
    return call(draw(st.sampled_from(("add", "sub", "mul", "div"))), first, second)


def _condition(draw: st.DrawFn, budget: int) -> Tree:
    if budget > 2 and draw(st.booleans()):
        parts = [_condition(draw, budget // 3) for _ in range(draw(st.integers(2, 3)))]
        return junction(draw(st.sampled_from(("And", "Or"))), parts)
    left, right = _grow(draw, budget // 3), _grow(draw, budget // 3)
    return call(draw(st.sampled_from(tuple(RELATIONS))), left, right)


def _piecewise(draw: st.DrawFn, budget: int) -> Tree:
    flat: list[Tree] = []
    for _ in range(draw(st.integers(1, 2))):
        flat += [_grow(draw, budget // 4), _condition(draw, budget // 4)]
    return call("Piecewise", *flat, _grow(draw, budget // 4), Tree("boolean", (), "True"))


def _is_readable(tree: Tree) -> bool:
    """Whether the parser takes it: no division by zero, no enormous number."""
    try:
        check(tree, DEFAULT_LIMITS, {})
    except ParseError:
        return False
    return tree.size <= DEFAULT_LIMITS.nodes and tree.depth <= DEFAULT_LIMITS.depth


@st.composite
def trees(draw: st.DrawFn, operators: int = 15) -> Tree:
    """Expressions over every head the parser knows, tasks left out."""
    tree = _grow(draw, draw(st.integers(0, operators)))
    assume(_is_readable(tree))
    return tree


@st.composite
def tasks(draw: st.DrawFn) -> Tree:
    """Integrals with and without bounds, derivatives of order 1 to 4."""
    inside, variable = draw(trees(6)), draw(symbols())
    if draw(st.booleans()):
        return call("derivative", inside, variable, integer(draw(st.integers(1, 4))))
    bounds = (draw(leaves()), draw(leaves())) if draw(st.booleans()) else ()
    return call("integral", inside, variable, *bounds)
