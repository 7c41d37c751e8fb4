"""Coefficients of an ansatz by exact linear algebra over a field of constants."""

from __future__ import annotations

import sympy
from flint import fmpq, fmpq_mpoly

from service.integration.kernels import Element, KernelField, RealTest


def solve(
    integrand: sympy.Expr,
    derivands: list[sympy.Expr],
    variable: sympy.Symbol,
    *,
    deadline: float,
    is_real: RealTest | None = None,
) -> list[sympy.Expr] | None:
    """Constants c with sum(c[i] * D(derivands[i])) = integrand, or None.

    The constants are rational functions of the parameters and of constants such
    as pi or sqrt(3). A solution proves the identity: it holds in the field of
    kernels. None means that there is no solution with independent kernels.
    Raises :class:`Unsupported` and :class:`OutOfTime` as the field does.
    """
    count = len(derivands)
    field = KernelField(
        [integrand, *derivands], variable, deadline=deadline, tags=count + 1, is_real=is_real
    )
    elements = [field.rationalised(field.derivative(field.convert(e))) for e in derivands]
    elements.append(field.rationalised(field.convert(integrand)))
    combined = field.reduce(_over_common_denominator(elements, field))
    rows = _equations(combined, field, count)
    solution = _eliminate(rows, field, count)
    return None if solution is None else [_readable(field.to_sympy(c)) for c in solution]


def _readable(constant: sympy.Expr) -> sympy.Expr:
    """A constant with sines and cosines instead of tangents of half angles."""
    tangents = constant.atoms(sympy.tan)
    if not tangents:
        return constant
    table = {}
    for t in tangents:
        double = 2 * t.args[0]
        table[t] = sympy.sin(double) / (1 + sympy.cos(double))
    return sympy.cancel(sympy.expand_trig(sympy.trigsimp(sympy.together(constant.xreplace(table)))))


def _over_common_denominator(elements: list[Element], field: KernelField) -> fmpq_mpoly:
    """The sum of tag[i] * elements[i], times the least common denominator."""
    common = field.context.constant(1)
    for element in elements:
        common = common * (element.denominator / common.gcd(element.denominator))
        field.check(len(common))
    total = field.context.constant(0)
    for tag, element in zip(field.tags, elements, strict=True):
        total = total + tag * (element.numerator * (common / element.denominator))
        field.check(len(total))
    return total


def _equations(combined: fmpq_mpoly, field: KernelField, count: int) -> list[list[Element]]:
    """One row of coefficients (unknowns, then right-hand side) per monomial in the kernels."""
    width = field.context.nvars() - count - 1
    constant = [field.is_constant_kernel(i) for i in range(width)]
    table: dict[tuple[int, ...], list[dict[tuple[int, ...], fmpq]]] = {}
    for exponents, value in combined.to_dict().items():
        varying = tuple(0 if c else e for c, e in zip(constant, exponents, strict=False))
        kept = tuple(e if c else 0 for c, e in zip(constant, exponents, strict=False))
        tag = next(i for i in range(count + 1) if exponents[width + i])
        row = table.setdefault(varying, [{} for _ in range(count + 1)])
        row[tag][kept + (0,) * (count + 1)] = value
    one = field.context.constant(1)
    return [
        [Element(field, field.context.from_dict(terms), one) for terms in row]
        for row in table.values()
    ]


def _eliminate(rows: list[list[Element]], field: KernelField, count: int) -> list[Element] | None:
    """Gauss–Jordan elimination; unknowns left free are zero."""
    pivots: dict[int, list[Element]] = {}
    for equation in sorted(rows, key=lambda r: sum(len(e.numerator) for e in r)):
        left = equation
        for known, pivot in pivots.items():
            left = _clear(left, known, pivot)
        column = next((j for j in range(count) if not left[j].is_zero), None)
        if column is None:
            if not left[count].is_zero:
                return None
            continue
        new = [
            field.one if j == column else field.zero if e.is_zero else e / left[column]
            for j, e in enumerate(left)
        ]
        pivots = {known: _clear(pivot, column, new) for known, pivot in pivots.items()}
        pivots[column] = new
    if not pivots and count:
        return None
    return [pivots[j][count] if j in pivots else field.zero for j in range(count)]


def _clear(row: list[Element], column: int, pivot: list[Element]) -> list[Element]:
    factor = row[column]
    if factor.is_null:
        return row
    return [a if b.is_null else a - factor * b for a, b in zip(row, pivot, strict=True)]
