"""Whether two expressions are the same function, and how sure that is.

Cheapest first: same Tree, same kernels, a numeric counterexample, signs of the
branch points, SymPy's own strategies; numeric agreement is what is left. A
counterexample overrules every proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import sympy
from sympy import S

from service.verification.convert import ConversionError, to_sympy
from service.verification.kernels import Outcome, zero_test
from service.verification.numerics import POINTS, Pair, Witness
from service.verification.signs import sign_test
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

Status = Literal["proved", "numeric", "refuted", "undecided"]

#: Part of what is left of the deadline that SymPy's strategies may use, and their limit in seconds.
STRATEGY_SHARE: Final = 0.5
STRATEGY_LIMIT_S: Final = 1.0

#: Strategies grow fast with the size of the expression.
STRATEGY_OPERATIONS: Final = 150


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a comparison.

    ``proved``: equal at every real point where the left-hand side is defined
    and real, up to isolated points. ``numeric``: equal to 30 digits at
    ``points`` points, no proof. ``refuted``: they differ, at ``witness`` if
    one point was found. ``undecided``: nothing could be established in time.
    ``method`` names the step that decided.
    """

    status: Status
    method: str
    assumptions: tuple[str, ...] = ()
    witness: Witness | None = None
    points: int = 0

    @property
    def holds(self) -> bool:
        """Whether the equality may be shown as an answer."""
        return self.status in ("proved", "numeric")


def as_expression(
    side: Tree | sympy.Expr, seen: dict[Tree, sympy.Basic] | None = None
) -> sympy.Expr:
    """The side as a SymPy expression with real symbols. Raises ``ConversionError``.

    ``seen`` as in :func:`to_sympy`.
    """
    expr = to_sympy(side, seen=seen) if isinstance(side, Tree) else side
    if not isinstance(expr, sympy.Expr):
        raise ConversionError("a condition is not an expression")
    return expr


def prove_equal(lhs: Tree | sympy.Expr, rhs: Tree | sympy.Expr, *, deadline_s: float) -> Verdict:
    """Compare two sides over the reals, within about ``deadline_s`` seconds.

    The sides are Trees or SymPy expressions with real symbols. Raises
    ``ConversionError`` for a Tree that has no SymPy counterpart.
    """
    if isinstance(lhs, Tree) and lhs == rhs:
        return Verdict("proved", "identical")
    deadline = time.monotonic() + deadline_s
    verdict = Verdict("undecided", "time")
    try:
        with time_limit(deadline_s):
            left, right = as_expression(lhs), as_expression(rhs)
            verdict = _decide(left, right, deadline)
            if verdict.status == "numeric":
                verdict = _strategies(left, right, deadline) or verdict
    except OutOfTime:
        pass  # the better of what was established so far
    return verdict


def _decide(lhs: sympy.Expr, rhs: sympy.Expr, deadline: float) -> Verdict:
    if lhs.has(S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity):
        return Verdict("undecided", "not finite")
    if rhs.has(S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity):
        return Verdict("refuted", "not finite")
    if lhs == rhs:
        return Verdict("proved", "canonical")
    test = zero_test(lhs, rhs, deadline=deadline)
    pair = Pair(lhs, rhs)
    if test.outcome is not Outcome.ZERO:
        pair.refine()  # only a proof by kernels covers what no sample can
    witness = pair.counterexample()
    if witness is not None:
        return Verdict("refuted", "counterexample", witness=witness)
    if test.outcome is Outcome.ZERO:
        return Verdict("proved", "kernels")
    if test.outcome is Outcome.NONZERO and test.rational:
        return Verdict("refuted", "kernels")
    witness = pair.hidden_counterexample()
    if witness is not None:
        return Verdict("refuted", "counterexample", witness=witness)
    agreement = pair.agreement()
    if agreement.witness is not None:
        return Verdict("refuted", "counterexample", witness=agreement.witness)
    enough = POINTS if pair.symbols else 1
    if agreement.points < enough:
        return Verdict("undecided", "too few points", points=agreement.points)
    if sign_test(lhs, rhs, deadline=deadline):
        return Verdict("proved", "signs", points=agreement.points)
    return Verdict("numeric", "30 digits", points=agreement.points)


def _zero_by_minimal_polynomial(difference: sympy.Expr) -> bool:
    if difference.free_symbols or not difference.is_algebraic:
        return False
    x = sympy.Dummy("x")
    return bool(sympy.minimal_polynomial(difference, x) == x)


_STRATEGIES: Final[tuple[tuple[str, Callable[[sympy.Expr], bool]], ...]] = (
    ("minimal polynomial", _zero_by_minimal_polynomial),
    ("simplify", lambda d: bool(sympy.simplify(d) == 0)),
    ("rewrite", lambda d: bool(sympy.simplify(d.rewrite(sympy.exp)) == 0)),
)


def _strategies(lhs: sympy.Expr, rhs: sympy.Expr, deadline: float) -> Verdict | None:
    """A proof by SymPy of what the numbers suggest already."""
    difference = lhs - rhs
    if difference.count_ops() > STRATEGY_OPERATIONS:
        return None
    budget = min(STRATEGY_LIMIT_S, STRATEGY_SHARE * (deadline - time.monotonic()))
    until = time.monotonic() + budget
    for name, strategy in _STRATEGIES:
        left = until - time.monotonic()
        if left <= 0:
            return None
        try:
            with time_limit(left):
                if strategy(difference):
                    return Verdict("proved", name)
        except OutOfTime:
            return None
        except Exception:  # noqa: S112 - SymPy raises anything; a failed strategy proves nothing
            continue
    return None
