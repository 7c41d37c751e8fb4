"""Coefficients recognised from many digits, where exact elimination does not apply.

The square system of a minimal set of columns is solved in ball arithmetic; each
coefficient is then read as a rational number, or as a rational multiple or an
integer combination of constants that occur in the integrand and the terms.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Final

import sympy
from flint import acb, acb_mat, arb, ctx, fmpq, fmpz, fmpz_mat

from service.integration.domain import Samples
from service.integration.evaluate import BallField, CannotEvaluate, Evaluator
from service.integration.fit import Column
from service.verification.convert import ConversionError, to_sympy
from tokenizer.ansatz import Term, rational_value
from tokenizer.tree import Tree

_BITS: Final = 400
#: A recognised coefficient has at most this many bits; what is left confirms it.
_MAX_BITS: Final = 90
_MAX_CONSTANTS: Final = 3


def coefficients(
    integrand: Tree,
    variable: str,
    terms: list[Term],
    columns: Sequence[Column],
    samples: Samples,
    deadline: float,
) -> list[sympy.Expr] | None:
    """Exact values for the coefficients of ``columns``; None when one is not recognised."""
    saved = ctx.prec
    ctx.prec = _BITS
    try:
        solution = _solve(integrand, variable, terms, columns, samples, deadline)
        if solution is None:
            return None
        constants = _constants([integrand, *(terms[c.term].factor for c in columns)])
        values = [_recognise(value, constants) for value in solution]
        known = [v for v in values if v is not None]
        return known if len(known) == len(values) else None
    except (CannotEvaluate, ConversionError, ZeroDivisionError, ValueError):
        return None
    finally:
        ctx.prec = saved


def refuted(
    integrand: Tree,
    variable: str,
    terms: list[Term],
    columns: Sequence[Column],
    samples: Samples,
    deadline: float,
) -> bool:
    """Whether certainly no coefficients of ``columns`` give the integrand.

    What fits in floating point need not fit: over a short stretch anything smooth is
    nearly a polynomial. Far cheaper than to find out by exact algebra.
    """
    saved = ctx.prec
    ctx.prec = _BITS
    try:
        values, rows = _interpolate(integrand, variable, terms, columns, samples, deadline)
        totals = [sum((a * b for a, b in zip(r, values, strict=True)), acb(0)) for r in rows]
        return any(total.is_finite() and not total.contains(1) for total in totals)
    except (CannotEvaluate, ConversionError, ZeroDivisionError, ValueError):
        return False
    finally:
        ctx.prec = saved


def _solve(
    integrand: Tree,
    variable: str,
    terms: list[Term],
    columns: Sequence[Column],
    samples: Samples,
    deadline: float,
) -> list[acb] | None:
    """Coefficients from as many points as columns, confirmed at three more."""
    values, rows = _interpolate(integrand, variable, terms, columns, samples, deadline)
    for row in rows:
        if not sum((a * b for a, b in zip(row, values, strict=True)), acb(0)).contains(1):
            return None
    return values


def _interpolate(
    integrand: Tree,
    variable: str,
    terms: list[Term],
    columns: Sequence[Column],
    samples: Samples,
    deadline: float,
) -> tuple[list[acb], list[list[acb]]]:
    """Coefficients from as many points as columns, and rows of the system at three more.

    Raises ``ValueError`` after the deadline, ``ZeroDivisionError`` for dependent columns.
    """
    size = len(columns)
    rows: list[list[acb]] = []
    right: list[acb] = []
    parameters = {name: acb(value) for name, value in samples.parameters.items()}
    for point in samples.points[: size + 3]:
        if time.monotonic() > deadline:
            raise ValueError("out of time")
        at = {**parameters, variable: acb(complex(point))}
        evaluator = Evaluator(BallField(), at, variable)
        x = evaluator.values[variable]
        target = evaluator.dual(integrand)[0]
        row = []
        for column in columns:
            value, slope = evaluator.dual(terms[column.term].factor)
            p = column.power
            row.append((x**p * slope + (p * x ** (p - 1) * value if p else 0)) / target)
        rows.append(row)
        right.append(acb(1))
    matrix = acb_mat(size, size, [entry for row in rows[:size] for entry in row])
    solution = matrix.solve(acb_mat(size, 1, right[:size]))
    return [solution[i, 0] for i in range(size)], rows[size:]


def _constants(trees: list[Tree]) -> list[sympy.Expr]:
    """Irrational constants that occur in ``trees``: radicals, pi, logarithms, …"""
    found: dict[sympy.Expr, None] = {}
    for tree in trees:
        stack = [tree]
        while stack:
            node = stack.pop()
            irrational = node.head not in ("add", "sub", "mul", "div", "neg", "integer")
            if irrational and not node.symbols() and rational_value(node) is None:
                value = to_sympy(node)
                for factor in sympy.Mul.make_args(value):
                    if not factor.is_Rational and factor.is_real:
                        found[factor] = None
            else:
                stack.extend(node.args)
    return list(found)[:_MAX_CONSTANTS]


def _recognise(value: acb, constants: list[sympy.Expr]) -> sympy.Expr | None:
    if not value.imag.contains(0):
        return None
    x = value.real
    exact = rational(x)
    if exact is not None:
        return exact
    monomials = []
    for powers in itertools.product((0, 1, -1, 2, -2), repeat=len(constants)):
        monomial = sympy.Mul(*(c**p for c, p in zip(constants, powers, strict=True)))
        if not monomial.is_Rational:
            monomials.append(monomial)
    monomials = list(dict.fromkeys(sympy.radsimp(m) for m in monomials))
    for monomial in monomials:
        exact = rational(x / _ball(monomial))
        if exact is not None:
            return exact * monomial
    positive = [m for m in monomials if not m.as_numer_denom()[1].has(*constants)][:6]
    return _combination(x, [sympy.S.One, *positive])


def _ball(constant: sympy.Expr) -> arb:
    """A ball around a real constant, from its decimal expansion."""
    digits = int(ctx.prec / 3.3) + 5
    return arb(str(constant.evalf(digits))) + arb(0, 10.0 ** -min(digits - 4, 300))


def rational(x: arb) -> sympy.Rational | None:
    """The simplest fraction in the ball, if it is far simpler than the ball is narrow."""
    if x.contains(0):
        return sympy.S.Zero if x.rad() < arb(2) ** -_MAX_BITS else None
    if not x.is_finite():
        return None
    fraction = x.mid().fmpq()
    p0, q0, p1, q1 = fmpz(0), fmpz(1), fmpz(1), fmpz(0)
    rest = fraction
    for _ in range(200):
        whole = rest.floor()
        p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
        if x.contains(fmpq(p1, q1)):
            width = float(x.rel_accuracy_bits())
            if fmpz(p1).bit_length() + fmpz(q1).bit_length() > min(2 * _MAX_BITS, width - 40):
                return None
            return sympy.Rational(int(p1), int(q1))
        rest = rest - whole
        if rest == 0:
            return None
        rest = 1 / rest
    return None


def _combination(x: arb, basis: list[sympy.Expr]) -> sympy.Expr | None:
    """x as a rational combination of ``basis``, by lattice reduction (LLL)."""
    if len(basis) < 2:
        return None
    bits = min(ctx.prec, x.rel_accuracy_bits()) - 20
    if bits < 150:
        return None
    reals = [x, *map(_ball, basis)]
    size = len(reals)
    entries: list[int | fmpz] = []
    for i, real in enumerate(reals):
        scaled = (real * arb(2) ** bits).mid().floor().unique_fmpz()
        if scaled is None:
            return None
        entries += [*(int(i == j) for j in range(size)), scaled]
    reduced = fmpz_mat(size, size + 1, entries).lll()
    row = [int(reduced[0, j]) for j in range(size + 1)]
    if row[0] == 0 or max(abs(v) for v in row).bit_length() > bits // (size + 1):
        return None
    total = sum(
        (sympy.Integer(c) * b for c, b in zip(row[1:size], basis, strict=True)), sympy.S.Zero
    )
    return -total / row[0]
