"""An ansatz without a model: monomials in the kernels of the integrand.

The candidates of parallel integration (Bronstein, "pmint", 2005; Norman & Moore
1977): denominators lose one from each exponent, their factors appear under logarithms,
numerators run over monomials that differentiation can turn into the integrand's.
Bounds are guessed, not proved, so nothing found means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import sympy
from sympy import S

from service.integration.slots import expand
from service.verification.convert import ConversionError, from_sympy
from tokenizer.ansatz import Term
from tokenizer.tree import Tree

#: Most candidates; more are cut off.
MAX_TERMS = 150
_MAX_DEGREE = 8

_PAIRS = (
    (sympy.sin, sympy.cos),
    (sympy.sinh, sympy.cosh),
    (sympy.sec, sympy.tan),
    (sympy.csc, sympy.cot),
)
_INVERSE = (
    sympy.asin, sympy.acos, sympy.atan, sympy.acot, sympy.asec, sympy.acsc,
    sympy.asinh, sympy.acosh, sympy.atanh, sympy.acoth, sympy.asech, sympy.acsch,
)  # fmt: skip


def candidates(integrand: Tree, expression: sympy.Expr, x: sympy.Symbol) -> list[Term]:
    """Terms that an antiderivative of ``expression`` (the integrand) may have."""
    found: dict[Term, None] = {}
    try:
        for e, degree in _candidates(expression, x):
            try:
                found[Term(from_sympy(e), max(0, degree))] = None
            except ConversionError:
                continue
            if len(found) >= MAX_TERMS:
                break
        terms = expand(list(found), integrand, x.name)
        # the completer prefers what comes first, so the simple terms do
        return sorted(terms, key=lambda t: t.factor.size)[: 2 * MAX_TERMS]
    except (sympy.PolynomialError, NotImplementedError, ValueError, TypeError):
        return list(found)


def _candidates(f: sympy.Expr, x: sympy.Symbol) -> Iterator[tuple[sympy.Expr, int]]:
    bars = [a for a in f.atoms(sympy.Abs, sympy.sign) if a.has(x)]
    if bars:
        # |u| = sign(u)*u, and a sign is constant between the zeros of u
        bare = f.xreplace({a: a.args[0] if isinstance(a, sympy.Abs) else S.One for a in bars})
        arguments = list(dict.fromkeys(a.args[0] for a in bars))
        signs = [sympy.Mul(*map(sympy.sign, arguments)), *map(sympy.sign, arguments), S.One]
        for own in sympy.Add.make_args(sympy.expand(f, log=False)):
            for sign in dict.fromkeys(signs):
                yield own.as_independent(x, as_Add=False)[1] * sign, 1
        for term, degree in _candidates(bare, x):
            for sign in dict.fromkeys(signs):
                yield term * sign, degree
        return
    if not f.has(x):
        yield S.One, 1
        return
    numerator, denominator = sympy.fraction(sympy.together(f))
    factors = [f.as_base_exp() for f in sympy.Mul.make_args(sympy.factor(denominator)) if f.has(x)]
    lowered = sympy.Mul(*(b ** (e - 1) for b, e in factors if e != 1))
    if f.is_rational_function(x):
        degree = sympy.degree(numerator, x) if numerator.has(x) else 0
        below = sympy.degree(denominator, x) if denominator.has(x) else 0
        yield S.One, degree - below + 1 if degree >= below else 0
        if below:
            yield 1 / lowered, max(0, sympy.degree(lowered, x) - 1) if lowered.has(x) else 0
            for base, _ in factors:
                yield sympy.log(base), 0
        return
    for monomial, degree in _monomials(numerator, f, x):
        yield monomial / lowered, degree
        if lowered.has(x):
            yield monomial, degree
        if denominator.has(x):
            yield monomial / denominator, degree
    for base, _ in factors:
        yield sympy.log(base), 1
    for log in f.atoms(sympy.log):
        if log.has(x):
            yield sympy.log(log), 0
            yield log**2, 1
    for e in f.atoms(*_INVERSE):
        if e.has(x):
            yield e**2, 0
    for base in {p.base for p in f.atoms(sympy.Pow) if p.exp.is_Rational and p.base.has(x)}:
        yield sympy.log(base), 0
        if base.is_polynomial(x) and sympy.degree(base, x) == 2:
            yield sympy.log(x + sympy.sqrt(base)), 0
    for sine, cosine in _PAIRS:
        for u in {a.args[0] for a in f.atoms(sine, cosine) if a.has(x)}:
            yield (
                sympy.log(sympy.sin(u))
                if sine in (sympy.sin, sympy.csc)
                else sympy.log(sympy.cos(u)),
                0,
            )
            yield sympy.log(sympy.cos(u)), 1
            yield sympy.log(sine(u) + cosine(u)), 0
            yield sympy.tan(u / 2), 0
            yield sympy.tan(u), 1
            yield sympy.log(sympy.tan(u / 2)), 0


def _monomials(
    numerator: sympy.Expr, f: sympy.Expr, x: sympy.Symbol
) -> Iterator[tuple[sympy.Expr, int]]:
    seen: set[sympy.Expr] = set()
    for term in sympy.Add.make_args(sympy.expand(numerator, log=False)):
        degree, choices = 0, []
        grouped: dict[sympy.Expr, int] = {}
        for factor in sympy.Mul.make_args(term.as_independent(x, as_Add=False)[1]):
            base, power = factor.as_base_exp()
            if base == x and power.is_Integer:
                degree += int(power)
            elif isinstance(factor, sympy.exp) or not power.is_Integer:
                choices.append(_radical_choices(base, power, x))
            else:
                grouped[base] = grouped.get(base, 0) + int(power)
        done: set[sympy.Expr] = set()
        for base, power in grouped.items():
            if base in done:
                continue
            pair = next((p for p in _PAIRS if isinstance(base, p)), None)
            if pair is not None:
                a, b = (kind(base.args[0]) for kind in pair)
                done |= {a, b}
                choices.append(_pair_choices(a, b, grouped.get(a, 0) + grouped.get(b, 0)))
            else:
                choices.append(_power_choices(base, power, x))
        for picked in product(*choices):
            monomial = sympy.Mul(*picked)
            if monomial not in seen:
                seen.add(monomial)
                yield monomial, min(_MAX_DEGREE, degree + 1)


def _pair_choices(a: sympy.Expr, b: sympy.Expr, total: int) -> list[sympy.Expr]:
    """Monomials of degree total, total - 2, … (circular) or any lower degree (tan and sec)."""
    total = min(total, _MAX_DEGREE)
    step = 2 if isinstance(a, sympy.sin | sympy.sinh) else 1
    return [
        a**i * b ** (degree - i) for degree in range(total, -1, -step) for i in range(degree + 1)
    ]


def _power_choices(base: sympy.Expr, power: int, x: sympy.Symbol) -> list[sympy.Expr]:
    power = max(-_MAX_DEGREE, min(power, _MAX_DEGREE))
    if power < 0 or base.is_polynomial(x):
        return [base**power, base ** (power + 1)]
    choices = [base**k for k in range(power + 1, -1, -1)]
    if isinstance(base, _INVERSE):
        u = base.args[0]
        slope = base.diff(x)
        rest = slope / sympy.together(u.diff(x)) if u.diff(x) != 0 else S.One
        below = sympy.fraction(sympy.together(rest))[1]
        choices += [c * below for c in choices] + [sympy.log(below), sympy.log(u)]
    return choices


def _radical_choices(base: sympy.Expr, power: sympy.Expr, x: sympy.Symbol) -> list[sympy.Expr]:
    if not power.is_Rational:
        return [base**power, base ** (power + 1)] if not power.has(x) else [base**power]
    return [base**power, base ** (power + 1)]
