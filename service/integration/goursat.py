"""Primitives that look elliptic and are elementary, by a symmetry of the radicand.

Goursat (Bull. SMF 15, 1887) has the reason; the forms are those of the standard tables:

    dx/((c + d x**2) (a + b x**2)**(1/3)),  b c = 9 a d  or  b c + 3 a d = 0
    dx/((c + d x) (a + b x**3)**(1/3)),     b c**3 + a d**3 = 0  or  2 b c**3 = a d**3
    x dx/((c + d x**3) sqrt(a + b x**3)),   b c = 4 a d  or  b c = -8 a d

Only logarithms and arctangents are offered; linear algebra finds their coefficients, and
nothing for integrands that are not of the kind.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy

_TWO_THIRDS = sympy.Rational(2, 3)


def primitives(
    radicand: sympy.Expr, index: int, below: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Candidates for q/Y, Y**index = ``radicand`` and q a factor of ``below`` (polynomials)."""
    try:
        form = sympy.Poly(radicand, x)
        factors = [sympy.Poly(q, x) for q, _ in sympy.factor_list(below, x)[1]]
        if len(factors) > 1:  # 8 - x**3 is meant as a whole
            factors.append(sympy.Poly(below, x))
    except sympy.PolynomialError:
        return
    numbers = [*form.coeffs(), *(c for q in factors for c in q.coeffs())]
    if not all(c.is_Rational for c in numbers):
        return
    degree = form.degree()
    if any(form.nth(k) for k in range(1, degree)) or not form.nth(0):
        return
    a, b = form.nth(0), form.nth(degree)
    root = radicand ** sympy.Rational(1, index)
    for q in factors:
        c, d = q.nth(0), q.nth(q.degree())
        if not c or any(q.nth(k) for k in range(1, q.degree())):
            continue
        if (index, degree, q.degree()) == (3, 2, 2):
            yield from _quadratic(a, b, c, d, root, x)
        elif (index, degree, q.degree()) == (3, 3, 1):
            yield from _linear(a, b, c, d, root, x)
        elif (index, degree, q.degree()) == (2, 3, 3):
            yield from _cubic(a, b, c, d, root, x)


def _inverse_tangents(u: sympy.Expr, square: sympy.Expr) -> sympy.Expr:
    """The primitive that belongs to 1 + square*u**2 up to its factor."""
    s = sympy.sqrt(abs(square))
    return sympy.atan(s * u) if square > 0 else sympy.log((1 + s * u) / (1 - s * u))


def _quadratic(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, d: sympy.Expr, root: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    k = sympy.real_root(a, 3)
    m = b / a
    if b * c == 9 * a * d:
        yield _inverse_tangents(x / 3, m)
        yield _inverse_tangents((k - root) ** 2 / (3 * k**2 * m * x), m)
        yield _inverse_tangents((k - root) / (k * m * x), -3 * m)
    elif b * c == -3 * a * d:
        h = sympy.root(2, 3)
        yield _inverse_tangents(x, m)
        yield _inverse_tangents(1 / x, -3 / m)
        yield _inverse_tangents(k * x / (k + h * root), m)
        yield _inverse_tangents((k - h * root) / (k * m * x), -3 * m)


def _linear(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, d: sympy.Expr, root: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    r = sympy.real_root(b, 3)
    if b * c**3 == -a * d**3:
        line, factor = r * (c - d * x), -sympy.root(4, 3) * d
    elif 2 * b * c**3 == a * d**3:
        line, factor = r * (2 * c + d * x), d
        yield sympy.log(r * x - root)
        yield sympy.atan((1 + 2 * r * x / root) / sympy.sqrt(3))
    else:
        return
    yield sympy.log(c + d * x)
    yield sympy.log(line)
    yield sympy.log(line - factor * root)
    yield sympy.atan((1 + 2 * line / (factor * root)) / sympy.sqrt(3))


def _cubic(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, d: sympy.Expr, root: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    s = sympy.sqrt(abs(a))
    sign = sympy.sign(a)
    if b * c == 4 * a * d:
        q = sympy.root(2, 3) * sympy.real_root(b / a, 3)
        yield _inverse_tangents(root / s, -sign)
        yield _inverse_tangents(root / (sympy.sqrt(3) * s), sign)
        yield _inverse_tangents(s * (1 - q * x) / root, -sign)
        yield _inverse_tangents(sympy.sqrt(3) * s * (1 + q * x) / root, sign)
    elif b * c == -8 * a * d:
        q = sympy.real_root(b / a, 3)
        yield _inverse_tangents(root / (3 * s), -sign)
        yield _inverse_tangents(s * (1 + q * x) ** 2 / (3 * root), -sign)
        yield _inverse_tangents(sympy.sqrt(3) * s * (1 + q * x) / root, sign)
