"""When an ansatz explains a part of an integrand: that part, and what is left to integrate.

Of the derivatives of all hypothesised terms, and of the integrand itself, the additive
pieces are laid side by side. A combination of derivatives and pieces that gives the
integrand splits it: the derivatives are integrated already, the pieces are the remainder.
Where a term is right but for its by-product, as ``x**2*atan(x)`` is for ``x*atan(x)``,
this is integration by parts; where it explains some terms of a sum, it is linearity.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import sympy

from service.integration import fit
from service.integration.answers import Antiderivative, present
from service.integration.complete import complete
from service.integration.domain import HUGE, sample
from service.integration.evaluate import CannotEvaluate, Evaluator
from service.integration.slots import expand
from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.timing import OutOfTime, time_limit
from tokenizer.ansatz import Term, rational_value
from tokenizer.tree import Tree, call

#: Most unknowns of the hypotheses, and most pieces beside them.
_COLUMNS: Final = 120
_PIECES: Final = 60
#: Part of the time left in which pieces are collected.
_COLLECTING: Final = 0.4
#: How far from a fraction, and with what denominator, a coefficient of the remainder may be.
_CLOSE: Final = 1e-8
_DENOMINATOR: Final = 5_000
_SEED: Final = 13

#: Heads that make no new kernel: the field of rational functions.
_RATIONAL: Final = frozenset(
    {"add", "sub", "mul", "div", "neg", "pow", "integer", "symbol", "constant"}
)
_FAILURES: Final = (
    ConversionError, CannotEvaluate, ArithmeticError, ValueError, TypeError, AttributeError,
    NotImplementedError, RecursionError, sympy.polys.polyerrors.BasePolynomialError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """``done`` has the derivative integrand - ``left``, and ``left`` is simpler than that.

    Nothing is left where terms of several hypotheses suffice.
    """

    done: Tree
    left: Tree | None


def complexity(tree: Tree, variable: str) -> tuple[int, int]:
    """What must become less: distinct roots and functions of the variable, then symbols."""
    kernels: set[Tree] = set()
    for node in tree.preorder():
        if not node.contains(variable):
            continue
        if node.head not in _RATIONAL:
            kernels.add(node)
        elif node.head == "pow":
            exponent = rational_value(node.args[1])
            if exponent is None or exponent[1] != 1:
                # powers of one base with different numbers are one kernel
                constant = not node.args[1].contains(variable)
                kernels.add(call("sqrt", node.args[0]) if constant else node)
    return len(kernels), tree.size


def explain(
    integrand: Tree, variable: str, hypotheses: Sequence[Sequence[Term]], deadline_s: float
) -> Part | None:
    """The part of ``integrand`` that ``hypotheses`` explain, so that what is left is simpler.

    None when they explain nothing, or all that they leave is as hard.
    """
    deadline = time.monotonic() + deadline_s
    try:
        with time_limit(deadline_s):
            return _explain(integrand, variable, hypotheses, deadline)
    except (OutOfTime, *_FAILURES):
        return None


def _explain(
    integrand: Tree, variable: str, hypotheses: Sequence[Sequence[Term]], deadline: float
) -> Part | None:
    f, x = to_sympy(integrand), sympy.Symbol(variable, real=True)
    hardness = complexity(integrand, variable)
    terms = _expanded(hypotheses, integrand, variable)
    until = time.monotonic() + _COLLECTING * (deadline - time.monotonic())
    pieces = sorted(
        _pieces(f, terms, x, hardness, until), key=lambda piece: complexity(piece, variable)
    )[:_PIECES]
    if not terms or not pieces:
        return None
    samples = sample(
        integrand, variable, 2 * (_COLUMNS + len(pieces)) + 24, np.random.default_rng(_SEED)
    )
    if samples is None:
        return None
    evaluator = samples.evaluator(variable)
    with np.errstate(all="ignore"):
        target = np.broadcast_to(
            np.asarray(evaluator.dual(integrand)[0], dtype=np.complex128), samples.points.shape
        )
        matrix, columns = fit.design(terms, evaluator, variable)
    matrix, columns = matrix[:, :_COLUMNS], columns[:_COLUMNS]
    pieces, values = _evaluated(pieces, evaluator, samples.points.shape)
    if not columns or not pieces:
        return None
    # the terms first, then pieces from the simplest on: of the pieces that must be left, the
    # hardest is as simple as can be
    matrix = np.concatenate([matrix, np.stack(values, axis=1)], axis=1)
    scaled, right = fit.scale(matrix, target)
    if not np.isfinite(scaled).all():
        return None
    chosen = sorted(fit.support(scaled, right, fit.TOLERANCE))
    count = sum(i < len(columns) for i in chosen)
    left: Tree | None = None
    if count < len(chosen):
        factors = _fractions(matrix[:, chosen], target)[count:]
        left = _combined(factors, [pieces[i - len(columns)] for i in chosen[count:]])
        if left is None or complexity(left, variable) >= hardness:
            return None
    needed = [columns[i] for i in chosen[:count]]
    used = [Term(terms[column.term].factor, column.power) for column in needed]
    rest = integrand if left is None else call("sub", integrand, left)
    done = complete(rest, variable, used, deadline - time.monotonic())
    if done is None or not done.proved:
        return None
    return Part(from_sympy(done.antiderivative), left)


def put_together(
    pieces: Sequence[Tree], integrand: Tree, variable: str, real: bool, deadline_s: float
) -> Antiderivative | None:
    """The sum of ``pieces`` as an antiderivative of ``integrand``, proved as any other."""
    deadline = time.monotonic() + deadline_s
    try:
        with time_limit(deadline_s):
            total = sympy.Add(*map(to_sympy, pieces))
            return present(total, integrand, variable, deadline, real=real)
    except (OutOfTime, *_FAILURES):
        return None


def _combined(factors: Sequence[Fraction | None], pieces: Sequence[Tree]) -> Tree | None:
    """The sum of ``pieces`` times ``factors``; None when one of these is not known."""
    terms = []
    for factor, piece in zip(factors, pieces, strict=True):
        if factor is None:
            return None
        terms.append(sympy.Rational(factor.numerator, factor.denominator) * to_sympy(piece))
    return from_sympy(sympy.Add(*terms))


def _expanded(hypotheses: Sequence[Sequence[Term]], integrand: Tree, variable: str) -> list[Term]:
    """The terms of all hypotheses, the likeliest first, until they have enough unknowns."""
    degrees: dict[Tree, int] = {}
    count = 0
    for hypothesis in hypotheses:
        for term in expand(hypothesis, integrand, variable):
            known = degrees.get(term.factor, -1)
            if term.degree > known and count < _COLUMNS:
                count += term.degree - known
                degrees[term.factor] = term.degree
    return [Term(factor, degree) for factor, degree in degrees.items()]


def _pieces(
    f: sympy.Expr,
    terms: Sequence[Term],
    x: sympy.Symbol,
    hardness: tuple[int, int],
    until: float,
) -> Iterator[Tree]:
    """Additive pieces, without their constants, simpler than the integrand; each once."""
    seen: set[sympy.Expr] = set()
    sources = itertools.chain([f], (_slope(term, x) for term in terms))
    for source in sources:
        for piece in sympy.Add.make_args(sympy.expand(source, log=False)):
            _, rest = piece.as_independent(x, as_Add=False)
            if rest == 1 or rest in seen:
                continue
            seen.add(rest)
            tree = from_sympy(rest)
            if complexity(tree, x.name) < hardness:
                yield tree
        if time.monotonic() > until:
            return


def _slope(term: Term, x: sympy.Symbol) -> sympy.Expr:
    """The derivative of a term's highest power; those of the lower ones have no other pieces."""
    return (x**term.degree * to_sympy(term.factor)).diff(x)


def _evaluated(
    pieces: Sequence[Tree], evaluator: Evaluator, shape: tuple[int, ...]
) -> tuple[list[Tree], list[fit.ComplexArray]]:
    """The pieces that have a value at every point, and the values."""
    kept, values = [], []
    for piece in pieces:
        with np.errstate(all="ignore"):
            value = np.broadcast_to(
                np.asarray(evaluator.dual(piece)[0], dtype=np.complex128), shape
            )
        if np.isfinite(value).all() and np.abs(value).max() < HUGE:
            kept.append(piece)
            values.append(value)
    return kept, values


def _fractions(matrix: fit.ComplexArray, target: fit.ComplexArray) -> list[Fraction | None]:
    """The least-squares coefficients as fractions; None for one that is no simple fraction."""
    size = np.abs(target)
    found, *_ = np.linalg.lstsq(matrix / size[:, None], target / size, rcond=None)
    fractions: list[Fraction | None] = []
    for value in found:
        fraction = Fraction(float(value.real)).limit_denominator(_DENOMINATOR)
        close = abs(value - float(fraction)) <= _CLOSE * max(1.0, abs(value))
        fractions.append(fraction if close and fraction else None)
    return fractions
