"""Proof that F' = f."""

from __future__ import annotations

import time
from typing import Final

import numpy as np
import sympy

from service.integration.agreement import DIGITS, POINTS, compare
from service.integration.domain import is_real, on_axis, real_test
from service.integration.evaluate import CannotEvaluate
from service.integration.kernels import KernelField, OutOfTime, RealTest, Unsupported
from service.integration.singular import guards, zeros
from service.verification.convert import ConversionError, to_sympy
from service.verification.equivalence import Verdict, prove_equal
from tokenizer.render import to_text
from tokenizer.tree import Tree

KERNELS = "derivative reduced to the integrand in a field of kernels"
NUMERIC = f"derivative equals the integrand to {DIGITS} digits at {POINTS} points"
UNREAL = "the integrand is real nowhere"

_ORDERED: Final = frozenset({"Abs", "sign", "Heaviside", "Max", "Min", "floor", "ceiling"})


def prove_antiderivative(
    integrand: Tree,
    variable: str,
    antiderivative: Tree,
    deadline_s: float,
    *,
    over_reals: bool = True,
) -> Verdict:
    """Whether ``antiderivative`` has the derivative ``integrand``, in ``deadline_s`` seconds.

    Numbers refute first; then exact arithmetic in kernels, then the general proof of
    equality. ``numeric`` when only the numbers agree. ``over_reals`` asks for it where the
    integrand is real, else for all real values of the variable.
    """
    deadline = time.monotonic() + deadline_s
    agreement = compare(integrand, antiderivative, variable, over_reals=over_reals)
    if agreement.status == "differs":
        return Verdict("refuted", "derivative differs from the integrand at a point", ())
    if agreement.status == "unreal":
        return Verdict("refuted", UNREAL, ())
    if agreement.status == "unknown" and any(
        node.head in _ORDERED and node.contains(variable)
        for tree in (integrand, antiderivative)
        for node in tree.preorder()
    ):
        # kernels take the arguments of Abs and sign for real ones, which numbers must confirm
        return Verdict("undecided", "not enough points to compare at", ())
    real = agreement.real or not over_reals
    notes = tuple(f"{name} > 0" for name in agreement.positive)
    if not real:
        notes += ("complex-valued on a part of the real domain",)
    try:
        f, big = to_sympy(integrand), to_sympy(antiderivative)
    except (ConversionError, RecursionError):
        return Verdict("undecided", "no symbolic form", ())
    x = sympy.Symbol(variable, real=True)
    try:
        where = real_test(integrand, variable) if over_reals else None
        if derivative_is(big, f, x, deadline, where):
            return Verdict("proved", KERNELS, (*notes, *jumps(integrand, variable, antiderivative)))
    except Unsupported:
        pass
    except OutOfTime:
        return _numeric(agreement.status, notes)
    rest = deadline - time.monotonic()
    if rest > 0 and agreement.status == "agrees":
        verdict = _general(f, big, x, rest)
        if verdict is not None:
            notes = (*notes, *jumps(integrand, variable, antiderivative))
            return Verdict("proved", verdict.method, (*notes, *verdict.assumptions))
    return _numeric(agreement.status, notes)


def derivative_is(
    antiderivative: sympy.Expr,
    integrand: sympy.Expr,
    variable: sympy.Symbol,
    deadline: float,
    where: RealTest | None = None,
) -> bool:
    """Exact test in a field of kernels; False when it does not settle the question.

    Raises :class:`Unsupported` and :class:`OutOfTime`.
    """
    field = KernelField([antiderivative, integrand], variable, deadline=deadline, is_real=where)
    difference = field.derivative(field.convert(antiderivative)) - field.convert(integrand)
    return difference.is_zero


#: Where jumps are looked for, and how near to them values are taken.
_WITHIN: Final = 12.0
_BESIDE: Final = 1e-7


def jumps(integrand: Tree, variable: str, antiderivative: Tree) -> tuple[str, ...]:
    """The first condition found under which F has no jump where the integrand is real.

    Looked for near the origin, at zeros of the arguments of sign and Abs, of denominators
    and of whatever else branches in it.
    """
    if set(antiderivative.symbols()) - {variable} or set(integrand.symbols()) - {variable}:
        return ()
    if not _leaps(integrand, variable, antiderivative):
        return ()
    ordered = [
        node.args[0] for node in antiderivative.preorder()
        if node.head in ("sign", "Abs", "Heaviside") and node.contains(variable)
    ]  # fmt: skip
    inside = dict.fromkeys([*ordered, *guards(antiderivative)])
    for argument in inside:
        if not argument.contains(variable):
            continue
        try:
            if any(
                _jumps_at(zero, integrand, variable, antiderivative)
                for zero in zeros(argument, variable, -_WITHIN, _WITHIN)[:8]
            ):
                text = to_text(argument)
                if argument in ordered:
                    return (f"on each interval where {text} keeps its sign",)
                return (f"between the zeros of {text}",)
        except (CannotEvaluate, ValueError):
            continue
    return ()


def _leaps(integrand: Tree, variable: str, antiderivative: Tree) -> bool:
    """Whether the antiderivative changes by more than the integrand accounts for somewhere."""
    grid = np.linspace(-_WITHIN, _WITHIN, 2400) + 1e-3 / 3
    try:
        value = on_axis(integrand, variable, grid, {})
        value = np.where(is_real(value), np.abs(value), np.nan)
        big = on_axis(antiderivative, variable, grid, {})
    except CannotEvaluate:
        return False
    with np.errstate(all="ignore"):
        change = np.abs(np.diff(big))
        bound = 2 * np.maximum(value[1:], value[:-1]) * np.diff(grid) + 1e-4
    return bool(np.any(change > bound))


def _jumps_at(zero: float, integrand: Tree, variable: str, antiderivative: Tree) -> bool:
    step = _BESIDE * (1 + abs(zero))
    beside = np.array([zero - 2 * step, zero - step, zero + step, zero + 2 * step])
    value = on_axis(integrand, variable, beside, {})
    big = on_axis(antiderivative, variable, beside, {})
    size = np.abs(value).max() if is_real(value).all() else np.inf
    # a jump is far more than the integrand adds over so short a way
    return bool(size < 1e3 and abs(big[2] - big[1]) > 1e-6 + 100 * step * (1 + size))


def _general(
    integrand: sympy.Expr, antiderivative: sympy.Expr, x: sympy.Symbol, rest: float
) -> Verdict | None:
    try:
        verdict = prove_equal(antiderivative.diff(x), integrand, deadline_s=rest)
    except (ConversionError, RecursionError):
        return None
    return verdict if verdict.status == "proved" else None


def _numeric(status: str, notes: tuple[str, ...]) -> Verdict:
    if status == "agrees":
        return Verdict("numeric", NUMERIC, notes)
    return Verdict("undecided", "neither proved nor refuted", ())
