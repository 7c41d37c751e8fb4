"""Conditions on parameters under which an antiderivative makes sense."""

from __future__ import annotations

from dataclasses import dataclass

import sympy


@dataclass(frozen=True, slots=True)
class Condition:
    """``text`` is what must hold, such as ``n != -1``.

    Where it fails because one symbol has one value, ``symbol`` and ``value`` say so.
    ``sign`` is not 0 where the symbol must have this sign, and the value is zero.
    """

    text: str
    symbol: sympy.Symbol | None = None
    value: sympy.Expr | None = None
    sign: int = 0

    @property
    def failing(self) -> str:
        """The condition of the special case, such as ``n = -1``."""
        return f"{self.symbol} = {self.value}"


def conditions(
    antiderivative: sympy.Expr, integrand: sympy.Expr, x: sympy.Symbol
) -> list[Condition]:
    """What the parameters must satisfy for ``antiderivative`` where ``integrand`` needs less.

    Denominators free of the variable must not vanish; radicands of even roots free of
    the variable must be positive for a real answer.
    """
    found: dict[str, Condition] = {}
    known = integrand.atoms(sympy.Pow)
    for power in sorted(antiderivative.atoms(sympy.Pow), key=sympy.default_sort_key):
        base, exponent = power.base, power.exp
        if base.has(x) or not base.free_symbols or power in known or not exponent.is_Rational:
            continue
        if exponent.q % 2 == 0 and not base.is_nonnegative:
            negative = base.could_extract_minus_sign()
            bare = -base if negative else base
            text = f"{bare} < 0" if negative else f"{bare} > 0"
            add = Condition(text)
            if bare.is_Symbol:
                add = Condition(text, bare, sympy.S.Zero, -1 if negative else 1)
            found[add.text] = add
        elif exponent.is_negative:
            for factor in sympy.Mul.make_args(sympy.factor(base)):
                bare = factor.as_base_exp()[0]
                if bare.free_symbols and not bare.is_nonzero and 1 / bare not in known:
                    add = _nonzero(bare)
                    found[add.text] = add
    signed = {text[:-4] for text in found if text.endswith((" > 0", " < 0"))}
    return [c for c in found.values() if c.text.removesuffix(" != 0") not in signed]


def _nonzero(base: sympy.Expr) -> Condition:
    if isinstance(base, sympy.log) and base.args[0].is_Symbol:
        return Condition(f"{base.args[0]} != 1", base.args[0], sympy.S.One)
    for symbol in sorted(base.free_symbols, key=lambda s: s.name):
        if base.is_polynomial(symbol) and sympy.degree(base, symbol) == 1:
            slope, rest = sympy.Poly(base, symbol).all_coeffs()
            value = -rest / slope
            if slope.is_number and (value.is_number or value.is_Symbol):
                return Condition(f"{symbol} != {value}", symbol, value)
    return Condition(f"{base} != 0")
