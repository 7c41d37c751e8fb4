"""Inputs from bug reports of other systems: is what the service says about them right?

Every answer is judged by numbers in mpmath, independent of the service's own mathematics:
an antiderivative by its derivative, a definite integral by the expected value or by
quadrature at sample parameters, an identity by the relation that is expected.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from mpmath import mp
from rich.progress import Progress

from service.evaluation.independent import (
    ANSWER_LIMITS,
    check_antiderivative,
    evaluate,
)
from service.metrics import Metrics
from service.problems import Problem
from service.resources import Resources, open_resources
from service.settings import Settings
from service.solvers.integrate import integrate
from service.solvers.integrate_schema import IntegralSolved, IntegralUnsolved, IntegrateRequest
from service.verification.comparison import compare
from service.verification.errors import WorkerError
from tokenizer.errors import ParseError
from tokenizer.limits import DEFAULT_LIMITS
from tokenizer.parse import parse
from tokenizer.tree import Tree

Kind = Literal["integrate", "definite", "equivalence"]
KINDS: Final[tuple[Kind, ...]] = ("integrate", "definite", "equivalence")

#: What an expectation without an answer says.
_NONE: Final = ("no elementary", "no closed form", "unevaluated", "numeric only")
#: Agreement asked for.
_CLOSE: Final = 1e-11
_SAMPLES: Final = ("-13/8", "5/8", "9/4")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: what was said, and whether that is right; ``remark`` tells why it is not."""

    id: str
    kind: Kind
    right: bool
    said: str
    expected: str
    remark: str = ""


def load() -> list[dict[str, Any]]:
    """The cases of :data:`KINDS` in the folder ``CALCERT_CASES``.

    Raises ``FileNotFoundError`` without them.
    """
    default = Path(__file__).resolve().parents[3] / "shared" / "cases"
    path = Path(os.environ.get("CALCERT_CASES", default)) / "cases.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if row["kind"] in KINDS]


def _typed(text: str) -> str:
    """An input without the remark behind it."""
    return text.split("   [", maxsplit=1)[0].strip()


async def run(limit_s: float, settings: Settings, bar: Progress) -> list[Outcome]:
    """The outcome of every case, one at a time."""
    rows = load()
    task = bar.add_task("cases", total=len(rows))
    found = []
    async with open_resources(settings, Metrics()) as resources:
        for row in rows:
            found.append(await _outcome(row, limit_s, resources))
            bar.advance(task)
    return found


async def _outcome(row: dict[str, Any], limit_s: float, resources: Resources) -> Outcome:
    if row["kind"] == "equivalence":
        return await _equivalence(row, limit_s, resources)
    definite = row["kind"] == "definite"
    expression = _typed(row["integrand"] if definite else row["input"])
    bounds = {"lower": row["lower"], "upper": row["upper"]} if definite else {}
    request = IntegrateRequest(
        expression=expression, variable=row["variable"], timeout_s=limit_s, **bounds
    )
    answer: IntegralSolved | IntegralUnsolved | None
    try:
        answer = await integrate(request, resources)
    except (ParseError, Problem) as error:
        return Outcome(row["id"], row["kind"], False, "refused", row["expected"], str(error))
    judge = judge_definite if definite else judge_indefinite
    try:
        # the judge takes as long as it takes, so a worker runs it
        remark = await resources.pool.run(
            judge, row, expression, answer.model_dump_json(), timeout_s=120.0
        )
    except WorkerError as error:
        remark = f"not judged: {type(error).__name__}"
    return Outcome(row["id"], row["kind"], not remark, _said(answer), row["expected"], remark)


def _said(answer: IntegralSolved | IntegralUnsolved) -> str:
    if isinstance(answer, IntegralUnsolved):
        number = "" if answer.value is None else f", value {answer.value}"
        return f"unsolved{number}"
    text = answer.answer.text if answer.answer else str(answer.convergence)
    needs = f" if {', '.join(answer.assumptions)}" if answer.assumptions else ""
    cases = "".join(
        f"; {c.condition}: {c.answer.text if c.answer else c.note}" for c in answer.cases
    )
    return f"{text}{needs}{cases}"


async def _equivalence(row: dict[str, Any], limit_s: float, resources: Resources) -> Outcome:
    limits = replace(DEFAULT_LIMITS, power_digits=10_000)  # one holds factorial(2006)
    said = "undecided"
    try:
        lhs, rhs = (parse(_typed(row[side]), limits=limits) for side in ("lhs", "rhs"))
        found = await resources.pool.run(
            compare, lhs, rhs, row["variable"] or "x", timeout_s=2 * limit_s
        )
        said = found.relation
    except (ParseError, WorkerError) as error:
        said = str(error)
    right = said == row["verdict"]
    return Outcome(row["id"], "equivalence", right, said, row["verdict"], "" if right else "other")


# --- judges: each returns what is wrong, nothing when all is right -------------------


def judge_indefinite(row: dict[str, Any], integrand: str, answer: str) -> str:
    """An antiderivative by its derivative; none only where none was expected."""
    said = json.loads(answer)
    if said["status"] == "unsolved":
        hopeless = any(phrase in row["expected"] for phrase in _NONE)
        return "" if hopeless else "no answer"
    verdict = check_antiderivative(integrand, said["answer"]["text"], row["variable"])
    return "" if verdict == "right" else f"the derivative is {verdict}"


def judge_definite(row: dict[str, Any], integrand: str, answer: str) -> str:
    """A value by what is expected, or by quadrature at sample parameters."""
    said, variable = json.loads(answer), row["variable"]
    trees = [parse(text, variables=(variable,)) for text in (integrand, row["lower"], row["upper"])]
    names = sorted(
        set().union(*(t.symbols() for t in trees[1:]), set(trees[0].symbols()) - {variable})
    )
    if names:
        return _judge_parameters(trees, variable, names, said)
    wanted = row["expected"]
    if "divergent" in wanted:
        if said["status"] != "solved" or said["convergence"] != "divergent":
            return "not told to diverge"
        text = said["answer"]["text"] if said["answer"] else ""
        return "" if "oo" not in wanted or text == "oo" else "the infinity is missing"
    if said["value"] is None or said["convergence"] == "divergent":
        return "no value"
    if said["status"] == "unsolved" and not any(phrase in wanted for phrase in _NONE):
        return "only in numbers"
    return "" if _is(said, _number(re.split(r"  |\s\((?:numeric|=)|;", wanted)[0])) else "wrong"


def _number(text: str) -> Any:
    with mp.workdps(30):
        return mp.mpmathify(evaluate(parse(text.replace(" ", ""), limits=ANSWER_LIMITS), {}))


def _is(said: dict[str, Any], wanted: Any) -> bool:
    values = [_number(str(said["value"]))]
    if said["answer"]:
        values.append(_number(said["answer"]["text"]))
    return all(abs(v - wanted) <= _CLOSE * max(1, abs(wanted)) for v in values)


def _judge_parameters(
    trees: list[Tree], variable: str, names: list[str], said: dict[str, Any]
) -> str:
    if said["status"] == "unsolved":
        return "no answer"
    judged = 0
    with mp.workdps(20):
        for choice in product(_SAMPLES, repeat=min(len(names), 3)):
            values = {
                name: _number(choice[i % len(choice)]) + mp.mpf(i) / 32
                for i, name in enumerate(names)
            }
            branch = _branch(said, values)
            if branch is None:
                continue
            text, diverges = branch
            wanted = _integral(trees, variable, values)
            if (wanted is None) != diverges:
                return f"at {_shown(values)}: {'diverges' if wanted is None else wanted}"
            if wanted is not None:
                value = evaluate(parse(text, limits=ANSWER_LIMITS), values)
                if abs(value - wanted) > 1e-9 * max(1, abs(wanted)):
                    return f"at {_shown(values)}: {mp.nstr(wanted, 9)}, not {mp.nstr(value, 9)}"
            judged += 1
    return "" if judged >= 2 else "says nothing about the samples"


def _shown(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {mp.nstr(value, 5)}" for name, value in values.items())


def _branch(said: dict[str, Any], values: dict[str, Any]) -> tuple[str, bool] | None:
    """What the answer says about these parameters: a formula, or that it diverges."""
    if all(_holds(condition, values) for condition in said["assumptions"]):
        diverges = said["convergence"] == "divergent"
        return ("" if diverges else said["answer"]["text"]), diverges
    for case in said["cases"]:
        if _holds(case["condition"], values):
            if case["answer"]:
                return case["answer"]["text"], False
            if case["note"] == "divergent":
                return "", True
    return None


def _holds(condition: str, values: dict[str, Any]) -> bool:
    """Whether such as ``a > 0, b != 1 or a < 0`` is true."""
    return any(
        all(_compares(part, values) for part in alternative.split(", "))
        for alternative in condition.split(" or ")
    )


def _compares(text: str, values: dict[str, Any]) -> bool:
    left, sign, right = re.split(r" (!=|>=|<=|=|>|<) ", text, maxsplit=1)
    a, b = (evaluate(parse(side, limits=ANSWER_LIMITS), values) for side in (left, right))
    match sign:
        case ">":
            return bool(a > b)
        case "<":
            return bool(a < b)
        case ">=":
            return bool(a >= b)
        case "<=":
            return bool(a <= b)
        case "=":
            return bool(abs(a - b) < 1e-15)
    return bool(abs(a - b) >= 1e-15)


def _integral(trees: list[Tree], variable: str, values: dict[str, Any]) -> Any:
    """By mpmath's quadrature; None where it does not settle."""
    lower, upper = (evaluate(bound, values) for bound in trees[1:])
    if lower > upper:
        turned = _integral([trees[0], trees[2], trees[1]], variable, values)
        return None if turned is None else -turned
    inner: list[Any] = [k for k in range(-4, 5) if lower < k < upper]

    def f(x: Any) -> Any:
        try:
            return evaluate(trees[0], {**values, variable: x}, vanishing=True)
        except (ZeroDivisionError, OverflowError):
            return mp.inf

    value, error = mp.quad(f, [lower, *inner, upper], error=True)
    settled = mp.isfinite(value) and error < 1e-8 * max(1, abs(value)) and abs(value) < 1e12
    return value if settled else None


def rows(found: list[Outcome]) -> Iterator[tuple[str, int, int]]:
    """(kind, right, asked) for each kind."""
    for kind in KINDS:
        of_kind = [outcome for outcome in found if outcome.kind == kind]
        yield kind, sum(outcome.right for outcome in of_kind), len(of_kind)
