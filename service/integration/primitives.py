"""Primitives of p(u)/q(u): the logarithms and arctangents that a factor q brings.

Gradshteyn & Ryzhik 2.10–2.14: q irreducible over Q, of degree 1 or 2, a biquadratic or
palindromic quartic, u**3 - c, u**6 - c, u**8 + b*u**4 + c.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from sympy import S


def factor_primitives(q: sympy.Expr, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """Logarithms and arctangents in the primitives of p(u)/q(u), q irreducible over Q."""
    polynomial = sympy.Poly(q, u)
    yield sympy.log(q)
    match polynomial.degree():
        case 2:
            yield from _quadratic(*polynomial.all_coeffs(), u=u)
        case 3:
            a, b, c, d = polynomial.all_coeffs()
            if b == 0 and c == 0 and (d / a).is_Rational:
                r = sympy.real_root(-d / a, 3)
                yield sympy.log(u - r)
                yield from _over_field(S.One, r, r * r, u)
        case 4:
            yield from _quartic(polynomial, u)
        case 6:
            a, *middle, d = polynomial.all_coeffs()
            if not any(middle) and (d / a).is_Rational:
                yield from _sixth(d / a, u)
        case 8:
            yield from _eighth(polynomial, u)


def binomial_primitives(n: int, c: sympy.Rational, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """Primitives of u**j/(u**n + c), j = 0 … n - 1, by the residues at the roots.

    The roots are r*exp(i*theta), r**n = |c|; at each the residue of u**j/(u**n + c) is
    -root**(j + 1)/(n*c) (Gradshteyn & Ryzhik 2.142–2.144). One expression each, so that the
    cosines need not be recognised as coefficients.
    """
    r = sympy.root(abs(c), n)
    odd = 1 if c > 0 else 0
    angles = [(2 * k + odd) * sympy.pi / n for k in range(n)]
    for j in range(n):
        # shared powers make it the primitive in another variable
        if sympy.gcd(j + 1, n) > 1:
            continue
        parts: list[sympy.Expr] = []
        for angle in angles:
            cos, sin = sympy.cos(angle), sympy.sin(angle)
            size = sympy.cos((j + 1) * angle)
            if sin == 0:
                parts.append(size * sympy.log(u - r * cos))
            elif angle < sympy.pi:
                parts.append(size * sympy.log(u**2 - 2 * r * cos * u + r**2))
                turn = sympy.sin((j + 1) * angle)
                parts.append(-2 * turn * sympy.atan((u - r * cos) / (r * sin)))
        yield -(r ** (j + 1)) / (n * c) * sympy.Add(*parts)


def _quadratic(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, *, u: sympy.Symbol
) -> Iterator[sympy.Expr]:
    disc = sympy.expand(b * b - 4 * a * c)
    slope = 2 * a * u + b
    if disc.is_positive is not True:
        yield sympy.atan(sympy.radsimp(slope / square_root(-disc)))
    if disc.is_positive is not False:
        s = square_root(disc)
        yield sympy.log((slope - s) / (slope + s))


def _over_field(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, u: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """log and atan of a quadratic whose coefficients are real radicals."""
    yield sympy.log(a * u**2 + b * u + c)
    disc = sympy.radsimp(sympy.expand(b * b - 4 * a * c))
    slope = 2 * a * u + b
    if disc.is_negative:
        yield sympy.atan(slope / sympy.sqrtdenest(sympy.sqrt(-disc)))
    elif disc.is_positive:
        s = sympy.sqrtdenest(sympy.sqrt(disc))
        yield sympy.log((slope - s) / (slope + s))


def _quartic(polynomial: sympy.Poly, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    a, b, c, d, e = polynomial.all_coeffs()
    if b == 0 and d == 0:
        yield from _biquadratic(c / a, e / a, u)
    elif a == e and b == d:
        # palindromic: u + 1/u obeys a quadratic equation
        disc = b * b - 4 * a * (c - 2 * a)
        if disc.is_positive:
            for sign in (1, -1):
                yield from _over_field(S.One, (b + sign * square_root(disc)) / (2 * a), S.One, u)


def _biquadratic(b: sympy.Expr, c: sympy.Expr, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """u**4 + b*u**2 + c in two factors, through u**2 or a middle term that cancels."""
    disc = sympy.expand(b * b - 4 * c)
    if disc.is_positive:
        s = sympy.sqrtdenest(square_root(disc))
        for sign in (1, -1):
            yield from _over_field(S.One, S.Zero, (b + sign * s) / 2, u)
    if c.is_positive and (disc.is_negative or square_root(c).is_Rational):
        r = square_root(c)
        m = 2 * r - b
        if m.is_positive:
            s = sympy.sqrtdenest(square_root(m))
            yield from _over_field(S.One, s, r, u)
            yield from _over_field(S.One, -s, r, u)


def _eighth(polynomial: sympy.Poly, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """u**8 + b*u**4 + c: two biquadratic quartics."""
    a, *middle, c = polynomial.all_coeffs()
    b = middle.pop(3)
    if any(middle):
        return
    b, c = b / a, c / a
    disc = b * b - 4 * c
    if disc.is_positive:
        for sign in (1, -1):
            yield from _biquadratic(S.Zero, (b + sign * sympy.sqrt(disc)) / 2, u)
    elif disc.is_negative:
        r = sympy.sqrt(c)
        m = sympy.sqrt(2 * r - b)
        yield from _biquadratic(m, r, u)
        yield from _biquadratic(-m, r, u)


def _sixth(c: sympy.Expr, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """u**6 + c without rational factors: through u**3 and u**2."""
    if c.is_negative:
        r = sympy.root(-c, 6)
        yield sympy.log((u - r) / (u + r))
        for sign in (1, -1):
            yield from _over_field(S.One, sign * r, r * r, u)
    else:
        r = sympy.root(c, 6)
        for b in (S.Zero, sympy.sqrt(3) * r, -sympy.sqrt(3) * r):
            yield from _over_field(S.One, b, r * r, u)


def square_root(value: sympy.Expr) -> sympy.Expr:
    """A square root without absolute values of parameters: the sign does not matter here."""
    positive = {s: sympy.Dummy(s.name, positive=True) for s in value.free_symbols}
    root = sympy.sqrt(sympy.factor(value.subs(positive)))
    return root.subs({dummy: s for s, dummy in positive.items()})
