"""Imported once by the fork server, so that every worker is born warm.

The import itself does the work (SymPy and SciPy are loaded, their caches are
filled, the prime fields are drawn): a fork then shares those pages and starts
in milliseconds.
"""

from __future__ import annotations

import gc
import os
from itertools import product

# a worker computes on one core, and the threads of a BLAS do not survive a fork
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# SymPy remembers that many results of each of its functions, 1000 unless set. They are of the
# question at hand and of strangers: with 300 proofs by SymPy are hardly slower, with 100 they are,
# and memory is at its bound after some hundred questions and not after thousands
os.environ.setdefault("SYMPY_CACHE_SIZE", "300")

import sympy

from service.verification.compositions import DIRECT, INVERSE, composed
from service.verification.convert import from_sympy
from service.verification.derivative import (
    check_derivative,
    differentiate_symbolically,
)
from service.verification.differentiation import derivative
from service.verification.field import field
from service.verification.kernels import FIELDS
from service.verification.proofs import follows
from tokenizer.heads import ELEMENTARY
from tokenizer.tree import call, symbol

#: Degrees of roots that expressions usually hold together.
ORDERS = (2, 4, 6)


def warm_up() -> None:
    """Run each part that a first request would otherwise pay for."""
    x = sympy.Symbol("x", real=True)
    for order in ORDERS:
        for index in range(FIELDS):
            field(order, index)
    for outer, inner in product(DIRECT, INVERSE):
        composed(call(outer, call(inner, symbol("x"))))
    for head in ELEMENTARY:
        follows(call(head, symbol("x")), "x", symbol("x"))
    for expr in (
        sympy.sin(x**2) / x,
        sympy.exp(2 * x) * sympy.sqrt(x + 1),
        sympy.log(sympy.tan(x)) + sympy.atan(x),
    ):
        tree = from_sympy(expr)
        slope = derivative(expr, x)
        check_derivative(tree, "x", [from_sympy(sympy.together(slope))], 30.0)
        differentiate_symbolically(tree, "x", 1, 30.0)
        sympy.simplify(slope)


warm_up()
gc.freeze()
