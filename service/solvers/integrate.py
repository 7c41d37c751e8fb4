"""From a request for an integral to one that was verified.

The search for an antiderivative is in :mod:`service.solvers.antiderivative`. A definite
integral is taken from the antiderivative and checked by quadrature.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from service.cache import question_key, tree_from_json, tree_to_json
from service.integration import tasks
from service.integration.answers import Antiderivative
from service.integration.definite import Definite
from service.noanswer import NoAnswer
from service.resources import Resources
from service.schemas import Formula, ModelName, Verification
from service.solvers.answer import milliseconds, timing
from service.solvers.antiderivative import ALL_PARTS, Effort, SearchParts, find_antiderivative
from service.solvers.hypotheses import MODEL
from service.solvers.integral_question import TASK, in_standard_names, understand, understood
from service.solvers.integrate_schema import (
    Case,
    IntegralSolved,
    IntegralUnsolved,
    IntegrateRequest,
    Search,
    UnderstoodIntegral,
)
from service.solvers.question import formula
from service.solvers.worker import in_worker
from service.stopwatch import Stopwatch
from tokenizer.normalise import VARIABLE, Normalised, rename, rename_text
from tokenizer.tree import Tree

#: Part of the cache key: raise it when the meaning of an answer changes.
API_VERSION: Final = 1

#: Part of the time of a definite integral that the search for an antiderivative may use.
ANTIDERIVATIVE_SHARE: Final = 0.5

#: Heads that split an integrand into cases; a definite integral takes them piece by piece.
CASES: Final = frozenset(
    {"Abs", "sign", "Heaviside", "Max", "Min", "Piecewise", "floor", "ceiling"}
)


@dataclass(slots=True)
class Found:
    """An answer in normalised names, as the cache keeps it.

    ``tree`` is the antiderivative or the value; ``cases`` are (condition, Tree or None,
    note).
    """

    tree: Tree | None
    source: Literal["model", "sympy"]
    verification: dict[str, Any]
    hypotheses: int
    rounds: int
    model: dict[str, str] | None = None
    value: str | None = None
    convergence: Literal["proper", "improper", "divergent"] | None = None
    principal_value: Tree | None = None
    functions: list[str] = field(default_factory=list)
    cases: list[tuple[str, Tree | None, str]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        kept = {name: getattr(self, name) for name in _PLAIN}
        for name in ("tree", "principal_value"):
            tree = getattr(self, name)
            kept[name] = None if tree is None else tree_to_json(tree)
        kept["cases"] = [
            [condition, None if tree is None else tree_to_json(tree), note]
            for condition, tree, note in self.cases
        ]
        return json.dumps(kept).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> Found:
        """What :meth:`to_bytes` wrote. Raises ``ValueError`` for anything else."""
        try:
            kept = json.loads(value)
            for name in ("tree", "principal_value"):
                kept[name] = None if kept[name] is None else tree_from_json(kept[name])
            kept["cases"] = [
                (condition, None if tree is None else tree_from_json(tree), note)
                for condition, tree, note in kept["cases"]
            ]
            return cls(**kept)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("not an answer") from error


_PLAIN: Final = (
    "source", "verification", "hypotheses", "rounds", "model", "value", "convergence", "functions",
)  # fmt: skip


class Unverified(NoAnswer):
    """No closed form; ``definite`` is what quadrature found."""

    def __init__(self, message: str, definite: Definite | None = None) -> None:
        super().__init__("not_verified", message)
        self.definite = definite


async def integrate(
    request: IntegrateRequest, resources: Resources, parts: SearchParts = ALL_PARTS
) -> IntegralSolved | IntegralUnsolved:
    """The integral that ``request`` asks for, if it can be verified in time.

    Raises ``ParseError`` for an expression that cannot be read and
    :class:`Problem` for a question that cannot be answered or is one too many.
    """
    settings = resources.settings
    timeout_s = min(request.timeout_s or settings.timeout_default_s, settings.timeout_max_s)
    watch = Stopwatch(timeout_s)
    with watch.stage("parse"):
        question = understand(request)
        echo = understood(question)
        normalised = in_standard_names(question)
    info = resources.engine.models.get(MODEL)
    model = ModelName(name=info.name, version=info.version) if info else None
    key = question_key(
        TASK,
        normalised.tree,
        api=API_VERSION,
        model=info and info.digest,
        engine=request.engine,
        domain=request.domain,
        beam=request.beam,
    )
    effort = Effort(parts)

    async def compute() -> Found:
        return await _answer(normalised.tree, request, resources, watch, effort)

    try:
        found, cached = await resources.flights.answer(
            TASK, key, timeout_s, Found.from_bytes, Found.to_bytes, compute
        )
    except NoAnswer as error:
        resources.metrics.answers.labels(TASK, "unsolved", "none").inc()
        error.refuse_if_never_tried()
        definite = error.definite if isinstance(error, Unverified) else None
        return IntegralUnsolved(
            input=echo,
            value=_number(definite.value if definite else None),
            error_estimate=definite.error if definite else None,
            convergence=definite.convergence if definite else None,
            reason=str(error),
            search=Search(hypotheses=effort.hypotheses, rounds=effort.rounds),
            model=model if request.engine != "sympy" else None,
            timing_ms=timing(watch),
        )
    _count(resources, watch, found)
    return _solved(echo, found, normalised, cached, watch)


# --- the search -----------------------------------------------------------------


async def _answer(
    tree: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
) -> Found:
    """Raises :class:`NoAnswer`, and :class:`Problem` when too much is waiting."""
    integrand, _, *bounds = tree.args
    integrand = await _prepared(integrand, resources, watch)
    if not bounds:
        antiderivative, source = await find_antiderivative(
            integrand, request, resources, watch, effort, watch.deadline
        )
        return _indefinite(antiderivative, source, resources, effort)
    return await _definite(integrand, bounds[0], bounds[1], request, resources, watch, effort)


async def _prepared(integrand: Tree, resources: Resources, watch: Stopwatch) -> Tree:
    if integrand.contains("I", head="constant"):
        with watch.stage("verify"):
            return await in_worker(
                resources, watch.remaining_s, tasks.without_imaginary_unit, integrand
            )
    return integrand


async def _definite(
    integrand: Tree,
    lower: Tree,
    upper: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
) -> Found:
    antiderivative: Antiderivative | None = None
    source: Literal["model", "sympy"] = "sympy"
    parametric = bool({*integrand.symbols(), *lower.symbols(), *upper.symbols()} - {VARIABLE})
    by_pieces = any(node.head in CASES for node in integrand.preorder())
    if parametric or not by_pieces or request.engine == "model":
        give_up = time.monotonic() + ANTIDERIVATIVE_SHARE * watch.remaining_s
        # without one the value may be found in other ways, and in numbers at least
        with contextlib.suppress(NoAnswer):
            antiderivative, source = await find_antiderivative(
                integrand, request, resources, watch, effort, give_up
            )
    fallback = request.engine != "model"
    stage = "verify" if antiderivative is not None else "fallback"
    with watch.stage(stage):
        definite: Definite = await in_worker(
            resources,
            watch.remaining_s,
            tasks.solve_parametric if parametric else tasks.solve_definite,
            integrand,
            VARIABLE,
            lower,
            upper,
            antiderivative.tree if antiderivative else None,
            antiderivative is not None and antiderivative.status == "proved",
            fallback,
        )
    if definite.status is None:
        raise Unverified(_reason(definite), definite)
    if antiderivative is None or definite.source != "antiderivative":
        source = "sympy"
    return Found(
        tree=definite.tree,
        source=source,
        verification=_verification(definite.status, definite.method, definite.elapsed_ms, definite),
        hypotheses=effort.hypotheses,
        rounds=effort.rounds,
        model=_model_of(source, resources),
        value=definite.value,
        convergence=definite.convergence,
        principal_value=definite.principal_value,
        functions=list(definite.functions),
        cases=list(definite.cases),
    )


def _reason(definite: Definite) -> str:
    if definite.value is not None:
        return "no closed form could be verified in time; the value is by quadrature"
    return definite.method or "no value could be verified in time"


def _verification(
    status: str, method: str, elapsed_ms: float, answer: Definite | Antiderivative
) -> dict[str, Any]:
    return {
        "status": status,
        "method": method,
        "elapsed_ms": milliseconds(elapsed_ms),
        "assumptions": list(answer.assumptions),
    }


def _model_of(source: str, resources: Resources) -> dict[str, str] | None:
    info = resources.engine.models.get(MODEL)
    return {"name": info.name, "version": info.version} if info and source == "model" else None


def _indefinite(
    answer: Antiderivative,
    source: Literal["model", "sympy"],
    resources: Resources,
    effort: Effort,
) -> Found:
    return Found(
        tree=answer.tree,
        source=source,
        verification=_verification(answer.status, answer.method, answer.elapsed_ms, answer),
        hypotheses=effort.hypotheses,
        rounds=effort.rounds,
        model=_model_of(source, resources),
        functions=list(answer.functions),
        cases=[(case.condition, case.tree, "") for case in answer.cases],
    )


# --- the response ---------------------------------------------------------------


def _count(resources: Resources, watch: Stopwatch, found: Found) -> None:
    metrics = resources.metrics
    metrics.answers.labels(TASK, "solved", found.source).inc()
    metrics.verifications.labels(TASK, found.verification["status"]).inc()
    for stage, ms in watch.ms.items():
        if ms:
            metrics.stage_seconds.labels(TASK, stage).observe(ms / 1000)


def _number(value: str | None) -> float | str | None:
    """A real number as a number, anything else as text."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        return value
    return number if abs(number) < float("inf") else value


def _solved(
    echo: UnderstoodIntegral,
    found: Found,
    normalised: Normalised,
    cached: bool,
    watch: Stopwatch,
) -> IntegralSolved:
    names = normalised.names
    # the variable may have been renamed to keep it apart from a symbol in a bound
    names = {**names, VARIABLE: echo.variable}

    def shown(tree: Tree | None) -> Formula | None:
        return None if tree is None else formula(rename(tree, names))

    verification = Verification(**found.verification)
    verification.assumptions = [rename_text(a, names) for a in verification.assumptions]
    verification.method = rename_text(verification.method, names)
    return IntegralSolved(
        input=echo,
        answer=shown(found.tree),
        constant=None if found.convergence else "C",
        value=_number(found.value),
        convergence=found.convergence,
        principal_value=shown(found.principal_value),
        assumptions=verification.assumptions,
        cases=[
            Case(condition=rename_text(condition, names), answer=shown(tree), note=note)
            for condition, tree, note in found.cases
        ],
        functions=found.functions,
        source=found.source,
        verification=verification,
        search=Search(hypotheses=found.hypotheses, rounds=found.rounds),
        model=ModelName(**found.model) if found.model else None,
        cached=cached,
        timing_ms=timing(watch),
    )
