"""Points of an interval at which a function may be singular, have a kink or jump."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Final

import numpy as np
import sympy
from flint import acb, ctx
from sympy import S

from service.integration.domain import FloatArray, on_axis
from service.integration.evaluate import BallField, CannotEvaluate, Evaluator, value_function
from service.verification.convert import ConversionError, from_sympy, to_sympy
from tokenizer.ansatz import rational_value
from tokenizer.tree import Tree, call, constant, integer

#: Grid points on the interval; zeros closer than the grid may be missed.
GRID_POINTS: Final = 3001
#: Most points that are looked at; with more of them the function is left to quadrature.
MAX_POINTS: Final = 40

#: Digits of a zero without a closed form: more than its neighbours are looked at with.
ZERO_DIGITS: Final = 130

_ONE: Final = integer(1)
_UNIT_EDGE: Final = ("asin", "acos", "atanh", "acosh", "acoth", "asec", "acsc", "asech")
_AT_ZERO: Final = (
    "log", "sqrt", "Abs", "sign", "Heaviside", "Ei", "Ci", "Chi", "acot", "acsch",
    "asech", "asec", "acsc", "coth", "csch",
)  # fmt: skip


def guards(tree: Tree) -> list[Tree]:
    """Expressions at whose zeros ``tree`` may fail to be analytic, each once."""
    found: dict[Tree, None] = {}

    def add(guard: Tree) -> None:
        """The bases of the factors of ``guard``, which vanish with it."""
        match guard.head:
            case "mul":
                add(guard.args[0])
                add(guard.args[1])
            case "neg" | "sqrt":
                add(guard.args[0])
            case "pow" if rational_value(guard.args[1]) is not None:
                add(guard.args[0])
            case "div":
                add(guard.args[0])
                add(guard.args[1])
            case _ if guard.symbols():
                found[guard] = None

    for node in tree.preorder():
        args = node.args
        head = node.head
        if head == "div":
            add(args[1])
        elif head == "pow":
            exponent = rational_value(args[1])
            if exponent is None or exponent[1] != 1 or exponent[0] < 0:
                add(args[0])
        elif head in ("tan", "sec"):
            add(call("cos", args[0]))
        elif head in ("cot", "csc"):
            add(call("sin", args[0]))
        elif head in ("floor", "ceiling", "gamma", "loggamma"):
            add(call("sin", call("mul", constant("pi"), args[0])))
        elif head in ("Max", "Min"):
            for other in args[1:]:
                add(call("sub", args[0], other))
        elif head in ("Lt", "Le", "Gt", "Ge", "Eq", "Ne"):
            add(call("sub", args[0], args[1]))
        elif head == "polylog":
            add(call("sub", args[1], _ONE))
        elif head == "li":
            add(call("sub", args[0], _ONE))
            add(args[0])
        if head in _AT_ZERO:
            add(args[0])
        if head in _UNIT_EDGE:
            add(call("sub", _ONE, args[0]))
            add(call("add", _ONE, args[0]))
    return list(found)


def vanishes_at(guard: Tree, variable: str, point: float) -> bool:
    """Whether ``guard`` is far smaller, or not defined, at ``point`` than beside it."""
    step = 1e-3 * (1 + abs(point))
    values = np.abs(on_axis(guard, variable, np.array([point, point - step, point + step]), {}))
    beside = values[1:][np.isfinite(values[1:])]
    return not (values[0] > 1e-7 * beside.max(initial=0.0))


def _grid(lower: float, upper: float) -> FloatArray:
    t = np.linspace(0, 1, GRID_POINTS)
    if np.isfinite(lower) and np.isfinite(upper):
        return lower + (upper - lower) * t
    if np.isfinite(lower):
        return np.concatenate(
            [lower + np.linspace(0, 20, GRID_POINTS), lower + np.geomspace(20, 1e6, 300)]
        )
    if np.isfinite(upper):
        return -_grid(-upper, np.inf)[::-1]
    half = _grid(0.0, np.inf)
    return np.concatenate([-half[:0:-1], half])


def zeros(guard: Tree, variable: str, lower: float, upper: float) -> list[float]:
    """Zeros of ``guard`` in the closed interval, approximately."""

    def value(at: FloatArray) -> FloatArray:
        return np.asarray(on_axis(guard, variable, at, {}).real)

    points = _grid(lower, upper)
    try:
        values = on_axis(guard, variable, points, {})
    except CannotEvaluate:
        return []
    real = values.real
    size = np.abs(values)
    with np.errstate(all="ignore"):
        scale = np.nanmedian(np.where(np.isfinite(size), size, np.nan)) or 1.0
        changes = np.flatnonzero(np.sign(real[1:]) * np.sign(real[:-1]) < 0)
        roots = _bisected(value, points[changes], points[changes + 1])
        found = roots[np.abs(value(roots)) < 1e-6 * max(scale, 1e-12) + 1e-9].tolist()
        inner = np.flatnonzero((size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:])) + 1
        found += points[inner[size[inner] == 0]].tolist()
        near = inner[(size[inner] > 0) & (size[inner] < 0.05 * scale)][:MAX_POINTS]
        least = _least(lambda at: np.abs(value(at)), points[near - 1], points[near + 1])
        found += least[np.abs(value(least)) < 1e-12 * max(scale, 1e-12)].tolist()
        ends = np.array([end for end in (lower, upper) if np.isfinite(end)])
        found += ends[~(np.abs(value(ends)) > 1e-13 * max(scale, 1e-12))].tolist()
    return sorted(found)


_Values = Callable[[FloatArray], FloatArray]


def _bisected(value: _Values, low: FloatArray, high: FloatArray) -> FloatArray:
    """Where ``value`` changes its sign, in all the intervals at once; (n,) twice to (m,).

    Intervals inside of which there is no value are left out.
    """
    sign = np.sign(value(low))
    whole = np.ones(low.shape, dtype=np.bool_)
    for _ in range(64):
        middle = (low + high) / 2
        found = value(middle)
        whole &= np.isfinite(found)
        left = np.sign(found) == sign
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    better = np.where(np.abs(value(low)) < np.abs(value(high)), low, high)
    return np.asarray(better[whole])


_GOLDEN: Final = (math.sqrt(5) - 1) / 2


def _least(value: _Values, low: FloatArray, high: FloatArray) -> FloatArray:
    """Where ``value`` is least, in all the intervals at once, by golden sections; (n,) twice."""
    for _ in range(72):
        inner = _GOLDEN * (high - low)
        first, second = np.split(value(np.concatenate([high - inner, low + inner])), 2)
        left = first < second
        low, high = np.where(left, low, high - inner), np.where(left, low + inner, high)
    return (low + high) / 2


def breakpoints(
    trees: list[Tree], variable: str, lower: float, upper: float
) -> list[sympy.Expr] | None:
    """Points strictly inside the interval where one of ``trees`` may not be smooth.

    Exact where a simple closed form satisfies the guard, else in many digits. None when
    there are more than :data:`MAX_POINTS`.
    """
    found: list[tuple[float, Tree]] = []
    for guard in dict.fromkeys(g for tree in trees for g in guards(tree)):
        if guard.contains(variable):
            found += [(z, guard) for z in zeros(guard, variable, lower, upper)]
    found.sort(key=lambda pair: pair[0])
    points: list[sympy.Expr] = []
    last = -np.inf
    for approximate, guard in found:
        near = 1e-9 * (1 + abs(approximate))
        if approximate - last < near or approximate - lower < near or upper - approximate < near:
            continue
        last = approximate
        points.append(exact_zero(guard, variable, approximate))
        if len(points) > MAX_POINTS:
            return None
    return points


def exact_zero(guard: Tree, variable: str, approximate: float) -> sympy.Expr:
    """The zero of ``guard`` near ``approximate``, in closed form if there is a simple one."""
    x = sympy.Symbol(variable, real=True)
    tolerance = 1e-8 * (1 + abs(approximate))
    try:
        g = to_sympy(guard)
        candidates: list[sympy.Expr] = [
            sympy.nsimplify(approximate, rational=True, tolerance=1e-9),
            S.Pi * sympy.nsimplify(approximate / np.pi, rational=True, tolerance=1e-9),
        ]
        if g.is_polynomial(x):
            candidates += list(sympy.roots(sympy.Poly(g, x)))
        elif not g.has(sympy.sin, sympy.cos, sympy.tan):
            candidates += [r for r in sympy.solve(g, x) if r.is_real]
        candidates.append(
            sympy.exp(sympy.nsimplify(np.log(approximate), rational=True, tolerance=1e-9))
            if approximate > 0
            else S.Zero
        )
        for candidate in candidates:
            if candidate.is_real and abs(float(candidate) - approximate) < tolerance:
                if candidate.is_Rational and candidate.q > 10_000:
                    continue
                if abs(sympy.N(g.subs(x, candidate), 60, chop=False)) < 1e-45:
                    return candidate
        return sympy.nsolve(g, x, approximate, prec=ZERO_DIGITS)
    except (ConversionError, NotImplementedError, ValueError, TypeError, ZeroDivisionError):
        return sympy.Float(approximate, 17)


def ball_function(tree: Tree, variable: str, bits: int) -> Callable[[acb], acb]:
    """``tree`` as a function of a ball, with ``bits`` of precision."""
    compiled = value_function(tree, variable)

    def value(point: acb) -> acb:
        saved = ctx.prec
        ctx.prec = bits
        try:
            return compiled(point)
        finally:
            ctx.prec = saved

    return value


def narrow_peaks(tree: Tree, variable: str, lower: float, upper: float) -> list[float]:
    """Points below or above complex zeros of polynomial denominators that are near the axis."""
    x = sympy.Symbol(variable, real=True)
    found = []
    for guard in guards(tree):
        try:
            g = to_sympy(guard)
        except ConversionError:
            continue
        if g.is_polynomial(x) and sympy.degree(g, x) > 1:
            for root in np.roots([complex(c) for c in sympy.Poly(g, x).all_coeffs()]):
                near = 1e-9 < abs(root.imag) < 0.5 * (1 + abs(root.real))
                if near and lower + 1e-3 < root.real < upper - 1e-3:
                    found.append(float(root.real))
    return found


#: Most extrema that are handed to quadrature.
MAX_EXTREMA: Final = 8


def extrema(tree: Tree, variable: str, lower: float, upper: float) -> list[float]:
    """Points inside the interval near which ``tree`` may be concentrated, at most eight.

    Zeros of the arguments of exponential and bell-shaped functions and of their slopes,
    and places where a fine grid finds values far above the typical one.
    """
    found: dict[float, None] = {}
    x = sympy.Symbol(variable, real=True)
    for node in dict.fromkeys(tree.preorder()):
        if node.head not in CONCENTRATED or not node.contains(variable):
            continue
        u = node.args[1] if node.head == "pow" else node.args[0]
        if not u.contains(variable):
            continue
        try:
            slope = from_sympy(to_sympy(u).diff(x))
            guarded = [u, slope] if slope.contains(variable) else [u]
            for guard in guarded:
                zeroes = zeros(guard, variable, lower, upper)
                if len(zeroes) <= MAX_EXTREMA:
                    found.update(dict.fromkeys(zeroes))
        except (ConversionError, CannotEvaluate, ValueError):
            continue
    found.update(dict.fromkeys(_peaks(tree, variable, lower, upper)))
    inside: list[float] = []
    for point in sorted(found):
        near = 1e-9 * (1 + abs(point))
        if lower + near < point < upper - near and (not inside or point - inside[-1] > near):
            inside.append(point)
    return inside[:MAX_EXTREMA]


#: Heads of exponential and bell-shaped functions.
CONCENTRATED: Final = (
    "exp", "pow", "sinh", "cosh", "tanh", "sech", "csch", "coth", "erf", "erfc", "gamma",
)  # fmt: skip


def _peaks(tree: Tree, variable: str, lower: float, upper: float) -> list[float]:
    points = _grid(lower, upper)
    if np.isfinite(lower) and np.isfinite(upper):
        points = np.linspace(lower, upper, 8 * GRID_POINTS)
    try:
        size = np.abs(on_axis(tree, variable, points, {}))
    except CannotEvaluate:
        return []
    size = np.where(np.isfinite(size), size, 0.0)
    typical = 20 * np.median(size)
    inner = size[1:-1]
    tops = np.flatnonzero((inner > typical) & (inner >= size[:-2]) & (inner > size[2:])) + 1
    if len(tops) > MAX_EXTREMA:
        return []
    return [float(points[i]) for i in tops]


_CIRCULAR: Final = ("sin", "cos", "tan", "cot", "sec", "csc", "besselj", "bessely", "airyai")


def oscillates_at(tree: Tree, variable: str, point: sympy.Expr) -> bool:
    """Whether a circular function in ``tree`` turns ever faster towards a finite ``point``."""
    nodes = [n for n in tree.preorder() if n.head in _CIRCULAR and n.contains(variable)]
    for argument in dict.fromkeys(n.args[-1] for n in nodes):
        if any(vanishes_at(g, variable, float(sympy.N(point))) for g in guards(argument)):
            return True
    return False


def order_at(tree: Tree, variable: str, point: sympy.Expr, side: int) -> float | None:
    """p with |f| ~ |x - point|**p as x tends to ``point`` from ``side`` (1: from above).

    At infinity |f| ~ |x|**p. inf stands for faster decay than any power. None when it
    cannot be told, as for an oscillation.
    """
    if point.is_Float and point._prec < 3.4 * 101:
        return None  # the point is known less well than its neighbours are near
    extent = constant_digits(tree, variable)
    if extent is None:
        return None
    bits = 1500 + 20 * extent
    f = ball_function(tree, variable, bits)
    sizes = []
    # nearer, and farther out, than where any constant in it still matters
    steps = [digits + 4 * extent for digits in (40, 60, 80, 100)]
    saved = ctx.prec
    ctx.prec = bits
    try:
        infinite = point in (S.Infinity, S.NegativeInfinity)
        if infinite:
            steps = [10 * step for step in (4, 6, 8, 10)]
            steps = [step + 40 * extent for step in steps]
        centre = None if infinite else _ball(point)
        for digits in steps:
            if infinite:
                # irrational multiples keep clear of the zeros of circular functions
                at = acb(10) ** (digits / 10) * acb(1.37) * (1 if point is S.Infinity else -1)
            else:
                assert centre is not None
                at = centre + side * acb(10) ** -digits
            value = abs(f(at))
            if not value.is_finite():
                return None
            if value.contains(0):
                return float("inf") if not infinite else float("-inf")
            sizes.append(float(value.log().mid()) / float(np.log(10)))
    except (CannotEvaluate, ZeroDivisionError, ValueError, OverflowError):
        return None
    finally:
        ctx.prec = saved
    span = [s / 10 for s in steps] if infinite else [-s for s in steps]
    slopes = np.diff(sizes) / np.diff(np.array(span, dtype=float))
    if infinite and abs(slopes[-1]) > 50:
        return float(np.copysign(np.inf, slopes[-1]))
    if not infinite and np.all(np.abs(slopes) > 1e6) and np.all(slopes * slopes[0] > 0):
        return float(np.copysign(np.inf, slopes[-1]))  # an exponential of a pole
    if abs(slopes[-1] - slopes[-2]) > 0.2 * max(1.0, abs(slopes[-1])):
        return None
    return float(slopes[-1])


#: Powers of ten at which slow convergence is told from slow divergence, and signs are; of the far
#: ones as many as can be computed.
_SLOW: Final = (300, 1000, 3000)
_FAR: Final = (10**6, 10**9, 10**12, 10**24, 10**100)

#: Slopes that differ by less are the same.
_SAME: Final = 1e-13


def converges_slowly(tree: Tree, variable: str, point: sympy.Expr, side: int) -> bool | None:
    """Whether f is integrable at ``point`` though it is of order -1 there, or nearly so.

    With t = log(1/d) at the distance d, or log(x) at infinity, f*d behaves like a power of
    t, which is integrable below -1, or else like exp(c*t), which is for c < 0. None when
    neither can be told.
    """
    near = _approaching(tree, variable, point, side)
    if near is None:
        return None
    logarithms = [float(far.real.log().mid()) for far, _ in near]
    try:
        sizes = [float(abs(product).log().mid()) for _, product in near]
    except (ValueError, OverflowError):
        return None
    slopes = np.diff(sizes) / np.diff(np.log(logarithms))
    if not np.all(np.isfinite(slopes)):
        return None
    first, second = slopes[-2:]
    if abs(second) > 4 and abs(second) > 1.5 * abs(first):
        return bool(second < 0)
    if abs(second) > _SAME and abs(second) > 10 * abs(first):
        return None  # exp(c*t) with so small a c that it is 1 as far as we see
    if second >= -1 - 1e-9:
        return False
    return True if second < -1.3 else None


def sign_near(tree: Tree, variable: str, point: sympy.Expr, side: int) -> int:
    """The sign of f at all distances that are small enough; 0 where that is not certain."""
    near = _approaching(tree, variable, point, side)
    if near is None:
        return 0
    signs = {
        0 if not f.imag.contains(0) or f.real.contains(0) else 1 if f.real > 0 else -1
        for _, f in near
    }
    return signs.pop() if len(signs) == 1 else 0


def _approaching(
    tree: Tree, variable: str, point: sympy.Expr, side: int
) -> list[tuple[acb, acb]] | None:
    """(1/d, f d) at ever smaller distances d from ``point``; (|x|, f |x|) ever further out.

    None where f cannot be computed, or is zero.
    """
    extent = constant_digits(tree, variable)
    if extent is None or point.is_Float:
        return None
    infinite = point in (S.Infinity, S.NegativeInfinity)
    powers = [step + 40 * extent for step in _SLOW]
    bits = 4 * powers[-1] + 500
    f = ball_function(tree, variable, bits)
    found: list[tuple[acb, acb]] = []
    saved = ctx.prec
    ctx.prec = bits
    try:
        for power in (*powers, *(power for power in _FAR if power > powers[-1])):
            try:
                far = acb(10) ** power
                if infinite:
                    far *= acb(1.37)
                    product = f(far if point is S.Infinity else -far) * far
                else:
                    product = f(_ball(point) + side / far) / far
                size = abs(product)
                if not size > 0 or not size.is_finite():
                    raise ValueError
            except (CannotEvaluate, ZeroDivisionError, ValueError, OverflowError):
                if len(found) < len(powers):
                    return None
                break
            found.append((far, product))
    finally:
        ctx.prec = saved
    return found


#: Constants with more digits before or after the point than this are too much.
MAX_DIGITS: Final = 400


def constant_digits(tree: Tree, variable: str) -> int | None:
    """The largest |log10(c)| of the constants c in ``tree``, rounded; None when too large.

    Small ones count as zero.
    """
    largest = 0.0
    saved = ctx.prec
    ctx.prec = 64
    try:
        evaluator = Evaluator(BallField(), {}, variable)
        for node in dict.fromkeys(tree.preorder()):
            if node.symbols() or node.head in _NO_NUMBERS:
                continue
            size = abs(acb(evaluator.dual(node)[0]))
            if size.contains(0):
                continue
            largest = max(largest, abs(float(size.log().mid())) / float(np.log(10)))
    except (CannotEvaluate, ZeroDivisionError, ValueError, OverflowError):
        return None
    finally:
        ctx.prec = saved
    if not largest <= MAX_DIGITS:
        return None
    return 0 if largest < 5 else round(largest) + 1


_NO_NUMBERS: Final = ("Lt", "Le", "Gt", "Ge", "Eq", "Ne", "And", "Or", "boolean")


def _ball(point: sympy.Expr) -> acb:
    """A thin ball around an exact real number, at the working precision."""
    tree = from_sympy(point) if not point.is_Float else None
    if tree is None:
        return acb(str(point))
    return acb(Evaluator(BallField(), {}, "").dual(tree)[0])


def sum_of(values: list[sympy.Expr]) -> sympy.Expr:
    """The sum, zero for none."""
    return reduce(sympy.Add, values, S.Zero)
