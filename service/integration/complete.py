"""From terms without coefficients to an antiderivative.

A wrong ansatz is found out in floating point; a right one is solved exactly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy

from service.integration import fit, linear, refine
from service.integration.domain import Samples, real_test, sample
from service.integration.kernels import OutOfTime, Unsupported
from service.verification.convert import ConversionError, to_sympy
from tokenizer.ansatz import Term
from tokenizer.tree import Tree

#: Most unknowns in one system; the terms at the end of the list are left out.
MAX_COLUMNS = 400
#: Most unknowns for which exact algebra chooses among all of them.
MAX_EXACT = 60

_SEED = 7


@dataclass(frozen=True, slots=True)
class Completion:
    """An antiderivative found for an ansatz.

    ``proved`` says that its coefficients come from an exact identity (with
    logarithms not yet made real); otherwise they were recognised from numbers.
    ``used`` are the terms that it needs.
    """

    antiderivative: sympy.Expr
    used: tuple[Tree, ...]
    proved: bool


def complete(
    integrand: Tree, variable: str, terms: Sequence[Term], deadline_s: float
) -> Completion | None:
    """Find c with the derivative of sum(c[i] * terms[i]) equal to ``integrand``.

    Earlier terms are preferred where several choices explain the integrand, so
    the terms of several hypotheses may be passed at once, the likeliest first.
    ``deadline_s`` seconds are allowed. None when the terms do not suffice.
    """
    deadline = time.monotonic() + deadline_s
    unique = _unique(terms)
    rng = np.random.default_rng(_SEED)
    for rank in range(2):
        samples = sample(integrand, variable, _points(unique), rng, rank=rank)
        if samples is None:
            return None
        tried: set[tuple[fit.Column, ...]] = set()
        for chosen, agreeing in _supports(integrand, variable, unique, samples):
            if chosen in tried:
                continue
            tried.add(chosen)
            if len(chosen) <= MAX_EXACT and refine.refuted(
                integrand, variable, unique, chosen, agreeing, deadline
            ):
                continue
            found = _solve(integrand, variable, unique, chosen, samples, deadline)
            if found is not None:
                return found
    return None


def misfit(integrand: Tree, variable: str, terms: Sequence[Term]) -> float:
    """How far in floating point the derivative of ``terms``, combined best, is from ``integrand``.

    Relative to the integrand; rounding alone leaves about 1e-12, more where terms cancel.
    Infinite for terms that :func:`complete` would reject at once.
    """
    unique = _unique(terms)
    rng = np.random.default_rng(_SEED)
    samples = sample(integrand, variable, _points(unique), rng)
    best = samples and _fit(integrand, variable, unique, samples)
    return best.residual if best else float("inf")


def _unique(terms: Sequence[Term]) -> list[Term]:
    """Each factor once, with its highest degree."""
    degrees: dict[Tree, int] = {}
    for term in terms:
        degrees[term.factor] = max(term.degree, degrees.get(term.factor, 0))
    return [Term(factor, degree) for factor, degree in degrees.items()]


def _points(terms: Sequence[Term]) -> int:
    """How many points decide among the unknowns of ``terms``."""
    return 2 * min(MAX_COLUMNS, sum(t.degree + 1 for t in terms)) + 24


@dataclass(frozen=True, slots=True)
class _Fit:
    """Columns of unit length, one for each unknown, and what they leave of the integrand.

    ``samples`` are the points that were used.
    """

    samples: Samples
    columns: list[fit.Column]
    matrix: fit.ComplexArray
    target: fit.ComplexArray
    residual: float


def _fit(integrand: Tree, variable: str, terms: list[Term], samples: Samples) -> _Fit | None:
    """The least-squares fit; None for terms that cannot be enough."""
    evaluator = samples.evaluator(variable)
    with np.errstate(all="ignore"):
        value, _ = evaluator.dual(integrand)
        target = np.broadcast_to(np.asarray(value, dtype=np.complex128), samples.points.shape)
        matrix, columns = fit.design(terms, evaluator, variable)
    matrix, columns = matrix[:, :MAX_COLUMNS], columns[:MAX_COLUMNS]
    if not columns:
        return None
    scaled, right = fit.scale(matrix, target)
    if not np.isfinite(scaled).all():
        return None
    left = fit.misfits(scaled, right)
    residual = float(np.linalg.norm(left))
    if residual > fit.TOLERANCE:
        # a few points at which rounding or a branch cut spoils the values
        good = left < 20 * np.median(left)
        if len(columns) + 8 <= good.sum() < left.size:
            samples = replace(samples, points=samples.points[good])
            scaled, right = fit.scale(matrix[good], target[good])
            residual = float(np.linalg.norm(fit.misfits(scaled, right)))
    if residual > (fit.REJECT if len(columns) > MAX_EXACT / 2 else 100 * fit.REJECT):
        return None
    return _Fit(samples, columns, scaled, right, residual)


def _supports(
    integrand: Tree, variable: str, terms: list[Term], samples: Samples
) -> Iterator[tuple[tuple[fit.Column, ...], Samples]]:
    """Sets of unknowns that explain the integrand in floating point, small ones first.

    Each with the points at which they do.
    """
    best = _fit(integrand, variable, terms, samples)
    if best is None:
        return
    for tolerance in (max(fit.TOLERANCE, 10 * best.residual), 3 * best.residual):
        indices = fit.support(best.matrix, best.target, tolerance)
        yield tuple(best.columns[i] for i in sorted(indices)), best.samples
    if len(best.columns) <= MAX_EXACT:
        yield tuple(best.columns), best.samples


def _solve(
    integrand: Tree,
    variable: str,
    terms: list[Term],
    columns: tuple[fit.Column, ...],
    samples: Samples,
    deadline: float,
) -> Completion | None:
    try:
        factors = {c.term: to_sympy(terms[c.term].factor) for c in columns}
        target = to_sympy(integrand)
    except (ConversionError, RecursionError):
        return None
    x = sympy.Symbol(variable, real=True)
    derivands = [x**c.power * factors[c.term] for c in columns]
    try:
        values = linear.solve(
            target, derivands, x, deadline=deadline, is_real=real_test(integrand, variable)
        )
    except Unsupported:
        values = None
    except OutOfTime:
        return None
    if values is not None:
        answer, used = _assemble(columns, factors, values, x)
        return Completion(answer, tuple(terms[i].factor for i in used), proved=True)
    if samples.parameters:
        return None
    recognised = refine.coefficients(integrand, variable, terms, columns, samples, deadline)
    if recognised is None:
        return None
    answer, used = _assemble(columns, factors, recognised, x)
    return Completion(answer, tuple(terms[i].factor for i in used), proved=False)


def _assemble(
    columns: tuple[fit.Column, ...],
    factors: dict[int, sympy.Expr],
    values: list[sympy.Expr],
    x: sympy.Symbol,
) -> tuple[sympy.Expr, tuple[int, ...]]:
    """The antiderivative, and the indices of the terms in it."""
    total: dict[int, sympy.Expr] = {}
    for column, value in zip(columns, values, strict=True):
        if value != 0:
            total[column.term] = total.get(column.term, sympy.S.Zero) + value * x**column.power
    answer = sympy.Add(*(part * factors[term] for term, part in total.items()))
    return answer, tuple(sorted(total))
