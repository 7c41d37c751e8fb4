"""The functions that a worker process is asked to run; the deadline is the last argument."""

from __future__ import annotations

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
    try:
        with time_limit(min(1.0, deadline_s)):
            return forms(integrand, variable)[1:]
    except OutOfTime:
        return []


def substitutions(integrand: Tree, variable: str, deadline_s: float) -> list[Form]:
    """The integrand in other variables; none when there is no time."""
    try:
        with time_limit(min(1.0, deadline_s)):
            return substituted(integrand, variable)
    except OutOfTime:
        return []


def parts(integrand: Tree, variable: str, deadline_s: float) -> list[Form]:
    """The terms of a sum, as questions of their own; none when it is no sum."""
    try:
        with time_limit(min(1.0, deadline_s)):
            terms = split(integrand, variable)
    except OutOfTime:
        return []
    return [Form("term", term) for term in terms] if len(terms) > 1 else []


def without_imaginary_unit(integrand: Tree, deadline_s: float) -> Tree:
    """The integrand without I where circular functions remove it."""
    try:
        with time_limit(min(1.0, deadline_s)):
            return _without_imaginary_unit(integrand)
    except OutOfTime:
        return integrand


def why_unsolved(integrand: Tree, variable: str, deadline_s: float) -> str | None:
    """What about the integrand itself leaves no answer over the reals; None for nothing."""
    try:
        with time_limit(min(1.0, deadline_s)):
            if unreal(integrand, variable):
                return "the integrand has no real value anywhere; `domain: complex` allows others"
    except OutOfTime:
        pass
    return None
