"""The search for an antiderivative: by the model in ever wider rounds, then by others.

The first round takes the hypotheses as they come. While nothing is proved the search
widens: the terms of a sum one by one, the integrand in other variables, a wider beam, other
forms of the integrand, all in one pool of terms. Where hypotheses explain a part, what is
left is asked anew. What the model does not find, guessed ansätze and SymPy's integrators may;
their answers pass the same proof.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from service.integration import tasks
from service.integration.answers import Antiderivative
from service.integration.forms import Form, asked
from service.integration.remainder import Part
from service.integration.search import Outcome
from service.noanswer import NoAnswer
from service.resources import Resources
from service.solvers.hypotheses import MODEL, hypotheses
from service.solvers.integral_question import TASK
from service.solvers.integrate_schema import IntegrateRequest
from service.solvers.worker import in_worker
from service.stopwatch import Stopwatch
from tokenizer.ansatz import Term
from tokenizer.normalise import VARIABLE
from tokenizer.tree import Tree

#: Least hypotheses of the first round unless the client says otherwise. Those after the
#: right one cost nothing but the model's time, a few milliseconds.
FIRST_BEAM: Final = 10
#: Hypotheses that are kept for each form once the search widens.
WIDE_BEAM: Final = 16
#: Part of the time left that the model may use up when others could still answer.
MODEL_SHARE: Final = 0.6
#: Part of the time left that the first round may use up on a sum: its terms may be quicker.
FIRST_SHARE: Final = 0.05
#: Part of the time left that the terms of a sum, one by one, may use up.
TERMS_SHARE: Final = 0.7
#: Part of the time left that the integrand in other variables may use up.
SUBSTITUTED_SHARE: Final = 0.3
#: Most seconds for telling what the hypotheses explain of an integrand.
EXPLAIN_S: Final = 1.5
#: Seconds that the guessed ansätze may take.
RULES_S: Final = 6.0

#: Heads of an integrand that is written as a sum.
SUMS: Final = frozenset({"add", "sub"})


@dataclass(frozen=True, slots=True)
class SearchParts:
    """Parts of the search that an evaluation can switch off to learn what they are worth.

    ``widening``: rounds after the first, with a wider beam; in them ``forms``: equivalent
    forms of the integrand, ``splitting``: the terms of a sum one by one, and
    ``substitution``: the integrand in other variables. ``pooled``: all hypotheses in one
    system when none alone is enough. ``remainder``: what the hypotheses leave of the
    integrand, as a question of its own.
    """

    widening: bool = True
    forms: bool = True
    splitting: bool = True
    substitution: bool = True
    pooled: bool = True
    remainder: bool = True


ALL_PARTS: Final = SearchParts()


@dataclass(slots=True)
class Effort:
    """What the search may do, and what it has done so far.

    ``seen`` are the hypotheses that came, by whether they were tried alone; ``of_terms``
    those for the terms of a sum.
    """

    parts: SearchParts = ALL_PARTS
    seen: dict[tuple[Term, ...], bool] = field(default_factory=dict)
    of_terms: list[tuple[Term, ...]] = field(default_factory=list)
    hypotheses: int = 0
    rounds: int = 0


async def find_antiderivative(
    integrand: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    deadline: float,
) -> tuple[Antiderivative, Literal["model", "sympy"]]:
    """A verified antiderivative and who found it, before ``deadline``.

    Raises :class:`NoAnswer`, and :class:`Problem` when too much is waiting.
    """
    failure = NoAnswer("not_verified", "no antiderivative could be verified in time")
    if request.engine != "sympy":
        share = 1.0 if request.engine == "model" else MODEL_SHARE
        give_up = deadline - (1 - share) * (deadline - time.monotonic())
        try:
            found = await _by_model(integrand, request, resources, watch, effort, give_up)
            return found, "model"
        except NoAnswer as error:
            if request.engine == "model":
                raise
            resources.metrics.fallbacks.labels(TASK, error.code).inc()
    with watch.stage("fallback"):
        for worker, seconds in ((tasks.solve_by_rules, RULES_S), (tasks.solve_by_sympy, 1e9)):
            rest = min(seconds, deadline - time.monotonic())
            try:
                answer = await in_worker(
                    resources, rest, worker, integrand, VARIABLE, _real(request)
                )
            except NoAnswer as error:
                failure = error
                continue
            if answer is not None:
                return answer, "sympy"
        rest = deadline - time.monotonic()
        if _real(request) and rest > 0:
            reason: str | None = None
            with contextlib.suppress(NoAnswer):
                reason = await in_worker(resources, rest, tasks.why_unsolved, integrand, VARIABLE)
            if reason is not None:
                raise NoAnswer("not_real", reason)
    raise failure


def _real(request: IntegrateRequest) -> bool:
    """Whether the answer must be real wherever the integrand is."""
    return request.domain == "real"


async def _by_model(
    integrand: Tree,
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
    given = asked(integrand, VARIABLE)
    seen = effort.seen

    def in_time() -> bool:
        return time.monotonic() <= give_up

    async def search(forms: Sequence[Form], beam: int, share: float = 1.0) -> Antiderivative | None:
        outcome: Outcome
        effort.rounds += 1
        end = time.monotonic() + share * (give_up - time.monotonic())
        found = await hypotheses(forms, beam, resources, watch, give_up)
        if all(hypothesis in seen for hypothesis in found):
            return None
        fresh = [hypothesis for hypothesis in found if not seen.get(hypothesis)]
        earlier = [hypothesis for hypothesis in seen if hypothesis not in fresh]
        seen.update(dict.fromkeys(fresh, False))
        outcome = await _verified(
            resources,
            watch,
            end,
            tasks.solve_from_hypotheses,
            integrand,
            VARIABLE,
            fresh,
            earlier,
            parts.pooled,
            _real(request),
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
        found = await _term_by_term(integrand, request, resources, watch, effort, give_up)
    if found is None and parts.widening and parts.substitution and in_time():
        found = await _by_substitution(integrand, request, resources, watch, effort, give_up)
    if found is None and parts.widening and in_time():
        others: list[Form] = []
        if parts.forms:
            others = await _verified(
                resources, watch, give_up, tasks.other_forms, integrand, VARIABLE
            )
        if others or failure.code == "not_verified":
            found = await search([*given, *others], wide)
    if found is None and parts.widening and parts.remainder and in_time():
        found = await _remainder(integrand, request, resources, watch, effort, give_up)
    if found is None:
        raise failure
    return found


async def _term_by_term(
    integrand: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    give_up: float,
) -> Antiderivative | None:
    """A sum by its terms, each a question of its own; None when it is none, or without answer."""
    terms: list[Form] = await _verified(resources, watch, give_up, tasks.parts, integrand, VARIABLE)
    if not terms:
        return None
    # terms without an answer must leave time for the whole
    end = time.monotonic() + TERMS_SHARE * (give_up - time.monotonic())
    efforts = [Effort(replace(effort.parts, splitting=False, remainder=False)) for _ in terms]
    # one question must not fill the queue of the workers
    gate = asyncio.Semaphore(resources.pool.size)

    async def alone(term: Form, own: Effort) -> Antiderivative:
        async with gate:
            return await _by_model(term.tree, request, resources, watch, own, end)

    searches = [asyncio.ensure_future(alone(*pair)) for pair in zip(terms, efforts, strict=True)]
    try:
        answers = await asyncio.gather(*searches)
        trees = [term.tree for term in terms]
        return await _composed(
            integrand, request, resources, watch, give_up, tasks.add_up, answers, trees
        )
    except NoAnswer:
        return None
    finally:
        for search in searches:
            search.cancel()
        await asyncio.gather(*searches, return_exceptions=True)
        effort.hypotheses += sum(own.hypotheses for own in efforts)
        effort.rounds += max(own.rounds for own in efforts)
        effort.of_terms += [hypothesis for own in efforts for hypothesis in own.seen]


async def _by_substitution(
    integrand: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    give_up: float,
) -> Antiderivative | None:
    """The integrand in other variables, one after the other; None without an answer."""
    end = time.monotonic() + SUBSTITUTED_SHARE * (give_up - time.monotonic())
    forms: list[Form] = await _verified(
        resources, watch, give_up, tasks.substitutions, integrand, VARIABLE
    )
    for form in forms:
        own = Effort(replace(effort.parts, widening=False, remainder=False))
        try:
            answer = await _by_model(form.tree, request, resources, watch, own, end)
            found = await _composed(
                integrand, request, resources, watch, end, tasks.put_back, answer, form
            )
        except NoAnswer:
            continue
        finally:
            effort.hypotheses += own.hypotheses
            effort.rounds += own.rounds
        if found is not None:
            return found
    return None


async def _remainder(
    integrand: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    effort: Effort,
    give_up: float,
) -> Antiderivative | None:
    """What the hypotheses explain of ``integrand`` and an answer for the rest, added up.

    None when there is no such part, or no answer. What is left is simpler each time, so that
    it may be taken apart in the same way.
    """
    own = Effort(effort.parts)

    end = min(give_up, time.monotonic() + EXPLAIN_S)
    try:
        tried = [*effort.seen, *effort.of_terms]
        part: Part | None = await _verified(
            resources, watch, end, tasks.explain, integrand, VARIABLE, tried
        )
        if part is None:
            return None
        pieces = [part.done]
        if part.left is not None:
            rest = await _by_model(part.left, request, resources, watch, own, give_up)
            pieces.append(rest.tree)
        return await _composed(
            integrand, request, resources, watch, give_up, tasks.put_together, pieces
        )
    except NoAnswer:
        return None
    finally:
        effort.hypotheses += own.hypotheses
        effort.rounds += own.rounds


async def _composed(
    integrand: Tree,
    request: IntegrateRequest,
    resources: Resources,
    watch: Stopwatch,
    end: float,
    worker: Any,
    *answers: Any,
) -> Antiderivative | None:
    """An antiderivative that ``worker`` makes of ``answers`` to other questions."""
    found: Antiderivative | None = await _verified(
        resources, watch, end, worker, *answers, integrand, VARIABLE, _real(request)
    )
    return found


async def _verified(
    resources: Resources, watch: Stopwatch, end: float, worker: Any, *arguments: Any
) -> Any:
    """What ``worker`` makes of ``arguments`` before ``end``, counted as verification."""
    with watch.stage("verify"):
        return await in_worker(resources, end - time.monotonic(), worker, *arguments)
