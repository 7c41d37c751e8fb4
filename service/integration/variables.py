"""Changes of variable that bring an integrand to a shape that is known better.

With u = u(x), ``f`` dx is ``g`` du. What they yield is (name, g, u), ``g`` written in ``x``.
It need hold on one interval only, with one branch of each root: what comes of it is verified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import sympy
from sympy import S
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import TrigonometricFunction

#: Inverse function -> the function that it undoes.
INVERSES: Final = {
    sympy.asin: sympy.sin, sympy.acos: sympy.cos, sympy.atan: sympy.tan,
    sympy.asinh: sympy.sinh, sympy.acosh: sympy.cosh, sympy.atanh: sympy.tanh,
    sympy.log: sympy.exp,
}  # fmt: skip

#: Roots of a higher order would make polynomials of a high degree.
_HIGHEST_ROOT: Final = 12
#: Parts of an integrand that are tried as a new variable, the smallest first.
_MOST_PARTS: Final = 6
#: Operations of a quotient above which no common factor is looked for.
_LARGEST_QUOTIENT: Final = 60


Change = tuple[str, sympy.Expr, sympy.Expr]


def changes_of_variable(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """Those that keep the functions of ``f``, but for a constant factor of ``g``."""
    yield from _scaled(f, x)
    yield from _inverted(f, x)


def substitutions(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """Those after which other functions are left, or none."""
    yield from _power(f, x)
    yield from _root(f, x)
    yield from _part(f, x)
    yield from _tangent(f, x)


def _scaled(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = a*x + b for the awkward linear arguments of functions and powers in ``f``."""
    seen: set[sympy.Expr] = set()
    inner = [u for e in f.atoms(sympy.Function) for u in e.args[:1] if isinstance(u, sympy.Expr)]
    inner += [p.base for p in f.atoms(sympy.Pow)] + [p.exp for p in f.atoms(sympy.Pow)]
    for u in inner:
        if u in seen or u == x:
            continue
        seen.add(u)
        line = _line(u, x)
        if line is not None:
            slope, constant = line
            yield "scaled", sympy.expand(f.subs(x, (x - constant) / slope), log=False), u


def _inverted(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = asin(a*x + b) and the like, where other functions are applied to it."""
    outer = [e for e in f.atoms(sympy.Function, sympy.Pow) if not e.is_Pow or e.exp.has(x)]
    inverses = sorted(
        (e for e in f.atoms(*INVERSES) if any(e in o.atoms(type(e)) and o != e for o in outer)),
        key=sympy.default_sort_key,
    )
    for inverse in inverses:
        line = _line(inverse.args[0], x)
        if line is None:
            continue
        slope, constant = line
        # another symbol, or SymPy would ask itself which branch asin(sin(u)) is on
        mark = sympy.Dummy("u", real=True)
        value = (INVERSES[type(inverse)](x) - constant) / slope
        rest = f.xreplace({inverse: mark}).subs(x, value) * value.diff(x)
        yield "inverted", _rooted(rest).xreplace({mark: x}), inverse


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
    roots = [p for p in f.atoms(sympy.Pow) if p.exp.is_Rational and not p.exp.is_Integer]
    lines = {p.base: line for p in roots if p.base != x and (line := _line(p.base, x))}
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

    return e.replace(
        lambda node: node.is_Pow and node.base.is_Add and node.exp.is_Rational and node.exp.q > 1,
        apart,
    )


def _part(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = a part of ``f`` with f/u' a function of u alone."""
    if f.is_rational_function(x):
        return
    parts = {
        part
        for e in f.atoms(sympy.Function, sympy.Pow)
        for part in (e, *e.args)
        if part.has(x) and not _line(part, x)
    }
    t = sympy.Symbol("t", positive=True)
    for u in sorted(parts, key=sympy.count_ops)[:_MOST_PARTS]:
        slope = u.diff(x)
        if u == f or slope == S.Zero:
            continue
        g = (f / slope).subs(u, t)
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

    g = g.replace(
        lambda node: node.is_Pow and node.exp.is_Rational and node.exp.q > 1,
        apart,
    )
    return sympy.factor_terms(sympy.together(g))


def _rooted(e: sympy.Expr) -> sympy.Expr:
    """Roots of squares such as 1 - sin(u)**2 taken, on an interval where they are positive."""
    rooted = e.replace(
        lambda node: node.is_Pow and node.exp.is_Rational and not node.exp.is_Integer,
        lambda node: sympy.powdenest(sympy.trigsimp(node.base) ** node.exp, force=True),
    )
    return rooted.replace(sympy.Abs, lambda argument: argument)


def _line(u: sympy.Expr, x: sympy.Symbol) -> tuple[sympy.Expr, sympy.Expr] | None:
    """(a, b) of u = a*x + b, a not zero."""
    if not u.has(x) or not u.is_polynomial(x):
        return None
    slope, constant = u.coeff(x, 1), u.coeff(x, 0)
    line = slope != S.Zero and sympy.expand(u - slope * x - constant) == S.Zero
    return (slope, constant) if line else None
