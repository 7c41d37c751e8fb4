"""From terms without coefficients to an antiderivative.

A wrong ansatz is found out in floating point; a right one is solved exactly.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from service.integration import fit, linear, refine
from service.integration.domain import Samples, sample
from service.integration.kernels import OutOfTime, Unsupported
from service.verification.convert import ConversionError, to_sympy
from tokenizer.ansatz import Term
from tokenizer.tree import Tree

#: Most unknowns in one system; the terms at the end of the list are left out.
MAX_COLUMNS = 400

_SEED = 7


@dataclass(frozen=True, slots=True)
class Completion:
    """An antiderivative found for an ansatz.

    ``proved`` says that its coefficients come from an exact identity (with
    logarithms not yet made real); otherwise they were recognised from numbers.
    ``used`` are the indices of the terms that it needs.
    """

    antiderivative: sympy.Expr
    proved: bool
    used: tuple[int, ...]


def complete(
    integrand: Tree, variable: str, terms: Sequence[Term], deadline_s: float
) -> Completion | None:
    """Find c with the derivative of sum(c[i] * terms[i]) equal to ``integrand``.

    Earlier terms are preferred where several choices explain the integrand, so
    the terms of several hypotheses may be passed at once, the likeliest first.
    ``deadline_s`` seconds are allowed. None when the terms do not suffice.
    """
    deadline = time.monotonic() + deadline_s
    unique = list(dict.fromkeys(terms))
    rng = np.random.default_rng(_SEED)
    for rank in range(2):
        width = min(MAX_COLUMNS, sum(t.degree + 1 for t in unique))
        samples = sample(integrand, variable, 2 * width + 24, rng, rank=rank)
        if samples is None:
            return None
        chosen = _support(integrand, variable, unique, samples)
        if chosen is not None:
            return _solve(integrand, variable, unique, chosen, samples, deadline)
    return None


def _support(
    integrand: Tree, variable: str, terms: list[Term], samples: Samples
) -> list[fit.Column] | None:
    evaluator = samples.evaluator(variable)
    with np.errstate(all="ignore"):
        value, _ = evaluator.dual(integrand)
        target = np.broadcast_to(np.asarray(value, dtype=np.complex128), samples.points.shape)
        matrix, columns = fit.design(terms, evaluator, variable)
    if len(columns) > MAX_COLUMNS:
        matrix, columns = matrix[:, :MAX_COLUMNS], columns[:MAX_COLUMNS]
    if not columns:
        return None
    scaled, _ = fit.scale(matrix, target)
    if not np.isfinite(scaled).all():
        return None
    indices = fit.support(scaled)
    return None if indices is None else [columns[i] for i in sorted(indices)]


def _solve(
    integrand: Tree,
    variable: str,
    terms: list[Term],
    columns: list[fit.Column],
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
    used = tuple(sorted(factors))
    values: list[sympy.Expr] | None = None
    try:
        values = linear.solve(target, derivands, x, deadline=deadline)
    except Unsupported:
        pass
    except OutOfTime:
        return None
    if values is not None:
        return Completion(_assemble(columns, factors, values, x), True, used)
    if samples.parameters:
        return None
    recognised = refine.coefficients(integrand, variable, terms, columns, samples, deadline)
    if recognised is None:
        return None
    return Completion(_assemble(columns, factors, recognised, x), False, used)


def _assemble(
    columns: list[fit.Column],
    factors: dict[int, sympy.Expr],
    values: list[sympy.Expr],
    x: sympy.Symbol,
) -> sympy.Expr:
    total: dict[int, sympy.Expr] = {}
    for column, value in zip(columns, values, strict=True):
        total[column.term] = total.get(column.term, sympy.S.Zero) + value * x**column.power
    return sympy.Add(*(part * factors[term] for term, part in total.items()))


