"""High-precision numerical integration, the judge of every definite integral.

Double-exponential quadrature (Takahasi & Mori 1974). Each piece is halved and each
half is integrated in the distance from its outer end, so that an integrand singular
there loses no digits to cancellation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import mpmath
import sympy
from flint import acb, arb, ctx
from sympy import S

from service.integration.evaluate import BallField, CannotEvaluate, Evaluator, value_function
from service.integration.singular import constant_digits
from service.verification.convert import from_sympy
from tokenizer.tree import Tree

#: Decimal digits that quadrature aims at.
DIGITS: Final = 32
#: Finest step is 2**-MAX_LEVEL.
MAX_LEVEL: Final = 8

_SUM_BITS: Final = 150
#: Nodes come as near to a singular end as exp(-REACH).
_REACH: Final = 330
_POINT_BITS: Final = 640

Function = Callable[[acb], acb]


@dataclass(frozen=True, slots=True)
class Quadrature:
    """``value`` (mpf or mpc) with an estimate of its absolute ``error``.

    ``mass`` is the integral of the absolute value, roughly: what digits of a value that
    cancels to zero are counted against. A mass of zero says that nothing was seen.
    """

    value: Any
    error: Any
    mass: Any = 1

    @property
    def digits(self) -> int:
        """Correct decimal digits, by the estimate."""
        if self.mass == 0:
            return 0
        size = abs(self.value)
        relative = self.error / (size if size > 1e-25 * self.mass else self.mass)
        if relative <= mpmath.mpf(10) ** -DIGITS:
            return DIGITS
        return max(0, int(-mpmath.log10(relative))) if relative < 1 else 0


@dataclass(frozen=True, slots=True)
class Half:
    """One part of a quadrature; the fields are those of :class:`Quadrature`."""

    value: acb
    error: arb
    mass: arb


def integrand_function(tree: Tree, variable: str) -> Function:
    """``tree`` at a ball, at the working precision; not finite where it has no value.

    Raises :class:`CannotEvaluate` for a head without a rule, which has values unknown here.
    """
    compiled = value_function(tree, variable)

    def value(point: acb) -> acb:
        try:
            result = compiled(point)
        except CannotEvaluate:
            raise
        except (ZeroDivisionError, ValueError, OverflowError):
            return acb("nan")
        return result

    return value


@lru_cache(maxsize=64)
def _nodes(level: int, kind: str) -> tuple[tuple[arb, arb], ...]:
    """New nodes of a level as (distance from the end, weight).

    ``finite``: distances in (0, 1), the far end included. ``algebraic`` and
    ``exponential``: in (0, oo), for integrands that decay like a power or faster.
    """
    saved = ctx.prec
    ctx.prec = _SUM_BITS + 40
    try:
        step = arb(2) ** -level
        half_pi = arb.pi() / 2
        if kind == "exponential":
            low, high = -float(arb(_REACH).log().mid()), float(arb(4 * _REACH).log().mid())
        else:
            high = float((arb(_REACH) / half_pi).asinh().mid())
            low = -high
        nodes = []
        for k in range(int(low * 2**level), int(high * 2**level) + 1):
            if level and k % 2 == 0:
                continue
            t = arb(k) * step
            if kind == "exponential":
                u = (t - (-t).exp()).exp()
                weight = u * (1 + (-t).exp()) * step
            else:
                s = half_pi * t.sinh()
                slope = half_pi * t.cosh() * step
                if kind == "algebraic":
                    u = s.exp()
                    weight = u * slope
                else:
                    # 1/(1 + exp(-2*s)) keeps all digits near 0
                    u = 1 / (1 + (-2 * s).exp())
                    weight = 2 * slope * u / (1 + (2 * s).exp())
            nodes.append((_exact(u), _exact(weight)))
        return tuple(nodes)
    finally:
        ctx.prec = saved


def _exact(x: arb) -> arb:
    return arb(x.mid())


def _half(f: Function, end: acb, length: acb, kind: str, deadline: float) -> Half:
    """The integral of f(end + length*u) * length over all u.

    A node without a value counts as zero, and what its neighbour weighs as an error.
    """
    total = acb(0)
    mass, lost = arb(0), arb(0)
    previous: acb | None = None
    error = arb("inf")
    small = arb(10) ** -(DIGITS + 2)
    for level in range(MAX_LEVEL + 1):
        part, sizes, missing = acb(0), arb(0), arb(0)
        last = arb(0)
        for u, w in _nodes(level, kind):
            ctx.prec = _POINT_BITS
            point = end + length * u
            ctx.prec = _SUM_BITS + 40
            value = f(point) if u > 1e-12 else _precise(f, point)
            if not value.is_finite():
                missing += (1 + last) * w
                continue
            middle = acb(value.mid())
            last = abs(middle)
            part += middle * w
            sizes += last * w
        # halving the step halves the weights of the nodes that were there
        total = acb((total / 2 + part if level else part).mid())
        mass = arb((mass / 2 + sizes if level else sizes).mid())
        lost = arb((lost / 2 + missing if level else missing).mid())
        if previous is not None:
            error = abs(total - previous).mid()
            if level >= 3 and error <= small * mass:
                break
        previous = total
        if time.monotonic() > deadline:
            break
    size = abs(length).mid()
    return Half(total * length, (error + lost) * size, mass * size)


def _best(f: Function, end: acb, length: acb, kinds: tuple[str, ...], deadline: float) -> Half:
    """The most accurate of the ``kinds`` of nodes; the first that is accurate enough."""
    best: Half | None = None
    for kind in kinds:
        found = _half(f, end, length, kind, deadline)
        # a choice of nodes that saw nothing has no error to show either
        if best is None or best.mass == 0 or (found.mass != 0 and found.error < best.error):
            best = found
        if found.mass != 0 and found.error <= arb(10) ** -(DIGITS - 2) * found.mass:
            break
    assert best is not None
    return best


def _precise(f: Function, point: acb) -> acb:
    ctx.prec = _POINT_BITS
    value = f(point)
    ctx.prec = _SUM_BITS + 40
    return value


def quadrature(
    tree: Tree,
    variable: str,
    lower: sympy.Expr,
    upper: sympy.Expr,
    points: list[sympy.Expr],
    deadline: float,
) -> Quadrature | None:
    """The integral with breaks at ``points``; None when it cannot be evaluated."""
    f = integrand_function(tree, variable)
    bounds = [lower, *points, upper]
    if lower is S.NegativeInfinity and upper is S.Infinity and not points:
        bounds = [lower, S.Zero, upper]
    saved = ctx.prec
    total, error, mass = acb(0), arb(0), arb(0)
    try:
        for a, b in pairwise(bounds):
            for end, length, kinds, sign in _halves(a, b):
                found = _best(f, end, length, kinds, deadline)
                total += found.value * sign
                error += found.error
                mass += found.mass
                ctx.prec = saved
    except CannotEvaluate:
        return None
    finally:
        ctx.prec = saved
    if not total.is_finite() or not error.is_finite():
        return None
    return Quadrature(
        as_mpmath(total),
        mpmath.mpf(error.mid().str(5, radius=False)),
        mpmath.mpf(mass.mid().str(5, radius=False)),
    )


def _halves(a: sympy.Expr, b: sympy.Expr) -> list[tuple[acb, acb, tuple[str, ...], int]]:
    """(end, signed length, kinds of nodes to try, sign) of the parts of one piece."""
    if b is S.Infinity:
        return [(ball(a), acb(1), ("algebraic", "exponential"), 1)]
    if a is S.NegativeInfinity:
        return [(ball(b), acb(-1), ("algebraic", "exponential"), -1)]
    ctx.prec = _POINT_BITS
    low, high = ball(a), ball(b)
    half = (high - low) / 2
    return [(low, half, ("finite",), 1), (high, -half, ("finite",), -1)]


def ball(point: sympy.Expr) -> acb:
    """A number as a thin ball, with the digits of the quadrature's nodes."""
    saved = ctx.prec
    ctx.prec = _POINT_BITS
    try:
        if point.is_Float:
            return acb(arb(str(point)).mid())
        value = acb(Evaluator(BallField(), {}, "").dual(from_sympy(point))[0])
        return acb(value.mid())
    finally:
        ctx.prec = saved


#: Periods that a tail is summed over, and Gauss–Legendre nodes on each.
_PERIODS: Final = 48
_GAUSS: Final = 72


@lru_cache(maxsize=2)
def _gauss(count: int) -> tuple[tuple[arb, arb], ...]:
    saved = ctx.prec
    ctx.prec = 2 * _SUM_BITS
    try:
        pairs = [arb.legendre_p_root(count, k, weight=True) for k in range(count)]
        return tuple((_exact(x), _exact(w)) for x, w in pairs)
    finally:
        ctx.prec = saved


def oscillating_tail(
    tree: Tree, variable: str, lower: sympy.Expr, angular_frequency: float, deadline: float
) -> Quadrature | None:
    """The integral from ``lower`` to oo of an integrand with a periodic factor.

    ``angular_frequency`` is that of the common period. Integrals over whole periods
    make a smooth series, which Levin's u-transformation sums.
    """
    f = integrand_function(tree, variable)
    saved = ctx.prec
    ctx.prec = 2 * _SUM_BITS
    try:
        start = ball(lower)
        half = arb.pi() / arb(angular_frequency)
        terms = []
        for k in range(_PERIODS):
            middle = start + half * (2 * k + 1)
            total = acb(0)
            for x, w in _gauss(_GAUSS):
                total += f(middle + half * x) * w
            if not total.is_finite():
                return None
            terms.append(total * half)
            if time.monotonic() > deadline:
                return None
    except CannotEvaluate:
        return None
    finally:
        ctx.prec = saved
    with mpmath.workdps(80):
        values = [as_mpmath(t, 80) for t in terms]
        results = []
        for count in (_PERIODS - 8, _PERIODS):
            levin = mpmath.levin(method="levin", variant="u")
            results.append(levin.update(values[:count])[0])
        return Quadrature(+results[1], abs(results[1] - results[0]))


#: Where the tail of an oscillating integrand is looked at, in periods.
_FAR: Final = (10**4, 10**6)
_VERY_FAR: Final = (10**30, 10**60)


def tail_of_oscillation(tree: Tree, variable: str, angular_frequency: float) -> int | None:
    """Whether the integral to oo of an integrand with a periodic factor converges.

    0: it does, since the integrand tends to zero and its means over periods decay fast
    enough. 1, -1: it diverges to ±oo, as the means do not. 2: it diverges without a
    limit, as the integrand does not tend to zero. None: it could not be told.
    """
    f = integrand_function(tree, variable)
    extent = constant_digits(tree, variable)
    if extent is None:
        return None
    saved = ctx.prec
    ctx.prec = 2 * _SUM_BITS + 20 * extent
    try:
        half = arb.pi() / arb(angular_frequency)
        sizes, means = [], []
        for periods in (*_FAR, *_VERY_FAR):
            middle = half * (2 * periods * arb(10) ** (2 * extent) + 1)
            values = [(f(acb(middle + half * x)), w) for x, w in _gauss(_GAUSS)]
            sizes.append(max((abs(v).mid() for v, _ in values), key=lambda size: size))
            mean = acb(0)
            for value, weight in values:
                mean += value * weight
            means.append(mean)
        if not all(size.is_finite() for size in sizes):
            return None
        # what falls as slowly as 1/log(x) is half as large so much farther out
        if sizes[2] > sizes[1] * 0.999 and sizes[3] > sizes[2] * 0.999:
            return _sign(values, sizes[3]) or 2
        if not sizes[3] < sizes[2] * 0.9:
            return None
        first, second = (abs(m).mid() for m in means[:2])
        if second <= sizes[1] * arb(10) ** -40:
            return 0
        if not first > 0:
            return None
        order = float((second / first).log().mid()) / math.log(_FAR[1] / _FAR[0])
    except (CannotEvaluate, ValueError, OverflowError):
        return None
    finally:
        ctx.prec = saved
    if order > -1 - 1e-6:
        return 1 if means[1].real > 0 else -1
    return 0 if order < -1.1 else None


def _sign(values: list[tuple[acb, arb]], size: arb) -> int:
    """The sign that all values have, 0 if they have both."""
    small = size * arb(10) ** -12
    if all(v.real > -small for v, _ in values):
        return 1
    return -1 if all(v.real < small for v, _ in values) else 0


def as_mpmath(value: acb, digits: int = DIGITS + 8) -> Any:
    """The midpoint as an mpf, or an mpc when there is an imaginary part."""
    with mpmath.workdps(digits):
        real = mpmath.mpf(value.real.mid().str(digits, radius=False))
        if abs(value.imag.mid()) <= abs(value.real.mid()) * arb(10) ** -DIGITS:
            return real
        return mpmath.mpc(real, mpmath.mpf(value.imag.mid().str(digits, radius=False)))


def number(e: sympy.Expr) -> Any:
    """A constant expression as an mpf or mpc."""
    with mpmath.workdps(DIGITS + 8):
        real, imaginary = sympy.N(e, DIGITS + 8).as_real_imag()
        value = mpmath.mpf(str(real))
        return value if imaginary == 0 else mpmath.mpc(value, mpmath.mpf(str(imaginary)))
