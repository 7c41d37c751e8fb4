"""Functions of their inverses, as SymPy simplifies them: cos(asin(u)) is sqrt(1 - u^2)."""

from __future__ import annotations

from functools import cache
from typing import Final

import sympy

from service.verification.convert import ConversionError, from_sympy
from tokenizer.tree import Tree

#: The symbol in rules that stands for their argument.
PLACE: Final = "_u"

CIRCULAR: Final = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
HYPERBOLIC: Final = frozenset({"sinh", "cosh", "tanh", "coth", "sech", "csch"})

#: Functions, and inverses of functions.
DIRECT: Final = CIRCULAR | HYPERBOLIC | {"exp"}
INVERSE: Final = frozenset(
    "asin acos atan acot asec acsc asinh acosh atanh acoth asech acsch log".split()
)


@cache
def _rule(outer: str, inner: str) -> Tree | None:
    u = sympy.Symbol(PLACE)  # any complex number
    found = getattr(sympy, outer)(getattr(sympy, inner)(u))
    if found.has(getattr(sympy, inner)):
        return None
    try:
        return from_sympy(found)
    except ConversionError:
        return None


def is_composed(outer: str, inner: str) -> bool:
    """Whether SymPy has another form of this function of that one."""
    return outer in DIRECT and inner in INVERSE and _rule(outer, inner) is not None


def composed(tree: Tree) -> Tree | None:
    """What a function of an inverse function is without both; None where SymPy keeps them."""
    if tree.head not in DIRECT or tree.args[0].head not in INVERSE:
        return None
    rule = _rule(tree.head, tree.args[0].head)
    return rule and filled(rule, tree.args[0].args[0])


def filled(rule: Tree, argument: Tree) -> Tree:
    """A rule in ``_u`` with its argument."""
    return rule.map_leaves(lambda leaf: argument if leaf.value == PLACE else leaf)
