"""Checking the steps of a derivation: what workers run for POST /steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sympy

from service.verification.convert import ConversionError
from service.verification.derivative import tidy
from service.verification.differentiation import derivative
from service.verification.equivalence import as_expression, prove_equal
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

#: Time for one step, in seconds: it is a small claim, or not worth waiting for.
STEP_LIMIT_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class CheckedSteps:
    """``checks``: proved, numeric, refuted or undecided, one a step; ``tidied`` of the last result.

    ``tidied`` is None when it could not be had or would not be shorter.
    """

    checks: tuple[str, ...]
    tidied: Tree | None


def check_steps(
    claims: Sequence[tuple[Tree, Tree]], variable: str, result: Tree, deadline_s: float
) -> CheckedSteps:
    """For each claim (u, v), whether v is the derivative of u; ``result`` is tidied."""
    deadline = time.monotonic() + deadline_s
    symbol = sympy.Symbol(variable, real=True)
    checks = []
    for of, claimed in claims:
        limit = min(STEP_LIMIT_S, deadline - time.monotonic())
        status = "undecided"
        if limit > 0:
            try:
                with time_limit(limit):
                    reference = derivative(as_expression(of), symbol)
                    verdict = prove_equal(reference, claimed, deadline_s=limit)
                    status = verdict.status
            except (OutOfTime, ConversionError, RecursionError):
                pass
        checks.append(status)
    tidied = None
    left = deadline - time.monotonic()
    if left > 0:
        try:
            with time_limit(left):
                shorter = tidy(as_expression(result), deadline_s=left)
                tidied = shorter if shorter.size < result.size else None
        except (OutOfTime, ConversionError, RecursionError):
            pass
    return CheckedSteps(tuple(checks), tidied)


def check_equal(lhs: Tree, rhs: Tree, deadline_s: float) -> str:
    """Status of lhs = rhs."""
    return prove_equal(lhs, rhs, deadline_s=deadline_s).status
