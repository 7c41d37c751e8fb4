"""Whether every jump and kink of an integrand on an interval has been found.

Zeros of guards are looked for on a grid (:mod:`service.integration.singular`), which a narrow
pulse falls through: ``Heaviside(sin(x) - 0.99999999999)``. Quadrature does not see it, either. So
where an integrand is put together from pieces, an integral of it is only given where the places
at which the pieces meet are known for certain.
"""

from __future__ import annotations

from typing import Final

import sympy
from sympy import S

from service.integration.pieces import CASES
from service.integration.singular import guards
from service.verification.convert import ConversionError, to_sympy
from tokenizer.tree import Tree

#: Heads whose values come in pieces.
PIECEWISE: Final = frozenset({case.__name__ for case in CASES} | {"Mod"})

#: A circular function of u = c x + d whose zeros a grid does find: c times a length of so much.
TURNS: Final = 600

_CIRCULAR: Final = (sympy.sin, sympy.cos, sympy.tan, sympy.cot)


def all_found(
    integrand: Tree, x: sympy.Symbol, a: sympy.Expr, b: sympy.Expr, points: list[sympy.Expr]
) -> bool:
    """Whether ``points`` are all zeros in (a, b) of what the pieces of ``integrand`` hang on.

    False when that is unknown.
    """
    hanging: dict[Tree, None] = {}
    for node in integrand.preorder():
        if node.head in PIECEWISE and node.contains(x.name):
            hanging |= dict.fromkeys(g for g in guards(node) if g.contains(x.name))
    try:
        return all(_found(to_sympy(guard), x, a, b, points) for guard in hanging)
    except (ConversionError, NotImplementedError, TypeError, ValueError):
        return False


def _found(
    guard: sympy.Expr, x: sympy.Symbol, a: sympy.Expr, b: sympy.Expr, points: list[sympy.Expr]
) -> bool:
    if guard.is_polynomial(x) and guard.free_symbols == {x}:
        poly = sympy.Poly(guard, x)
        if not all(c.is_Rational for c in poly.all_coeffs()):
            if poly.degree() > 1:
                return False
            roots = [-poly.nth(0) / poly.nth(1)]
        else:
            roots = sorted(set(poly.real_roots()))
        return all(_met(root, a, b, points) for root in roots)
    if isinstance(guard, _CIRCULAR) and guard.args[0].is_polynomial(x):
        inner = sympy.Poly(guard.args[0], x)
        if inner.degree() == 1 and a.is_finite and b.is_finite:
            return bool(abs(sympy.N(inner.nth(1) * (b - a))) < TURNS)
    if isinstance(guard, sympy.exp):
        return True
    if isinstance(guard, sympy.log):
        return _found(guard.args[0] - 1, x, a, b, points)
    if isinstance(guard, sympy.atan | sympy.sinh | sympy.tanh):
        return _found(guard.args[0], x, a, b, points)
    return False


def _met(root: sympy.Expr, a: sympy.Expr, b: sympy.Expr, points: list[sympy.Expr]) -> bool:
    """Whether ``root`` is outside of (a, b), or one of ``points``."""
    if sympy.N(root - a, 30) <= 0 or sympy.N(b - root, 30) <= 0:
        return True
    near = S.One + abs(sympy.N(root))
    return any(abs(sympy.N(root - point, 30)) < 1e-12 * near for point in points)
