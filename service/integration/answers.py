"""An antiderivative made presentable and proved: what a worker hands back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import sympy

from service.integration.agreement import compare, imaginary_parts_cancel
from service.integration.conditions import Condition, conditions
from service.integration.continuity import make_continuous
from service.integration.forms import written_terms
from service.integration.nonelementary import named_functions
from service.integration.prove import prove_antiderivative
from service.integration.real import make_real, with_real_roots
from service.verification.convert import ConversionError, from_sympy, to_sympy
from tokenizer.tree import Tree, call


@dataclass(frozen=True, slots=True)
class SpecialCase:
    """``tree`` is the antiderivative when ``condition`` (such as ``n = -1``) holds."""

    condition: str
    tree: Tree


@dataclass(frozen=True, slots=True)
class Antiderivative:
    """A verified antiderivative; the constant is left out.

    ``assumptions`` are conditions that it needs; ``cases`` answers where one of them
    fails; ``functions`` names non-elementary functions in it; ``elapsed_ms`` is what
    the proof took; ``failing`` holds, for each condition with a special case, the
    symbol and the value at which it fails, ``signs`` the symbols that must have one sign.
    """

    tree: Tree
    status: Literal["proved", "numeric"]
    method: str
    assumptions: tuple[str, ...]
    functions: tuple[str, ...]
    elapsed_ms: float
    failing: tuple[tuple[str, Tree], ...] = ()
    signs: tuple[tuple[str, int], ...] = ()
    cases: tuple[SpecialCase, ...] = ()


def present(
    antiderivative: sympy.Expr,
    integrand: Tree,
    variable: str,
    deadline: float,
    *,
    real: bool = True,
) -> Antiderivative | None:
    """The answer that ``antiderivative`` becomes, if it can be verified by ``deadline``.

    ``real`` asks for an answer that is real wherever the integrand is.
    """
    started = time.monotonic()
    x = sympy.Symbol(variable, real=True)
    try:
        f = to_sympy(integrand)
        plain = without_constants(antiderivative, x)
        if any(not p.exp.is_number for p in plain.atoms(sympy.Pow)):
            plain = sympy.powsimp(plain, combine="exp")
        plain = with_short_constants(plain, x)
        shapes = [plain]
        if real:
            made_real = make_real(with_real_roots(plain), f, x)
            shapes = [make_continuous(made_real, f, x), made_real, plain]
    except (ConversionError, RecursionError, NotImplementedError):
        return None
    for shape in dict.fromkeys(shapes):
        try:
            tree = from_sympy(shape)
        except (ConversionError, RecursionError):
            continue
        rest = deadline - time.monotonic()
        verdict = prove_antiderivative(integrand, variable, tree, rest, over_reals=real)
        if verdict.holds:
            needed = conditions(shape, f, x)
            return Antiderivative(
                tree=tree,
                status="proved" if verdict.status == "proved" else "numeric",
                method=verdict.method,
                assumptions=tuple(dict.fromkeys((*(c.text for c in needed), *verdict.assumptions))),
                functions=named_functions(tree),
                elapsed_ms=1000 * (time.monotonic() - started),
                failing=_failing(needed),
                signs=tuple((c.symbol.name, c.sign) for c in needed if c.symbol and c.sign),
            )
    return None


def summed(
    answers: Sequence[Antiderivative],
    terms: Sequence[Tree],
    integrand: Tree,
    variable: str,
    *,
    real: bool,
) -> Antiderivative | None:
    """The antiderivative of ``integrand``, a sum of ``terms`` with ``answers``, by linearity.

    None when the numbers do not confirm it, when the sum is real somewhere where its terms are
    not, or when a term has special cases, which would have to be combined.
    """
    if any(answer.cases or answer.failing or answer.signs for answer in answers):
        return None
    if real and imaginary_parts_cancel(terms, variable):
        return None
    tree = reduce(_plus, [term for answer in answers for term in written_terms(answer.tree)])
    with contextlib.suppress(ConversionError, RecursionError):
        # like terms of different answers together
        collected = from_sympy(sympy.Add(*(to_sympy(answer.tree) for answer in answers)))
        tree = min(tree, collected, key=lambda sum_: sum_.size)
    started = time.monotonic()
    agreement = compare(integrand, tree, variable, over_reals=real)
    if agreement.status != "agrees" or agreement.positive:
        return None
    proved = all(answer.status == "proved" for answer in answers)
    methods = dict.fromkeys(answer.method for answer in answers)
    return Antiderivative(
        tree=tree,
        status="proved" if proved else "numeric",
        method=f"term by term: {'; '.join(methods)}",
        assumptions=tuple(dict.fromkeys(a for answer in answers for a in answer.assumptions)),
        functions=tuple(dict.fromkeys(f for answer in answers for f in answer.functions)),
        elapsed_ms=sum(answer.elapsed_ms for answer in answers)
        + 1000 * (time.monotonic() - started),
    )


def _plus(total: Tree, term: Tree) -> Tree:
    """A sum as people write it, a difference where the term has a sign."""
    if term.head == "neg":
        return call("sub", total, term.args[0])
    return call("add", total, term)


def _failing(needed: list[Condition]) -> tuple[tuple[str, Tree], ...]:
    return tuple(
        (c.symbol.name, from_sympy(c.value))
        for c in needed
        if c.symbol is not None and c.value is not None
    )


def without_constants(e: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """``e`` without the terms of its sum that are free of ``x``."""
    return e.as_independent(x, as_Add=True)[1] if e.is_Add else e


#: Operations of a constant below which it is short, and beyond which it is left alone.
_SHORT, _LONG = 4, 60


def with_short_constants(e: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """``e`` with roots out of the denominators of its constant coefficients where that is shorter.

    Only rational operations on square roots, each exact.
    """
    terms = []
    for term in sympy.Add.make_args(e):
        constant, rest = term.as_independent(x, as_Add=False)
        if not constant.free_symbols and _SHORT < constant.count_ops() <= _LONG:
            for other in (sympy.radsimp(constant), sympy.radsimp(sympy.expand(constant))):
                shorter = sympy.factor_terms(other)
                if shorter.count_ops() < constant.count_ops():
                    constant = shorter
        terms.append(constant * rest)
    return sympy.Add(*terms)


def with_cases(answer: Antiderivative, cases: list[SpecialCase]) -> Antiderivative:
    """``answer`` with the special cases beside it."""
    return replace(answer, cases=tuple(cases))
