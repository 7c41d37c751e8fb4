"""The reference derivative over the reals, and its numeric check."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import mpmath
import numpy as np
import sympy
from sympy import S

from service.verification.numerics import Pair, Witness
from service.verification.precision import OutOfReachError, UndefinedError, evaluator
from service.verification.screening import NotRealError, Values, real_values

#: Step of the central difference in doubles, relative to max(1, |x|).
STEP: Final = 2.0**-9

#: A smaller step for where the expression turns faster.
SMALL_STEP: Final = 2.0**-15

#: Relative deviation of both differences that asks for many digits.
SUSPICION: Final = 1e-4

#: Digits, step and tolerance of the difference in many digits; its error is about step**4.
DIGITS: Final = 80
FINE_STEP: Final = sympy.Rational(1, 10**12)
TOLERANCE: Final = 1e-12

#: Points checked in many digits when doubles cannot settle them.
CHECKS: Final = 2


class _Piece(sympy.Function):  # type: ignore[misc]  # SymPy is untyped
    """A function that is smooth between isolated points and real there."""

    nargs = 1

    def _eval_is_extended_real(self) -> bool:
        return True


class _Step(_Piece):
    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return S.Zero


class _Sign(_Step):
    pass


class _Floor(_Step):
    pass


class _Ceiling(_Step):
    pass


class _Abs(_Piece):
    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return _Sign(self.args[0])


def derivative(expr: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr:
    """d expr / d variable over the reals, wherever it exists.

    ``Abs(u)' = sign(u) u'``; sign, floor and ceiling are constant between
    their jumps; the value at a single-point branch of a Piecewise is the limit
    of the derivative beside it.
    """
    if expr.has(sympy.Piecewise):
        expr = sympy.piecewise_fold(expr)
        if isinstance(expr, sympy.Piecewise):
            return _of_piecewise(expr, variable)
    return _smooth(expr, variable)


def _smooth(expr: sympy.Expr, variable: sympy.Symbol) -> sympy.Expr:
    special = expr.has(sympy.Abs, sympy.sign, sympy.floor, sympy.ceiling, sympy.Mod)
    if not special:
        return sympy.diff(expr, variable)
    hidden = expr.replace(sympy.Mod, lambda a, b: a - b * _Floor(a / b))
    for function, stand_in in _STAND_INS.items():
        hidden = hidden.replace(function, stand_in)
    result = sympy.diff(hidden, variable)
    # |u| sign(u) = u, so sign(u)/|u| is 1/u
    result = result.replace(
        lambda node: node.is_Mul and node.has(_Sign) and node.has(_Abs), _merge_signs
    )
    for function, stand_in in _STAND_INS.items():
        result = result.replace(stand_in, function)
    return result


_STAND_INS: Final[dict[Any, Any]] = {
    sympy.Abs: _Abs,
    sympy.sign: _Sign,
    sympy.floor: _Floor,
    sympy.ceiling: _Ceiling,
}


def _merge_signs(product: sympy.Expr) -> sympy.Expr:
    powers = product.as_powers_dict()
    for factor in list(powers):
        if isinstance(factor, _Sign) and powers[factor] == 1:
            size = _Abs(*factor.args)
            if powers.get(size, 0) == -1:
                inner = factor.args[0]
                product = product / (factor / size) / inner
    return product


def _point(condition: sympy.Basic, variable: sympy.Symbol) -> sympy.Expr | None:
    """c of a condition ``variable = c`` or ``variable != c``."""
    if not isinstance(condition, sympy.Equality | sympy.Unequality):
        return None
    solution = {condition.lhs: condition.rhs, condition.rhs: condition.lhs}.get(variable)
    if solution is None or solution.has(variable):
        return None
    return solution


def _of_piecewise(expr: sympy.Piecewise, variable: sympy.Symbol) -> sympy.Expr:
    pairs: list[tuple[sympy.Expr, sympy.Basic]] = list(expr.args)
    if len(pairs) == 2:
        (first, condition), (second, otherwise) = pairs
        point = _point(condition, variable)
        if point is not None and otherwise is S.true:
            at_point, beside = (first, second)
            if isinstance(condition, sympy.Unequality):
                at_point, beside = beside, at_point
            return _beside_point(at_point, beside, variable, point)
    return sympy.Piecewise(*((_smooth(branch, variable), cond) for branch, cond in pairs))


def _beside_point(
    at_point: sympy.Expr, beside: sympy.Expr, variable: sympy.Symbol, point: sympy.Expr
) -> sympy.Expr:
    """Derivative of "``at_point`` where variable = point, else ``beside``"."""
    slope = _smooth(beside, variable)
    at_point = at_point.subs(variable, point)
    if sympy.simplify(sympy.limit(beside, variable, point, "+-") - at_point) != 0:
        # a jump has no derivative at its point
        return sympy.Piecewise((slope, sympy.Ne(variable, point)))
    value = slope.subs(variable, point)
    if value.is_finite:
        return slope
    value = sympy.limit(slope, variable, point, "+-")
    if not value.is_finite:
        return sympy.Piecewise((slope, sympy.Ne(variable, point)))
    return sympy.Piecewise((slope, sympy.Ne(variable, point)), (value, True))


def slope_counterexample(
    expr: sympy.Expr, slope: sympy.Expr, variable: sympy.Symbol, *, real_only: bool = False
) -> Witness | None:
    """A point where ``slope`` is not the numeric derivative of ``expr``, if one is found.

    Independent of every differentiation rule: central differences of order
    four in doubles at the points of the sample, in 80 digits where these are in doubt.
    With ``real_only`` points where ``expr`` is not real do not count: the real line
    may be a branch cut there, along which no rule for analytic functions holds.
    """
    pair = Pair(expr, slope)
    if variable not in pair.symbols:
        return None
    suspects: list[int] = list(range(CHECKS))
    if pair.left is not None:
        with contextlib.suppress(NotRealError):
            suspects = _suspects(pair, variable)
    for index in suspects:
        found = _check(pair, index, variable)
        if found is not None and not (real_only and found[1]):
            return found[0]
    return None


def _suspects(pair: Pair, variable: sympy.Symbol) -> list[int]:
    at = pair.sample.columns(pair.symbols)
    slope = real_values(pair.rhs, at)
    numeric, deviation, noise = _differences(pair.lhs, slope, at, variable, STEP)
    with np.errstate(all="ignore"):
        good = deviation <= SUSPICION * (np.maximum(np.abs(slope), np.abs(numeric)) + noise)
    inside = np.isfinite(numeric)
    doubtful = np.flatnonzero(inside & ~good)
    if len(doubtful):
        # no allowance for rounding here: it would excuse more, the smaller the step
        there = {symbol: column[doubtful] for symbol, column in at.items()}
        _, finer, _ = _differences(pair.lhs, slope[doubtful], there, variable, SMALL_STEP)
        cleared = finer <= SUSPICION * np.abs(slope[doubtful])
        good[doubtful[cleared]] = True
        doubtful = doubtful[~cleared]
    if np.count_nonzero(good) == 0:
        return [int(i) for i in (*doubtful[:CHECKS], *range(CHECKS))]
    if len(doubtful) == 0:
        return []
    # the worst one, and one where doubles ought to have been good enough
    with np.errstate(all="ignore"):
        relative = deviation / np.maximum(np.abs(slope), np.abs(numeric))
    worst = doubtful[np.argmax(np.nan_to_num(relative[doubtful], nan=np.inf))]
    tamest = doubtful[np.argmin(np.abs(at[variable][doubtful]))]
    return list(dict.fromkeys((int(worst), int(tamest))))


def _differences(
    expr: sympy.Expr,
    slope: Values,
    at: Mapping[sympy.Symbol, Values],
    variable: sympy.Symbol,
    step: float,
) -> tuple[Values, Values, Values]:
    """Central differences, how far ``slope`` is off, and their rounding noise; (points,) each."""
    x = at[variable]
    h = step * np.maximum(np.abs(x), 1.0)
    offsets = np.array([-2.0, -1.0, 1.0, 2.0])
    points = {symbol: np.tile(column, len(offsets)) for symbol, column in at.items()}
    points[variable] = (x + offsets[:, None] * h).ravel()
    values = real_values(expr, points).reshape(len(offsets), -1)
    with np.errstate(all="ignore"):
        numeric = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)
        noise = 1e-12 * np.max(np.abs(values), axis=0) / h
        return numeric, np.abs(numeric - slope), noise


def _check(pair: Pair, index: int, variable: sympy.Symbol) -> tuple[Witness, bool] | None:
    """The witness and whether the slope there is complex."""
    at = pair.at(index)
    try:
        slope = evaluator(DIGITS).value(pair.rhs, at)
    except OutOfReachError:
        return None
    except UndefinedError:
        slope = None
    errors = []
    numeric = None
    for step in (FINE_STEP, FINE_STEP / 10):
        try:
            numeric = _difference(pair.lhs, at, variable, step)
        except UndefinedError:
            return None
        if slope is None:
            return None
        errors.append(abs(numeric - slope) / max(abs(slope), abs(numeric), mpmath.mpf("1e-30")))
    # truncation falls with the step, a wrong slope does not
    if errors[1] < TOLERANCE or errors[1] < errors[0] / 100:
        return None
    if errors[0] < errors[1] / 2:
        return None  # rounding rules here: nothing is learned
    if not _smooth_at(pair.lhs, at, variable):
        return None
    point = tuple((s.name, str(v)) for s, v in at.items())
    is_complex = bool(abs(mpmath.im(slope)) > 1e-9 * abs(slope))
    return Witness(point, mpmath.nstr(numeric, 20), mpmath.nstr(slope, 20)), is_complex


def _difference(
    expr: sympy.Expr,
    at: Mapping[sympy.Symbol, sympy.Rational],
    variable: sympy.Symbol,
    step: sympy.Rational,
) -> Any:
    evaluate = evaluator(DIGITS)
    x = at[variable]
    values = [evaluate.value(expr, {**at, variable: x + k * step}) for k in (-2, -1, 1, 2)]
    size = evaluate.value(step, {})
    return (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * size)


def _smooth_at(
    expr: sympy.Expr, at: Mapping[sympy.Symbol, sympy.Rational], variable: sympy.Symbol
) -> bool:
    """Whether the one-sided differences agree: at a kink or jump there is no derivative."""
    evaluate = evaluator(DIGITS)
    x = at[variable]
    below, here, above = (
        evaluate.value(expr, {**at, variable: x + k * FINE_STEP}) for k in (-1, 0, 1)
    )
    left, right = here - below, above - here
    return bool(abs(left - right) <= mpmath.mpf("1e-6") * max(abs(left), abs(right)))
