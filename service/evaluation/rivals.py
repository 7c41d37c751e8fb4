"""SymPy's own integrators, as a worker process runs them to be compared with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Literal

import sympy
from sympy.integrals.manualintegrate import manualintegrate

from service.integration.answers import present
from service.verification.convert import to_sympy
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

Integrator = Literal["integrate", "manualintegrate"]
INTEGRATORS: Final[tuple[Integrator, ...]] = ("integrate", "manualintegrate")

#: Seconds that the verifier gets for an answer, beyond the limit of the integrator.
VERIFIER_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class RivalAnswer:
    """``tree`` is what was verified, else None; times in seconds, the first without the proof."""

    tree: Tree | None
    integrator_s: float
    total_s: float


def ask(integrator: Integrator, integrand: Tree, variable: str, limit_s: float) -> RivalAnswer:
    """The answer that ``integrator`` gives within ``limit_s``, if it can be verified.

    A branch for special parameters is not looked at; an answer with an integral left
    in it, or a sum over roots, is none.
    """
    started = time.monotonic()
    answer: sympy.Expr | None = None
    try:
        with time_limit(limit_s):
            x = sympy.Symbol(variable, real=True)
            f = to_sympy(integrand)
            answer = sympy.integrate(f, x) if integrator == "integrate" else manualintegrate(f, x)
    except (OutOfTime, Exception):  # noqa: S110 - SymPy raises whatever it likes
        pass
    taken = time.monotonic() - started
    if answer is None or answer.has(sympy.Integral, sympy.RootSum, sympy.S.NaN, sympy.zoo):
        return RivalAnswer(None, taken, taken)
    tree: Tree | None = None
    try:
        with time_limit(VERIFIER_S):
            found = present(answer, integrand, variable, time.monotonic() + VERIFIER_S)
            tree = found.tree if found else None
    except (OutOfTime, RecursionError):
        pass
    return RivalAnswer(tree, taken, time.monotonic() - started)
