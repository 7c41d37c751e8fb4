"""Antiderivatives without jumps where the integrand has none.

The tangent of half an angle brings in jumps at its poles: F(t) tends to different
values as t -> +oo and t -> -oo. A step function at the poles makes up for it
(Jeffrey & Rich 1994, "The evaluation of trigonometric integrals avoiding spurious
discontinuities").
"""

from __future__ import annotations

from typing import Final

import sympy
from sympy import S


def make_continuous(
    antiderivative: sympy.Expr, integrand: sympy.Expr, x: sympy.Symbol
) -> sympy.Expr:
    """``antiderivative`` plus steps at the poles of a tangent or cotangent inside of it.

    A sign that jumps is treated in the same way. Unchanged where the jump cannot be
    found at once, is none, or is where the integrand is singular too.
    """
    mended = _mend_steps(_mend_signs(antiderivative, integrand, x), x)
    return _mend_tangent(mended, integrand, x)


def _mend_steps(antiderivative: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """Close the jumps of a polynomial in x and the floor or ceiling of ``a*x + b``.

    The jump at the n-th step is a polynomial in n, and so is the sum of the first n.
    """
    steps = antiderivative.atoms(sympy.floor, sympy.ceiling)
    if len(steps) != 1:
        return antiderivative
    (step,) = steps
    level, n, u = sympy.Dummy("level"), sympy.Dummy("n", integer=True), step.args[0]
    inner = antiderivative.subs(step, level)
    if not (u.is_polynomial(x) and sympy.degree(u, x) == 1 and inner.is_polynomial(x, level)):
        return antiderivative
    at = _zero_of_line(u - n, x)
    # floor(u) goes from n - 1 to n where u = n, ceiling(u) from n to n + 1
    before = n - 1 if isinstance(step, sympy.floor) else n
    jump = sympy.expand((inner.subs(level, before + 1) - inner.subs(level, before)).subs(x, at))
    if jump == 0:
        return antiderivative
    first = n - before  # the first step after the level 0
    total = sympy.summation(jump.subs(n, n - 1 + first), (n, 1, level))
    return antiderivative - sympy.factor(total.subs(level, step))


#: Highest degree of a polynomial whose sign is looked at.
MAX_DEGREE: Final = 4


def _mend_signs(antiderivative: sympy.Expr, integrand: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """Close the jumps at the zeros of u for each sign(u), |u| or Heaviside(u), u a polynomial."""
    kinds = (sympy.sign, sympy.Abs, sympy.Heaviside)
    inside = {node.args[0] for node in antiderivative.atoms(*kinds)}
    steps = []
    for u in sorted(inside, key=sympy.default_sort_key):
        others = inside - {u}
        for zero, step in _sign_changes(u, x):
            if not _finite(integrand, x, zero) or any(v.subs(x, zero) == 0 for v in others):
                continue
            sides = []
            for side in (S.One, S.NegativeOne):
                table = {sympy.sign(u): side, sympy.Abs(u): side * u}
                table |= {node: (1 + side) / 2 for node in antiderivative.atoms(sympy.Heaviside)
                          if node.args[0] == u}  # fmt: skip
                branch = antiderivative.xreplace(table)
                if not _finite(branch, x, zero):
                    break
                sides.append(branch.subs(x, zero))
            else:
                jump = sympy.expand(sides[0] - sides[1])
                heaviside = sympy.Heaviside(u)
                # one step of it closes one jump: of several zeros each has a step of its own
                alone = step == sympy.sign(u) and antiderivative.has(heaviside)
                steps.append(jump * heaviside if alone else jump / 2 * step)
    return sympy.factor_terms(antiderivative - sympy.Add(*steps)) if any(steps) else antiderivative


def _sign_changes(u: sympy.Expr, x: sympy.Symbol) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """(zero, step): a zero of u, and what goes from -1 to 1 there when u does."""
    if not (u.is_polynomial(x) and 1 <= sympy.degree(u, x) <= MAX_DEGREE):
        return []
    if sympy.degree(u, x) == 1:
        return [(_zero_of_line(u, x), sympy.sign(u))]
    if u.free_symbols != {x}:
        return []
    try:
        zeros = sympy.real_roots(sympy.Poly(u, x, extension=True))
    except NotImplementedError:
        # coefficients such as pi
        return []
    changes = []
    for zero in dict.fromkeys(zeros):
        slope = u.diff(x).subs(x, zero)
        # at a double zero u keeps its sign
        if not zero.has(sympy.CRootOf) and slope.is_zero is False:
            changes.append((zero, sympy.sign(slope) * sympy.sign(x - zero)))
    return changes


def _mend_tangent(antiderivative: sympy.Expr, integrand: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    tangents = [
        t for t in antiderivative.atoms(sympy.tan, sympy.cot)
        if t.args[0].is_polynomial(x) and sympy.degree(t.args[0], x) == 1
    ]  # fmt: skip
    if len(tangents) != 1 or antiderivative.has(sympy.floor):
        return antiderivative
    (tangent,) = tangents
    angle = tangent.args[0]
    cotangent = isinstance(tangent, sympy.cot)
    mark = sympy.Dummy("t", real=True)
    inner = antiderivative.subs(tangent, mark)
    varying = [part for part in sympy.Add.make_args(inner) if part.has(mark)]
    if any(part.has(x) for part in varying):
        return antiderivative
    pole = _zero_of_line(angle - (0 if cotangent else S.Pi / 2), x)
    if not _finite(integrand, x, pole):
        return antiderivative
    total = sympy.Add(*varying)
    above, below = _limit(total, mark, S.Infinity), _limit(total, mark, S.NegativeInfinity)
    if above is None or below is None:
        return antiderivative
    jump = sympy.expand(above - below)
    if cotangent:
        jump = -jump
    if jump == 0:
        return antiderivative
    step = sympy.floor((angle if cotangent else angle + S.Pi / 2) / S.Pi)
    return antiderivative + jump * step


def _zero_of_line(u: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """x with a*x + b = 0."""
    return sympy.expand(-u.subs(x, 0) / u.diff(x))


def _finite(e: sympy.Expr, x: sympy.Symbol, point: sympy.Expr) -> bool:
    value = e.subs(x, point)
    return not value.has(S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity)


def _limit(e: sympy.Expr, t: sympy.Symbol, to: sympy.Expr) -> sympy.Expr | None:
    """The limit of a sum of rational functions, and of their arctangents and logarithms."""
    total = S.Zero
    for part in sympy.Add.make_args(e):
        coefficient, rest = part.as_independent(t, as_Add=False)
        if isinstance(rest, sympy.atan):
            inside = rest.args[0]
            value = sympy.limit(inside, t, to) if inside.is_rational_function(t) else None
            if value is None or value.has(sympy.Limit, S.NaN):
                return None
            total += coefficient * sympy.atan(value)
        elif rest.is_rational_function(t) or isinstance(rest, sympy.log):
            inside = rest.args[0] if isinstance(rest, sympy.log) else rest
            if isinstance(inside, sympy.Abs):
                inside = inside.args[0]
            if not inside.is_rational_function(t):
                return None
            value = sympy.limit(inside, t, to)
            if not value.is_finite or (isinstance(rest, sympy.log) and value == 0):
                return None
            total += coefficient * (sympy.log(abs(value)) if isinstance(rest, sympy.log) else value)
        else:
            return None
    return total
