"""Closed forms for numbers known to thirty digits, by integer relations.

What is found is evidence, not proof: a relation with few small coefficients that
holds to all digits, when there are many more digits than the relation has.
"""

from __future__ import annotations

from typing import Any, Final

import mpmath
import sympy
from sympy import S

#: A relation must have this many fewer digits than the number.
MARGIN: Final = 14
_DIGITS: Final = 30
_LARGEST: Final = 20_000


def closed_form(value: Any, integrand: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """``value`` as a rational multiple of a constant or a combination of a few constants.

    The constants tried are pi, logarithms, roots and those of the integrand.
    """
    if isinstance(value, mpmath.mpc):
        if value.imag != 0:
            return None
        value = value.real
    if value == 0 or abs(value) < mpmath.mpf(10) ** -_DIGITS:
        return S.Zero
    singles = [*_singles(integrand), *_betas(integrand, x)]
    with mpmath.workdps(_DIGITS):
        for constant in singles:
            ratio = value / mpmath.mpf(str(sympy.N(constant, _DIGITS + 5)))
            exact = _rational(ratio)
            if exact is not None:
                return exact * constant
        for basis in _bases(integrand):
            numbers = [value, *(mpmath.mpf(str(sympy.N(c, _DIGITS + 5))) for c in basis)]
            relation = mpmath.pslq(numbers, maxcoeff=1000, maxsteps=20_000)
            if relation is None or relation[0] == 0:
                continue
            size = sum(len(str(abs(c))) for c in relation if c)
            if size <= _DIGITS - MARGIN:
                pairs = zip(relation[1:], basis, strict=True)
                return -sum((c * b for c, b in pairs), S.Zero) / relation[0]
    return None


def _rational(x: Any) -> sympy.Rational | None:
    p0, q0, p1, q1 = 0, 1, 1, 0
    rest = x
    for _ in range(30):
        whole = int(mpmath.floor(rest))
        p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
        if abs(p1) > _LARGEST or q1 > _LARGEST:
            return None
        if abs(mpmath.mpf(p1) / q1 - x) < mpmath.mpf(10) ** -(_DIGITS - 3) * max(1, abs(x)):
            return sympy.Rational(p1, q1) if p1 else None
        if rest == whole:
            return None
        rest = 1 / (rest - whole)
    return None


def _own(integrand: sympy.Expr) -> list[sympy.Expr]:
    found = [
        p for p in integrand.atoms(sympy.Pow, sympy.log, sympy.exp)
        if p.is_number and p.is_real and not p.is_Rational
    ]  # fmt: skip
    return found[:3]


def _singles(integrand: sympy.Expr) -> list[sympy.Expr]:
    roots = [S.One, sympy.sqrt(2), sympy.sqrt(3), sympy.sqrt(5), sympy.sqrt(6)]
    roots += _own(integrand)
    bases = [
        S.One, S.Pi, S.Pi**2, S.Pi**3, sympy.log(2), sympy.log(3), S.Pi * sympy.log(2),
        sympy.log(2) ** 2, sympy.sqrt(S.Pi), 1 / S.Pi, S.Catalan, sympy.zeta(3), S.Exp1,
        S.Pi / sympy.sin(1), sympy.exp(-1), S.Pi * sympy.exp(-1),
    ]  # fmt: skip
    return [base * root for base in bases for root in roots if not (base * root).has(S.Catalan)]


def _betas(integrand: sympy.Expr, x: sympy.Symbol) -> list[sympy.Expr]:
    """Values of the beta function at the exponents of the integrand."""
    exponents = {p.exp for p in integrand.atoms(sympy.Pow) if p.base.has(x) and p.exp.is_Rational}
    shifted = [e + 1 for e in exponents if e > -1 and not e.is_Integer] + [S.One]
    return [sympy.beta(p, q) for p in shifted for q in shifted if p <= q and p + q != 2]


def _bases(integrand: sympy.Expr) -> list[list[sympy.Expr]]:
    pi, log2, log3 = S.Pi, sympy.log(2), sympy.log(3)
    own = _own(integrand)
    bases = [
        [S.One, pi, log2],
        [S.One, pi, pi**2],
        [S.One, pi, log2, log3],
        [pi**2, log2**2, pi * log2],
        [S.One, sympy.sqrt(2), pi, sympy.sqrt(2) * pi],
        [S.One, sympy.sqrt(3), pi, sympy.sqrt(3) * pi],
        [S.One, S.Exp1, sympy.exp(-1)],
        [S.One, sympy.sin(1), sympy.cos(1)],
        [sympy.sqrt(2), log2 * sympy.sqrt(2), sympy.log(1 + sympy.sqrt(2)), S.One],
    ]
    if own:
        bases.insert(0, [S.One, pi, *own, *(pi * c for c in own)])
    return bases
