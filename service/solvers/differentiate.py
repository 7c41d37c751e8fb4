"""From a request for a derivative to one that was verified.

The model proposes, a worker process verifies; an n-th derivative is n such
steps. What no hypothesis answers goes to SymPy, whose answer is verified
independently. Everything between parsing and rendering works on the
normalised Tree, so neither names nor spelling change an answer.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Final

from service.cache import question_key
from service.engine import Generation
from service.noanswer import NoAnswer
from service.problems import Problem
from service.resources import Resources
from service.schemas import (
    DifferentiateRequest,
    ModelName,
    Solved,
    Understood,
    Unsolved,
    Verification,
)
from service.solvers.answer import Answer, count, milliseconds, timing
from service.solvers.generation import generate
from service.solvers.question import choose_variable, formula, read, understood
from service.solvers.worker import in_worker
from service.stopwatch import Stopwatch
from service.tasks import DIFFERENTIATE
from service.verification.derivative import (
    DerivativeOutcome,
    check_derivative,
    differentiate_symbolically,
)
from tokenizer.codec import Encoded, Malformed, decode
from tokenizer.normalise import VARIABLE, Normalised, normalise, rename_text
from tokenizer.tree import Tree

TASK: Final = DIFFERENTIATE

#: Part of the cache key: raise it when the meaning of an answer changes.
API_VERSION: Final = 1

#: A hypothesis larger than this is not worth a verifier's time; references can make one huge.
LARGEST_HYPOTHESIS: Final = 5_000

#: Part of the time left that hypotheses may use up when SymPy could still answer.
MODEL_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Question:
    """``tree`` is the whole input; ``expression`` what is to be differentiated."""

    tree: Tree
    expression: Tree
    variable: str
    order: int


async def differentiate(request: DifferentiateRequest, resources: Resources) -> Solved | Unsolved:
    """The derivative that ``request`` asks for, if it can be verified in time.

    Raises ``ParseError`` for an expression that cannot be read and
    :class:`Problem` for a question that cannot be answered or is one too many.
    """
    settings = resources.settings
    timeout_s = min(request.timeout_s or settings.timeout_default_s, settings.timeout_max_s)
    watch = Stopwatch(timeout_s)
    with watch.stage("parse"):
        question = understand(request)
        echo = understood(question.tree, question.variable)
        normalised = normalise(question.expression, question.variable)
    info = resources.engine.models.get(TASK)
    model = ModelName(name=info.name, version=info.version) if info else None
    key = question_key(
        TASK,
        normalised.tree,
        api=API_VERSION,
        model=info and info.digest,
        engine=request.engine,
        order=question.order,
    )

    async def compute() -> Answer:
        return await _answer(normalised.tree, question.order, request.engine, resources, watch)

    try:
        answer, cached = await resources.flights.answer(
            TASK, key, timeout_s, Answer.from_bytes, Answer.to_bytes, compute
        )
    except NoAnswer as error:
        count(TASK, resources, watch, "unsolved", None)
        error.refuse_if_never_tried()
        return Unsolved(
            input=echo,
            reason=str(error),
            model=model if request.engine != "sympy" else None,
            timing_ms=timing(watch),
        )
    count(TASK, resources, watch, "solved", answer)
    return _solved(echo, answer, normalised, cached, watch)


def understand(request: DifferentiateRequest) -> Question:
    """Parse and choose the variable. Raises ``ParseError`` and :class:`Problem`."""
    tree, named = read(request.expression, request.variable, request.format)
    if tree.head == "integral":
        raise Problem("wrong-task", "This is an integral.", hint="Send it to POST /integrate.")
    if tree.contains("oo", head="constant"):
        raise Problem("undefined-expression", "Infinity is not a number that a function can use.")
    if tree.head != "derivative":
        variable = named if named is not None else choose_variable(tree)
        return Question(tree, tree, variable, request.order)
    expression, by, times = tree.args
    variable, order = str(by.value), times.value
    assert isinstance(order, int)
    if named is not None and named != variable:
        raise Problem(
            "contradiction",
            f"The expression is a derivative by {variable}, the field `variable` says {named}.",
        )
    if "order" in request.model_fields_set and request.order != order:
        raise Problem(
            "contradiction",
            f"The expression is a derivative of order {order}, "
            f"the field `order` says {request.order}.",
        )
    return Question(tree, expression, variable, order)


async def _answer(
    tree: Tree, order: int, engine: str, resources: Resources, watch: Stopwatch
) -> Answer:
    """Raises :class:`NoAnswer`, and :class:`Problem` when too much is waiting."""
    if engine == "sympy":
        return await _by_sympy(tree, order, resources, watch)
    try:
        share = 1.0 if engine == "model" else MODEL_SHARE
        return await _by_model(tree, order, resources, watch, share)
    except NoAnswer as error:
        if engine == "model":
            raise
        resources.metrics.fallbacks.labels(TASK, error.code).inc()
        return await _by_sympy(tree, order, resources, watch)


async def _by_model(
    tree: Tree, order: int, resources: Resources, watch: Stopwatch, share: float
) -> Answer:
    """``order`` verified steps of the model. Raises :class:`NoAnswer`."""
    info = resources.engine.models.get(TASK)
    if info is None:
        raise NoAnswer("no_model", "no model for this task is installed")
    give_up = watch.deadline - (1 - share) * watch.remaining_s
    beam = min(resources.settings.beam, info.limits["beam"])
    outcomes: list[DerivativeOutcome] = []
    for _ in range(order):
        outcome = await _step(tree, resources, beam, watch, give_up)
        if outcome.answer is None:
            raise NoAnswer("not_verified", "no hypothesis of the model could be verified")
        tree = outcome.answer
        outcomes.append(outcome)
    return Answer(tree, "model", _chain(outcomes), ModelName(name=info.name, version=info.version))


async def _step(
    tree: Tree, resources: Resources, beam: int, watch: Stopwatch, give_up: float
) -> DerivativeOutcome:
    """One derivative: the likeliest, and where that does not hold what the beam finds.

    The likeliest alone is nearly always right, and costs less than a beam.
    """
    outcome: DerivativeOutcome | None = None
    tried: list[Tree] = []
    for width in sorted({1, beam}):
        source, generation = await generate(resources, watch, TASK, tree, width, give_up)
        with watch.stage("verify"):
            found = _trees(generation, source)
            hypotheses = [hypothesis for hypothesis in found if hypothesis not in tried]
            if not hypotheses:
                continue
            tried += hypotheses
            left = give_up - time.monotonic()
            outcome = await in_worker(resources, left, check_derivative, tree, VARIABLE, hypotheses)
        if outcome.answer is not None:
            return outcome
    if outcome is None:
        raise NoAnswer("malformed", "no hypothesis of the model is a formula")
    return outcome


def _trees(generation: Generation, source: Encoded) -> list[Tree]:
    """The hypotheses that are worth a look, each once."""
    trees: dict[Tree, None] = {}
    for hypothesis in generation.hypotheses:
        with contextlib.suppress(Malformed):
            tree = decode(hypothesis.tokens, source)
            if tree.size <= LARGEST_HYPOTHESIS:
                trees[tree] = None
    return list(trees)


async def _by_sympy(tree: Tree, order: int, resources: Resources, watch: Stopwatch) -> Answer:
    """SymPy's derivative, checked numerically against the question. Raises :class:`NoAnswer`."""
    with watch.stage("fallback"):
        outcome = await in_worker(
            resources, watch.remaining_s, differentiate_symbolically, tree, VARIABLE, order
        )
    if outcome.answer is None:
        raise NoAnswer("not_verified", "no derivative could be verified in time")
    return Answer(outcome.answer, "sympy", _chain([outcome]), None)


def _chain(outcomes: list[DerivativeOutcome]) -> Verification:
    """Several verified steps are as sure as the least sure of them."""
    verdicts = [outcome.verdict for outcome in outcomes]
    proved = all(verdict.status == "proved" for verdict in verdicts)
    return Verification(
        status="proved" if proved else "numeric",
        method=", ".join(dict.fromkeys(verdict.method for verdict in verdicts)),
        elapsed_ms=milliseconds(1000 * sum(outcome.elapsed_s for outcome in outcomes)),
        assumptions=list(dict.fromkeys(a for verdict in verdicts for a in verdict.assumptions)),
    )


def _solved(
    echo: Understood, answer: Answer, normalised: Normalised, cached: bool, watch: Stopwatch
) -> Solved:
    assumed = [rename_text(text, normalised.names) for text in answer.verification.assumptions]
    return Solved(
        input=echo,
        answer=formula(normalised.restore(answer.tree)),
        source=answer.source,
        verification=answer.verification.model_copy(update={"assumptions": assumed}),
        model=answer.model,
        cached=cached,
        timing_ms=timing(watch),
    )
