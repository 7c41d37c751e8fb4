"""Checking a derivative, and finding one: the functions that workers run for /differentiate."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import sympy

from service.verification.arranging import Outside, arranged
from service.verification.convert import ConversionError, from_sympy
from service.verification.differentiation import derivative, slope_counterexample
from service.verification.equivalence import Verdict, as_expression, prove_equal
from service.verification.gathering import gather
from service.verification.lowest_terms import NotRational, in_lowest_terms, is_rational
from service.verification.proofs import Derivation, identical
from service.verification.screening import complex_values, sample
from service.verification.slopes import TINY, Screening, plainly_not_zero, screened
from service.verification.timing import OutOfTime, time_limit
from tokenizer.render import to_text
from tokenizer.tree import Tree, integer

#: Time for making an answer shorter, in seconds.
TIDY_LIMIT_S: Final = 0.25

#: Larger answers (in nodes), and higher powers, are not rearranged.
TIDY_SIZE: Final = 250
TIDY_EXPONENT: Final = 12


@dataclass(frozen=True, slots=True)
class DerivativeOutcome:
    """What became of one derivative.

    ``answer`` is tidied and None where nothing holds; ``index`` says which
    hypothesis it came from (None for SymPy's own). ``verdict`` is that of the
    answer, or of the last hypothesis that failed. ``elapsed_s`` is the time in the worker.
    """

    answer: Tree | None
    index: int | None
    verdict: Verdict
    elapsed_s: float


def check_derivative(
    expression: Tree, variable: str, hypotheses: Sequence[Tree], deadline_s: float
) -> DerivativeOutcome:
    """The first hypothesis that is the derivative, proved before numeric.

    A hypothesis is proved by the rules of differentiation as SymPy states them, or
    compared with SymPy's derivative by :func:`prove_equal`; numeric differentiation
    overrules both.
    """
    start = time.monotonic()
    deadline = start + deadline_s
    outcome = Verdict("undecided", "no hypothesis")
    kept: tuple[int, Verdict] | None = None
    check = _Check(expression, variable, deadline)
    try:
        with time_limit(deadline_s):
            for index, hypothesis in enumerate(hypotheses):
                if not check.clears(hypothesis) and check.undefined:
                    return DerivativeOutcome(None, None, _UNDEFINED, time.monotonic() - start)
                try:
                    outcome = check(hypothesis)
                except ConversionError as error:
                    outcome = Verdict("refuted", str(error))
                if outcome.holds and (kept is None or outcome.status == "proved"):
                    kept = index, outcome
                if outcome.status == "proved":
                    break
    except OutOfTime:
        outcome = Verdict("undecided", "time")
    if kept is None:
        return DerivativeOutcome(None, None, outcome, time.monotonic() - start)
    index, verdict = kept
    try:
        answer = check.answer(hypotheses[index])
    except Exception:  # SymPy raises anything; what is proved stays proved
        answer = hypotheses[index]
    return DerivativeOutcome(answer, index, verdict, time.monotonic() - start)


class _Check:
    """Verdicts on hypotheses for the derivative of one expression.

    The rules alone prove most of them (:mod:`service.verification.chain`), numeric
    differentiation guarding the proof; where doubles are in doubt
    (:mod:`service.verification.slopes`), or the rules do not do, SymPy is given both.
    """

    def __init__(self, expression: Tree, variable: str, deadline: float) -> None:
        self.expression = expression
        self.variable = variable
        self.deadline = deadline
        self.symbol = sympy.Symbol(variable, real=True)
        self._seen: dict[Tree, sympy.Basic] = {}
        self._rules = Derivation(expression, variable)
        self._screened: dict[Tree, Screening | None] = {}
        # over complex arguments the rule for Abs is another one, so the rules need company
        self.smooth = not any(
            node.head in ("Abs", "sign") and node.contains(variable)
            for node in expression.preorder()
        )

    @cached_property
    def given(self) -> sympy.Expr | None:
        """The expression as SymPy has it, None when it has numbers that SymPy cannot take."""
        with contextlib.suppress(ConversionError):
            return self.as_expression(self.expression)
        return None

    @cached_property
    def undefined(self) -> bool:
        """Whether the expression has no value anywhere."""
        return self.given is not None and undefined_everywhere(self.given)

    def as_expression(self, tree: Tree) -> sympy.Expr:
        """``tree`` as SymPy has it; what it shares with the others is built once."""
        return as_expression(tree, self._seen)

    def screening(self, hypothesis: Tree) -> Screening | None:
        """What doubles say, for a hypothesis that the rules prove."""
        if hypothesis not in self._screened:
            proved = self.smooth and self._rules.proves(hypothesis)
            self._screened[hypothesis] = (
                screened(self.expression, hypothesis, self.variable) if proved else None
            )
        return self._screened[hypothesis]

    def clears(self, hypothesis: Tree) -> bool:
        """Whether the rules prove it and doubles leave no doubt."""
        found = self.screening(hypothesis)
        return found is not None and found.agrees

    def is_not_zero(self, hypothesis: Tree) -> bool:
        """Whether it is plain that the hypothesis is not zero everywhere."""
        found = self.screening(hypothesis)
        if found is not None and found.agrees and found.not_zero:
            return True
        return plainly_not_zero(hypothesis) or not _may_be_zero(self.as_expression(hypothesis))

    def __call__(self, hypothesis: Tree) -> Verdict:
        """The verdict on one hypothesis; raises ``ConversionError`` for one SymPy cannot read."""
        proved = Verdict("proved", "differentiation rules")
        if self.clears(hypothesis):
            return proved
        by_rules = self._rules.proves(hypothesis)
        try:
            given = self.as_expression(self.expression) if self.given is None else self.given
            candidate = self.as_expression(hypothesis)
        except ConversionError:
            # numbers that SymPy cannot take; the rules did not need to compute them
            if by_rules and self.smooth:
                return proved
            raise
        if candidate.has(sympy.nan, sympy.zoo):
            return Verdict("refuted", "it has no values")
        if by_rules and self.smooth:
            verdict = proved
        else:
            reference = derivative(given, self.symbol)
            left = self.deadline - time.monotonic()
            verdict = prove_equal(reference, candidate, deadline_s=left)
            if by_rules and verdict.status == "numeric":
                verdict = proved
            if verdict.status == "numeric" and reference.has(sympy.DiracDelta):
                return Verdict("undecided", "numbers do not see an impulse")
            if not verdict.holds:
                return verdict
        witness = slope_counterexample(given, candidate, self.symbol, real_only=by_rules)
        if witness is not None:
            return Verdict("refuted", "numeric differentiation", witness=witness)
        return _with_real_arguments(verdict, given, candidate, self.symbol)

    def answer(self, hypothesis: Tree) -> Tree:
        """A hypothesis that holds, arranged for reading. SymPy may raise anything."""
        try:
            with time_limit(max(_tidying_time(self.deadline), 0.001)):
                if self.is_not_zero(hypothesis):
                    same = self._rules.equal
                    forms = [tree for tree in _own_forms(hypothesis) if same(hypothesis, tree)]
                    if forms:
                        return min(forms, key=lambda tree: tree.size)
        except OutOfTime:
            return hypothesis
        return tidy(self.as_expression(hypothesis), deadline_s=_tidying_time(self.deadline))


def _own_forms(tree: Tree) -> Iterator[Tree]:
    """Forms of ``tree`` that it takes no SymPy to find; none where SymPy would find better ones."""
    rational = is_rational(tree)
    symbols = tree.symbols()
    if rational and len(symbols) > 1:
        return  # common factors of polynomials in several variables are SymPy's to find
    with contextlib.suppress(Outside, NotRational):
        if rational and symbols:
            yield arranged(in_lowest_terms(tree, symbols[0]))
    with contextlib.suppress(Outside):
        yield arranged(tree)


def differentiate_symbolically(
    expression: Tree, variable: str, order: int, deadline_s: float
) -> DerivativeOutcome:
    """The derivative of this order by SymPy, each step checked by numeric differentiation.

    Raises ``ConversionError`` when the expression has no SymPy counterpart or
    the derivative cannot be written with our heads.
    """
    start = time.monotonic()
    deadline = start + deadline_s
    verdict = Verdict("proved", "differentiation rules")
    try:
        with time_limit(deadline_s):
            symbol = sympy.Symbol(variable, real=True)
            result = as_expression(expression)
            if undefined_everywhere(result):
                return DerivativeOutcome(None, None, _UNDEFINED, time.monotonic() - start)
            for _ in range(order):
                given, result = result, derivative(result, symbol)
                if result.has(sympy.nan, sympy.zoo):
                    # SymPy goes on with these as with numbers: the derivative of nan is 0
                    verdict = Verdict("undecided", "the rules give no number")
                    return DerivativeOutcome(None, None, verdict, time.monotonic() - start)
                verdict = _with_real_arguments(verdict, given, result, symbol)
                witness = slope_counterexample(given, result, symbol)
                if witness is not None:
                    verdict = Verdict("refuted", "numeric differentiation", witness=witness)
                    return DerivativeOutcome(None, None, verdict, time.monotonic() - start)
    except OutOfTime:
        verdict = Verdict("undecided", "time")
        return DerivativeOutcome(None, None, verdict, time.monotonic() - start)
    answer = tidy(result, deadline_s=_tidying_time(deadline))
    return DerivativeOutcome(answer, None, verdict, time.monotonic() - start)


#: Step and tolerance of the differences that tell a wrong sign.
_STEP: Final = 1e-4
_WRONG: Final = 1e-3


def _with_real_arguments(
    verdict: Verdict, given: sympy.Expr, slope: sympy.Expr, variable: sympy.Symbol
) -> Verdict:
    """``verdict``, on condition that the arguments of Abs and sign are real where it fails else.

    |u|' = sign(u) u' is a rule for real u; |sqrt(x)| has real values for x < 0, too.
    """
    ordered = {
        node.args[0] for node in given.atoms(sympy.Abs, sympy.sign) if node.args[0].has(variable)
    }
    ordered = {u for u in ordered if u.is_extended_real is not True}
    if not verdict.holds or not ordered:
        return verdict
    symbols = sorted(given.free_symbols | slope.free_symbols, key=lambda s: str(s.name))
    at = sample(tuple(s.name for s in symbols)).columns(symbols)
    step = _STEP * np.maximum(np.abs(at[variable]), 1.0)
    with np.errstate(all="ignore"):
        beside = [
            complex_values(given, {**at, variable: at[variable] + k * step}) for k in (-1, 0, 1)
        ]
        numeric = (beside[2] - beside[0]) / (2 * step)
        claimed = complex_values(slope, at)
        real = np.logical_and.reduce([np.isfinite(v) & (v.imag == 0) for v in beside])
        off = real & ~(np.abs(claimed - numeric) <= _WRONG * (np.abs(numeric) + 1e-6))
        needed = [
            u
            for u in sorted(ordered, key=str)
            if np.any(off & (np.abs(complex_values(u, at).imag) > 0))
        ]
    notes = tuple(f"{to_text(from_sympy(u))} is real" for u in needed)
    return replace(verdict, assumptions=tuple(dict.fromkeys((*verdict.assumptions, *notes))))


_UNDEFINED: Final = Verdict("refuted", "the expression has no finite value anywhere")

#: Points, real and complex, at which a divisor must vanish to be taken for zero.
ZERO_POINTS: Final = 8
ZERO_DIGITS: Final = 60


def undefined_everywhere(expr: sympy.Expr) -> bool:
    """Whether ``expr`` has an infinite part, or a divisor or logarithm's argument that is zero.

    Only sums can be zero without SymPy seeing it at once; doubles clear most of them.
    """
    if expr.has(sympy.Piecewise):
        return False  # another branch may have values
    if expr.has(sympy.nan, sympy.zoo):
        return True
    suspects = {p.base for p in expr.atoms(sympy.Pow) if p.exp.could_extract_minus_sign()}
    suspects |= {log.args[0] for log in expr.atoms(sympy.log)}
    factors = {factor for e in suspects for factor in sympy.Mul.make_args(e)}
    return any(_is_zero(factor) for factor in factors if factor.is_Add)


def _is_zero(e: sympy.Expr) -> bool:
    symbols = sorted(e.free_symbols, key=lambda s: str(s.name))
    for turn in range(ZERO_POINTS):
        # off special values; every second point is off the axis
        offset = sympy.I * sympy.Rational(3, 7) if turn % 2 else sympy.S.Zero
        at = {
            s: sympy.Rational(37 + 101 * turn + 53 * k, 97 + 2 * k) + offset
            for k, s in enumerate(symbols)
        }
        try:
            terms = [term.evalf(15, subs=at) for term in e.args]
            size = sum((abs(term) for term in terms), sympy.S.Zero)
            if not (size.is_Float and size.is_finite) or abs(sum(terms)) > 1e-6 * size:
                return False
            if abs(e.evalf(ZERO_DIGITS, subs=at)) > sympy.Float("1e-40") * size:
                return False
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            return False
    return True


def _tidying_time(deadline: float) -> float:
    return min(TIDY_LIMIT_S, deadline - time.monotonic())


def tidy(
    expr: sympy.Expr,
    *,
    deadline_s: float = TIDY_LIMIT_S,
) -> Tree:
    """The shortest of a few cheap forms that is proved equal to ``expr``.

    Nothing is multiplied out. Raises ``ConversionError`` when no form can be written.
    """
    seen: dict[sympy.Basic, Tree] = {}
    best: Tree | None = None
    failure = ConversionError("no form of the answer can be written")
    deadline = time.monotonic() + max(deadline_s, 0.001)
    try:
        best = from_sympy(expr, seen)
    except ConversionError as error:
        failure = error
    try:
        with time_limit(max(deadline_s, 0.001)):
            forms = dict(_forms(expr, best, seen))
            for tree in sorted(forms, key=lambda tree: tree.size):
                if best is not None and tree.size >= best.size:
                    break
                left = deadline - time.monotonic()
                if (best is not None and identical(best, tree)) or (
                    prove_equal(expr, forms[tree], deadline_s=left).status == "proved"
                ):
                    return tree
    except OutOfTime:
        pass
    if best is None:
        raise failure
    return best


def _forms(
    expr: sympy.Expr, tree: Tree | None, seen: dict[sympy.Basic, Tree]
) -> Iterator[tuple[Tree, sympy.Expr]]:
    """Other forms of ``expr``, whose Tree is ``tree``: each change is made to the shortest yet."""
    if expr.is_Atom or (tree is not None and tree.size > TIDY_SIZE):
        return
    if expr.has(sympy.Piecewise):
        with contextlib.suppress(ConversionError):
            folded = sympy.piecewise_fold(expr)
            yield from_sympy(folded, seen), folded
        return
    if _may_be_zero(expr):
        yield integer(0), sympy.S.Zero
    for rearrange in _REARRANGEMENTS:
        try:
            new = rearrange(expr)
            changed = from_sympy(new, seen)
        except Exception:  # noqa: S112 - SymPy raises anything; a form less is no loss
            continue
        yield changed, new
        if tree is None or changed.size < tree.size:
            expr, tree = new, changed


def _may_be_zero(expr: sympy.Expr) -> bool:
    """False only where it is plain that ``expr`` is not zero everywhere.

    A product is zero where a factor is, and only a sum is zero without SymPy seeing it.
    """
    symbols = sorted(expr.free_symbols, key=lambda symbol: str(symbol.name))
    points = sample(tuple(symbol.name for symbol in symbols)).columns(symbols)
    for factor in sympy.Mul.make_args(expr):
        base, exponent = factor.as_base_exp()
        if base.is_Add and not exponent.is_negative:
            values = complex_values(base, points) if symbols else np.zeros(1)
            if not np.any(np.abs(values) > TINY):
                return True
    return False


def _cancel(expr: sympy.Expr) -> sympy.Expr:
    if expr.has(sympy.Function) or not expr.is_rational_function():
        return expr
    exponents = [abs(p.exp) for p in expr.atoms(sympy.Pow)]
    if max(exponents, default=0) > TIDY_EXPONENT:
        return expr
    return sympy.factor_terms(sympy.cancel(expr))


def _quotients(expr: sympy.Expr) -> sympy.Expr:
    """sin/cos as tan, sinh/cosh as tanh, reciprocals as sec, csc, …"""
    from sympy.simplify.fu import TR2i  # noqa: PLC0415 - slow to import, seldom needed

    return TR2i(expr) if expr.has(sympy.sin, sympy.cos) else expr


def _powers(expr: sympy.Expr) -> sympy.Expr:
    """Products of powers that SymPy does not join by itself: exp(a) exp(b), 2^x 3^x."""
    for product in expr.atoms(sympy.Mul):
        exponents = [f.exp for f in product.args if f.is_Pow and not f.exp.is_number]
        exponentials = sum(isinstance(factor, sympy.exp) for factor in product.args)
        if exponentials > 1 or len(set(exponents)) < len(exponents):
            return sympy.powsimp(expr)
    return expr


_REARRANGEMENTS: Final[tuple[Callable[[sympy.Expr], sympy.Expr], ...]] = (
    gather,
    _cancel,
    _quotients,
    _powers,
)
