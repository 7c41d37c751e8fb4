"""One-sided limits of antiderivatives, exact, each confirmed in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import sympy
from flint import acb, ctx
from sympy import S

from service.integration.evaluate import BallField, CannotEvaluate, Evaluator
from service.integration.quadrature import ball
from service.integration.singular import ball_function
from service.verification.convert import ConversionError, from_sympy
from service.verification.timing import OutOfTime, time_limit

#: Seconds for one limit by SymPy.
LIMIT_S = 2.0

_INFINITE = (S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity, sympy.AccumBounds)


def one_sided_limit(
    e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int
) -> sympy.Expr | None:
    """The limit of ``e`` as x tends to ``point`` from above (side 1) or below (-1).

    May be infinite. None when none is found that agrees with the values nearby.
    ``e`` has no symbol but x.
    """
    for candidate in _candidates(e, x, point, side):
        if candidate is None or candidate.has(sympy.AccumBounds):
            continue
        if agrees(e, x, point, side, candidate):
            return candidate
    return None


def _candidates(
    e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int
) -> Iterator[sympy.Expr | None]:
    yield _structural(e, x, point, side)
    together = _one_logarithm(e, x)
    if together != e:
        yield _structural(together, x, point, side)
    # what tends to oo - oo may not do so once logarithms are taken apart
    apart = sympy.expand(sympy.expand_log(e, force=True))
    if apart != e:
        yield _structural(apart, x, point, side)
    yield _by_sympy(e, x, point, side)
    if apart != e:
        yield _by_sympy(apart, x, point, side)


def _one_logarithm(e: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """The logarithms in a sum, with commensurable coefficients, as one: oo - oo may go away."""
    logs = []
    rest = S.Zero
    for term in sympy.Add.make_args(e):
        coefficient, factor = term.as_independent(x, as_Add=False)
        if isinstance(factor, sympy.log):
            logs.append((coefficient, factor.args[0]))
        else:
            rest += term
    while logs:
        unit, _ = logs[0]
        ratios = [sympy.cancel(c / unit) for c, _ in logs]
        alike = [(r, u) for r, (_, u) in zip(ratios, logs, strict=True) if r.is_Rational]
        logs = [pair for r, pair in zip(ratios, logs, strict=True) if not r.is_Rational]
        common = math.lcm(*(int(r.q) for r, _ in alike))
        product = sympy.Mul(*(u ** (r * common) for r, u in alike))
        rest += unit / common * sympy.log(product)
    return rest


_AT_INFINITY: Final[dict[Any, tuple[sympy.Expr, sympy.Expr]]] = {
    sympy.atan: (-S.Pi / 2, S.Pi / 2),
    sympy.acot: (S.Zero, S.Zero),
    sympy.tanh: (S.NegativeOne, S.One),
    sympy.erf: (S.NegativeOne, S.One),
    sympy.Si: (-S.Pi / 2, S.Pi / 2),
    sympy.fresnels: (-S.Half, S.Half),
    sympy.fresnelc: (-S.Half, S.Half),
    sympy.exp: (S.Zero, S.Infinity),
    sympy.asinh: (S.NegativeInfinity, S.Infinity),
    sympy.sign: (S.NegativeOne, S.One),
}


def _structural(e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int) -> sympy.Expr | None:
    """The limit by the rules for sums, products and continuous functions; None if undetermined."""
    if not e.has(x):
        return e
    if e == x:
        return point
    if not point.is_infinite:
        value = e.subs(x, point)
        if not value.has(*_INFINITE):
            return value
    if e.is_rational_function(x):
        return _by_sympy(e, x, point, side)
    if e.is_Add or e.is_Mul:
        parts = []
        for part in e.args:
            value = _structural(part, x, point, side)
            if value is None:
                return None
            parts.append(value)
        if e.is_Mul and S.Zero in parts and not any(part.is_infinite for part in parts):
            return S.Zero  # what is bounded, times what vanishes
        value = e.func(*parts)
        return None if value.has(S.NaN, S.ComplexInfinity, sympy.AccumBounds) else value
    if not e.is_Pow and any(arg.has(x) for arg in e.args[:-1]):
        return None
    inner = _structural(e.base if e.is_Pow else e.args[-1], x, point, side)
    if inner is None:
        return None
    if inner.is_infinite and isinstance(e, sympy.sin | sympy.cos):
        return sympy.AccumBounds(-1, 1)
    if inner.is_infinite and type(e) in _AT_INFINITY:
        return _AT_INFINITY[type(e)][inner is S.Infinity]
    if isinstance(e, sympy.log | sympy.Ci) and inner.is_infinite:
        return S.Infinity if isinstance(e, sympy.log) else S.Zero
    if isinstance(e, sympy.log | sympy.Ci | sympy.Ei) and inner == 0:
        return S.NegativeInfinity
    if isinstance(e, sympy.tan | sympy.cot):
        return _signed_infinity(e, x, point, side)
    if e.is_Pow and not e.exp.has(x):
        if inner == 0 and e.exp.is_negative:
            return _signed_infinity(e, x, point, side)
        value = inner**e.exp
        return None if value.has(S.NaN, S.ComplexInfinity) else value
    if inner.is_finite and e.is_Function:
        value = e.func(*e.args[:-1], inner)
        return None if value.has(*_INFINITE) else value
    return None


def _signed_infinity(
    e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int
) -> sympy.Expr | None:
    """±oo by the sign of ``e`` beside ``point``."""
    at = (
        10**8 * point if point.is_infinite else sympy.N(point, 50) + side * sympy.Float("1e-30", 50)
    )
    value = sympy.N(e.subs(x, at), 15)
    if not value.is_real:
        return None
    return S.Infinity if value > 0 else S.NegativeInfinity


def _by_sympy(e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int) -> sympy.Expr | None:
    # Gruntz' algorithm knows more about a positive symbol that grows
    mark = sympy.Dummy("x", positive=True) if point.is_infinite else x
    try:
        with time_limit(LIMIT_S):
            if point.is_infinite:
                turned = e.subs(x, mark if point is S.Infinity else -mark)
                value = sympy.limit(turned, mark, S.Infinity)
            else:
                value = sympy.limit(e, x, point, "+" if side > 0 else "-")
    except (OutOfTime, Exception):  # SymPy raises whatever it likes
        return None
    if value.has(sympy.Limit, S.NaN, sympy.AccumBounds, S.ComplexInfinity, mark):
        return None
    return value


def _far_out(
    e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int, value: sympy.Expr
) -> bool:
    """Whether ``e`` has come close to ``value`` at 10**3000, or as near: what 1/log(x) needs."""
    if point.is_Float:
        return False
    f = ball_function(from_sympy(e), x.name, 12_000)
    saved = ctx.prec
    ctx.prec = 12_000
    try:
        far = acb(10) ** 3000
        if point in (S.Infinity, S.NegativeInfinity):
            at = far if point is S.Infinity else -far
        else:
            at = acb(Evaluator(BallField(), {}, "").dual(from_sympy(point))[0]) + side / far
        near = f(at)
        return bool(near.is_finite() and abs(near - ball(value)) < (1 + abs(near)) * 1e-3)
    finally:
        ctx.prec = saved


def agrees(e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr, side: int, value: sympy.Expr) -> bool:
    """Whether values of ``e`` near ``point`` tend to ``value``."""
    saved = ctx.prec
    ctx.prec = 640
    try:
        f = ball_function(from_sympy(e), x.name, 1500)
        infinite = point in (S.Infinity, S.NegativeInfinity)
        for exponent in (16, 40):
            if infinite:
                scale = acb(10) ** (4 if exponent == 16 else 8)
                at = scale * acb(1.371) * (1 if point is S.Infinity else -1)
            else:
                at = acb((ball(point) + side * acb(10) ** -exponent).mid())
            near = f(at)
            if not near.is_finite():
                return False
            if value in (S.Infinity, S.NegativeInfinity):
                if (near.real > 1) != (value is S.Infinity) or abs(near) < 1:
                    return False
                continue
            gap = abs(near - ball(value))
            size = 1 + abs(near)
            # a square root or logarithm closes in slowly
            bound = 1e-2 if infinite else 10.0 ** (-exponent / 5)
            if not gap < size * bound and not _far_out(e, x, point, side, value):
                return False
        return True
    except (ConversionError, CannotEvaluate, ValueError, ZeroDivisionError):
        return False
    finally:
        ctx.prec = saved
