"""Which terms explain an integrand: least squares over many points, then few terms.

Columns are derivatives of terms, rows are points; each row is divided by the
integrand there, so the right-hand side is all ones. A wrong ansatz leaves a
residual and is rejected for the price of one QR factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from service.integration.evaluate import CannotEvaluate, Evaluator
from tokenizer.ansatz import Term

ComplexArray = NDArray[np.complex128]

#: Relative residual below which terms are taken to explain the integrand.
TOLERANCE: Final = 1e-8


@dataclass(frozen=True, slots=True)
class Column:
    """One unknown: the coefficient of ``variable**power * terms[term].factor``."""

    term: int
    power: int


def design(
    terms: list[Term], evaluator: Evaluator, variable: str
) -> tuple[ComplexArray, list[Column]]:
    """Derivatives of all monomials times factors, shape (points, columns).

    Terms that cannot be evaluated at every point are left out.
    """
    x = np.asarray(evaluator.values[variable])
    blocks: list[ComplexArray] = []
    columns: list[Column] = []
    with np.errstate(all="ignore"):
        for i, term in enumerate(terms):
            try:
                value, slope = evaluator.dual(term.factor)
            except (CannotEvaluate, ZeroDivisionError, OverflowError):
                continue
            value = np.broadcast_to(value, x.shape)
            slope = np.broadcast_to(slope, x.shape)
            for power in range(term.degree + 1):
                derivative = slope * x**power
                if power:
                    derivative = derivative + power * x ** (power - 1) * value
                if np.isfinite(derivative).all() and np.any(derivative):
                    blocks.append(derivative)
                    columns.append(Column(i, power))
    if not blocks:
        return np.empty((x.size, 0), dtype=np.complex128), []
    return np.stack(blocks, axis=1), columns


def scale(matrix: ComplexArray, target: ComplexArray) -> tuple[ComplexArray, NDArray[np.float64]]:
    """Rows divided by ``target``, columns to length 1; also the lengths."""
    rows = matrix / target[:, None]
    lengths = np.linalg.norm(rows, axis=0)
    lengths[lengths == 0] = 1
    return rows / lengths, lengths


def residuals(matrix: ComplexArray) -> NDArray[np.float64]:
    """Relative residual of the all-ones vector after the first 1, 2, … columns."""
    count = matrix.shape[0]
    q, _ = np.linalg.qr(matrix)
    rest = np.ones(count, dtype=np.complex128) / np.sqrt(count)
    out = np.empty(q.shape[1])
    for j in range(q.shape[1]):
        rest = rest - q[:, j] * np.vdot(q[:, j], rest)
        out[j] = np.linalg.norm(rest)
    return out


def support(matrix: ComplexArray, tolerance: float = TOLERANCE) -> list[int] | None:
    """A minimal set of columns that spans the all-ones vector, early columns preferred.

    Finds the shortest prefix that does, whose last column is then necessary, moves
    that column to the front, and repeats until the prefix is made of such columns.
    None when all columns together leave a residual.
    """
    needed: list[int] = []
    remaining = list(range(matrix.shape[1]))
    while True:
        order = needed + remaining
        left = residuals(matrix[:, order])
        enough = np.flatnonzero(left < tolerance)
        if not enough.size:
            return None if not needed else needed
        prefix = int(enough[0]) + 1
        if prefix <= len(needed):
            return needed[:prefix] if not remaining else needed
        last = order[prefix - 1]
        remaining = [c for c in order[len(needed) : prefix - 1]]
        needed.append(last)
        if not remaining:
            return needed


def coefficients(
    matrix: ComplexArray, lengths: NDArray[np.float64]
) -> tuple[ComplexArray, float, NDArray[np.float64]]:
    """Least-squares coefficients of the ones vector, relative residual, error estimates."""
    count, width = matrix.shape
    ones = np.ones(count, dtype=np.complex128)
    q, r = np.linalg.qr(matrix)
    try:
        inverse = scipy.linalg.solve_triangular(r, np.eye(width))
    except (np.linalg.LinAlgError, ValueError):
        return np.full(width, np.nan, dtype=np.complex128), np.inf, np.full(width, np.inf)
    solution = inverse @ (q.conj().T @ ones)
    rest = ones - matrix @ solution
    solution = solution + inverse @ (q.conj().T @ rest)
    residual = float(np.linalg.norm(ones - matrix @ solution) / np.sqrt(count))
    noise = max(residual, 4e-16) * np.sqrt(count)
    errors = noise * np.linalg.norm(inverse, axis=1) / lengths
    return solution / lengths, residual, errors


def rational(value: complex, error: float) -> Fraction | None:
    """The simplest fraction within ``error`` of ``value``, if it is simpler than chance allows."""
    if not np.isfinite(value) or abs(value.imag) > max(4 * error, 1e-11 * abs(value)):
        return None
    x = float(value.real)
    error = max(error, 4e-16 * abs(x))
    if abs(x) <= 4 * error:
        return Fraction(0) if error < 1e-9 else None
    exact = Fraction(x)
    a, p0, q0, p1, q1 = exact, 0, 1, 1, 0
    for _ in range(40):
        whole = a.numerator // a.denominator
        p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
        if abs(Fraction(p1, q1) - exact) <= 4 * error:
            # a random number is this close to a fraction p/q with odds about q*q*error
            return Fraction(p1, q1) if q1 * q1 * error < 1e-4 else None
        a = 1 / (a - whole)
    return None
