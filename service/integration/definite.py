"""Definite integrals of one variable: exact where possible, always checked by quadrature."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, Literal

import mpmath
import sympy
from sympy import S

from service.integration import recognise
from service.integration.limits import one_sided_limit
from service.integration.nonelementary import named_functions
from service.integration.pieces import CASES, on_piece, pieces
from service.integration.quadrature import (
    Quadrature,
    number,
    oscillating_tail,
    quadrature,
    tail_of_oscillation,
)
from service.integration.seams import all_found
from service.integration.search import solve_by_rules, solve_by_sympy
from service.integration.singular import (
    breakpoints,
    converges_slowly,
    extrema,
    guards,
    narrow_peaks,
    order_at,
    oscillates_at,
    sign_near,
    vanishes_at,
)
from service.integration.straighten import straightened
from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

Convergence = Literal["proper", "improper", "divergent"]

#: Digits to which an exact value must agree with quadrature.
AGREE: Final = 11
#: Digits that make agreement count as a verification by itself.
NUMERIC_DIGITS: Final = 28


@dataclass(frozen=True, slots=True)
class Definite:
    """The value of a definite integral, or as much of it as could be found.

    ``tree`` is the exact value (±oo for an integral that diverges to it, None where
    nothing exact was verified). ``value`` is its 15 digits, or those of quadrature with
    ``error`` as the estimate; ``number`` has all digits of quadrature.
    ``principal_value`` is that of a divergent integral which has one, ``cases`` what
    happens under other conditions on the parameters.
    """

    convergence: Convergence | None
    tree: Tree | None = None
    value: str | None = None
    number: Any = None
    error: float | None = None
    status: Literal["proved", "numeric"] | None = None
    method: str = ""
    source: Literal["antiderivative", "sympy", "recognised"] | None = None
    assumptions: tuple[str, ...] = ()
    principal_value: Tree | None = None
    functions: tuple[str, ...] = ()
    cases: tuple[tuple[str, Tree | None, str], ...] = ()
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How an integrand behaves on an interval.

    ``points`` are inner points where it is not smooth; ``divergent`` those ends and
    points (with the side and the sign of the integrand there) where it cannot be
    integrated; ``bounded`` whether it is bounded on a bounded interval; ``unsettled``
    where it could not be told; ``slow`` whether it converges, if it does, too slowly for
    quadrature to see much of it.
    """

    points: list[sympy.Expr]
    divergent: list[tuple[sympy.Expr, int, int]]
    bounded: bool
    unsettled: bool
    slow: bool = False


def solve_definite(
    integrand: Tree,
    variable: str,
    lower: Tree,
    upper: Tree,
    antiderivative: Tree | None,
    proved: bool,
    fallback: bool,
    deadline_s: float,
) -> Definite:
    """The integral from ``lower`` to ``upper``, numbers or infinities.

    ``antiderivative`` is verified (``proved`` or only in numbers) or None; ``fallback``
    allows other ways to one, and SymPy's own methods.
    """
    started = time.monotonic()
    deadline = started + deadline_s
    x = sympy.Symbol(variable, real=True)
    f = to_sympy(integrand)
    a, b = to_sympy(lower), to_sympy(upper)
    if a == b:
        return Definite(
            "proper", from_sympy(S.Zero), "0.0", status="proved", method="empty interval"
        )
    if _order(a, b) > 0:
        # turned round, so that everything below goes upwards
        f, a, b = -f, b, a
        integrand = from_sympy(f)
        antiderivative = antiderivative and from_sympy(-to_sympy(antiderivative))
    straight = straightened(f, x, a, b, antiderivative)
    if straight is not None:
        f, a, b = straight.integrand, straight.lower, S.Infinity
        integrand = from_sympy(f)
        big = straight.antiderivative
        antiderivative = None if big is None else from_sympy(big)
    result = _solve(integrand, f, x, a, b, antiderivative, proved, fallback, deadline)
    return replace(result, elapsed_ms=1000 * (time.monotonic() - started))


def _order(a: sympy.Expr, b: sympy.Expr) -> int:
    difference = float(sympy.N(a)) - float(sympy.N(b))
    return 0 if math.isnan(difference) else int(math.copysign(1, difference))


def digits(value: Any) -> str:
    """15 significant digits; a complex number as ``a + b*I``, but for a ``b`` that is rounding."""
    if isinstance(value, mpmath.mpc) and abs(value.imag) > mpmath.mpf(10) ** -25 * abs(value):
        sign = "-" if value.imag < 0 else "+"
        return f"{mpmath.nstr(value.real, 15)} {sign} {mpmath.nstr(abs(value.imag), 15)}*I"
    return str(mpmath.nstr(mpmath.mpf(value.real), 15))


def _solve(
    integrand: Tree,
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    antiderivative: Tree | None,
    proved: bool,
    fallback: bool,
    deadline: float,
) -> Definite:
    """Convergence and quadrature first: what is exact comes on top while there is time."""
    try:
        with time_limit(BEHAVIOUR_SHARE * (deadline - time.monotonic())):
            seen = behaviour(integrand, x, a, b)
    except OutOfTime:
        return Definite(None, method="convergence could not be decided in time")
    if seen is None:
        return Definite(None, method="too many singular points")
    improper = not seen.bounded or a is S.NegativeInfinity or b is S.Infinity
    convergence: Convergence = "improper" if improper else "proper"
    numeric = None
    if not seen.divergent:
        with contextlib.suppress(OutOfTime), time_limit(0.7 * (deadline - time.monotonic())):
            numeric = _quadrature(integrand, f, x, a, b, seen, deadline)
    try:
        with time_limit(deadline - time.monotonic()):
            parts = _antiderivatives(
                integrand, f, x, a, b, seen, antiderivative, proved, fallback, deadline
            )
            if seen.divergent:
                return _divergent(f, x, a, b, seen, parts)
            return _exact(
                integrand, f, x, a, b, seen, convergence, parts, numeric, fallback, deadline
            )
    except OutOfTime:
        if seen.divergent:
            return _divergent(f, x, a, b, seen, None)
        return _only_number(convergence, None if seen.unsettled else numeric)


#: Part of the time that the search for singular points may use.
BEHAVIOUR_SHARE: Final = 0.4


def _only_number(convergence: Convergence, numeric: Quadrature | None) -> Definite:
    if numeric is None or numeric.digits < 6:
        return Definite(convergence, method="quadrature did not settle")
    return Definite(
        convergence,
        value=digits(numeric.value),
        number=numeric.value,
        error=float(numeric.error),
        method="quadrature",
    )


def _exact(
    integrand: Tree,
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    seen: Behaviour,
    convergence: Convergence,
    parts: list[Part] | None,
    numeric: Quadrature | None,
    fallback: bool,
    deadline: float,
) -> Definite:
    if not all_found(integrand, x, a, b, seen.points):
        # what quadrature does not see may be between its nodes, and not in the pieces either
        return _only_number(convergence, None if seen.unsettled else numeric)
    exact = _by_antiderivatives(x, parts) if parts is not None else None
    if exact is not None and exact.has(sympy.Float):
        exact = None  # a break without a closed form
    certain = parts is not None and all(part.proved for part in parts)
    confirmed = exact is not None and numeric is not None and _same(exact, numeric)
    if seen.unsettled or (seen.slow and not (confirmed and numeric and numeric.digits >= AGREE)):
        return _unsettled(exact, numeric, convergence, certain, settled=not seen.unsettled)
    if certain and parts is not None and all(not part.antiderivative.has(x) for part in parts):
        # nothing for quadrature to see
        return Definite(
            convergence, from_sympy(S.Zero), "0.0", status="proved",
            method="the integrand is zero on the interval", source="antiderivative",
        )  # fmt: skip
    # a value with a proof needs less of a second opinion than one without
    if numeric is None or numeric.digits < (4 if exact is not None else 6):
        return Definite(convergence, method="quadrature did not settle")
    if exact is not None and _same(exact, numeric):
        return _answer(
            exact,
            numeric,
            convergence,
            "proved" if certain else "numeric",
            "proved antiderivative, one-sided limits between its breakpoints"
            if certain
            else "antiderivative agreed in numbers",
            "antiderivative",
        )
    if exact is not None:
        again = _quadrature(integrand, f, x, a, b, _divided(seen, a, b, parts or []), deadline)
        if again is None or abs(again.value - numeric.value) > 1e-10 * (1 + abs(numeric.value)):
            return Definite(None, method="quadrature does not confirm the antiderivative")
        fallback = False
    if fallback and numeric.digits >= NUMERIC_DIGITS:

        def second() -> Quadrature | None:
            return _quadrature(integrand, f, x, a, b, _divided(seen, a, b, []), deadline)

        value = recognise.closed_form(numeric.value, f, x)
        # digits that are all zero want a reason, or a second quadrature with other nodes
        if value is not None and (
            value != 0 or _antisymmetric(f, x, a, b) or all(map(_negligible, (numeric, second())))
        ):
            return _answer(
                value, numeric, convergence, "numeric",
                "integer relation found among its digits", "recognised",
            )  # fmt: skip
    if fallback:
        value = _by_sympy(f, x, a, b, deadline)
        if value is not None and _same(value, numeric) and numeric.digits >= NUMERIC_DIGITS:
            return _answer(
                value, numeric, convergence, "numeric", "SymPy's definite integration", "sympy"
            )
    return _only_number(convergence, numeric)


def _divided(seen: Behaviour, a: sympy.Expr, b: sympy.Expr, parts: list[Part]) -> Behaviour:
    """More breaks: those of the antiderivatives, and places that none of the others shares."""
    low = a if a.is_finite else (b if b.is_finite else S.Zero) - 20
    high = b if b.is_finite else (a if a.is_finite else S.Zero) + 20
    more = [low + (high - low) * sympy.Rational(k, 11) for k in range(1, 11)]
    more += [p for part in parts for p in part.points]
    points = list(seen.points)
    for point in more:
        if all(abs(float(point) - float(p)) > 1e-9 * (1 + abs(float(p))) for p in points):
            points.append(point)
    return replace(seen, points=sorted(points, key=float))


def _negligible(numeric: Quadrature | None) -> bool:
    """Whether 28 digits of the integral of |f| cancel."""
    if numeric is None or not numeric.mass > 0:
        return False
    return bool(abs(numeric.value) + numeric.error < mpmath.mpf(10) ** -28 * numeric.mass)


def _antisymmetric(f: sympy.Expr, x: sympy.Symbol, a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether ``f`` is odd about the middle of the interval."""
    middle = S.Zero if (a, b) == (S.NegativeInfinity, S.Infinity) else a + b
    if not middle.is_finite:
        return False
    try:
        with time_limit(0.5):
            return bool(sympy.simplify(f + f.subs(x, middle - x)) == 0)
    except (OutOfTime, Exception):  # SymPy raises whatever it likes
        return False


def _unsettled(
    exact: sympy.Expr | None,
    numeric: Quadrature | None,
    convergence: Convergence,
    certain: bool,
    *,
    settled: bool,
) -> Definite:
    """Where convergence is too slow for quadrature, only a proof decides.

    ``settled`` says that it converges.
    """
    if exact in (S.Infinity, S.NegativeInfinity) and certain and not settled:
        return _infinite(exact)
    loose = exact is None or exact.is_finite is False or exact.has(sympy.AccumBounds)
    if loose or exact is None or numeric is None or not certain:
        if settled:
            return Definite(convergence, method="converges too slowly for quadrature")
        return Definite(None, method="convergence could not be decided")
    # what is left beyond the last node is some part of it
    slack = 0.1 if settled else 1e-2
    try:
        value = number(exact)
    except (TypeError, ValueError):  # it is infinite, or no number
        return Definite(None, method="convergence could not be decided")
    if abs(value - numeric.value) > slack * (1 + abs(value)):
        return Definite(None, method="quadrature does not confirm the antiderivative")
    tree = from_sympy(neat(exact))
    return Definite(
        convergence,
        tree,
        digits(value),
        status="proved",
        method="proved antiderivative, one-sided limits between its breakpoints; "
        "the integral converges too slowly for quadrature to confirm more than its size",
        source="antiderivative",
        functions=named_functions(tree),
    )


def _answer(
    value: sympy.Expr,
    numeric: Quadrature,
    convergence: Convergence,
    status: Literal["proved", "numeric"],
    method: str,
    source: Literal["antiderivative", "sympy", "recognised"],
) -> Definite:
    tidy = neat(value)
    tree = from_sympy(tidy)
    return Definite(
        convergence,
        tree,
        digits(number(tidy)),
        numeric.value,
        float(numeric.error),
        status,
        f"{method}; quadrature agrees to {min(numeric.digits, 30)} digits",
        source,
        functions=named_functions(tree),
    )


def neat(value: sympy.Expr) -> sympy.Expr:
    """A shorter form of a constant, if SymPy finds one at once."""
    best = value
    for change in (sympy.together, sympy.radsimp, sympy.simplify):
        try:
            with time_limit(0.4):
                other = change(value)
        except (OutOfTime, Exception):  # noqa: S112 - SymPy raises whatever it likes
            continue
        if sympy.count_ops(other) < sympy.count_ops(best) and not other.has(sympy.Piecewise):
            best = other
    return best


def _same(exact: sympy.Expr, numeric: Quadrature) -> bool:
    if exact.has(S.Infinity, S.NegativeInfinity, S.NaN, S.ComplexInfinity):
        return False
    try:
        value = number(exact)
    except (TypeError, ValueError):
        return False
    wanted = max(AGREE, min(numeric.digits - 3, 28)) if numeric.digits > AGREE else AGREE
    bound = mpmath.mpf(10) ** -min(wanted, numeric.digits)
    return bool(abs(value - numeric.value) <= bound * (1 if abs(value) < 1 else abs(value)))


# --- behaviour ---------------------------------------------------------------


def behaviour(integrand: Tree, x: sympy.Symbol, a: sympy.Expr, b: sympy.Expr) -> Behaviour | None:
    """Singular points of the integrand on [a, b] and what they mean; None for too many."""
    low, high = float(sympy.N(a)), float(sympy.N(b))
    points = breakpoints([integrand], x.name, low, high)
    if points is None:
        return None
    divergent: list[tuple[sympy.Expr, int, int]] = []
    bounded, unsettled, slow = True, False, False
    sides = [(a, 1), *((p, s) for p in points for s in (-1, 1)), (b, -1)]
    for point, side in sides:
        infinite = point in (S.Infinity, S.NegativeInfinity)
        if not infinite and not _suspect(integrand, x, point):
            continue
        if infinite and _oscillates(integrand, x):
            tail = _tail(integrand, x, point)
            if tail is None:
                unsettled = True
            elif tail:
                divergent.append((point, side, 0 if tail == 2 else tail))
            continue
        order = order_at(integrand, x.name, point, side)
        wild = not infinite and oscillates_at(integrand, x.name, point)
        if order is None or (wild and order < -0.5):
            # cancellation decides, which no order of growth tells of
            bounded = bounded and infinite
            unsettled = True
            continue
        if infinite:
            converges = order < -1 if abs(order + 1) > 0.2 else None
        else:
            if order < -1e-9:
                bounded = False
            converges = order > -1 if abs(order + 1) > 0.2 else None
        if converges is None:
            slow = True
            converges = converges_slowly(integrand, x.name, point, side)
            if converges is None and abs(order + 1) < 1e-7 and point.is_Float:
                converges = False  # a simple pole
        if converges is None:
            unsettled = True
        elif not converges:
            divergent.append((point, side, sign_near(integrand, x.name, point, side)))
    return Behaviour(points, divergent, bounded, unsettled, slow)


def _suspect(integrand: Tree, x: sympy.Symbol, point: sympy.Expr) -> bool:
    at = float(sympy.N(point))
    return any(vanishes_at(g, x.name, at) for g in guards(integrand) if g.contains(x.name))


def _tail(integrand: Tree, x: sympy.Symbol, point: sympy.Expr) -> int | None:
    f = to_sympy(integrand)
    frequency = _frequency(f, x)
    if frequency is None:
        return None
    turned = integrand if point is S.Infinity else from_sympy(f.subs(x, -x))
    return tail_of_oscillation(turned, x.name, frequency)


def _oscillates(integrand: Tree, x: sympy.Symbol) -> bool:
    return any(
        node.head in ("sin", "cos", "tan", "sec", "csc", "cot") and node.contains(x.name)
        for node in integrand.preorder()
    )


# --- antiderivatives on pieces --------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """An antiderivative on one interval, split at the points where it may jump."""

    lower: sympy.Expr
    upper: sympy.Expr
    antiderivative: sympy.Expr
    points: list[sympy.Expr]
    proved: bool


def _antiderivatives(
    integrand: Tree,
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    seen: Behaviour,
    antiderivative: Tree | None,
    proved: bool,
    fallback: bool,
    deadline: float,
) -> list[Part] | None:
    if not f.has(*CASES) or not fallback:
        if antiderivative is None:
            return None
        part = _part(to_sympy(antiderivative), x, a, b, proved, seen.points)
        return None if part is None else [part]
    parts: list[Part] = []
    known: dict[sympy.Expr, tuple[sympy.Expr, bool] | None] = {}
    for piece in pieces(f, x, [a, *seen.points, b]):
        if piece.function not in known:
            known[piece.function] = _integrate_piece(piece.function, x, deadline)
        found = known[piece.function]
        if found is None:
            return None
        part = _part(found[0], x, piece.lower, piece.upper, found[1], [])
        if part is None:
            return None
        parts.append(part)
    return parts


def _integrate_piece(
    f: sympy.Expr, x: sympy.Symbol, deadline: float
) -> tuple[sympy.Expr, bool] | None:
    if not f.has(x):
        return f * x, True
    tree = from_sympy(f)
    rest = deadline - time.monotonic()
    found = solve_by_rules(tree, x.name, True, min(1.5, rest / 3))
    if found is None and rest > 0.5:
        found = solve_by_sympy(tree, x.name, True, min(3.0, rest / 3))
    return None if found is None else (to_sympy(found.tree), found.status == "proved")


def _part(
    antiderivative: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    proved: bool,
    known: list[sympy.Expr],
) -> Part | None:
    low, high = float(sympy.N(a)), float(sympy.N(b))
    more = breakpoints([from_sympy(antiderivative)], x.name, low, high)
    if more is None:
        return None
    points: list[sympy.Expr] = []
    for point in sorted([*known, *more], key=lambda p: (float(sympy.N(p)), p.is_Float)):
        if not points or float(sympy.N(point - points[-1])) > 1e-9 * (1 + abs(float(point))):
            points.append(point)
    return Part(a, b, antiderivative, points, proved)


def _by_antiderivatives(x: sympy.Symbol, parts: list[Part]) -> sympy.Expr | None:
    """The sum of the differences of one-sided limits over all pieces."""
    total = S.Zero
    for part in parts:
        for piece in pieces(part.antiderivative, x, [part.lower, *part.points, part.upper]):
            above = one_sided_limit(piece.function, x, piece.upper, -1)
            below = one_sided_limit(piece.function, x, piece.lower, 1)
            if above is None or below is None:
                return None
            total += above - below
    return None if total is S.NaN else total


# --- divergence -----------------------------------------------------------------


def _divergent(
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    seen: Behaviour,
    parts: list[Part] | None,
) -> Definite:
    # where it is unsettled elsewhere, that part may not have a sign
    signs = {sign for _, _, sign in seen.divergent} | ({0} if seen.unsettled else set())
    if signs == {1}:
        return _infinite(S.Infinity)
    if signs == {-1}:
        return _infinite(S.NegativeInfinity)
    where = ", ".join(dict.fromkeys(_shown(p) for p, _, _ in seen.divergent))
    result = Definite("divergent", status="proved", method=f"not integrable at {x} = {where}")
    if any(point.is_Float for point, _, _ in seen.divergent):
        return result  # no closed form, and none of what is on both sides of it
    value = _principal_value(x, a, b, seen, parts)
    if value is None or value.has(sympy.Float) or not _is_real(value):
        return result
    return replace(result, principal_value=from_sympy(value))


def _is_real(value: sympy.Expr) -> bool:
    """Whether a value, of a real integrand, has no imaginary part left over from a branch."""
    found = sympy.N(value, 30)
    return bool(found.is_real) or bool(abs(sympy.im(found)) <= 1e-20 * (1 + abs(found)))


def _shown(point: sympy.Expr) -> str:
    return str(sympy.N(point, 15) if point.is_Float else point)


def _infinite(value: sympy.Expr) -> Definite:
    return Definite(
        "divergent",
        from_sympy(value),
        str(value),
        status="proved",
        method="the integrand has one sign where it is not integrable",
    )


def _principal_value(
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    seen: Behaviour,
    parts: list[Part] | None,
) -> sympy.Expr | None:
    """Cauchy's principal value, from what the antiderivative does on both sides of each pole."""
    sides: dict[sympy.Expr, set[int]] = {}
    for point, side, _ in seen.divergent:
        sides.setdefault(point, set()).add(side)
    symmetric = sides == {S.Infinity: {-1}, S.NegativeInfinity: {1}}
    if not symmetric and any(p in (a, b) or both != {-1, 1} for p, both in sides.items()):
        return None
    if parts is None or len(parts) != 1:
        return None
    part = parts[0]
    distance = sympy.Dummy("h", positive=True)
    total = S.Zero
    big = part.antiderivative
    if symmetric:
        difference = on_piece(big, x, sympy.Rational(10) ** 6).subs(x, 1 / distance)
        difference -= on_piece(big, x, -(sympy.Rational(10) ** 6)).subs(x, -1 / distance)
        gap = _limit_at_zero(difference, distance)
        return None if gap is None or part.points else gap
    bounds = [part.lower, *part.points, part.upper]
    split = pieces(big, x, bounds)
    for piece in split:
        for point, side, weight in ((piece.upper, -1, 1), (piece.lower, 1, -1)):
            if point not in sides:
                value = one_sided_limit(piece.function, x, point, side)
                if value is None or value.is_infinite:
                    return None
                total += weight * value
    for left, right in pairwise(split):
        if left.upper in sides:
            difference = left.function.subs(x, left.upper - distance) - right.function.subs(
                x, left.upper + distance
            )
            gap = _limit_at_zero(difference, distance)
            if gap is None:
                return None
            total += gap
    return neat(total)


def _limit_at_zero(e: sympy.Expr, distance: sympy.Symbol) -> sympy.Expr | None:
    try:
        with time_limit(2.0):
            value = sympy.limit(e, distance, 0, "+")
    except (OutOfTime, Exception):  # SymPy raises whatever it likes
        return None
    open_ended = value.has(sympy.Limit, sympy.AccumBounds)
    return value if value.is_finite and not open_ended else None


# --- other ways -----------------------------------------------------------------


def _quadrature(
    integrand: Tree,
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    seen: Behaviour,
    deadline: float,
) -> Quadrature | None:
    frequency = _frequency(f, x)
    until = time.monotonic() + 0.6 * max(0.5, deadline - time.monotonic())
    if frequency is None or (b is not S.Infinity and a is not S.NegativeInfinity):
        peaks = narrow_peaks(integrand, x.name, float(sympy.N(a)), float(sympy.N(b)))
        peaks += extrema(integrand, x.name, float(sympy.N(a)), float(sympy.N(b)))
        splits = [*seen.points]
        for peak in peaks:
            if all(abs(peak - float(p)) > 1e-9 * (1 + abs(peak)) for p in splits):
                splits.append(sympy.Float(peak, 17))
        splits.sort(key=lambda p: float(sympy.N(p)))
        return quadrature(integrand, x.name, a, b, splits, until)
    total: Quadrature | None = Quadrature(mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0))
    last = max([p for p in (a, b, *seen.points) if p.is_finite], default=S.Zero)
    first = min([p for p in (a, b, *seen.points) if p.is_finite], default=S.Zero)
    start, end = first, last
    if b is S.Infinity:
        end = last + 1
        total = _plus(total, oscillating_tail(integrand, x.name, end, frequency, until))
    if a is S.NegativeInfinity:
        start = first - 1
        mirrored = from_sympy(f.subs(x, -x))
        total = _plus(total, oscillating_tail(mirrored, x.name, -start, frequency, until))
    inner = [p for p in (a, b, *seen.points) if p.is_finite and start < p < end]
    inner = sorted(dict.fromkeys(inner), key=float)
    return _plus(total, quadrature(integrand, x.name, start, end, inner, until))


def _plus(first: Quadrature | None, second: Quadrature | None) -> Quadrature | None:
    if first is None or second is None:
        return None
    with mpmath.workdps(40):
        return Quadrature(
            first.value + second.value, first.error + second.error, first.mass + second.mass
        )


def _frequency(f: sympy.Expr, x: sympy.Symbol) -> float | None:
    """The angular frequency of the common period of the circular functions in ``f``."""
    slopes = set()
    for e in f.atoms(sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc):
        if e.has(x):
            slope = e.args[0].diff(x)
            if slope.has(x):
                return None
            slopes.add(slope)
    if not slopes:
        return None
    reference = min(slopes, key=lambda s: abs(float(s)))
    ratios = [sympy.nsimplify(s / reference, rational=True, tolerance=1e-12) for s in slopes]
    below = math.lcm(*(int(r.q) for r in ratios))
    return abs(float(reference)) / below if below <= 12 else None


def _by_sympy(
    f: sympy.Expr, x: sympy.Symbol, a: sympy.Expr, b: sympy.Expr, deadline: float
) -> sympy.Expr | None:
    rest = 0.8 * (deadline - time.monotonic())
    if rest < 0.2:
        return None
    try:
        with time_limit(rest):
            value = sympy.integrate(f, (x, a, b))
            from_sympy(value)
    except (OutOfTime, ConversionError, Exception):  # SymPy raises whatever it likes
        return None
    return None if value.has(sympy.Integral, S.NaN) or value.free_symbols else value
