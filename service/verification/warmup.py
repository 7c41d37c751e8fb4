"""Imported once by the fork server, so that every worker is born warm.

The import itself does the work (SymPy is loaded, its caches and polynomial
code have run once): a fork then shares those pages and starts in milliseconds.
"""

from __future__ import annotations

import gc

import sympy

from service.verification.field import field
from service.verification.kernels import FIELDS

#: Degrees of roots that expressions usually hold together.
ORDERS = (2, 4, 6)


def warm_up() -> None:
    """Run each part of SymPy that a first request would otherwise pay for."""
    x = sympy.Symbol("x", real=True)
    for expr in (
        sympy.sin(x**2) / x,
        sympy.exp(2 * x) * sympy.sqrt(x + 1),
        sympy.log(sympy.tan(x)),
    ):
        derivative = sympy.diff(expr, x)
        sympy.simplify(derivative)
        sympy.cancel(sympy.together(derivative))
        derivative.subs(x, sympy.Rational(1, 3)).evalf(30)
    for order in ORDERS:
        for index in range(FIELDS):
            field(order, index)


warm_up()
gc.freeze()
