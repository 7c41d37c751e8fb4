"""Questions answered in order: by a running service, or by the application in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from models.artifacts import ArtifactError
from service.cli.options import (
    REFUSED,
    SOLVED,
    TERMINAL,
    UNREACHABLE,
    UNSOLVED,
    error_console,
    settings_of,
)
from service.cli.show import Form, Printer
from service.client import AsyncCalcert, Refused, Unreachable
from service.engine.errors import DeviceUnavailable
from service.heat.question import FieldError
from service.heat.question import understand as understand_heat
from service.heat.schema import HeatRequest
from service.problems import Problem
from service.schemas import DifferentiateRequest
from service.solvers.differentiate import understand as understand_derivative
from service.solvers.integral_question import understand as understand_integral
from service.solvers.integrate_schema import IntegrateRequest
from tokenizer.errors import ParseError

ADDRESSES: Final = {
    "differentiate": "/differentiate",
    "integrate": "/integrate",
    "heat": "/pde/heat",
}
_CHECKS: Final[dict[str, tuple[Any, Callable[[Any], object]]]] = {
    "differentiate": (DifferentiateRequest, understand_derivative),
    "integrate": (IntegrateRequest, understand_integral),
    "heat": (HeatRequest, understand_heat),
}

#: Questions in work at a time at a service that others may use too.
CONCURRENCY: Final = 4
#: Points of a curve.
POINTS: Final = 801


@dataclass(frozen=True, slots=True)
class Question:
    """A formula, the body that asks about it, and its line when it was read from one."""

    expression: str
    body: Mapping[str, Any]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Extras:
    """What is wanted besides the answer."""

    steps: bool = False
    plot: Path | None = None
    interval: tuple[float, float] | None = None


@dataclass(slots=True)
class Outcome:
    """What became of a question: an answer (maybe unsolved), or an error."""

    question: Question
    answer: dict[str, Any] | None = None
    error: Refused | Unreachable | None = None
    steps: dict[str, Any] | None = None
    #: Why there are no steps or there is no picture.
    missing: str | None = None
    curves: dict[str, Any] | None = None
    #: Whether to draw in the terminal.
    drawn: bool = False

    @property
    def code(self) -> int:
        """The exit code of this question alone."""
        if self.answer is not None:
            return SOLVED if self.answer["status"] == "solved" else UNSOLVED
        if isinstance(self.error, Refused):
            if self.error.status == 504:
                return UNSOLVED
            busy = self.error.status == 429 or self.error.status >= 500
            return UNREACHABLE if busy else REFUSED
        return UNREACHABLE


def run(
    task: str,
    questions: Sequence[Question],
    form: Form,
    extras: Extras,
    *,
    server: str | None,
    key: str | None,
) -> int:
    """Ask, print every outcome as soon as those before it are printed; the exit code."""
    return asyncio.run(_run(task, questions, form, extras, server, key))


async def _run(
    task: str,
    questions: Sequence[Question],
    form: Form,
    extras: Extras,
    server: str | None,
    key: str | None,
) -> int:
    printer = Printer(task, form, several=len(questions) > 1)
    worst = SOLVED
    async with AsyncExitStack() as stack:
        asker = _Asker(task, extras, len(questions), server, key, stack)
        tasks = [asyncio.create_task(asker.ask(question)) for question in questions]
        # beside answers on a terminal the bar would be in their way on another stream
        console = printer.out if form is Form.rich else error_console()
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            disable=len(questions) == 1 or not console.is_terminal,
        )
        with bar:
            shown = bar.add_task(task, total=len(questions))
            for finished in tasks:
                finished.add_done_callback(lambda _: bar.advance(shown))
            for pending in tasks:
                outcome = await pending
                printer.show(outcome)
                worst = max(worst, outcome.code)
    return worst


class _Asker:
    """Opens the connection for the first question that needs one."""

    def __init__(
        self,
        task: str,
        extras: Extras,
        count: int,
        server: str | None,
        key: str | None,
        stack: AsyncExitStack,
    ) -> None:
        self._task = task
        self._extras = extras
        self._count = count
        self._server = server
        self._key = key
        self._stack = stack
        self._opening = asyncio.Lock()
        self._places = asyncio.Semaphore(CONCURRENCY)
        self._opened: AsyncCalcert | Unreachable | None = None

    async def ask(self, question: Question) -> Outcome:
        """The outcome; nothing is raised."""
        outcome = Outcome(question)
        try:
            if self._server is None:
                check(self._task, question.body)  # a mistake should not wait for the models
            async with self._places:
                calcert = await self._connection()
                outcome.answer = await calcert.ask(ADDRESSES[self._task], question.body)
                assert outcome.answer is not None
                if outcome.answer["status"] == "solved":
                    await self._extra(calcert, outcome, outcome.answer)
        except (Refused, Unreachable) as error:
            outcome.error = error
        return outcome

    async def _connection(self) -> AsyncCalcert:
        async with self._opening:
            if self._opened is None:
                try:
                    connection = (
                        _remote(self._server, self._key) if self._server else _here(self._count)
                    )
                    self._opened = await self._stack.enter_async_context(connection)
                except Unreachable as error:
                    self._opened = error
        if isinstance(self._opened, Unreachable):
            raise self._opened
        return self._opened

    async def _extra(
        self, calcert: AsyncCalcert, outcome: Outcome, answer: Mapping[str, Any]
    ) -> None:
        """Steps and pictures; an answer is not lost when one of them fails."""
        body, extras = outcome.question.body, self._extras
        outcome.drawn = extras.plot == TERMINAL
        parts: list[Awaitable[None]] = []
        if extras.steps:
            parts.append(self._steps(calcert, outcome, body))
        if extras.plot is not None and self._task == "heat" and extras.plot != TERMINAL:
            parts.append(self._picture(calcert, body, extras.plot))
        elif extras.plot is not None and self._task != "heat":
            parts.append(self._curves(calcert, outcome, answer, extras.plot))
        for part in parts:
            try:
                await part
            except (Refused, Unreachable) as error:
                outcome.missing = str(error)

    async def _steps(
        self, calcert: AsyncCalcert, outcome: Outcome, body: Mapping[str, Any]
    ) -> None:
        wanted = ("expression", "variable", "order", "lower", "upper", "format", "timeout_s")
        fields = {name: body[name] for name in wanted if name in body}
        outcome.steps = await calcert.ask("/steps", {"task": self._task, **fields})

    async def _picture(self, calcert: AsyncCalcert, body: Mapping[str, Any], path: Path) -> None:
        kind = "image/png" if path.suffix.lower() == ".png" else "image/svg+xml"
        path.write_bytes(await calcert.fetch("/pde/heat", body, kind))

    async def _curves(
        self,
        calcert: AsyncCalcert,
        outcome: Outcome,
        answer: Mapping[str, Any],
        path: Path,
    ) -> None:
        understood = answer["input"]
        bounds = [understood.get(name) for name in ("lower", "upper")]
        definite = None not in bounds
        expressions = [understood["text"]]
        labels = ["f"]
        if answer["answer"] and not definite:
            expressions.append(answer["answer"]["text"])
            labels.append("derivative" if self._task == "differentiate" else "antiderivative")
        ends: tuple[float | None, float | None] = (None, None)
        if definite:
            asked = {
                "task": "integrate",
                "expression": understood["text"],
                "variable": understood["variable"],
                "lower": bounds[0]["text"],
                "upper": bounds[1]["text"],
            }
            found = (await calcert.ask("/parse", asked))["interval"]
            ends = (found["lower"], found["upper"])
        low, high = self._extras.interval or _view(*ends)
        sampled = await calcert.ask(
            "/sample",
            {
                "expressions": expressions,
                "variable": understood["variable"],
                "lower": low,
                "upper": high,
                "points": POINTS,
            },
        )
        outcome.curves = {
            **sampled,
            "labels": labels,
            "variable": understood["variable"],
            "shade": ends if definite else None,
        }
        if path != TERMINAL:
            from service.cli.figure import picture

            path.write_bytes(picture(outcome.curves, understood["text"], path.suffix.lower()[1:]))


def check(task: str, body: Mapping[str, Any]) -> None:
    """Raises :class:`Refused` for a question that the service would refuse at once."""
    request, understand = _CHECKS[task]
    try:
        understand(request.model_validate(body))
        return
    except Problem as error:
        problem = error
    except ParseError as error:
        problem = Problem.from_parse_error(error)
    except FieldError as error:
        problem = error.problem()
    except ValidationError as error:
        problem = Problem.from_faults(error.errors())
    raise Refused(problem.status, problem.body())


@asynccontextmanager
async def _remote(server: str, key: str | None) -> AsyncIterator[AsyncCalcert]:
    url = server if "://" in server else f"http://{server}"
    async with AsyncCalcert(url, api_key=key, retries=0) as probe:
        await probe.ask("/health/live")  # a wrong address should not be tried for long
    async with AsyncCalcert(url, api_key=key) as calcert:
        yield calcert


@asynccontextmanager
async def _here(count: int) -> AsyncIterator[AsyncCalcert]:
    """The application in this process, without a socket."""
    from service.app import create_app
    from service.logs import configure_logs
    from service.resources import open_resources

    cores = settings_of().workers
    settings = settings_of(
        workers=min(count, cores), api_keys=frozenset(), log_level="error", log_format="console"
    ).model_copy(update={"rate_limit": None})
    configure_logs(settings)
    app = create_app(settings)
    async with AsyncExitStack() as stack:
        try:
            resources = await stack.enter_async_context(open_resources(settings, app.state.metrics))
        except (ArtifactError, DeviceUnavailable) as error:
            raise Unreachable(f"The models cannot be loaded: {error}") from error
        app.state.resources = resources
        transport = httpx.ASGITransport(app=app)
        yield await stack.enter_async_context(AsyncCalcert("http://calcert", transport=transport))


def _view(lower: float | None, upper: float | None) -> tuple[float, float]:
    """An interval that shows what matters."""
    if lower is not None and upper is not None and lower != upper:
        pad = 0.2 * abs(upper - lower)
        return min(lower, upper) - pad, max(lower, upper) + pad
    if lower is not None:
        return lower - 1, lower + 9
    if upper is not None:
        return upper - 9, upper + 1
    return -5.0, 5.0
