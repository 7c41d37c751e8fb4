"""Values of a Tree at complex points, to throw out expressions that have none."""

from __future__ import annotations

import cmath
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tokenizer.tree import Tree

_UNARY: Final[dict[str, Callable[[complex], complex]]] = {
    "neg": lambda z: -z,
    "exp": cmath.exp,
    "log": cmath.log,
    "sqrt": cmath.sqrt,
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "cot": lambda z: 1 / cmath.tan(z),
    "sec": lambda z: 1 / cmath.cos(z),
    "csc": lambda z: 1 / cmath.sin(z),
    "asin": cmath.asin,
    "acos": cmath.acos,
    "atan": cmath.atan,
    "acot": lambda z: cmath.atan(1 / z),
    "asec": lambda z: cmath.acos(1 / z),
    "acsc": lambda z: cmath.asin(1 / z),
    "sinh": cmath.sinh,
    "cosh": cmath.cosh,
    "tanh": cmath.tanh,
    "coth": lambda z: 1 / cmath.tanh(z),
    "sech": lambda z: 1 / cmath.cosh(z),
    "csch": lambda z: 1 / cmath.sinh(z),
    "asinh": cmath.asinh,
    "acosh": cmath.acosh,
    "atanh": cmath.atanh,
    "acoth": lambda z: cmath.atanh(1 / z),
    "asech": lambda z: cmath.acosh(1 / z),
    "acsch": lambda z: cmath.asinh(1 / z),
    # outside the holomorphic functions only finiteness matters here
    "Abs": lambda z: complex(abs(z)),
    "sign": lambda z: z / abs(z),
    "erf": lambda z: complex(math.erf(z.real)),
}
_CONSTANTS: Final = {"pi": complex(math.pi), "E": complex(math.e), "I": 1j}


def value(tree: Tree, at: Mapping[str, complex]) -> complex:
    """The value with symbols as given; raises ArithmeticError or ValueError if there is none."""
    if tree.head == "integer":
        return complex(int(tree.value or 0))
    if tree.head == "symbol":
        return at[str(tree.value)]
    if tree.head == "constant":
        return _CONSTANTS[str(tree.value)]
    args = [value(arg, at) for arg in tree.args]
    if tree.head in _UNARY:
        return _UNARY[tree.head](args[0])
    a, b = args
    match tree.head:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "div":
            return a / b
        case "pow":
            result: complex = a**b
            return result
    raise ValueError(f"no numeric rule for {tree.head}")


def is_finite(tree: Tree, rng: random.Random, points: int = 2) -> bool:
    """Whether the Tree has moderate values at random complex points near the origin."""
    for _ in range(points):
        at = {name: complex(rng.uniform(0.2, 2), rng.uniform(-1, 1)) for name in tree.symbols()}
        try:
            z = value(tree, at)
        except (ArithmeticError, ValueError):
            return False
        # abs(z) of a large finite z can overflow
        if not max(abs(z.real), abs(z.imag)) < 1e30:
            return False
    return True


def is_real_somewhere(tree: Tree, variable: str, rng: random.Random) -> bool:
    """Whether a Tree in ``variable`` alone takes real values at points of the real axis."""
    return are_real_somewhere([tree], variable, rng)


def are_real_somewhere(trees: Sequence[Tree], variable: str, rng: random.Random) -> bool:
    """Whether Trees in ``variable`` alone take real values at the same points of the real axis.

    Looks at random points of all sizes up to 100 on both sides of 0; two must be found.
    Each Tree is looked at alone: beside exp(50) an imaginary part of 1 is lost in rounding.
    """
    found = 0
    for _ in range(80):
        size = 10 ** rng.uniform(-2, 2) * rng.choice((1, 1, -1))
        try:
            values = [value(tree, {variable: complex(size)}) for tree in trees]
        except (ArithmeticError, ValueError):
            continue
        found += all(cmath.isfinite(z) and abs(z.imag) <= 1e-9 * abs(z.real) for z in values)
        if found == 2:
            return True
    return False
