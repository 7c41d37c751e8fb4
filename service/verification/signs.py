"""Zero test over the reals, one case for each choice of signs of the branch points.

Radicands, arguments of logarithms and of Abs are split into irreducible
factors f. Where the sign of every f is fixed, ``sqrt(g)`` is a product of
roots of the positive numbers ``|f|``, ``log(g)`` a sum of their logarithms
(and ``I*pi`` for a negative g), so that ``sqrt(x**2 - 1)`` meets
``sqrt(x - 1)*sqrt(x + 1)``. Each case is left to the zero test in kernels.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import sympy
from sympy import S

from service.verification.kernels import Outcome, zero_test

#: More factors of unknown sign than this are too many cases.
MAX_FACTORS: Final = 4

#: Larger radicands are not factored.
MAX_OPERATIONS: Final = 60
MAX_EXPONENT: Final = 12


class _OutsideDomainError(ValueError):
    """The left-hand side is not real in this case."""


@dataclass(frozen=True, slots=True)
class _Split:
    """coefficient * product of factor**exponent, the coefficient a real number."""

    coefficient: sympy.Expr
    factors: tuple[tuple[sympy.Expr, sympy.Integer], ...]


def sign_test(lhs: sympy.Expr, rhs: sympy.Expr, *, deadline: float) -> bool:
    """Whether ``lhs = rhs`` is proved in every case in which ``lhs`` is real.

    ``deadline`` is in ``time.monotonic`` seconds.
    """
    sides = [_without_inverse_hyperbolics(side) for side in (lhs, rhs)]
    splits: dict[sympy.Expr, _Split] = {}
    for side in sides:
        for argument in _arguments(side):
            if argument not in splits:
                split = _split(argument)
                if split is not None:
                    splits[argument] = split
    factors = list(dict.fromkeys(f for split in splits.values() for f, _ in split.factors))
    if not splits:
        return False
    cases = 0
    for signs in _sign_vectors(factors):
        if time.monotonic() > deadline:
            return False
        case = dict(zip(factors, signs, strict=True))
        try:
            left = _rewrite(sides[0], splits, case, strict=True)
        except _OutsideDomainError:
            continue
        right = _rewrite(sides[1], splits, case, strict=False)
        if zero_test(left, right, deadline=deadline).outcome is not Outcome.ZERO:
            return False
        cases += 1
    return cases > 0


def _without_inverse_hyperbolics(expr: sympy.Expr) -> sympy.Expr:
    """Principal values in terms of log and sqrt."""
    return expr.replace(
        sympy.acosh, lambda u: sympy.log(u + sympy.sqrt(u - 1) * sympy.sqrt(u + 1))
    ).replace(sympy.atanh, lambda u: (sympy.log(1 + u) - sympy.log(1 - u)) / 2)


def _arguments(expr: sympy.Basic) -> Iterator[sympy.Expr]:
    for node in sympy.preorder_traversal(expr):
        if node.is_Pow and node.exp.is_Rational and node.exp.q > 1:
            yield node.base
        elif isinstance(node, sympy.log | sympy.Abs | sympy.sign):
            yield node.args[0]


def _split(expr: sympy.Expr) -> _Split | None:
    """The factors of a real expression without radicals, logarithms or Abs inside."""
    if not expr.free_symbols:
        return None
    if any(True for _ in _arguments(expr)) or expr.count_ops() > MAX_OPERATIONS:
        return None
    exponents = [abs(p.exp) for p in expr.atoms(sympy.Pow) if p.exp.is_Integer]
    if max(exponents, default=0) > MAX_EXPONENT:
        return None
    numerator, denominator = sympy.fraction(sympy.together(expr))
    if not (numerator.is_extended_real and denominator.is_extended_real):
        return None
    coefficient = S.One
    powers: dict[sympy.Expr, int] = {}
    for part, sign in ((numerator, 1), (denominator, -1)):
        try:
            content, factors = sympy.factor_list(part)
        except sympy.PolynomialError:
            return None
        coefficient *= content**sign
        for factor, exponent in factors:
            if not factor.free_symbols:
                coefficient *= factor ** (sign * exponent)
                continue
            if factor.could_extract_minus_sign():
                coefficient *= (-1) ** exponent
                factor = -factor  # noqa: PLW2901 - the other sign of the same factor
            powers[factor] = powers.get(factor, 0) + sign * exponent
    if not (coefficient.is_positive or coefficient.is_negative):
        return None
    if not all(factor.is_extended_real for factor in powers):
        return None
    return _Split(coefficient, tuple((f, sympy.Integer(e)) for f, e in powers.items() if e))


def _sign_vectors(factors: list[sympy.Expr]) -> Iterator[tuple[int, ...]]:
    """Every sign vector that can occur, and perhaps some that cannot."""
    exact = _signs_on_the_line(factors)
    if exact is not None:
        yield from exact
        return
    options = [
        (1,) if f.is_nonnegative else (-1,) if f.is_nonpositive else (1, -1) for f in factors
    ]
    if sum(len(option) == 2 for option in options) > MAX_FACTORS:
        # an impossible vector, for which nothing is ever proved
        yield from ()
        return
    yield from itertools.product(*options)


def _signs_on_the_line(factors: list[sympy.Expr]) -> list[tuple[int, ...]] | None:
    """The sign vectors of polynomials in one symbol: one test point in each interval."""
    symbols = set().union(*(f.free_symbols for f in factors))
    if len(symbols) != 1:
        return None
    (symbol,) = symbols
    polynomials = []
    for factor in factors:
        if not factor.is_polynomial(symbol):
            return None
        polynomial = sympy.Poly(factor, symbol)
        if not polynomial.domain.is_QQ and not polynomial.domain.is_ZZ:
            return None
        polynomials.append(polynomial)
    product = polynomials[0]
    for polynomial in polynomials[1:]:
        product *= polynomial
    ends = [bounds for bounds, _ in product.intervals(eps=sympy.Rational(1, 2**20))]
    low = [S.NegativeOne * 1] if not ends else [ends[0][0] - 1]
    points = low + [(a[1] + b[0]) / 2 for a, b in itertools.pairwise(ends)]
    if ends:
        points.append(ends[-1][1] + 1)
    vectors = []
    for point in points:
        if symbol.is_positive and point <= 0:
            continue
        values = [polynomial.eval(point) for polynomial in polynomials]
        if any(value == 0 for value in values):
            return None
        vectors.append(tuple(1 if value > 0 else -1 for value in values))
    return list(dict.fromkeys(vectors))


def _rewrite(
    node: sympy.Basic,
    splits: Mapping[sympy.Expr, _Split],
    case: Mapping[sympy.Expr, int],
    *,
    strict: bool,
) -> sympy.Basic:
    """The expression where the factors have these signs. ``strict``: it must be real there."""
    if node.is_Atom:
        return node
    if node.is_Pow and node.exp.is_Rational and node.exp.q > 1 and node.base in splits:
        sign, size = _sign_and_size(splits[node.base], case)
        if sign < 0 and strict:
            raise _OutsideDomainError
        root = sympy.Mul(*(base ** (e * node.exp) for base, e in size))
        return root if sign > 0 else sympy.Pow(S.NegativeOne, node.exp) * root
    if isinstance(node, sympy.log) and node.args[0] in splits:
        sign, size = _sign_and_size(splits[node.args[0]], case)
        if sign < 0 and strict:
            raise _OutsideDomainError
        logarithm = sympy.Add(*(e * sympy.log(base) for base, e in size))
        return logarithm if sign > 0 else logarithm + S.ImaginaryUnit * S.Pi
    if isinstance(node, sympy.Abs | sympy.sign) and node.args[0] in splits:
        sign, size = _sign_and_size(splits[node.args[0]], case)
        if isinstance(node, sympy.sign):
            return sympy.Integer(sign)
        return sympy.Mul(*(base**e for base, e in size))
    return node.func(*(_rewrite(arg, splits, case, strict=strict) for arg in node.args))


def _sign_and_size(
    split: _Split, case: Mapping[sympy.Expr, int]
) -> tuple[int, list[tuple[sympy.Expr, sympy.Integer]]]:
    """The sign of a product, and its absolute value as powers of positive numbers."""
    sign = 1 if split.coefficient.is_positive else -1
    size: list[tuple[sympy.Expr, sympy.Integer]] = [(abs(split.coefficient), S.One)]
    for factor, exponent in split.factors:
        sign *= case[factor] ** (int(exponent) % 2)
        size.append((case[factor] * factor, exponent))
    return sign, size
