"""Slots: terms that stand for several, expanded before the linear algebra.

A model should not compute inside of functions, nor count. So a term of an ansatz
may be a *slot*, which :func:`expand` replaces by the terms it stands for. Every
term that comes out is only a candidate; a wrong one gets the coefficient zero.

Sum slot
    ``(1 + u + v)**n * g`` with u, v not polynomials stands for all ``u**i * v**j * g``
    with i + j <= n: each has a coefficient of its own anyway.
Denominator slot
    ``<POLYd> g / B`` with a polynomial B stands for ``p(x) * g`` and, for each factor
    q**m of B over Q, ``r_k(x) * g / q**k`` with deg r_k < deg q, k = 1 … m. With B a sum
    A + B of roots, A**2 - B**2 takes its place, and g comes also times A, B and A*B.
Polynomial slot
    ``<POLYd>`` with the largest d stands for "as many as it takes": d is raised until the term
    grows as fast as x times the integrand, or tends to a constant. So is any d where all is
    algebraic, for there an antiderivative grows no faster.
Log slots
    ``log(…)``: see :mod:`service.integration.log_slots`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import sympy

from service.integration.conjugate import conjugates
from service.integration.evaluate import CannotEvaluate, Evaluator, FloatField
from service.integration.log_slots import factor_list, factors, log_candidates
from service.verification.convert import ConversionError, from_sympy, to_sympy
from tokenizer.ansatz import Term, polynomial_degree
from tokenizer.tree import Tree, call, integer
from tokenizer.vocabulary import LARGEST_SLOT

#: Most terms that one sum slot stands for.
MAX_SUM: Final = 60
#: Most distinct powers in one denominator slot.
MAX_POLES: Final = 60
#: Highest degree that the largest polynomial slot is raised to.
MAX_REACH: Final = 60
_ONE: Final = integer(1)
_ALGEBRAIC: Final = frozenset(("add", "sub", "mul", "div", "pow", "neg", "sqrt"))
_FAILURES: Final = (
    ConversionError, CannotEvaluate, ArithmeticError, ValueError, TypeError, AttributeError,
    NotImplementedError, RecursionError, sympy.polys.polyerrors.BasePolynomialError,
)  # fmt: skip


def expand(terms: Sequence[Term], integrand: Tree, variable: str) -> list[Term]:
    """The terms that ``terms`` stand for, each once, the likelier ones first.

    A slot that cannot be expanded is kept as it is written. Takes milliseconds a
    slot; call it in a worker.
    """
    present = frozenset(integrand.preorder())
    algebraic = _is_algebraic(integrand)
    out: dict[Term, None] = {}
    for term in terms:
        try:
            degree = term.degree
            if degree >= LARGEST_SLOT or (degree and algebraic and _is_algebraic(term.factor)):
                degree = _reach(term, integrand, variable)
            found = list(_expand(Term(term.factor, degree), present, variable))
        except _FAILURES:
            found = [term]
        out.update(dict.fromkeys(found))
    return list(out)


def _expand(term: Term, present: frozenset[Tree], variable: str) -> Iterator[Term]:
    factor = term.factor
    if factor.head == "log":
        literal = Term(factor, term.degree)
        if factor in present:
            yield literal
        for tree in log_candidates(factor.args[0], variable):
            yield Term(tree, term.degree)
        yield literal
        return
    above, below = factors(factor)
    fixed: list[Tree] = []
    sums: list[Tree] = [_ONE]
    for base, power in above:
        whole = base if power == 1 else call("pow", base, integer(power))
        if base.head in ("add", "sub") and polynomial_degree(base, variable) is None:
            options = _sum_slot(base, power, variable)
            if whole in present:
                options = list(dict.fromkeys([whole, *options]))
            if len(sums) * len(options) <= MAX_SUM:
                sums = [_times(a, b) for b in options for a in sums]
                continue
        fixed.append(whole)
    poles: list[tuple[Tree, int]] = []
    rest: list[Tree] = []
    lift = 0
    for base, power in below:
        degree = polynomial_degree(base, variable)
        pair = conjugates(base, variable) if degree is None else None
        if pair is not None and len(sums) * 4 <= MAX_SUM:
            sums = [_times(a, b) for b in (_ONE, *pair.span) for a in sums]
            norm = from_sympy(pair.norm)
            poles += [(norm, power)] if norm.contains(variable) else []
            # A and B may grow and cancel in their sum: (A - B)**n is longer than its value
            lift += power * pair.degree(variable)
        elif degree is None or degree == 0:
            rest.append(base if power == 1 else call("pow", base, integer(power)))
        else:
            poles.append((base, power))
    for product in sums:
        whole = product
        for base in fixed:
            whole = _times(whole, base)
        if rest:
            under = rest[0]
            for base in rest[1:]:
                under = _times(under, base)
            whole = call("div", whole, under)
        yield from _pole_slot(whole, poles, term.degree + lift, variable)


def _is_algebraic(tree: Tree) -> bool:
    return all(
        not node.args or node.head in _ALGEBRAIC or not node.symbols() for node in tree.preorder()
    ) and not any(node.head == "pow" and node.args[1].symbols() for node in tree.preorder())


def _reach(term: Term, integrand: Tree, variable: str) -> int:
    """Degree at which the slot of ``term`` grows like the variable times the integrand."""
    at = np.array([1e6, 1e7], dtype=np.complex128)
    symbols = {*integrand.symbols(), *term.factor.symbols()}
    values = {**dict.fromkeys(symbols, 1.3), variable: at}
    evaluator = Evaluator(FloatField(), values, variable)
    with np.errstate(all="ignore"):
        sizes = [
            np.broadcast_to(np.abs(evaluator.dual(tree)[0]), at.shape)
            for tree in (integrand, term.factor)
        ]
        if not all(np.isfinite(size).all() and np.all(size > 0) for size in sizes):
            return term.degree
        growth = [float(np.log10(size[1] / size[0])) for size in sizes]
    return max(term.degree, min(round(max(growth[0] + 1, 0) - growth[1]), MAX_REACH))


def _sum_slot(base: Tree, power: int, variable: str) -> list[Tree]:
    """Power products of the terms of ``base`` up to degree ``power``, without coefficients."""
    parts: list[Tree] = []
    stack = [base]
    while stack:
        node = stack.pop()
        if node.head in ("add", "sub"):
            stack += [node.args[1], node.args[0]]
        elif node.head == "neg":
            stack.append(node.args[0])
        elif node.contains(variable):
            parts.append(_without_number(node, variable))
    parts = list(dict.fromkeys(parts))
    products: list[tuple[int, Tree]] = [(0, _ONE)]
    for part in parts:
        grown = []
        for used, product in products:
            for k in range(power - used + 1):
                raised = _ONE if k == 0 else part if k == 1 else call("pow", part, integer(k))
                grown.append((used + k, _times(product, raised)))
        products = grown
        if len(products) > MAX_SUM:
            raise ValueError("too many terms in a sum slot")
    return [product for _, product in products]


def _without_number(tree: Tree, variable: str) -> Tree:
    if tree.head == "mul":
        kept = [_without_number(a, variable) for a in tree.args if a.contains(variable)]
        return kept[0] if len(kept) == 1 else _times(kept[0], kept[1])
    if tree.head == "div" and not tree.args[1].contains(variable):
        return _without_number(tree.args[0], variable)
    return tree


def _times(a: Tree, b: Tree) -> Tree:
    if a == _ONE:
        return b
    return a if b == _ONE else call("mul", a, b)


def _pole_slot(
    factor: Tree, poles: list[tuple[Tree, int]], degree: int, variable: str
) -> Iterator[Term]:
    if not poles:
        yield Term(factor, degree)
        return
    x = sympy.Symbol(variable, real=True)
    powers: dict[sympy.Expr, int] = {}
    for base, power in poles:
        for q, m in factor_list(to_sympy(base), x):
            powers[q] = powers.get(q, 0) + m * power
    total = sum(sympy.degree(q, x) * m for q, m in powers.items())
    if sum(powers.values()) > MAX_POLES:
        raise ValueError("too many poles")
    if degree >= total:
        yield Term(factor, degree - total)
    for q, m in powers.items():
        size = sympy.degree(q, x)
        tree = from_sympy(q)
        for k in range(1, m + 1):
            under = tree if k == 1 else call("pow", tree, integer(k))
            yield Term(call("div", factor, under), min(size - 1, max(degree, 0)))
