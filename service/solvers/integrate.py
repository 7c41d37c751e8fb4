"""From a request for an integral to one that was verified.

The model proposes the form of an antiderivative; a worker completes it by linear
algebra and proves it. While nothing is proved the search widens: a wider beam, other
forms of the integrand, its terms one by one, all in one pool of terms. What the model
does not find, guessed ansätze and SymPy's integrators may; their answers pass the same
proof. A definite integral is taken from the antiderivative and checked by quadrature.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from service.cache import question_key, tree_from_json, tree_to_json
from service.integration import tasks
from service.integration.answers import Antiderivative
from service.integration.definite import Definite
from service.integration.forms import Form, with_named_constants
from service.problems import Problem
from service.resources import Resources
from service.schemas import Formula, ModelName, Verification
from service.solvers.answer import NoAnswer, milliseconds, timing
from service.solvers.hypotheses import MODEL, hypotheses
from service.solvers.integrate_schema import (
    Case,
    IntegralSolved,
    IntegralUnsolved,
    IntegrateRequest,
    Search,
    UnderstoodIntegral,
)
from service.solvers.question import choose_variable, formula, read
from service.solvers.worker import in_worker
from service.stopwatch import Stopwatch
from tokenizer.ansatz import Term
from tokenizer.errors import ParseError
from tokenizer.normalise import VARIABLE, Normalised, normalise, rename, rename_text
from tokenizer.parse import parse
from tokenizer.tree import Tree, call, constant, symbol

TASK: Final = "integrate"

#: Part of the cache key: raise it when the meaning of an answer changes.
API_VERSION: Final = 1

#: Least hypotheses of the first round unless the client says otherwise. Those after the
#: right one cost nothing but the model's time, a few milliseconds.
FIRST_BEAM: Final = 10
#: Hypotheses that are kept for each form once the search widens.
WIDE_BEAM: Final = 16
#: Part of the time left that the model may use up when others could still answer.
MODEL_SHARE: Final = 0.6
#: Part of the time left that the first round may use up on a sum: its terms may be quicker.
FIRST_SHARE: Final = 0.1
#: Part of the time left that the terms of a sum, one by one, may use up.
TERMS_SHARE: Final = 0.7
#: Part of the time of a definite integral that the search for an antiderivative may use.
ANTIDERIVATIVE_SHARE: Final = 0.5
#: Seconds that the guessed ansätze may take.
RULES_S: Final = 6.0

#: Heads of an integrand that is written as a sum.
SUMS: Final = frozenset({"add", "sub"})
#: Heads that split an integrand into cases; a definite integral takes them piece by piece.
CASES: Final = frozenset(
    {"Abs", "sign", "Heaviside", "Max", "Min", "Piecewise", "floor", "ceiling"}
)


@dataclass(frozen=True, slots=True)
class SearchParts:
    """Parts of the search that an evaluation can switch off to learn what they are worth.

    ``widening``: rounds after the first, with a wider beam; in them ``forms``: equivalent
    forms of the integrand, and ``splitting``: the terms of a sum one by one. ``pooled``:
    all hypotheses in one system when none alone is enough.
    """

    widening: bool = True
    forms: bool = True
    splitting: bool = True
    pooled: bool = True


ALL_PARTS: Final = SearchParts()


@dataclass(frozen=True, slots=True)
class Question:
    """``lower`` and ``upper`` are both None for an indefinite integral."""

    integrand: Tree
    variable: str
    lower: Tree | None
    upper: Tree | None


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


@dataclass(slots=True)
class Effort:
    """What the search may do, and what it has done so far."""

    parts: SearchParts = ALL_PARTS
    hypotheses: int = 0
    rounds: int = 0


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
        echo = _echo(question)
        normalised = _normalise(question)
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

    async def compute() -> tuple[Found, bytes]:
        found = await _answer(normalised.tree, request, resources, watch, effort)
        return found, found.to_bytes()

    try:
        found, cached = await resources.flights.answer(key, timeout_s, Found.from_bytes, compute)
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


def understand(request: IntegrateRequest) -> Question:
    """Parse, choose the variable and the bounds. Raises ``ParseError`` and :class:`Problem`."""
    tree, named = _read(request)
    if tree.head == "derivative":
        raise Problem("wrong-task", "This is a derivative.", hint="Send it to POST /differentiate.")
    lower, upper = (_bound(text, named) for text in (request.lower, request.upper))
    if tree.head == "integral":
        integrand, by, *bounds = tree.args
        variable = str(by.value)
        if named is not None and named != variable:
            raise Problem(
                "contradiction",
                f"The expression is an integral over {variable}, the field `variable` says "
                f"{named}.",
            )
        if bounds and (lower, upper) not in ((None, None), tuple(bounds)):
            raise Problem("contradiction", "The expression has bounds, and the fields say others.")
        if bounds:
            lower, upper = bounds
    else:
        integrand = tree
        variable = named if named is not None else choose_variable(tree)
    if (lower is None) != (upper is None):
        missing = "lower" if lower is None else "upper"
        raise Problem(
            "missing-bound",
            f"A definite integral has two bounds; `{missing}` is missing.",
            status=422,
            title="A bound is missing",
        )
    if any(node.head == "constant" and node.value == "oo" for node in integrand.preorder()):
        raise Problem("undefined-expression", "Infinity is not a number that a function can use.")
    return Question(integrand, variable, lower, upper)


def _read(request: IntegrateRequest) -> tuple[Tree, str | None]:
    """The question; ``x^2 dx`` is one whose sign was left out."""
    try:
        return read(request.expression, request.variable, request.format)
    except ParseError as error:
        if error.code != "differential":
            raise
        try:
            return read(f"∫ {request.expression}", request.variable, request.format)
        except ParseError:
            raise error from None


def _bound(text: str | None, variable: str | None) -> Tree | None:
    if text is None:
        return None
    tree = parse(text, variables=(variable,) if variable else ())
    if tree.head in ("integral", "derivative"):
        raise Problem("wrong-task", "A bound is an expression, not a question.")
    infinite = [n for n in tree.preorder() if n.head == "constant" and n.value == "oo"]
    if infinite and tree not in (constant("oo"), call("neg", constant("oo"))):
        raise Problem("undefined-expression", "A bound is a number, an expression, oo or -oo.")
    return tree


def _echo(question: Question) -> UnderstoodIntegral:
    shown = formula(question.integrand)
    return UnderstoodIntegral(
        text=shown.text,
        latex=shown.latex,
        variable=question.variable,
        lower=question.lower and formula(question.lower),
        upper=question.upper and formula(question.upper),
    )


def _normalise(question: Question) -> Normalised:
    """The question as one ``integral`` Tree in standard names.

    The variable is bound inside: a bound may use its name for something else.
    """
    if question.lower is None or question.upper is None:
        tree = call("integral", question.integrand, symbol(question.variable))
        return normalise(tree, question.variable)
    outside = {*question.lower.symbols(), *question.upper.symbols()}
    variable = question.variable
    integrand = question.integrand
    if variable in outside:
        variable = next(
            name
            for name in (f"{question.variable}_{'i' * k}" for k in range(1, 99))
            if name not in outside and not integrand.contains(name)
        )
        integrand = rename(integrand, {question.variable: variable})
    tree = call("integral", integrand, symbol(variable), question.lower, question.upper)
    return normalise(tree, variable)


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
        antiderivative, source = await _antiderivative(
            integrand, request, resources, watch, effort, watch.deadline
        )
        return _indefinite(antiderivative, source, resources, effort)
    return await _definite(integrand, bounds[0], bounds[1], request, resources, watch, effort)


async def _prepared(integrand: Tree, resources: Resources, watch: Stopwatch) -> Tree:
    if any(node.head == "constant" and node.value == "I" for node in integrand.preorder()):
        with watch.stage("verify"):
            return await in_worker(
                resources, watch.remaining_s, tasks.without_imaginary_unit, integrand
            )
    return integrand


async def _antiderivative(
    integrand: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    deadline: float,
) -> tuple[Antiderivative, Literal["model", "sympy"]]:
    real = request.domain == "real"
    failure = NoAnswer("not_verified", "no antiderivative could be verified in time")
    if request.engine != "sympy":
        share = 1.0 if request.engine == "model" else MODEL_SHARE
        give_up = deadline - (1 - share) * (deadline - time.monotonic())
        try:
            found = await _by_model(integrand, real, request, resources, watch, effort, give_up)
            return found, "model"
        except NoAnswer as error:
            if request.engine == "model":
                raise
            resources.metrics.fallbacks.labels(TASK, error.code).inc()
    with watch.stage("fallback"):
        for worker, seconds in ((tasks.solve_by_rules, RULES_S), (tasks.solve_by_sympy, 1e9)):
            rest = min(seconds, deadline - time.monotonic())
            try:
                answer = await in_worker(resources, rest, worker, integrand, VARIABLE, real)
            except NoAnswer as error:
                failure = error
                continue
            if answer is not None:
                return answer, "sympy"
        rest = deadline - time.monotonic()
        if real and rest > 0:
            reason: str | None = None
            with contextlib.suppress(NoAnswer):
                reason = await in_worker(resources, rest, tasks.why_unsolved, integrand, VARIABLE)
            if reason is not None:
                raise NoAnswer("not_real", reason)
    raise failure


async def _by_model(
    integrand: Tree,
    real: bool,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    give_up: float,
) -> Antiderivative:
    """Rounds of ever wider search. Raises :class:`NoAnswer`."""
    info = resources.engine.models.get(MODEL)
    if info is None:
        raise NoAnswer("no_model", "no model for this task is installed")
    limit = info.limits["beam"]
    first = min(request.beam or max(FIRST_BEAM, resources.settings.beam), limit)
    wide = max(first, min(WIDE_BEAM, limit))
    parts = effort.parts
    named = with_named_constants(integrand, VARIABLE)
    given = [Form("as given", integrand), *([named] if named else [])]
    #: hypotheses by whether they were tried alone
    seen: dict[tuple[Term, ...], bool] = {}

    def in_time() -> bool:
        return time.monotonic() <= give_up

    async def search(forms: Sequence[Form], beam: int, share: float = 1.0) -> Antiderivative | None:
        effort.rounds += 1
        end = time.monotonic() + share * (give_up - time.monotonic())
        found = await hypotheses(forms, beam, resources, watch, give_up)
        if all(hypothesis in seen for hypothesis in found):
            return None
        fresh = [hypothesis for hypothesis in found if not seen.get(hypothesis)]
        earlier = [hypothesis for hypothesis in seen if hypothesis not in fresh]
        seen.update(dict.fromkeys(fresh, False))
        with watch.stage("verify"):
            outcome = await in_worker(
                resources,
                end - time.monotonic(),
                tasks.solve_from_hypotheses,
                integrand,
                VARIABLE,
                fresh,
                earlier,
                parts.pooled,
                real,
            )
        seen.update(dict.fromkeys(fresh[: outcome.hypotheses], True))
        effort.hypotheses += outcome.hypotheses
        return outcome.found

    splits = parts.widening and parts.splitting
    hurried = FIRST_SHARE if splits and integrand.head in SUMS else 1.0
    found: Antiderivative | None = None
    failure = NoAnswer("not_verified", "no hypothesis of the model could be completed and verified")
    try:
        found = await search(given, first, hurried)
    except NoAnswer as error:
        # its terms and other forms may be quicker, or in words that the model knows
        failure = error
    if found is None and splits and in_time():
        found = await _term_by_term(integrand, real, request, resources, watch, effort, give_up)
    if found is None and parts.widening and in_time():
        others = (
            await _listed(tasks.other_forms, integrand, resources, watch, give_up)
            if parts.forms
            else []
        )
        if others or failure.code == "not_verified":
            found = await search([*given, *others], wide)
    if found is None:
        raise failure
    return found


async def _term_by_term(
    integrand: Tree,
    real: bool,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    give_up: float,
) -> Antiderivative | None:
    """A sum by its terms, each a question of its own; None when it is none, or without answer."""
    terms = await _listed(tasks.parts, integrand, resources, watch, give_up)
    if not terms:
        return None
    # terms without an answer must leave time for the whole
    end = time.monotonic() + TERMS_SHARE * (give_up - time.monotonic())
    efforts = [Effort(replace(effort.parts, splitting=False)) for _ in terms]
    # one question must not fill the queue of the workers
    gate = asyncio.Semaphore(resources.pool.size)

    async def alone(term: Form, own: Effort) -> Antiderivative:
        async with gate:
            return await _by_model(term.tree, real, request, resources, watch, own, end)

    searches = [asyncio.ensure_future(alone(*pair)) for pair in zip(terms, efforts, strict=True)]
    try:
        answers = await asyncio.gather(*searches)
        with watch.stage("verify"):
            return await in_worker(
                resources,
                give_up - time.monotonic(),
                tasks.add_up,
                answers,
                [term.tree for term in terms],
                integrand,
                VARIABLE,
                real,
            )
    except NoAnswer:
        return None
    finally:
        for search in searches:
            search.cancel()
        await asyncio.gather(*searches, return_exceptions=True)
        effort.hypotheses += sum(own.hypotheses for own in efforts)
        effort.rounds += max(own.rounds for own in efforts)


async def _listed(
    worker: Any, integrand: Tree, resources: Resources, watch: Stopwatch, give_up: float
) -> list[Form]:
    with watch.stage("verify"):
        forms: list[Form] = await in_worker(
            resources, give_up - time.monotonic(), worker, integrand, VARIABLE
        )
        return forms


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
            antiderivative, source = await _antiderivative(
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
