"""From a heat question to values that were checked against exact formulas.

A worker process computes the reference and the tokens; the model runs here, in a
thread; another worker writes and proves the formula meanwhile. The model's values
are given out only if they agree with the reference.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import numpy as np

from models.heat.boundary import Array
from models.heat.panels import from_nodes, smooth_nodes
from models.heat.predictor import KernelPredictor, prepare
from service.cache import tree_to_json
from service.engine import DeadlineExceeded, EngineDied, QueueFull
from service.heat.closed_form import Formula as ClosedFormula
from service.heat.closed_form import closed_form
from service.heat.question import FieldError, Question, understand
from service.heat.reference import (
    EXACT,
    Analysis,
    agrees,
    analyse,
    pin,
    relative_l2,
)
from service.heat.schema import (
    ClosedForm,
    HeatAnswer,
    HeatInput,
    HeatModelName,
    HeatRequest,
    HeatUnsolved,
    HeatVerification,
)
from service.heat.served import ServedHeatModel
from service.metrics import Metrics
from service.noanswer import NoAnswer
from service.problems import Problem
from service.schemas import Formula
from service.settings import Settings
from service.singleflight import SingleFlight
from service.tasks import HEAT
from service.verification.pool import WorkerPool
from service.workers import in_worker
from tokenizer.render import to_text
from tokenizer.tree import Tree
from tokenizer.typeset import to_latex

TASK: Final = HEAT

#: Part of the cache key: raise it when the meaning of an answer changes.
API_VERSION: Final = 1

#: Relative L2 within which the model must agree with the reference.
MODEL_TOLERANCE: Final = 1e-6
#: Share of the range of u that a value may lie outside, for rounding.
RANGE_TOLERANCE: Final = 1e-9
#: Writing a formula down is worth this much of a request's time, in seconds.
FORMULA_S: Final = 6.0
#: Probe nodes resolve a solution from this τ on.
_RESOLVED: Final = 1 / (3 * 64) ** 2
#: An answer larger than this is not kept, in bytes.
_CACHED_BYTES: Final = 262_144

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Values:
    """u (M, Q) and how it was verified, formula aside; ``passed`` is the comparison's outcome."""

    u: Array
    source: Literal["model", "spectral"]
    passed: bool
    verification: dict[str, Any]


class HeatSolver:
    """Answers :class:`HeatRequest`; ``model`` is None where the artifact is missing."""

    def __init__(
        self,
        model: ServedHeatModel | None,
        pool: WorkerPool,
        settings: Settings,
        flights: SingleFlight,
        metrics: Metrics,
    ) -> None:
        self._model = model
        self._pool = pool
        self._settings = settings
        self._flights = flights
        self._metrics = metrics

    async def solve(
        self, request: HeatRequest, *, formula: bool = True
    ) -> HeatAnswer | HeatUnsolved:
        """The answer, or why there is none. Raises :class:`Problem` for a bad request."""
        started = time.monotonic()
        settings = self._settings
        timeout_s = min(request.timeout_s or settings.timeout_default_s, settings.timeout_max_s)
        deadline = started + timeout_s
        timing = dict.fromkeys(("parse", "reference", "model", "formula"), 0.0)
        try:
            question = understand(request)
        except FieldError as error:
            raise error.problem() from None
        timing["parse"] = _since(started)
        key = self._key(question, request.engine) if formula else None

        async def compute() -> HeatAnswer:
            return await self._answer(question, request.engine, formula, deadline, timing)

        try:
            answer, cached = await self._flights.answer(
                TASK, key, timeout_s, HeatAnswer.model_validate_json, _kept, compute
            )
        except FieldError as error:
            raise error.problem() from None
        except NoAnswer as error:
            timing["total"] = _since(started)
            self._count("unsolved", "none", None, timing)
            error.refuse_if_never_tried()
            return HeatUnsolved(input=_echo(question), reason=str(error), timing_ms=timing)
        timing["total"] = _since(started)
        self._count("solved", answer.source, answer.verification.status, timing)
        return answer.model_copy(update={"cached": cached, "timing_ms": timing})

    async def draw(self, function: Any, *args: Any) -> bytes:
        """A picture, drawn in a worker. Raises :class:`Problem` if it takes too long."""
        try:
            drawn: bytes = await self._in_worker(30.0, function, *args)
        except NoAnswer as error:
            raise Problem(
                "not-drawn", str(error), status=504, title="The picture could not be drawn"
            ) from None
        return drawn

    async def _answer(
        self,
        question: Question,
        engine: str,
        formula: bool,
        deadline: float,
        timing: dict[str, float],
    ) -> HeatAnswer:
        writing = None
        if formula:
            left = min(FORMULA_S, deadline - time.monotonic())
            writing = asyncio.create_task(self._write(question, left, timing))
        try:
            values = await self._values(question, engine, deadline, timing)
        except BaseException:
            if writing is not None:
                # it ends by itself soon; killing its worker would cost the next request more
                writing.add_done_callback(lambda task: task.cancelled() or task.exception())
            raise
        written = await writing if writing is not None else None
        return self._assemble(question, values, written)

    async def _values(
        self, question: Question, engine: str, deadline: float, timing: dict[str, float]
    ) -> Values:
        model = self._model
        if engine == "model" and model is None:
            raise NoAnswer("no_model", "no model for this task is installed")
        if engine != "spectral" and model is not None:
            started = time.monotonic()
            threshold = model.manifest.threshold
            analysis = await self._in_worker(
                deadline - started, analyse, question, threshold, False
            )
            timing["reference"] += _since(started)
            if analysis.prepared is not None:
                started = time.monotonic()
                values = await self._by_model(question, analysis, model, deadline)
                timing["model"] += _since(started)
                if values.passed or engine == "model":
                    return values
                self._metrics.fallbacks.labels(TASK, "not_verified").inc()
            elif engine == "model":
                raise FieldError(
                    "times", "alpha*t/length^2 is too small for the model; use engine spectral"
                )
            else:
                self._metrics.fallbacks.labels(TASK, "out_of_range").inc()
        started = time.monotonic()
        analysis = await self._in_worker(deadline - started, analyse, question, None, True)
        timing["reference"] += _since(started)
        values = _by_formulas(question, analysis)
        if not values.passed:
            raise NoAnswer("not_verified", "two exact formulas disagree on this problem")
        return values

    async def _by_model(
        self, question: Question, analysis: Analysis, model: ServedHeatModel, deadline: float
    ) -> Values:
        predictor, threshold = model.batched(deadline), model.manifest.threshold
        try:
            return await asyncio.to_thread(_by_model, question, analysis, predictor, threshold)
        except DeadlineExceeded:
            raise NoAnswer("deadline", "nothing could be computed before the deadline") from None
        except EngineDied:
            raise NoAnswer("engine_died", "the process that runs the model ended") from None
        except QueueFull:
            raise Problem.queue_full("the model") from None

    async def _write(
        self, question: Question, seconds: float, timing: dict[str, float]
    ) -> ClosedFormula | None:
        started = time.monotonic()
        try:
            written: ClosedFormula | None = await self._in_worker(seconds, closed_form, question)
            return written
        except (NoAnswer, Problem, FieldError):
            return None
        finally:
            timing["formula"] = _since(started)

    async def _in_worker(self, seconds: float, function: Callable[..., T], *args: Any) -> T:
        """As :func:`in_worker`; raises ``FieldError`` as well."""
        return await in_worker(self._pool, seconds, function, *args, passing=(FieldError,))

    def _assemble(
        self, question: Question, values: Values, written: ClosedFormula | None
    ) -> HeatAnswer:
        u = values.u
        verification = dict(values.verification)
        status = "numeric" if values.passed else "refuted"
        closed = None
        if written is not None:
            gap = float(np.abs(written.values - u).max())
            closed = ClosedForm(
                text=written.text,
                latex=written.latex,
                exact=written.exact,
                terms=written.terms,
                checks=written.checks,
                max_abs=gap if np.isfinite(gap) else None,
            )
            proved = written.exact and set(written.checks.values()) == {"proved"}
            size = float(np.abs(u).max())
            if proved and values.passed and gap <= MODEL_TOLERANCE * max(size, 1e-300):
                status = "proved"
                verification["method"] = (
                    "SymPy proved the closed form's equation, boundary and initial value; "
                    "the values agree with it, and " + verification["method"]
                )
        model = self._model
        return HeatAnswer(
            input=_echo(question),
            x=question.x.tolist(),
            times=question.times.tolist(),
            u=u.tolist(),
            source=values.source,
            verification=HeatVerification(status=status, **verification),
            closed_form=closed,
            model=HeatModelName(
                name=model.manifest.name,
                version=model.manifest.version,
                part="the whole solution"
                if question.conditions.homogeneous and question.source is None
                else "the homogeneous part; what end values and sources add is by formula",
            )
            if values.source == "model" and model is not None
            else None,
            cached=False,
            timing_ms={},
        )

    def _key(self, question: Question, engine: str) -> str:
        """The same for every spelling of the same question."""
        model = self._model

        def tree(node: Tree | None) -> Any:
            return None if node is None else tree_to_json(node)

        conditions = question.conditions
        content = [
            API_VERSION,
            engine,
            model and model.manifest.raw["graphs"],
            tree(question.initial),
            question.samples and [part.tolist() for part in question.samples],
            question.contract,
            *map(tree, (question.alpha_tree, question.length_tree, question.source)),
            conditions.kind.name,
            *map(tree, (conditions.left_tree, conditions.right_tree)),
            question.times.tolist(),
            question.x.tolist(),
        ]
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return f"calcert:{TASK}:{digest}"

    def _count(
        self, status: str, source: str, verified: str | None, timing: dict[str, float]
    ) -> None:
        self._metrics.answers.labels(TASK, status, source).inc()
        if verified is not None:
            self._metrics.verifications.labels(TASK, verified).inc()
        for stage, ms in timing.items():
            if ms and stage != "total":
                self._metrics.stage_seconds.labels(TASK, stage).observe(ms / 1000)


def _by_model(
    question: Question, analysis: Analysis, predictor: KernelPredictor, threshold: float
) -> Values:
    """The model's values with boundary values and bounds restored, compared with the reference."""
    started = time.monotonic()
    prepared = analysis.prepared
    assert prepared is not None
    kind, tau, x, scale = question.conditions.kind, question.tau, question.place, analysis.scale
    both = np.concatenate([x, analysis.probe.x])
    everywhere = predictor.predict(prepared, both)
    v, probed = scale * everywhere[:, : len(x)], everywhere[:, len(x) :]
    still = tau <= 0
    v[still] = analysis.homogeneous[still]
    v[~still] = pin(kind, x, v[~still])
    if analysis.low is not None and analysis.high is not None:
        v[~still] = np.clip(v[~still], analysis.low, analysis.high)
    u = _tidy(analysis.added + v, analysis.range)
    reference = analysis.added + analysis.homogeneous
    difference = np.abs(v - analysis.homogeneous)
    passed = all(
        agrees(difference[m], analysis.homogeneous[m], scale, MODEL_TOLERANCE)
        for m in range(len(tau))
    )
    semigroup = None
    if analysis.halved is not None:
        last = int(np.flatnonzero(~still)[-1])
        step = tau[last : last + 1] / 2
        nodes = smooth_nodes(float(step[0]))
        middle = predictor.predict(analysis.halved, nodes.ravel())[0]
        again = prepare(from_nodes(middle.reshape(nodes.shape)), kind, step, threshold)
        twice = predictor.predict(again, x)[0]
        once = everywhere[last, : len(x)]
        semigroup = float(np.abs(twice - once).max())
    verification = {
        "method": "values of the model agree with the exact reference"
        if passed
        else "values of the model differ from the exact reference",
        "reference": "spectral",
        "relative_l2": [relative_l2(difference[m], reference[m]) for m in range(len(tau))],
        "max_abs": difference.max(axis=1).tolist(),
        "maximum_principle": _within(u, analysis.range),
        "energy_decay": _decays(probed, analysis, tau),
        "semigroup": semigroup,
        "input_error_bound": analysis.input_error,
        "elapsed_ms": _since(started),
    }
    verification["method"] += f" within relative L2 {MODEL_TOLERANCE:g}" if passed else ""
    return Values(u, "model", passed, verification)


def _by_formulas(question: Question, analysis: Analysis) -> Values:
    """The reference itself, checked by another exact formula."""
    started = time.monotonic()
    second = analysis.second
    assert second is not None
    u = _tidy(analysis.added + analysis.homogeneous, analysis.range)
    verification = {
        "method": "two exact formulas (modes and mirror images) agree "
        f"within relative L2 {EXACT:g} at a sample of points",
        "reference": "images",
        "relative_l2": _nullable(second.relative_l2),
        "max_abs": _nullable(second.max_abs),
        "maximum_principle": _within(u, analysis.range),
        "energy_decay": _decays(analysis.probe.reference, analysis, question.tau),
        "semigroup": second.semigroup,
        "input_error_bound": analysis.input_error,
        "elapsed_ms": _since(started),
    }
    return Values(u, "spectral", second.passed, verification)


def _nullable(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _tidy(u: Array, bounds: tuple[float, float] | None) -> Array:
    """u with rounding beyond the bounds removed; more than rounding is left to be seen."""
    if bounds is None:
        return u
    clipped = np.clip(u, *bounds)
    slack = 1e-14 * max(abs(bounds[0]), abs(bounds[1]))
    return np.where(np.abs(u - clipped) <= slack, clipped, u)


def _within(u: Array, bounds: tuple[float, float] | None) -> bool | None:
    if bounds is None:
        return None
    slack = RANGE_TOLERANCE * max(bounds[1] - bounds[0], abs(bounds[0]), abs(bounds[1]))
    return bool(u.min() >= bounds[0] - slack and u.max() <= bounds[1] + slack)


def _decays(probed: Array, analysis: Analysis, tau: Array) -> bool | None:
    """Whether ∫v² falls, over the times at which the probe resolves v; None without any."""
    resolved = np.flatnonzero(tau >= _RESOLVED)
    if not len(resolved):
        return None
    order = resolved[np.argsort(tau[resolved], kind="stable")]
    energies = np.array(
        [analysis.probe.energy, *(np.square(probed[order]) @ analysis.probe.weights)]
    )
    return bool((energies[1:] <= energies[:-1] * (1 + 1e-9) + 1e-24).all())


def _kept(answer: HeatAnswer) -> bytes | None:
    """What the cache keeps of ``answer``, unless it is refuted or too large."""
    if answer.verification.status == "refuted":
        return None
    value = answer.model_dump_json().encode()
    return value if len(value) <= _CACHED_BYTES else None


def _echo(question: Question) -> HeatInput:
    conditions = question.conditions
    left, right = conditions.kind.value
    boundary: dict[str, Any] = {"kind": conditions.kind.name.lower().replace("_", "-")}
    if left != "wrap":
        boundary |= {"left": {left: conditions.left}, "right": {right: conditions.right}}
    return HeatInput(
        initial_condition=_formula(question.initial)
        if question.initial is not None
        else f"samples, {question.contract}",
        source_term=_formula(question.source) if question.source is not None else None,
        alpha=question.alpha,
        length=question.length,
        boundary=boundary,
        notes=list(question.notes),
    )


def _formula(tree: Tree) -> Formula:
    return Formula(text=to_text(tree), latex=to_latex(tree))


def _since(started: float) -> float:
    return round(1000 * (time.monotonic() - started), 3)
