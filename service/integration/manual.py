"""An integral by the rules that people use, where SymPy knows them; each step checked.

The rules are those of ``sympy.integrals.manualintegrate``; nothing it says is shown
before the derivative of its result was compared with the integrand.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from itertools import count
from typing import Any, Final

import sympy
from sympy.integrals import manualintegrate as manual

from service.integration.prove import prove_antiderivative
from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.derivative import tidy
from service.verification.differentiation import derivative
from service.verification.timing import OutOfTime, time_limit
from tokenizer.tree import Tree

#: Time to find the rules, and to check one step, in seconds.
FIND_LIMIT_S: Final = 3.0
STEP_LIMIT_S: Final = 1.5
MOST_STEPS: Final = 40

_TITLES: Final = {
    "ConstantRule": "Constant",
    "ConstantTimesRule": "Constant factor",
    "PowerRule": "Power rule",
    "NestedPowRule": "Nested powers",
    "AddRule": "Sum, term by term",
    "URule": "Substitution",
    "PartsRule": "Integration by parts",
    "CyclicPartsRule": "Integration by parts, solved for the integral",
    "RewriteRule": "Rewrite the integrand",
    "CompleteSquareRule": "Complete the square",
    "TrigSubstitutionRule": "Trigonometric substitution",
    "PiecewiseRule": "Case by case",
    "ExpRule": "Exponential function",
    "ReciprocalRule": "1/x",
    "ArctanRule": "Arctangent",
    "ArcsinRule": "Arcsine",
    "ArcsinhRule": "Area hyperbolic sine",
    "DerivativeRule": "Derivative",
}


@dataclass(frozen=True, slots=True)
class ManualStep:
    """∫ ``integrand`` d ``variable`` = ``result`` by ``rule``; ``let`` names what was chosen."""

    rule: str
    depth: int
    variable: str
    integrand: Tree
    result: Tree
    let: tuple[tuple[str, Tree], ...]
    check: str


@dataclass(frozen=True, slots=True)
class BackStep:
    """d/dx ``term`` = ``slope``."""

    term: Tree
    slope: Tree
    check: str


def manual_steps(integrand: Tree, variable: str, deadline_s: float) -> list[ManualStep]:
    """The derivation by rules; empty where there is none, or one of its steps is wrong."""
    deadline = time.monotonic() + deadline_s
    x = sympy.Symbol(variable, real=True)
    try:
        with time_limit(min(FIND_LIMIT_S, deadline_s / 2)):
            rule = manual.integral_steps(to_sympy(integrand), x)
            if rule.contains_dont_know():
                return []
            names = _fresh_names({*integrand.symbols(), variable})
            found = _walk(rule, 0, {}, names)
    except OutOfTime:
        return []
    except Exception:  # SymPy raises anything on odd input; there are no steps then
        return []
    if len(found) > MOST_STEPS:
        return []
    steps = []
    for step in found:
        limit = min(STEP_LIMIT_S, deadline - time.monotonic())
        check = "undecided"
        if limit > 0:
            try:
                with time_limit(limit):
                    check = prove_antiderivative(
                        step.integrand, step.variable, step.result, limit
                    ).status
            except (OutOfTime, ConversionError, RecursionError):
                pass
        if check == "refuted":
            return []
        steps.append(
            ManualStep(
                step.rule, step.depth, step.variable, step.integrand, step.result, step.let, check
            )
        )
    return steps


def _fresh_names(used: set[str]) -> Any:
    letters = (name for name in "uvws" if name not in used)
    yield from letters
    yield from (name for name in (f"u_{k}" for k in count(1)) if name not in used)


def _walk(
    rule: Any, depth: int, names: dict[sympy.Basic, sympy.Symbol], fresh: Any
) -> list[ManualStep]:
    """The rule and those inside it. Raises ``ConversionError`` for what cannot be written."""
    while isinstance(rule, manual.AlternativeRule):
        rule = next(one for one in rule.alternatives if not one.contains_dont_know())

    def tree(expr: Any) -> Tree:
        return from_sympy(sympy.sympify(expr).xreplace(names))

    variable = names.get(rule.variable, rule.variable)
    let: list[tuple[str, Tree]] = []
    if isinstance(rule, manual.URule):
        names[rule.u_var] = sympy.Symbol(next(fresh), real=True)
        let.append((names[rule.u_var].name, tree(rule.u_func)))
    elif isinstance(rule, manual.PartsRule):
        let += [("u", tree(rule.u)), ("v'", tree(rule.dv))]
    elif isinstance(rule, manual.TrigSubstitutionRule):
        names[rule.theta] = sympy.Symbol("theta", real=True)
        let.append((variable.name, tree(rule.func)))
    elif isinstance(rule, manual.RewriteRule | manual.CompleteSquareRule):
        let.append(("", tree(rule.rewritten)))
    title = _TITLES.get(type(rule).__name__, "Known integral")
    result = tree(rule.eval())
    step = ManualStep(title, depth, variable.name, tree(rule.integrand), result, tuple(let), "")
    found = [step]
    for inner in _inner(rule):
        found += _walk(inner, depth + 1, names, fresh)
    return found


def _inner(rule: Any) -> list[Any]:
    inside = []
    for member in fields(rule):
        value = getattr(rule, member.name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, manual.Rule):
                inside.append(one)
    return inside


def differentiate_back(
    terms: list[Tree], integrand: Tree, variable: str, antiderivative: Tree, deadline_s: float
) -> tuple[list[BackStep], str]:
    """The slope of each term of the antiderivative, and whether they add up to the integrand."""
    deadline = time.monotonic() + deadline_s
    x = sympy.Symbol(variable, real=True)
    steps = []
    for term in terms:
        limit = min(STEP_LIMIT_S, deadline - time.monotonic())
        if limit <= 0:
            break
        try:
            with time_limit(limit):
                slope = tidy(derivative(to_sympy(term), x), deadline_s=limit)
                check = prove_antiderivative(slope, variable, term, limit).status
                steps.append(BackStep(term, slope, check))
        except (OutOfTime, ConversionError, RecursionError):
            continue
    left = deadline - time.monotonic()
    if left <= 0:
        return steps, "undecided"
    return steps, prove_antiderivative(integrand, variable, antiderivative, left).status
