"""Which terms explain an integrand: least squares over many points, then few terms.

Columns are derivatives of terms, rows are points. A wrong ansatz leaves a residual
and is rejected for the price of one QR factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from service.integration.evaluate import CannotEvaluate, Evaluator
from tokenizer.ansatz import Term

ComplexArray = NDArray[np.complex128]

#: A relative residual above this rejects an ansatz. Cancellation inside a term can
#: cost a right one most of its digits, so the bound is wide; exact algebra follows.
REJECT: Final = 1e-5
#: Residual below which terms are first taken to be enough.
TOLERANCE: Final = 1e-9


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


def scale(matrix: ComplexArray, target: ComplexArray) -> tuple[ComplexArray, ComplexArray]:
    """Rows divided by the size of ``target``, then both scaled to columns of length 1.

    Where the target is far smaller than the columns, which must then cancel, the
    row is divided by less, so that rounding does not pass for a misfit.
    """
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(target), 1e-4 * np.abs(matrix).max(axis=1, initial=0))
        rows = matrix / size[:, None]
        lengths = np.linalg.norm(rows, axis=0)
        lengths[lengths == 0] = 1
        right = target / size
        return rows / lengths, right / np.linalg.norm(right)


def residuals(matrix: ComplexArray, target: ComplexArray) -> NDArray[np.float64]:
    """What is left of ``target`` (of length 1) after the first 1, 2, … columns."""
    q, _ = np.linalg.qr(matrix)
    rest = target
    out = np.empty(q.shape[1])
    for j in range(q.shape[1]):
        rest = rest - q[:, j] * np.vdot(q[:, j], rest)
        out[j] = np.linalg.norm(rest)
    return out


def misfits(matrix: ComplexArray, target: ComplexArray) -> NDArray[np.float64]:
    """Size of what is left of ``target`` in each row after all columns."""
    q, _ = np.linalg.qr(matrix)
    rest = target - q @ (q.conj().T @ target)
    return np.asarray(np.abs(rest))


def support(matrix: ComplexArray, target: ComplexArray, tolerance: float) -> list[int]:
    """A minimal set of columns that spans ``target``, early columns preferred.

    Finds the shortest prefix that leaves less than ``tolerance``, whose last column
    is then necessary, moves that column to the front, and repeats until the prefix is
    made of such columns. All columns where none are enough.
    """
    needed: list[int] = []
    remaining = list(range(matrix.shape[1]))
    while remaining:
        order = needed + remaining
        enough = np.flatnonzero(residuals(matrix[:, order], target) < tolerance)
        if not enough.size:
            return needed or order
        prefix = int(enough[0]) + 1
        if prefix <= len(needed):
            return needed[:prefix]
        remaining = order[len(needed) : prefix - 1]
        needed.append(order[prefix - 1])
    return needed
