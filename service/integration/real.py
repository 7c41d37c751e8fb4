"""Antiderivatives over the reals: real wherever the integrand is.

Each rewriting changes an antiderivative by a constant on every interval, so that
its derivative stays what it is: log(u) becomes log|u|, and inverse hyperbolic
functions become logarithms where their own real domain is too small.
"""

from __future__ import annotations

import sympy
from sympy import S


def make_real(antiderivative: sympy.Expr, integrand: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """``antiderivative`` with logarithms of absolute values.

    Functions that the integrand itself contains stay as they are, since it is real
    only where they are.
    """
    keep = integrand.atoms(sympy.log, sympy.acosh, sympy.atanh, sympy.acoth, sympy.asech)

    def change(e: sympy.Expr) -> sympy.Expr:
        if e in keep or not e.args or not e.has(x):
            return e
        args = [change(arg) for arg in e.args]
        if isinstance(e, sympy.log):
            return real_log(args[0])
        if isinstance(e, sympy.acosh):
            return real_log(args[0] + sympy.sqrt(args[0] ** 2 - 1))
        if isinstance(e, sympy.atanh | sympy.acoth):
            return real_log((1 + args[0]) / (1 - args[0])) / 2
        if isinstance(e, sympy.asech):
            return real_log((1 + sympy.sqrt(1 - args[0] ** 2)) / args[0])
        return e.func(*args)

    return change(antiderivative)


def with_real_roots(e: sympy.Expr) -> sympy.Expr:
    """``e`` without I where it only undoes a root of what is negative, as in I*sqrt(-x).

    As it stands where there is more to it.
    """
    if not e.has(S.ImaginaryUnit):
        return e
    turned = e.replace(
        lambda node: node.is_Pow and (2 * node.exp).is_Integer and not node.exp.is_Integer,
        lambda node: (
            S.ImaginaryUnit ** (2 * node.exp) * (-node.base) ** node.exp
            if node.base.could_extract_minus_sign()
            else node
        ),
    )
    return e if turned.has(S.ImaginaryUnit) else turned


def real_log(u: sympy.Expr) -> sympy.Expr:
    """log|u|, without the bars where u has one sign on the real line."""
    if u.is_extended_real is False or u.has(S.ImaginaryUnit):
        return sympy.log(u)
    sign = sign_of(u)
    if sign:
        return sympy.log(sign * u)
    return sympy.log(sympy.Abs(u))


def sign_of(u: sympy.Expr) -> int:
    """1 or -1 when u is positive or negative for all real values, 0 when that is not clear."""
    if u.is_positive:
        return 1
    if u.is_negative:
        return -1
    symbols = u.free_symbols
    if len(symbols) != 1:
        return 0
    (x,) = symbols
    if u.is_polynomial(x) and all(c.is_Rational for c in sympy.Poly(u, x).all_coeffs()):
        if sympy.Poly(u, x).count_roots() == 0:
            return 1 if u.subs(x, 0) > 0 else -1
        return 0
    if u.is_polynomial(x) and sympy.degree(u, x) == 2:
        lead, linear, last = sympy.Poly(u, x).all_coeffs()
        if sympy.N(linear**2 - 4 * lead * last, 30) < 0:
            return int(sympy.sign(sympy.N(lead, 30)))
        return 0
    constant, rest = u.as_coeff_Add()
    bound = S.Zero
    for term in sympy.Add.make_args(rest):
        coefficient, factor = term.as_coeff_Mul()
        if not isinstance(factor, sympy.sin | sympy.cos):
            return 0
        bound += abs(coefficient)
    return int(sympy.sign(constant)) if abs(constant) > bound else 0
