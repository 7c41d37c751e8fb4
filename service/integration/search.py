"""What a worker process does for an indefinite integral.

Every function here takes Trees, keeps to its deadline, and hands back plain data.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import sympy
from sympy.integrals.heurisch import heurisch
from sympy.integrals.manualintegrate import manualintegrate

from service.integration import guess, nonelementary
from service.integration.answers import Antiderivative, SpecialCase, present, summed, with_cases
from service.integration.complete import complete
from service.integration.forms import Form
from service.integration.pieces import as_signs
from service.integration.real import real_log
from service.integration.slots import expand
from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.timing import OutOfTime, time_limit
from tokenizer.ansatz import Term
from tokenizer.tree import Tree

#: Part of the time left that one hypothesis may use up.
ONE_SHARE = 0.5
#: Most seconds for each special case of the parameters.
CASE_S = 4.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search came to: a verified antiderivative or none, after how many hypotheses."""

    found: Antiderivative | None
    hypotheses: int


def solve_from_hypotheses(
    integrand: Tree,
    variable: str,
    hypotheses: Sequence[Sequence[Term]],
    earlier: Sequence[Sequence[Term]],
    pool: bool,
    real: bool,
    deadline_s: float,
) -> Outcome:
    """The first hypothesis that completes to a proved antiderivative, else all of them pooled.

    Those that an ``earlier`` round tried in vain are pooled only. ``pool`` False leaves
    out the pooling. ``real`` asks for an answer that is real wherever the integrand is.
    """
    deadline = time.monotonic() + deadline_s
    pooled: list[Term] = []
    tried = 0
    for hypothesis in hypotheses:
        if time.monotonic() > deadline:
            break
        tried += 1
        terms = expand(hypothesis, integrand, variable)
        pooled += terms
        # one that takes long must leave time for the next
        share = (deadline - time.monotonic()) * ONE_SHARE
        try:
            with time_limit(share):
                rest = time.monotonic() + share
                found = _finish(integrand, variable, terms, rest, real)
        except OutOfTime:
            continue
        if found is not None:
            return Outcome(found, tried)
    if pool and tried + len(earlier) > 1 and time.monotonic() < deadline:
        for hypothesis in earlier:
            pooled += expand(hypothesis, integrand, variable)
        return Outcome(_finish(integrand, variable, pooled, deadline, real), tried)
    return Outcome(None, tried)


def add_up(
    answers: Sequence[Antiderivative],
    terms: Sequence[Tree],
    integrand: Tree,
    variable: str,
    real: bool,
    deadline_s: float,
) -> Antiderivative | None:
    """The antiderivative of ``integrand`` from those of its terms, as :func:`summed`."""
    try:
        with time_limit(deadline_s):
            return summed(answers, terms, integrand, variable, real=real)
    except OutOfTime:
        return None


def put_back(
    answer: Antiderivative,
    form: Form,
    integrand: Tree,
    variable: str,
    real: bool,
    deadline_s: float,
) -> Antiderivative | None:
    """The antiderivative of ``integrand`` from that of a ``form`` in another variable."""
    deadline = time.monotonic() + deadline_s
    try:
        with time_limit(deadline_s):
            there = to_sympy(form.in_x(answer.tree))
            if real:
                there = there.replace(sympy.log, _log)
            signs = [to_sympy(sign) for sign in form.signs]
            for factor in dict.fromkeys((sympy.S.One, *signs, sympy.Mul(*signs))):
                found = present(factor * there, integrand, variable, deadline, real=real)
                if found is not None:
                    return _with_cases(found, integrand, variable, deadline)
    except (OutOfTime, ConversionError, RecursionError):
        pass
    return None


def _log(argument: sympy.Expr) -> sympy.Expr:
    """The logarithm of a power, as a multiple of one that is real wherever the base is."""
    powers = [part.as_base_exp() for part in sympy.Mul.make_args(argument)]
    bases = {b.args[0] if isinstance(b, sympy.Abs) else b for b, _ in powers}
    exponent = sympy.Add(*(e for _, e in powers))
    if len(bases) != 1 or exponent == 1 or not exponent.is_number:
        return sympy.log(argument)
    return exponent * real_log(bases.pop())


def solve_by_rules(
    integrand: Tree, variable: str, real: bool, deadline_s: float
) -> Antiderivative | None:
    """By the guessed ansatz, then with non-elementary functions added to it."""
    deadline = time.monotonic() + deadline_s
    try:
        with time_limit(deadline_s):
            f = as_signs(to_sympy(integrand))
            x = sympy.Symbol(variable, real=True)
            terms = guess.candidates(integrand, f, x)
            found = _finish(integrand, variable, terms, deadline, real)
            if found is None:
                special = nonelementary.candidates(f, x)
                for pool in (special, [*terms, *special]):
                    found = found or _finish(integrand, variable, pool, deadline, real)
            return found
    except (OutOfTime, ConversionError, RecursionError):
        return None


def solve_by_sympy(
    integrand: Tree, variable: str, real: bool, deadline_s: float
) -> Antiderivative | None:
    """By SymPy's integrators, the quick ones first, each with a share of the time."""
    deadline = time.monotonic() + deadline_s
    try:
        f = to_sympy(integrand)
    except (ConversionError, RecursionError):
        return None
    x = sympy.Symbol(variable, real=True)
    for integrator, share in _INTEGRATORS:
        rest = deadline - time.monotonic()
        if rest <= 0:
            return None
        for answer in _attempt(integrator, f, x, rest * share):
            found = present(answer, integrand, variable, deadline, real=real)
            if found is not None:
                return _with_cases(found, integrand, variable, deadline)
    return None


def _finish(
    integrand: Tree, variable: str, terms: Sequence[Term], deadline: float, real: bool
) -> Antiderivative | None:
    completion = complete(integrand, variable, terms, deadline - time.monotonic())
    if completion is None:
        return None
    found = present(completion.antiderivative, integrand, variable, deadline, real=real)
    return found and _with_cases(found, integrand, variable, deadline)


def _with_cases(
    answer: Antiderivative, integrand: Tree, variable: str, deadline: float
) -> Antiderivative:
    """``answer`` with what holds where one of its conditions fails."""
    cases = []
    f = to_sympy(integrand)
    for name, sign in answer.signs:
        rest = min(CASE_S, deadline - time.monotonic())
        other = _turned(f, name, sign, variable, rest) if rest > 0 else None
        if other is not None:
            cases.append(SpecialCase(f"{name} {'<' if sign > 0 else '>'} 0", other))
    for name, value in answer.failing:
        rest = min(CASE_S, deadline - time.monotonic())
        if rest <= 0:
            break
        try:
            special = f.subs(sympy.Symbol(name, real=True), to_sympy(value))
            tree = _special(special, variable, rest)
        except (ConversionError, RecursionError):
            continue
        if tree is not None:
            cases.append(SpecialCase(f"{name} = {to_sympy(value)}", tree))
    return with_cases(answer, cases)


def _special(f: sympy.Expr, variable: str, seconds: float) -> Tree | None:
    """An antiderivative that needs no further condition on the sign of a symbol."""
    x = sympy.Symbol(variable, real=True)
    if not f.has(x):
        return from_sympy(f * x)
    found = solve_by_rules(from_sympy(f), variable, True, seconds)
    return None if found is None else found.tree


def _turned(f: sympy.Expr, name: str, sign: int, variable: str, seconds: float) -> Tree | None:
    """The antiderivative where the symbol has the sign that ``sign`` is not."""
    symbol = sympy.Symbol(name, real=True)
    text = f"{name} {'>' if sign > 0 else '<'} 0"
    try:
        found = solve_by_rules(from_sympy(f.subs(symbol, -symbol)), variable, True, seconds)
        if found is None or not {*found.assumptions} <= {text}:
            return None
        return from_sympy(to_sympy(found.tree).subs(symbol, -symbol))
    except (ConversionError, RecursionError):
        return None


Integrator = Callable[[sympy.Expr, sympy.Symbol], sympy.Expr]


def _manual(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    return manualintegrate(f, x)


def _rational(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    return sympy.ratint(f, x) if f.is_rational_function(x) else sympy.Integral(f, x)


def _general(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    return sympy.integrate(f, x)


def _heuristic(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    return heurisch(f, x) or sympy.Integral(f, x)


_INTEGRATORS: tuple[tuple[Integrator, float], ...] = (
    (_rational, 0.3),
    (_manual, 0.4),
    (_heuristic, 0.3),
    (_general, 1.0),
)


def _attempt(
    integrator: Integrator, f: sympy.Expr, x: sympy.Symbol, seconds: float
) -> Iterator[sympy.Expr]:
    """Answers of ``integrator`` for the integrand and for a rewritten one."""
    forms = [f]
    if f.has(sympy.Abs, sympy.Max, sympy.Min):
        forms.append(f.rewrite(sympy.Piecewise))
    for form in forms:
        try:
            with time_limit(seconds / len(forms)):
                answer = integrator(form, x)
        except (OutOfTime, Exception):  # noqa: S112 - SymPy raises whatever it likes
            continue
        for branch in _branches(answer):
            if not branch.has(sympy.Integral, sympy.RootSum, sympy.S.NaN, sympy.zoo):
                yield branch


def _branches(e: sympy.Expr) -> list[sympy.Expr]:
    """``e`` with one branch of its Piecewise at a time, real ones for generic parameters first."""
    pieces = e.atoms(sympy.Piecewise)
    if not pieces:
        return [e]
    outer = max(pieces, key=sympy.count_ops)
    values = [value for value, condition in outer.args if not isinstance(condition, sympy.Eq)]
    values.sort(key=lambda value: bool(value.has(sympy.I)))
    return [b for value in values[:3] for b in _branches(e.xreplace({outer: value}))]
