"""Real values of a Tree on arrays, and where it may jump, bend or peak.

Our own walk over the heads with a fixed table of NumPy and SciPy functions; no name
of a user is ever looked up. Where SymPy's value is not real the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tokenizer.tree import Tree, call, integer

Array = NDArray[np.float64]
Function = Callable[..., Any]


class NotEvaluableError(ValueError):
    """A head that has no real value on arrays here."""


def _power(base: Array, exponent: Array) -> Array:
    return np.power(np.asarray(base, dtype=np.float64), exponent)


def _lambertw(z: Array) -> Array:
    w = np.asarray(special.lambertw(z))  # type: ignore[call-overload]  # scalars only in the stubs
    return np.where(w.imag == 0, w.real, np.nan)


_FUNCTIONS: Final[dict[str, Function]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": _power,
    "neg": np.negative,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "Abs": np.abs,
    "sign": np.sign,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfi": special.erfi,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "cot": lambda z: 1 / np.tan(z),
    "sec": lambda z: 1 / np.cos(z),
    "csc": lambda z: 1 / np.sin(z),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "acot": lambda z: np.where(np.asarray(z) == 0, np.pi / 2, np.arctan(np.divide(1, z))),
    "asec": lambda z: np.arccos(np.divide(1, z)),
    "acsc": lambda z: np.arcsin(np.divide(1, z)),
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "coth": lambda z: 1 / np.tanh(z),
    "sech": lambda z: 1 / np.cosh(z),
    "csch": lambda z: 1 / np.sinh(z),
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "acoth": lambda z: np.arctanh(np.divide(1, z)),
    "asech": lambda z: np.arccosh(np.divide(1, z)),
    "acsch": lambda z: np.arcsinh(np.divide(1, z)),
    "gamma": special.gamma,
    "loggamma": lambda z: np.where(np.asarray(z) > 0, special.gammaln(z), np.nan),
    "digamma": special.digamma,
    "factorial": lambda z: special.gamma(np.add(z, 1)),
    "floor": np.floor,
    "ceiling": np.ceil,
    "Heaviside": lambda z: np.heaviside(z, 0.5),
    "Si": lambda z: special.sici(z)[0],
    "Ci": lambda z: special.sici(z)[1],
    "Shi": lambda z: special.shichi(z)[0],
    "Chi": lambda z: special.shichi(z)[1],
    "Ei": special.expi,
    "li": lambda z: special.expi(np.log(z)),
    "fresnels": lambda z: special.fresnel(z)[0],
    "fresnelc": lambda z: special.fresnel(z)[1],
    "LambertW": _lambertw,
    "atan2": np.arctan2,
    "Mod": np.mod,
    "binomial": special.binom,
    "beta": special.beta,
    "Lt": np.less,
    "Le": np.less_equal,
    "Gt": np.greater,
    "Ge": np.greater_equal,
    "Eq": np.equal,
    "Ne": np.not_equal,
}

_CONSTANTS: Final = {"pi": np.pi, "E": np.e, "oo": np.inf}

#: Relations and heads that jump or bend where an argument vanishes.
_SWITCHES: Final = {"Lt", "Le", "Gt", "Ge", "Eq", "Ne"}
_BENDS: Final = {"Abs", "sign", "Heaviside", "sqrt", "log", "pow", "DiracDelta", "div"}
#: Heads that jump where an argument passes an integer.
_STAIRS: Final = {"floor", "ceiling"}
#: Heads that may be steep or peaked where an argument vanishes or turns.
_PEAKS: Final = {"exp", "tanh", "sech", "erf", "erfc", "atan", "pow", "div", "coth", "csch"}

_SAMPLES = 4097
_MOST_BREAKPOINTS = 1000


def evaluate(tree: Tree, values: Mapping[str, Array | float]) -> Array:
    """The tree's values, elementwise, with symbols given by ``values``.

    NaN where there is no real value, ±inf at poles. Raises
    :class:`NotEvaluableError` for a head without real values (``I``,
    ``DiracDelta``, ``polylog``) and ``KeyError`` for a symbol without one.
    """
    with np.errstate(all="ignore"):
        shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
        return np.broadcast_to(np.asarray(_walk(tree, values), dtype=np.float64), shape)


def constant(tree: Tree) -> float:
    """The value of a tree without symbols."""
    return float(evaluate(tree, {}))


def _walk(tree: Tree, values: Mapping[str, Array | float]) -> Any:
    head = tree.head
    if head == "integer":
        return _to_float(tree.value)
    if head == "symbol":
        return values[str(tree.value)]
    if head == "constant" and tree.value in _CONSTANTS:
        return _CONSTANTS[str(tree.value)]
    if head == "boolean":
        return tree.value == "True"
    if head == "Piecewise":
        return _piecewise(tree, values)
    if head in ("Max", "Min", "And", "Or"):
        fold = {"Max": np.maximum, "Min": np.minimum, "And": np.logical_and, "Or": np.logical_or}[
            head
        ]
        parts = [_walk(arg, values) for arg in tree.args]
        result = parts[0]
        for part in parts[1:]:
            result = fold(result, part)
        return result
    function = _FUNCTIONS.get(head)
    if function is None:
        name = str(tree.value) if head == "constant" else head
        raise NotEvaluableError(f"{name} has no real values that this can use")
    return function(*(np.asarray(_walk(arg, values), dtype=np.float64) for arg in tree.args))


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _piecewise(tree: Tree, values: Mapping[str, Array | float]) -> Any:
    result: Any = np.nan
    for value, condition in reversed(list(zip(tree.args[::2], tree.args[1::2], strict=True))):
        chosen = np.asarray(_walk(condition, values), dtype=bool)
        result = np.where(chosen, _walk(value, values), result)
    return result


def breakpoints(tree: Tree, at: Callable[[Array], Mapping[str, Array | float]]) -> list[float]:
    """Places in [0, 1] where the tree may jump, bend or peak, increasing.

    ``at`` gives the symbols' values at points of [0, 1]. Found from the sign
    changes and turning points of the arguments that decide, not of the tree
    itself, so a jump is located to rounding. Raises ``NotEvaluableError`` when
    there are more than a thousand.
    """
    grid = np.linspace(0, 1, _SAMPLES)
    found: set[float] = set()
    for decider, what in _deciding(tree):

        def function(points: Array, decider: Tree = decider, what: str = what) -> Array:
            values = evaluate(decider, at(points))
            with np.errstate(all="ignore"):
                return np.sin(np.pi * values) if what == "integers" else values

        values = function(grid)
        # the ends of a stretch of zeros, not all of it
        zero = values == 0
        found.update(grid[1:-1][zero[1:-1] & ~(zero[:-2] & zero[2:])])
        turns = _turns(function, grid, values)
        # between two points of the grid it may cross zero and come back
        points = np.union1d(grid, turns)
        found.update(_roots(function, points, function(points)))
        if what == "turns":
            found.update(turns)
        if len(found) > _MOST_BREAKPOINTS:
            raise NotEvaluableError("it jumps or bends in more than a thousand places")
    return sorted(found)


def _deciding(tree: Tree) -> Iterator[tuple[Tree, Literal["roots", "turns", "integers"]]]:
    """Subtrees whose roots matter, with their turning points, or where they are integers."""
    for node in dict.fromkeys(tree.preorder()):
        args = node.args
        if node.head in _SWITCHES:
            yield call("sub", *args), "roots"
        elif node.head in ("Max", "Min"):
            for one, other in combinations(args, 2):
                yield call("sub", one, other), "roots"
        elif node.head == "Mod":
            yield call("div", *args), "integers"
        elif node.head in _STAIRS:
            yield args[0], "integers"
        elif node.head in ("asin", "acos"):
            yield call("sub", args[0], integer(1)), "roots"
            yield call("add", args[0], integer(1)), "roots"
        elif node.head in _BENDS or node.head in _PEAKS:
            inner = args[1] if node.head == "div" else args[0]
            if inner.symbols() and not (node.head == "pow" and inner.head == "symbol"):
                yield inner, "turns" if node.head in _PEAKS else "roots"
            if node.head == "pow" and args[1].symbols():
                yield args[1], "turns"


def _roots(function: Callable[[Array], Array], grid: Array, values: Array) -> list[float]:
    """Sign changes, each bisected to neighbouring doubles."""
    with np.errstate(all="ignore"):
        change = np.flatnonzero(values[:-1] * values[1:] < 0)[: _MOST_BREAKPOINTS + 1]
    if not len(change):
        return []
    low, high = grid[change].copy(), grid[change + 1].copy()
    sign = np.sign(values[change])
    for _ in range(60):
        middle = (low + high) / 2
        same = np.sign(function(middle)) == sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    # a round number beside the root is what the person meant
    nice = np.round(high, 12)
    with np.errstate(all="ignore"):
        exact = function(nice) == 0
    return [float(v) for v in np.where(exact, nice, high)]


def _turns(function: Callable[[Array], Array], grid: Array, values: Array) -> list[float]:
    """Turning points inside, by golden-section steps."""
    with np.errstate(all="ignore"):
        slope = np.diff(values)
        turn = np.flatnonzero(slope[:-1] * slope[1:] < 0)[: _MOST_BREAKPOINTS + 1]
    if not len(turn):
        return []
    low, high = grid[turn].copy(), grid[turn + 2].copy()
    up = np.sign(slope[turn])
    for _ in range(60):
        third = (high - low) / 3
        left, right = low + third, high - third
        with np.errstate(all="ignore"):
            rising = up * (function(right) - function(left)) > 0
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    # a hint, not a jump: a round number nearby serves as well
    return [float(v) for v in np.round((low + high) / 2, 9)]
