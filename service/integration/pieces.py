"""Functions without cases: |u|, sign(u), Max, Piecewise, floor as they are on one piece."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import sympy
from sympy import S

CASES = (
    sympy.Abs, sympy.sign, sympy.Heaviside, sympy.Max, sympy.Min, sympy.Piecewise,
    sympy.floor, sympy.ceiling,
)  # fmt: skip


def as_signs(e: sympy.Expr) -> sympy.Expr:
    """Max, Min, Heaviside and Piecewise written with signs: equal but for isolated points.

    A Piecewise that does not come down to comparisons of two sides stays.
    """

    def change(node: sympy.Expr) -> sympy.Expr:
        if isinstance(node, sympy.Piecewise):
            *cases, (last, condition) = node.args
            total = change(last)
            if condition != S.true:
                return node
            for value, condition in reversed(cases):
                if not isinstance(condition, sympy.core.relational._Inequality):
                    return node
                u = condition.gts - condition.lts
                total += (change(value) - total) * (1 + sympy.sign(u)) / 2
            return total
        if not node.args:
            return node
        args = [change(arg) for arg in node.args]
        if isinstance(node, sympy.Max | sympy.Min):
            total = args[0]
            for other in args[1:]:
                gap = sympy.Abs(total - other)
                total = (total + other + (gap if isinstance(node, sympy.Max) else -gap)) / 2
            return total
        if isinstance(node, sympy.Heaviside):
            return (1 + sympy.sign(args[0])) / 2
        return node.func(*args)

    return change(e) if e.has(sympy.Max, sympy.Min, sympy.Heaviside, sympy.Piecewise) else e


def on_piece(e: sympy.Expr, x: sympy.Symbol, inside: sympy.Expr) -> sympy.Expr:
    """``e`` as it is around the point ``inside`` of a piece on which no case changes.

    Steps (floor, sign) become constants. Cases that depend on parameters stay.
    """

    def decide(node: sympy.Expr) -> sympy.Expr:
        at = node.subs(x, inside)
        match node:
            case sympy.Abs():
                return _signed(node.args[0], x, inside)
            case sympy.sign() | sympy.Heaviside():
                value = sympy.N(node.args[0].subs(x, inside))
                if not value.is_real:
                    return node
                positive = S.One if value > 0 else S.Zero
                return positive if isinstance(node, sympy.Heaviside) else 2 * positive - 1
            case sympy.Max() | sympy.Min():
                values = [(sympy.N(arg.subs(x, inside)), arg) for arg in node.args]
                if not all(value.is_real for value, _ in values):
                    return node
                pick = max if isinstance(node, sympy.Max) else min
                return pick(values, key=lambda pair: pair[0])[1]
            case sympy.Piecewise():
                for value, condition in node.args:
                    holds = condition.subs(x, inside)
                    if holds == S.true:
                        return value
                    if holds != S.false:
                        return node
                return S.NaN
            case sympy.floor() | sympy.ceiling():
                return at if at.is_number else node
        return node

    def change(node: sympy.Expr) -> sympy.Expr:
        if not node.args or not node.has(*CASES):
            return node
        rebuilt = (
            node.func(*map(change, node.args)) if not isinstance(node, sympy.Piecewise) else node
        )
        return decide(rebuilt) if isinstance(rebuilt, CASES) and rebuilt.has(x) else rebuilt

    return change(e)


def _signed(u: sympy.Expr, x: sympy.Symbol, inside: sympy.Expr) -> sympy.Expr:
    value = sympy.N(u.subs(x, inside))
    if not value.is_real or value == 0:
        return sympy.Abs(u)
    return u if value > 0 else -u


@dataclass(frozen=True, slots=True)
class Piece:
    """An interval, a point inside of it, and the function as it is there."""

    lower: sympy.Expr
    upper: sympy.Expr
    inside: sympy.Expr
    function: sympy.Expr


def inner_point(lower: sympy.Expr, upper: sympy.Expr) -> sympy.Rational:
    """A rational number strictly between two numbers or infinities."""
    if lower is S.NegativeInfinity and upper is S.Infinity:
        return sympy.Rational(1, 3)
    if lower is S.NegativeInfinity:
        return sympy.Rational(str(sympy.N(upper, 15))) - 1
    if upper is S.Infinity:
        return sympy.Rational(str(sympy.N(lower, 15))) + 1
    low, high = sympy.Rational(str(sympy.N(lower, 25))), sympy.Rational(str(sympy.N(upper, 25)))
    return low + (high - low) * sympy.Rational(43, 100)


def pieces(e: sympy.Expr, x: sympy.Symbol, bounds: list[sympy.Expr]) -> list[Piece]:
    """``e`` on each interval between neighbours of ``bounds``."""
    found = []
    for lower, upper in pairwise(bounds):
        inside = inner_point(lower, upper)
        found.append(Piece(lower, upper, inside, on_piece(e, x, inside)))
    return found
