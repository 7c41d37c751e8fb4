"""Integrals to infinity of sin(c*x**n) and the like, in u = x**n: there the waves are even.

What sums an oscillating tail (:func:`service.integration.quadrature.oscillating_tail`)
wants whole periods of one length.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy
from sympy import S
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from service.verification.convert import to_sympy
from tokenizer.tree import Tree


@dataclass(frozen=True, slots=True)
class Straight:
    """The integral of ``integrand`` from ``lower`` to oo is the one asked for.

    ``antiderivative`` is what the given one becomes, None where there was none.
    """

    integrand: sympy.Expr
    lower: sympy.Expr
    antiderivative: sympy.Expr | None


def straightened(
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    antiderivative: Tree | None,
) -> Straight | None:
    """The integral of ``f`` from ``a`` to ``b`` in u = x**n.

    None when no wave needs it, when the waves differ in n, or when the interval is
    neither a half line on one side of 0 nor the whole line.
    """
    if not (b is S.Infinity or a is S.NegativeInfinity):
        return None
    power = _power(f, x)
    if power is None:
        return None
    big = None if antiderivative is None else to_sympy(antiderivative)
    if a is S.NegativeInfinity and b is S.Infinity:
        # both halves must converge by themselves, so only equal ones go together
        if sympy.expand(f - f.subs(x, -x)) != 0:
            return None
        f, a = 2 * f, S.Zero
        big = None if big is None else big - big.subs(x, -x)
    elif a is S.NegativeInfinity:
        f, a = f.subs(x, -x), -b
        big = None if big is None else -big.subs(x, -x)
    if a.is_negative is not False:
        return None
    # SymPy takes the power of a root of a positive number for what it is
    u = sympy.Dummy("u", positive=True)
    root = u ** (1 / power)
    inside = sympy.powsimp(f.subs(x, root) * root.diff(u))
    return Straight(
        inside.subs(u, x), a**power, None if big is None else big.subs(x, root).subs(u, x)
    )


def _power(f: sympy.Expr, x: sympy.Symbol) -> sympy.Rational | None:
    """n > 1 when every circular function of x in ``f`` is one of a multiple of x**n."""
    powers = set()
    for wave in f.atoms(TrigonometricFunction):
        if wave.has(x):
            _, rest = wave.args[0].as_independent(x, as_Add=False)
            base, power = rest.as_base_exp()
            powers.add(power if base == x and power.is_Rational and power > 1 else None)
    return powers.pop() if len(powers) == 1 else None
