"""New variables after which an integrand has other functions, or none: f dx = g du.

What is yielded is (name, g, u), ``g`` written in ``x``, as in
:mod:`service.integration.variables`. It need hold on one interval only, where roots are
taken of what is positive: what comes of it is verified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import sympy
from sympy import S
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from service.integration.variables import Change, as_line

#: Roots of a higher order would make polynomials of a high degree.
_HIGHEST_ROOT: Final = 12
#: Parts of an integrand that are tried as a new variable, the smallest first.
_MOST_PARTS: Final = 6
#: Operations of a quotient above which no common factor is looked for.
_LARGEST_QUOTIENT: Final = 60
#: What SymPy raises where an expression is not what one of its functions expects.
STUMBLES: Final = (NotImplementedError, ValueError, TypeError, AttributeError, ZeroDivisionError)


def substitutions(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """All that are found for ``f``, by one way after the other."""
    for way in (_power, _root, _quotient, _part, _symmetric, _tangent):
        # no polynomial where one is expected, or what else SymPy stumbles on: not this way
        with suppress(sympy.PolynomialError, *STUMBLES):
            yield from way(f, x)


def _power(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = x**n where ``x*f`` is a function of it alone: f dx = x f du/(n u). Else u = x > 0."""
    t = sympy.Dummy("t", positive=True)
    positive = _taken_apart(f.xreplace({x: t}), t)
    exponents = {abs(p.exp) for p in positive.atoms(sympy.Pow) if p.base == t and p.exp.is_Rational}
    lowest = math.lcm(*(int(e.q) for e in exponents))
    orders = {e / n for e in exponents for n in sympy.divisors(e.p)} | {sympy.Rational(1, lowest)}
    for order in sorted((n for n in orders - {1} if 1 / n <= _HIGHEST_ROOT), reverse=True):
        g = (t * positive).xreplace({t: t ** (1 / order)}) / (order * t)
        g = _taken_apart(g, t)
        if all(p.exp.is_Integer for p in g.atoms(sympy.Pow) if p.base == t):
            yield "for a power", g.xreplace({t: x}), x**order
            return
    yield "where it is positive", positive.xreplace({t: x}), x


def _root(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = (a*x + b)**(1/q), where all roots of lines in ``f`` are powers of it."""
    roots = [p for p in f.atoms(sympy.Pow) if _is_root(p)]
    lines = {p.base: line for p in roots if p.base != x and (line := as_line(p.base, x))}
    order = math.lcm(*(int(p.exp.q) for p in roots if p.base in lines))
    if len(lines) != 1 or order > _HIGHEST_ROOT:
        return
    ((base, (slope, constant)),) = lines.items()
    t = sympy.Dummy("t", positive=True)
    mark = sympy.Dummy("u", positive=True)
    # the line first, or its root would be one of a power minus a constant
    g = f.xreplace({base: mark}).subs(x, (mark - constant) / slope).xreplace({mark: t**order})
    g = _taken_apart(g * order * t ** (order - 1) / slope, t)
    yield "for a root", g.xreplace({t: x}), base ** sympy.Rational(1, order)


def _quotient(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = (p/q)**(1/n) for lines p, q, whose roots in ``f`` then are powers of u and of q."""
    bars = f.has(sympy.Abs)
    f = _split_roots(f)
    powers = sorted(filter(_is_root, f.atoms(sympy.Pow)), key=sympy.default_sort_key)
    roots = {p.base: p.exp for p in powers}
    lines = [line for base in roots if (line := as_line(base, x))]
    if not len(roots) == len(lines) == 2:
        return
    (p, q), ((a, b), (c, d)) = roots, lines
    order = math.lcm(*(int(exponent.q) for exponent in roots.values()))
    t, mark = sympy.symbols("t u", positive=True, cls=sympy.Dummy)
    if order > _HIGHEST_ROOT or a * d == b * c:
        return
    inner = (d * t**order - b) / (a - c * t**order)
    g = f.xreplace({p: t**order * mark, q: mark}).subs(x, inner)
    g = sympy.powsimp(sympy.expand_power_base(g)).subs(mark, c * inner + d)
    if any(_is_root(e) and e.has(t) for e in g.atoms(sympy.Pow)):
        return
    g = sympy.factor(sympy.cancel(g * inner.diff(t)))
    inside = sympy.Abs(p / q) if bars else p / q
    yield "for a quotient", g.xreplace({t: x}), inside ** sympy.Rational(1, order)


def _symmetric(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = x + 1/x and x - 1/x, for products of roots of polynomials with that symmetry.

    Euler's way with integrals that look elliptic, as of (x**2 - 1)/((x**2 + 1) sqrt(x**4 + 1)).
    """
    u = sympy.Dummy("u", positive=True)
    for sign in (1, -1):
        # u' is (x**2 - sign)/x**2
        quotient = _split_roots(f) * x**2 / (x**2 - sign)
        for form in (sympy.factor(quotient, deep=True), quotient):
            g = _product_in_sum(_split_roots(form), x, sign, u)
            if g is not None:
                yield "for a sum", g.xreplace({u: x}), x + sign / x
                break


def _product_in_sum(
    product: sympy.Expr, x: sympy.Symbol, sign: int, u: sympy.Symbol
) -> sympy.Expr | None:
    """A product of powers of polynomials by u = x + sign/x; None where x stays."""
    g, power = S.One, S.Zero
    for base, exponent in product.as_powers_dict().items():
        if base == x:
            power += exponent
        elif base.is_number:
            g *= base**exponent
        else:
            # of an odd degree, or with another sign, its square may have the symmetry
            inner = _in_sum(base, x, sign, u)
            square = _in_sum(base**2, x, sign, u) if inner is None else None
            if inner is None and square is None:
                return None
            g *= square ** (exponent / 2) if inner is None else inner**exponent
            power += exponent * sympy.degree(base, x) / 2
    return g if power == S.Zero and g.has(u) else None


def _split_roots(e: sympy.Expr) -> sympy.Expr:
    """``e`` with a root of a product as a product of roots, as where its factors are positive."""

    def apart(root: sympy.Pow) -> sympy.Expr:
        factors = sympy.factor(root.base).as_powers_dict().items()
        return sympy.Mul(*(base ** (exponent * root.exp) for base, exponent in factors))

    return e.replace(sympy.Abs, lambda factor: factor).replace(_is_root, apart)


def _is_root(node: sympy.Expr) -> bool:
    return bool(node.is_Pow and node.exp.is_Rational and node.exp.q > 1)


def _in_sum(
    polynomial: sympy.Expr, x: sympy.Symbol, sign: int, u: sympy.Symbol
) -> sympy.Expr | None:
    """q(u) with ``polynomial`` = x**d q(x + sign/x), d half its degree; None without such a q."""
    if not polynomial.is_polynomial(x):
        return None
    form = sympy.Poly(polynomial, x)
    half, odd = divmod(form.degree(), 2)
    if odd or any(form.nth(half - k) != sign**k * form.nth(half + k) for k in range(1, half + 1)):
        return None
    # x**k + (sign/x)**k
    sums = [S(2), u]
    while len(sums) <= half:
        sums.append(sympy.expand(u * sums[-1] - sign * sums[-2]))
    return form.nth(half) + sympy.Add(*(form.nth(half + k) * sums[k] for k in range(1, half + 1)))


def _taken_apart(e: sympy.Expr, t: sympy.Symbol) -> sympy.Expr:
    """Roots of sums without the power of ``t``, a positive symbol, that their terms share."""

    def apart(root: sympy.Pow) -> sympy.Expr:
        terms = sympy.Add.make_args(sympy.expand(root.base))
        exponents = [term.as_coeff_exponent(t)[1] for term in terms]
        if not all(exponent.is_Rational for exponent in exponents):
            return root
        least = min(exponents)
        rest = sympy.Add(*(term / t**least for term in terms))
        return t ** (least * root.exp) * rest**root.exp

    return e.replace(lambda node: _is_root(node) and node.base.is_Add, apart)


def _part(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = a part of ``f`` with f/u' a function of u alone."""
    if f.is_rational_function(x):
        return
    parts = {
        part
        for e in f.atoms(sympy.Function, sympy.Pow)
        for part in (e, *e.args)
        if part.has(x) and not as_line(part, x)
    }
    t = sympy.Dummy("t", positive=True)
    ordered = sorted(parts, key=lambda u: (sympy.count_ops(u), sympy.default_sort_key(u)))
    for u in ordered[:_MOST_PARTS]:
        slope = u.diff(x)
        if u == f or slope == S.Zero:
            continue
        g = (f / slope).subs(u, t)
        if isinstance(u, sympy.exp) and (line := as_line(u.args[0], x)):
            # the inverse is at hand: x = (log(u) - b)/a
            a, b = line
            g = g.subs(x, (sympy.log(t) - b) / a)
        if g.has(x) and g.count_ops() < _LARGEST_QUOTIENT:
            g = sympy.cancel(sympy.powsimp(g))
        if not g.has(x):
            yield "for a part", g.xreplace({t: x}), u


def _tangent(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = tan(a*x), where cos(a*x) is positive, and tan(a*x/2); tanh for hyperbolic functions.

    For functions of multiples of a*x alone.
    """
    for kind, tangent, sign in (
        (TrigonometricFunction, sympy.tan, 1),
        (HyperbolicFunction, sympy.tanh, -1),
    ):
        functions = f.atoms(kind)
        arguments = [e.args[0] / x for e in functions]
        if not arguments or not all(a.is_Rational for a in arguments):
            continue
        a = sympy.gcd_list(arguments)
        rest = f.xreplace({e: sympy.Dummy() for e in functions})
        if rest.has(x):
            continue
        t = sympy.Dummy("t", positive=True)
        square = 1 + sign * t**2
        values = (
            (tangent(a * x), t / sympy.sqrt(square), 1 / sympy.sqrt(square), 1),
            (tangent(a * x / 2), 2 * t / square, (1 - sign * t**2) / square, 2),
        )
        for u, sine, cosine, half in values:
            table = {e: _rational(e, a * x, sine, cosine) for e in functions}
            g = half * f.xreplace(table) / (a * square)
            yield "for a tangent", _combined(g).xreplace({t: x}), u


def _rational(e: sympy.Expr, angle: sympy.Expr, sine: sympy.Expr, cosine: sympy.Expr) -> sympy.Expr:
    """A circular or hyperbolic function of a multiple of ``angle`` by those of ``angle``."""
    circular = isinstance(e, TrigonometricFunction)
    names = (sympy.sin, sympy.cos) if circular else (sympy.sinh, sympy.cosh)
    simple = sympy.expand_trig(names[0](e.args[0])), sympy.expand_trig(names[1](e.args[0]))
    s, c = (part.subs({names[0](angle): sine, names[1](angle): cosine}) for part in simple)
    quotients = {"sin": s, "cos": c, "tan": s / c, "cot": c / s, "sec": 1 / c, "csc": 1 / s}
    return quotients[type(e).__name__.replace("h", "")]


def _combined(g: sympy.Expr) -> sympy.Expr:
    """``g`` with each root of a quotient as a quotient of roots, where both are positive."""

    def apart(root: sympy.Pow) -> sympy.Expr:
        above, below = sympy.fraction(sympy.cancel(root.base))
        powers = (sympy.factor_terms(part) ** root.exp for part in (above, below))
        above, below = (sympy.expand_power_base(power, force=True) for power in powers)
        return above / below

    return sympy.factor_terms(sympy.together(g.replace(_is_root, apart)))
