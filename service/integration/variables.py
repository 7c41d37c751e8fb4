"""Changes of variable that bring an integrand to a shape that is known better.

With u = u(x), ``f`` dx is ``g`` du. What they yield is (name, g, u), ``g`` written in ``x``.
It need hold on one interval only, with one branch of each root: what comes of it is verified.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import sympy
from sympy import S

#: Inverse function -> the function that it undoes.
INVERSES: Final = {
    sympy.asin: sympy.sin, sympy.acos: sympy.cos, sympy.atan: sympy.tan,
    sympy.asinh: sympy.sinh, sympy.acosh: sympy.cosh, sympy.atanh: sympy.tanh,
    sympy.log: sympy.exp,
}  # fmt: skip

Change = tuple[str, sympy.Expr, sympy.Expr]


def changes_of_variable(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """Those that keep the functions of ``f``, but for a constant factor of ``g``."""
    yield from _scaled(f, x)
    yield from _inverted(f, x)


def _scaled(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Change]:
    """u = a*x + b for the awkward linear arguments of functions and powers in ``f``."""
    seen: set[sympy.Expr] = set()
    inner = [u for e in f.atoms(sympy.Function) for u in e.args[:1] if isinstance(u, sympy.Expr)]
    inner += [p.base for p in f.atoms(sympy.Pow)] + [p.exp for p in f.atoms(sympy.Pow)]
    for u in inner:
        if u in seen or u == x:
            continue
        seen.add(u)
        line = as_line(u, x)
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
        line = as_line(inverse.args[0], x)
        if line is None:
            continue
        slope, constant = line
        # another symbol, or SymPy would ask itself which branch asin(sin(u)) is on
        mark = sympy.Dummy("u", real=True)
        value = (INVERSES[type(inverse)](x) - constant) / slope
        rest = f.xreplace({inverse: mark}).subs(x, value) * value.diff(x)
        yield "inverted", _rooted(rest).xreplace({mark: x}), inverse


def _rooted(e: sympy.Expr) -> sympy.Expr:
    """Roots of squares such as 1 - sin(u)**2 taken, on an interval where they are positive."""
    rooted = e.replace(
        lambda node: node.is_Pow and node.exp.is_Rational and not node.exp.is_Integer,
        lambda node: sympy.powdenest(sympy.trigsimp(node.base) ** node.exp, force=True),
    )
    return rooted.replace(sympy.Abs, lambda argument: argument)


def as_line(u: sympy.Expr, x: sympy.Symbol) -> tuple[sympy.Expr, sympy.Expr] | None:
    """(a, b) of u = a*x + b, a not zero."""
    if not u.has(x) or not u.is_polynomial(x):
        return None
    slope, constant = u.coeff(x, 1), u.coeff(x, 0)
    line = slope != S.Zero and sympy.expand(u - slope * x - constant) == S.Zero
    return (slope, constant) if line else None
