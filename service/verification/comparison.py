"""How two expressions relate as functions of a variable: equal, equal on a part, up to a constant.

Unlike :func:`prove_equal`, which compares where the left-hand side is real,
this compares principal values at every real point, and says where they agree.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import mpmath
import sympy
from sympy import S

from service.verification.differentiation import derivative
from service.verification.equivalence import Verdict, as_expression, prove_equal
from service.verification.numerics import MAX_GUARD_DEGREE, POINTS, Pair, Witness, guards
from service.verification.precision import evaluator
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

Relation = Literal["equal", "equal_on", "equal_up_to_constant", "not_equal", "undecided"]

#: Share of the deadline for the first comparison.
FIRST_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two sides relate.

    ``condition`` says where an ``equal_on`` holds, or what the constant is.
    ``proof`` is the verdict on the equality under that condition; ``witness``
    a point where the sides differ.
    """

    relation: Relation
    condition: str | None = None
    proof: Verdict | None = None
    witness: Witness | None = None


def compare(
    lhs: Tree | sympy.Expr, rhs: Tree | sympy.Expr, variable: str, *, deadline_s: float = 10.0
) -> Comparison:
    """Compare two sides as functions of ``variable`` (other symbols are real constants).

    Raises ``ConversionError`` for a Tree that has no SymPy counterpart.
    """
    deadline = time.monotonic() + deadline_s
    result = Comparison("undecided")
    try:
        with time_limit(deadline_s):
            result = _compare(as_expression(lhs), as_expression(rhs), variable, deadline)
    except OutOfTime:
        pass
    return result


def _compare(lhs: sympy.Expr, rhs: sympy.Expr, variable: str, deadline: float) -> Comparison:
    verdict = prove_equal(lhs, rhs, deadline_s=FIRST_SHARE * (deadline - time.monotonic()))
    pair = Pair(lhs, rhs)
    if not pair.symbols:
        return _constants(lhs, rhs, verdict, deadline)
    agreeing, differing = _survey(pair)
    if verdict.holds and not differing:
        excluded = _excluded_points(lhs, rhs)
        return Comparison("equal_on" if excluded else "equal", excluded, verdict)
    witness = verdict.witness or (differing[0][1] if differing else None)
    if agreeing and differing:
        if lhs.has(sympy.Piecewise) or rhs.has(sympy.Piecewise):
            # its branches are what the function is: one that differs is not a matter of domain
            return Comparison("not_equal", witness=witness)
        condition = _condition(pair, agreeing, [index for index, _ in differing])
        if condition is None:
            example = ", ".join(f"{s} = {v}" for s, v in pair.at(agreeing[0]).items())
            return Comparison("equal_on", f"part of the domain, with {example}", witness=witness)
        return Comparison(
            "equal_on", sympy.sstr(condition), _under(condition, lhs, rhs, deadline), witness
        )
    if verdict.status == "refuted":
        return _up_to_constant(pair, variable, deadline) or Comparison("not_equal", witness=witness)
    return Comparison("undecided", proof=verdict)


def _constants(lhs: sympy.Expr, rhs: sympy.Expr, verdict: Verdict, deadline: float) -> Comparison:
    if verdict.holds:
        return Comparison("equal", proof=verdict)
    if verdict.status != "refuted":
        return Comparison("undecided", proof=verdict)
    left, right = _with_real_roots(lhs), _with_real_roots(rhs)
    if (left, right) != (lhs, rhs):
        proof = prove_equal(left, right, deadline_s=deadline - time.monotonic())
        if proof.holds:
            condition = "odd roots of negative numbers are taken as real"
            return Comparison("equal_on", condition, proof, verdict.witness)
    return Comparison("not_equal", witness=verdict.witness)


def _with_real_roots(expr: sympy.Expr) -> sympy.Expr:
    """Odd roots of negative numbers as real numbers instead of principal values."""

    def odd_root(node: sympy.Basic) -> bool:
        return bool(
            node.is_Pow and node.exp.is_Rational and node.exp.q % 2 and node.base.is_negative
        )

    return expr.replace(odd_root, lambda node: (-1) ** node.exp.p * (-node.base) ** node.exp)


def _survey(pair: Pair) -> tuple[list[int], list[tuple[int, Witness]]]:
    """Points where the principal values agree, and points where they differ."""
    agreeing: list[int] = []
    differing: list[tuple[int, Witness]] = []
    for index in pair.representatives(2 * POINTS, everywhere=True):
        comparison = pair.compare(index)
        if comparison is None or comparison.agree is None:
            continue
        if comparison.agree:
            agreeing.append(index)
        else:
            differing.append((index, pair.witness(index, comparison)))
    return agreeing, differing


def _condition(pair: Pair, agreeing: list[int], differing: list[int]) -> sympy.Basic | None:
    """A sign condition that holds at the agreeing points and fails at the others."""

    def holds(condition: sympy.Basic, index: int) -> bool:
        return condition.subs(pair.at(index)) is S.true

    branch_points = guards(pair.lhs, pair.rhs)
    zeros = [zero for guard in branch_points for zero in _linear_zeros(guard)]
    for guard in (*pair.symbols, *dict.fromkeys(zeros), *branch_points):
        for condition in (guard > 0, guard < 0):
            if all(holds(condition, i) for i in agreeing) and not any(
                holds(condition, i) for i in differing
            ):
                return condition
    return None


def _linear_zeros(guard: sympy.Expr) -> Iterator[sympy.Expr]:
    """x - r for the real zeros r of a polynomial in x: sqrt((x - 1)**2) turns at x = 1."""
    for symbol in guard.free_symbols:
        if len(guard.free_symbols) == 1 and guard.is_polynomial(symbol):
            polynomial = sympy.Poly(guard, symbol)
            if polynomial.degree() <= MAX_GUARD_DEGREE:
                yield from (symbol - root for root in sympy.roots(polynomial) if root.is_real)


def _under(
    condition: sympy.Basic, lhs: sympy.Expr, rhs: sympy.Expr, deadline: float
) -> Verdict | None:
    """The verdict on the equality where one symbol is positive or negative."""
    symbol = condition.args[0] if condition.args[0].is_Symbol else condition.args[1]
    if not symbol.is_Symbol:
        return None
    sign = 1 if condition == (symbol > 0) else -1
    size = sympy.Dummy(symbol.name, positive=True)
    left, right = (side.subs(symbol, sign * size) for side in (lhs, rhs))
    return prove_equal(left, right, deadline_s=deadline - time.monotonic())


def _excluded_points(lhs: sympy.Expr, rhs: sympy.Expr) -> str | None:
    """Where one side has a polynomial denominator that is zero and the other side is defined."""
    conditions = []
    for side, other in ((lhs, rhs), (rhs, lhs)):
        others = set(_denominators(other))
        for denominator in _denominators(side):
            if any((denominator / known).is_number for known in others):
                continue
            conditions += list(_avoid(denominator))
    return " and ".join(dict.fromkeys(conditions)) or None


def _denominators(expr: sympy.Expr) -> Iterator[sympy.Expr]:
    for power in expr.atoms(sympy.Pow):
        if power.exp.is_Integer and power.exp.is_negative and power.base.free_symbols:
            yield from (f for f in sympy.Mul.make_args(power.base) if f.free_symbols)


def _avoid(denominator: sympy.Expr) -> Iterator[str]:
    symbols = denominator.free_symbols
    if not denominator.is_polynomial(*symbols):
        return
    if len(symbols) > 1:
        yield f"{sympy.sstr(denominator)} != 0"
        return
    (symbol,) = symbols
    for root in sympy.roots(sympy.Poly(denominator, symbol)):
        if root.is_real:
            yield f"{symbol} != {sympy.sstr(root)}"


def _up_to_constant(pair: Pair, variable: str, deadline: float) -> Comparison | None:
    symbol = sympy.Symbol(variable, real=True)
    if symbol not in pair.symbols:
        return None
    slopes = (derivative(pair.lhs, symbol), derivative(pair.rhs, symbol))
    proof = prove_equal(*slopes, deadline_s=deadline - time.monotonic())
    if not proof.holds:
        return None
    constant = None
    for index in pair.representatives(POINTS, everywhere=True):
        comparison = pair.compare(index)
        if comparison is not None and comparison.right is not None:
            difference = evaluator(40).real_if_close(comparison.left - comparison.right)
            constant = mpmath.nstr(difference, 15)
            break
    return Comparison("equal_up_to_constant", f"difference {constant}", proof)
