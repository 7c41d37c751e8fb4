"""Points at which a difference may hide from a grid.

Two functions that agree on a grid may differ beyond the last point where a radicand or the
argument of an absolute value changes its sign, between two such places that are near to each
other, or under a peak.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np

from service.integration.domain import FloatArray, on_axis
from service.integration.evaluate import CannotEvaluate
from service.integration.singular import CONCENTRATED, guards, zeros
from tokenizer.tree import Tree

_WITHIN: Final = 12.0
#: Distance to a zero of a point beside it, relative to 1 + |zero|.
_BESIDE: Final = 1e-6
#: Where between two zeros to look: not in the middle, where symmetry puts exceptions.
_OFF_CENTRE: Final = 0.4375731
#: Zeros of one expression that are looked at.
_MOST: Final = 12
#: Expressions whose zeros are looked for.
_EXPRESSIONS: Final = 24


def _far() -> FloatArray:
    sizes = np.geomspace(900, 1e30, 110) * 1.00137
    return np.concatenate([-sizes[::-1], np.linspace(-890, 890, 12), sizes])


FAR: Final[FloatArray] = _far()


@lru_cache(maxsize=256)
def near(integrand: Tree, variable: str) -> tuple[float, ...]:
    """Points beside and between the places within ±12 where ``integrand`` may turn or peak."""
    found: list[float] = []
    for guard in _turning(integrand, variable):
        if set(guard.symbols()) == {variable}:
            try:
                found += zeros(guard, variable, -_WITHIN, _WITHIN)[:_MOST]
            except CannotEvaluate:
                continue
    places = np.unique(np.array(found, dtype=float))
    if not places.size:
        return ()
    step = _BESIDE * (1 + np.abs(places))
    between = places[:-1] + _OFF_CENTRE * np.diff(places)
    return tuple(np.unique(np.concatenate([places - step, places + step, between])).tolist())


def far(trees: tuple[Tree, ...], variable: str, parameters: Mapping[str, float]) -> FloatArray:
    """Points of :data:`FAR` on both sides of the places where one of ``trees`` may turn."""
    chosen: set[int] = set()
    for guard in dict.fromkeys(g for tree in trees for g in guards(tree)[:_EXPRESSIONS]):
        if not guard.contains(variable):
            continue
        try:
            values = on_axis(guard, variable, FAR, parameters)
        except CannotEvaluate:
            continue
        with np.errstate(all="ignore"):
            sign = np.sign(values.real)
            size = np.abs(values)
            turns = np.flatnonzero(sign[1:] * sign[:-1] < 0)
            lowest = np.flatnonzero((size[1:-1] < size[:-2]) & (size[1:-1] < size[2:])) + 1
        # those next to the origin: an oscillation has no end of them
        for places, width in ((turns, 2), (lowest - 1, 3)):
            nearest = places[np.argsort(np.abs(FAR[places]))][:4]
            chosen.update(int(p) + k for p in nearest for k in range(width))
    return FAR[sorted(chosen)]


def _turning(tree: Tree, variable: str) -> list[Tree]:
    """Expressions with zeros where ``tree`` may change its branch or be concentrated."""
    found = dict.fromkeys(g for g in guards(tree) if g.contains(variable))
    for node in tree.preorder():
        if node.head in CONCENTRATED and node.args[-1].contains(variable):
            found[_base(node.args[-1], variable)] = None
    return list(found)[:_EXPRESSIONS]


def _base(tree: Tree, variable: str) -> Tree:
    """The factor that vanishes with ``tree``: where it changes its sign a zero is found."""
    while tree.head in ("neg", "mul", "pow", "div"):
        varying = [arg for arg in tree.args if arg.contains(variable)]
        if len(varying) != 1 or (tree.head in ("pow", "div") and varying[0] is not tree.args[0]):
            break
        tree = varying[0]
    return tree
