"""Definite integrals with parameters in the integrand or the bounds.

A formula is tried for each pattern of signs of the parameters and compared with
quadrature at sample values; what is claimed, and under which conditions, is what
those comparisons bear out.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

import sympy
from sympy import S

from service.integration.conditions import Condition, conditions
from service.integration.definite import Convergence, Definite, solve_definite
from service.integration.nonelementary import named_functions
from service.integration.quadrature import number
from service.integration.search import solve_by_rules
from service.integration.singular import guards
from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

#: Absolute values that parameters take, in turn.
SIZES: Final = (
    sympy.Rational(13, 8), sympy.Rational(29, 8), sympy.Rational(7, 8),
    sympy.Rational(19, 4), sympy.Rational(3, 16), sympy.Rational(21, 8),
    sympy.Rational(37, 4), sympy.Rational(5, 4),
)  # fmt: skip
#: Samples of each pattern of signs, small and large ones among them.
SAMPLES: Final = 4
#: Factors to the sizes at which a divergence must persist to be one of the whole pattern.
SCALES: Final = (sympy.Rational(1, 1000), S(1000))
#: More parameters than this have all one sign in the patterns tried.
MAX_PATTERNS_OF: Final = 3
#: Agreement asked for at each sample.
DIGITS: Final = 20

Signs = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What one pattern of signs gave: a formula that agreed, or how the integral behaves."""

    signs: Signs
    formula: sympy.Expr | None
    convergence: Convergence | None
    digits: int


def solve_parametric(
    integrand: Tree,
    variable: str,
    lower: Tree,
    upper: Tree,
    antiderivative: Tree | None,
    proved: bool,
    fallback: bool,
    deadline_s: float,
) -> Definite:
    """The integral as an expression in the parameters, with the conditions it holds under."""
    started = time.monotonic()
    deadline = started + deadline_s
    x = sympy.Symbol(variable, real=True)
    f, a, b = (to_sympy(tree) for tree in (integrand, lower, upper))
    big = None if antiderivative is None else to_sympy(antiderivative)
    names = sorted((f.free_symbols | a.free_symbols | b.free_symbols) - {x}, key=lambda s: s.name)
    trials: list[Trial] = []
    for signs in _patterns(len(names)):
        if trials and time.monotonic() > started + 0.7 * deadline_s:
            break
        trials.append(_try(f, x, a, b, big, names, signs, trials, deadline))
    result = _judge(trials, names, f, x, a, b, big, proved)
    if result.tree is not None:
        result = _with_cases(result, f, x, a, b, deadline)
    return replace(result, elapsed_ms=1000 * (time.monotonic() - started))


def _patterns(count: int) -> Iterator[Signs]:
    if count > MAX_PATTERNS_OF:
        yield (1,) * count
        yield (-1,) * count
    else:
        yield from itertools.product((1, -1), repeat=count)


def _try(
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    big: sympy.Expr | None,
    names: list[sympy.Symbol],
    signs: Signs,
    before: list[Trial],
    deadline: float,
) -> Trial:
    values = [_sample(names, signs, k) for k in range(SAMPLES)]
    formulas = list(dict.fromkeys(t.formula for t in before if t.formula is not None))
    if big is not None:
        own = _formula(big, x, a, b, names, signs)
        if own is not None and own not in formulas:
            formulas.append(own)
    convergence: Convergence | None = None
    for sample in values:
        seen = _numeric(f, x, a, b, sample, deadline)
        if seen is None or seen.convergence is None:
            return Trial(signs, None, None, 0)
        if seen.convergence == "divergent":
            if convergence not in (None, "divergent"):
                return Trial(signs, None, None, 0)
            convergence = "divergent"
            continue
        if convergence == "divergent":
            # signs alone do not tell where it diverges
            return Trial(signs, None, None, 0)
        if convergence is None:
            convergence = seen.convergence
        elif seen.convergence != convergence:
            convergence = "improper"
        formulas = [e for e in formulas if _agrees(e, sample, seen)]
        if not formulas:
            return Trial(signs, None, None, 0)
    if convergence == "divergent":
        for scale in SCALES:
            far = {name: scale * value for name, value in values[0].items()}
            seen = _numeric(f, x, a, b, far, deadline)
            if seen is None or seen.convergence != "divergent":
                return Trial(signs, None, None, 0)
        return Trial(signs, None, "divergent", 0)
    return Trial(signs, formulas[0] if formulas else None, convergence, DIGITS)


def _sample(names: list[sympy.Symbol], signs: Signs, turn: int) -> dict[sympy.Symbol, sympy.Expr]:
    return {
        name: sign * SIZES[(i + 2 * turn) % len(SIZES)]
        for i, (name, sign) in enumerate(zip(names, signs, strict=True))
    }


def _formula(
    big: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    names: list[sympy.Symbol],
    signs: Signs,
) -> sympy.Expr | None:
    """F(b) - F(a), limits taken where a bound is infinite, for parameters of these signs."""
    there = {
        name: sign * sympy.Dummy(name.name, positive=True)
        for name, sign in zip(names, signs, strict=True)
    }
    back = {
        abs(value): sign * name for (name, value), sign in zip(there.items(), signs, strict=True)
    }
    total = S.Zero
    for bound, weight in ((b, 1), (a, -1)):
        signed = big.subs(there)
        at = bound.subs(there)
        value = signed.subs(x, at) if at.is_finite is not False else S.NaN
        if value.has(S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity):
            try:
                with time_limit(3.0):
                    value = sympy.limit(signed, x, at, "-" if weight > 0 else "+")
            except (OutOfTime, Exception):  # SymPy raises whatever it likes
                return None
        total += weight * value
    if total.has(S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity, sympy.Limit):
        return None
    return total.subs(back)


def _numeric(
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    sample: dict[sympy.Symbol, sympy.Expr],
    deadline: float,
) -> Definite | None:
    """Convergence and quadrature at one choice of the parameters."""
    rest = deadline - time.monotonic()
    if rest < 0.1:
        return None
    try:
        trees = [from_sympy(e.subs(sample)) for e in (f, a, b)]
        return solve_definite(trees[0], x.name, trees[1], trees[2], None, False, False, rest / 2)
    except (ConversionError, RecursionError):
        return None


def _agrees(formula: sympy.Expr, sample: dict[sympy.Symbol, sympy.Expr], seen: Definite) -> bool:
    if seen.number is None:
        return False
    try:
        value = number(formula.subs(sample))
    except (TypeError, ValueError):
        return False
    size = max(1, abs(value))
    return bool(abs(value - seen.number) <= max(10.0**-DIGITS * size, 10 * (seen.error or 0.0)))


def _judge(
    trials: list[Trial],
    names: list[sympy.Symbol],
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    big: sympy.Expr | None,
    proved: bool,
) -> Definite:
    good = [t for t in trials if t.formula is not None]
    if not good:
        behaviours = {t.convergence for t in trials}
        if behaviours == {"divergent"}:
            value = None if big is None else _principal_value(f, x, a, b, big, names)
            return Definite(
                "divergent",
                status="numeric",
                method="divergent for every choice of the parameters that was tried",
                principal_value=None if value is None else from_sympy(value),
            )
        return Definite(None, method="no formula agreed with quadrature")
    formula = good[0].formula
    assert formula is not None
    holds = [t.signs for t in good if t.formula == formula]
    needed = _needed(holds, [t.signs for t in trials], names)
    cases = []
    for trial in trials:
        unknown = trial.formula is None and trial.convergence is None
        if trial.signs in holds or not needed or unknown:
            continue
        text = _describe(trial.signs, names, only=needed)
        tree = None if trial.formula is None else from_sympy(trial.formula)
        note = "" if tree is not None else str(trial.convergence)
        if (text, tree, note) not in cases:
            cases.append((text, tree, note))
    regions = dict.fromkeys(_describe(signs, names, only=needed) for signs in holds)
    assumptions = [" or ".join(regions)] if needed else []
    smooth = big is not None and not any(
        g.contains(x.name) for e in (f, big) for g in guards(from_sympy(e))
    )
    certain = proved and smooth and a.is_finite is not False and b.is_finite is not False
    status: Literal["proved", "numeric"] = "proved" if certain else "numeric"
    shorter = sympy.factor_terms(formula)
    tree = from_sympy(min((formula, shorter), key=sympy.count_ops))
    samples = SAMPLES * len(holds)
    return Definite(
        good[0].convergence,
        tree,
        status=status,
        method=(
            "proved antiderivative without singular points"
            if certain
            else "antiderivative at the bounds"
        )
        + f"; quadrature agrees to {DIGITS} digits at {samples} choices of the parameters",
        source="antiderivative",
        assumptions=tuple(assumptions),
        functions=named_functions(tree),
        cases=tuple(cases),
    )


def _needed(holds: list[Signs], tried: list[Signs], names: list[sympy.Symbol]) -> list[int]:
    """The parameters whose sign decides whether the formula holds."""
    if len(holds) == len(tried):
        return []

    def turned(signs: Signs, i: int) -> Signs:
        return (*signs[:i], -signs[i], *signs[i + 1 :])

    failed = set(tried) - set(holds)
    return [i for i in range(len(names)) if any(turned(s, i) in failed for s in holds)]


def _describe(signs: Signs, names: list[sympy.Symbol], only: list[int]) -> str:
    return ", ".join(f"{names[i]} {'>' if signs[i] > 0 else '<'} 0" for i in only)


def _principal_value(
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    big: sympy.Expr,
    names: list[sympy.Symbol],
) -> sympy.Expr | None:
    """F(b) - F(a), if it is the principal value at sample parameters."""
    formula = sympy.simplify(big.subs(x, b) - big.subs(x, a))
    if formula.has(S.NaN, S.ComplexInfinity, S.Infinity):
        return None
    for turn in range(SAMPLES):
        sample = _sample(names, (1,) * len(names), turn)
        trees = [from_sympy(e.subs(sample)) for e in (f, a, b, big)]
        seen = solve_definite(trees[0], x.name, trees[1], trees[2], trees[3], True, False, 5.0)
        if seen.principal_value is None:
            return None
        if abs(sympy.N(to_sympy(seen.principal_value) - formula.subs(sample), 20)) > 1e-15:
            return None
    return formula


def _side(condition: Condition, regions: tuple[str, ...]) -> int:
    """0 where the condition may fail under the signs that the formula needs, else not 0.

    1 when it fails for zero, 2 when for a value of the other sign.
    """
    name, value = condition.symbol, condition.value
    if name is None or value is None or not value.is_number or not regions:
        return 0
    for alternative in regions[0].split(" or "):
        signs = alternative.split(", ")
        positive, negative = f"{name} > 0" in signs, f"{name} < 0" in signs
        if not ((positive and value <= 0) or (negative and value >= 0)):
            return 0
    return 1 if value == 0 else 2


def _with_cases(
    result: Definite,
    f: sympy.Expr,
    x: sympy.Symbol,
    a: sympy.Expr,
    b: sympy.Expr,
    deadline: float,
) -> Definite:
    """Conditions under which the formula has no value, and the integral where they fail."""
    assert result.tree is not None
    found, cases = list(result.assumptions), list(result.cases)
    for condition in conditions(to_sympy(result.tree), f, x):
        if any(condition.text == known for known in found):
            continue
        side = _side(condition, result.assumptions)
        if not side:
            found.append(condition.text)
        if side == 2:
            continue  # where it fails, another pattern of signs holds
        if condition.symbol is None or time.monotonic() > deadline - 0.5:
            continue
        special = [e.subs(condition.symbol, condition.value) for e in (f, a, b)]
        rest = deadline - time.monotonic()
        try:
            trees = [from_sympy(e) for e in special]
            inner = solve_by_rules(trees[0], x.name, True, min(1.0, rest / 2))
            args = (inner.tree if inner else None, bool(inner and inner.status == "proved"))
            solve = (
                solve_parametric if any(e.free_symbols - {x} for e in special) else solve_definite
            )
            value = solve(trees[0], x.name, trees[1], trees[2], *args, False, rest / 2)
        except (ConversionError, RecursionError):
            continue
        if value.tree is not None:
            cases.append((condition.failing, value.tree, ""))
    return replace(result, assumptions=tuple(found), cases=tuple(cases))
