"""The functions that a worker process is asked to run; the deadline is the last argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from service.integration.agreement import unreal
from service.integration.definite import solve_definite
from service.integration.forms import Form, forms, split, substituted
from service.integration.forms import without_imaginary_unit as _without_imaginary_unit
from service.integration.parametric import solve_parametric
from service.integration.remainder import explain, put_together
from service.integration.search import (
    add_up,
    put_back,
    solve_by_rules,
    solve_by_sympy,
    solve_from_hypotheses,
)
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

T = TypeVar("T")

__all__ = [
    "add_up",
    "explain",
    "other_forms",
    "parts",
    "put_back",
    "put_together",
    "solve_by_rules",
    "solve_by_sympy",
    "solve_definite",
    "solve_from_hypotheses",
    "solve_parametric",
    "substitutions",
    "why_unsolved",
    "without_imaginary_unit",
]


def other_forms(integrand: Tree, variable: str, deadline_s: float) -> list[Form]:
    """Forms of the integrand other than the given one; none when there is no time."""
    return _briefly(deadline_s, [], lambda: forms(integrand, variable)[1:])


def substitutions(integrand: Tree, variable: str, deadline_s: float) -> list[Form]:
    """The integrand in other variables; none when there is no time."""
    return _briefly(deadline_s, [], lambda: substituted(integrand, variable))


def parts(integrand: Tree, variable: str, deadline_s: float) -> list[Form]:
    """The terms of a sum, as questions of their own; none when it is no sum."""
    terms = _briefly(deadline_s, [integrand], lambda: split(integrand, variable))
    return [Form("term", term) for term in terms] if len(terms) > 1 else []


def without_imaginary_unit(integrand: Tree, deadline_s: float) -> Tree:
    """The integrand without I where circular functions remove it."""
    return _briefly(deadline_s, integrand, lambda: _without_imaginary_unit(integrand))


def why_unsolved(integrand: Tree, variable: str, deadline_s: float) -> str | None:
    """What about the integrand itself leaves no answer over the reals; None for nothing."""
    if _briefly(deadline_s, False, lambda: unreal(integrand, variable)):
        return "the integrand has no real value anywhere; `domain: complex` allows others"
    return None


def _briefly(deadline_s: float, otherwise: T, work: Callable[[], T]) -> T:
    """What ``work`` gives within a second and the deadline, else ``otherwise``."""
    try:
        with time_limit(min(1.0, deadline_s)):
            return work()
    except OutOfTime:
        return otherwise
