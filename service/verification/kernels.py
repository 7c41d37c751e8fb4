"""Zero test of an expression as a rational function of independent kernels.

The expression is evaluated in prime fields of about 120 bits, each kernel
(a symbol, exp of a monomial, a logarithm, an opaque function) standing for a
random element. A rational function that is not zero vanishes there with a
probability below degree / 2**120 (Schwartz, JACM 27, 1980; Zippel, 1979), so
"zero" is as sure as any computation, and huge powers cost nothing.

Only rewritings that hold for complex principal values are used: addition
theorems of exp, sin, cos and their kin through exp(a + b) = exp(a) exp(b);
u**(a + b) = u**a u**b; r**n = u for r = u**(1/n). Which n-th root r is stays
open: the expression must vanish for every choice, hence for the principal one.
Two kernels are the same when their arguments have the same values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import sympy

from service.verification.field import NonResidueError, field
from service.verification.residues import Evaluation, NoValueError

#: Radicals of a higher degree get a kernel that forgets its power.
MAX_DEGREE: Final = 12

#: Evaluations spent on one test at most, all choices of roots together.
MAX_EVALUATIONS: Final = 300

FIELDS: Final = 6


class Outcome(Enum):
    """What the test found."""

    ZERO = "zero"
    NONZERO = "nonzero"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ZeroTest:
    """The outcome; where ``rational``, symbols were the only kernels and nonzero is final."""

    outcome: Outcome
    rational: bool


def zero_test(lhs: sympy.Expr, rhs: sympy.Expr, *, deadline: float | None = None) -> ZeroTest:
    """Whether ``lhs - rhs`` is zero in its kernels, by ``deadline`` of ``time.monotonic``."""
    degrees, symbol_degrees = _degrees((lhs, rhs))
    order = math.lcm(2, *degrees)
    rational = True
    budget = MAX_EVALUATIONS
    for turn in range(MAX_EVALUATIONS):
        draws: dict[Any, int] = {}
        choices: list[int] = []
        try:
            while True:
                budget -= 1
                if budget < 0 or (deadline is not None and time.monotonic() > deadline):
                    return ZeroTest(Outcome.UNKNOWN, False)
                evaluation = Evaluation(field(order, turn % FIELDS), symbol_degrees, choices, draws)
                residue = (evaluation.value(lhs) - evaluation.value(rhs)) % evaluation.p
                rational = rational and not evaluation.transcendental
                if residue:
                    return ZeroTest(Outcome.NONZERO, rational)
                choices = evaluation.choices
                while choices and choices[-1] == order - 1:
                    choices.pop()
                if not choices:
                    return ZeroTest(Outcome.ZERO, rational)
                choices[-1] += 1
        except NonResidueError:
            continue
        except (NoValueError, ZeroDivisionError, ValueError, RecursionError):
            break
    return ZeroTest(Outcome.UNKNOWN, False)


def _degrees(exprs: Iterable[sympy.Expr]) -> tuple[set[int], dict[sympy.Symbol, int]]:
    """Degrees of the radicals to follow exactly, and of those of a bare symbol."""
    degrees: set[int] = set()
    of_symbol: dict[sympy.Symbol, int] = {}
    for expr in exprs:
        for power in expr.atoms(sympy.Pow):
            exponent = power.exp
            if exponent.is_Rational and exponent.q > 1:
                if power.base.is_Symbol:
                    degree = of_symbol.get(power.base, 1)
                    of_symbol[power.base] = math.lcm(degree, int(exponent.q))
                elif exponent.q <= MAX_DEGREE:
                    degrees.add(int(exponent.q))
    if math.lcm(1, *degrees) > MAX_DEGREE:
        degrees = {2}
    return degrees, of_symbol
