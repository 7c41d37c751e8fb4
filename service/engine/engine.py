"""All models of the service behind one asynchronous call."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from service.engine.batch import Generation
from service.engine.errors import (
    DeadlineExceeded,
    EngineDied,
    EngineStopped,
    InputTooLong,
    UnknownModel,
)
from service.engine.job import Kind
from service.engine.link import Link
from service.engine.process import Report, Request, Setup
from service.engine.searches import SPREAD, ModelInfo, Question
from service.engine.session import Device
from tokenizer.codec import Encoded

#: Seconds between looks for questions that should have been given up; the process of an engine
#: hangs if one is found twice.
_SWEEP_S: Final = 1.0

log = logging.getLogger(__name__)


def _nothing() -> None:
    """Prepare nothing."""


class Engine:
    """Beam search with every model in a folder of artifacts, in a process of its own.

        async with Engine(folder) as engine:
            generation = await engine.generate("differentiate", encode(tree))

    ``threads`` is for one step of one model; ``batch_items`` and ``batch_tokens``
    bound what is decoded together (tokens with padding), ``queue_items`` what waits.
    ``variant`` names a precision, else each manifest's default. ``on_step`` is told the
    rows of each step and how long it took in seconds; ``prepare``, which can be pickled, is
    called in the process before anything else.

    A process that ends or hangs is replaced. What it was asked is asked again, but only once.
    ``restarts`` counts that.
    """

    def __init__(
        self,
        folder: Path,
        *,
        device: Device = "auto",
        threads: int = 1,
        batch_items: int = 32,
        batch_tokens: int = 16_384,
        queue_items: int = 512,
        variant: str = "",
        on_step: Callable[[int, float], None] = lambda _rows, _seconds: None,
        prepare: Callable[[], None] = _nothing,
    ) -> None:
        self._setup = Setup(
            folder,
            device,
            threads,
            batch_items,
            batch_tokens,
            queue_items,
            variant,
            (),
            prepare,
        )
        self._on_step = on_step
        self._models: Mapping[str, ModelInfo] = {}
        #: What each kind of jobs runs on; empty before the start.
        self.providers: Mapping[str, str] = {}
        self._pending: dict[int, _Pending] = {}
        self._numbers = itertools.count()
        self._link: Link | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = True
        self._loop: asyncio.AbstractEventLoop | None = None
        self.waiting = 0
        self.restarts = 0

    @property
    def models(self) -> Mapping[str, ModelInfo]:
        """The models that are loaded, by name; empty before the start."""
        return self._models

    @property
    def ready(self) -> bool:
        """Whether the process is up and warm."""
        return self._link is not None

    @property
    def pid(self) -> int | None:
        """Of the process, while it is up."""
        return self._link.pid if self._link else None

    def add(self, load: Callable[[], Mapping[str, Kind[Any]]]) -> None:
        """Before the start: compute further kinds of jobs, in turn with the searches.

        ``load``, which can be pickled, opens them in the process of the engine.
        """
        self._setup = replace(self._setup, loaders=(*self._setup.loaders, load))

    async def start(self) -> None:
        """Load and warm up the models; returns when the engine is ready.

        Raises ``ArtifactError`` for a broken artifact and :class:`DeviceUnavailable` when
        ``cuda`` is asked for and cannot be had.
        """
        self._loop = asyncio.get_running_loop()
        self._link = await self._open()
        self._stopping = False
        self._keep(self._sweep())

    async def stop(self) -> None:
        """Stop; whatever still waits fails with :class:`EngineStopped`."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for pending in self._pending.values():
            pending.fail(EngineStopped("the engine was stopped"))
        link, self._link = self._link, None
        if link is not None:
            await link.end()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def generate(
        self,
        model: str,
        source: Encoded,
        *,
        beam: int = 4,
        deadline: float | None = None,
        max_tokens: int | None = None,
        spread: float = SPREAD,
    ) -> Generation:
        """The best trees that ``model`` writes for ``source``, at most ``beam`` of them.

        Hypotheses ``spread`` nats less probable than the best one are given up.
        ``deadline`` is on the clock of ``time.monotonic``. Cancelling the call takes
        the item out of its batch at the next step.

        Raises :class:`UnknownModel`, :class:`InputTooLong`, what :meth:`compute` does,
        and ``ValueError`` for a beam wider than the model's limit.
        """
        info = self._models.get(model)
        if info is None:
            raise UnknownModel(f"no model called {model} is loaded")
        limits = info.limits
        if not 1 <= beam <= limits["beam"]:
            raise ValueError(f"beam must be from 1 to {limits['beam']}")
        if len(source.ids) > limits["source_tokens"]:
            raise InputTooLong(
                f"{len(source.ids)} tokens; {model} takes {limits['source_tokens']} at most"
            )
        longest = min(max_tokens or limits["output_tokens"], limits["output_tokens"])
        question = Question(source.ids, source.paths, beam, longest, spread)
        found: Generation = await self.compute(model, question, deadline)
        return found

    async def compute(self, kind: str, question: Any, deadline: float | None) -> Any:
        """What a job of ``kind``, of a model or of what was added, makes of ``question``.

        Raises :class:`QueueFull`, :class:`DeadlineExceeded`, :class:`EngineStopped`, and
        :class:`EngineDied` when the process has ended twice over it.
        """
        if self._stopping:
            raise EngineStopped("the engine is not running")
        assert self._loop is not None
        number = next(self._numbers)
        request = Request(number, kind, question, deadline, time.monotonic())
        pending = self._pending[number] = _Pending(request, self._loop.create_future())
        self._send(request)
        try:
            return await pending.future
        finally:
            # it is there still if nobody waits any longer
            if self._pending.pop(number, None) is not None:
                self._send(number)

    def compute_from_thread(self, kind: str, question: Any, deadline: float | None) -> Any:
        """:meth:`compute` for a thread other than that of the event loop."""
        if self._loop is None:
            raise EngineStopped("the engine is not running")
        asked = self.compute(kind, question, deadline)
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    def _send(self, message: Request | int) -> None:
        if self._link is not None:
            self._link.send(message)

    async def _open(self) -> Link:
        """A process that is ready. Raises as :meth:`Link.open`."""
        link, ready = await Link.open(self._setup, self._settle, self._lost)
        self._models, self.providers = ready.models, ready.providers
        return link

    def _settle(self, report: Report) -> None:
        """Hand on what the process reports."""
        self.waiting = report.waiting
        for rows, seconds in report.steps:
            self._on_step(rows, seconds)
        for number, outcome in report.outcomes:
            pending = self._pending.pop(number, None)
            if pending is None:
                continue  # cancelled in the meantime
            if isinstance(outcome, Exception):
                pending.fail(outcome)
            elif not pending.future.done():
                pending.future.set_result(outcome)

    def _lost(self, link: Link) -> None:
        """The process has ended: have another one."""
        if link is not self._link or self._stopping:
            return
        log.error("the engine's process has ended and is replaced")
        self._link = None
        self.restarts += 1
        for number, pending in list(self._pending.items()):
            if pending.again:
                del self._pending[number]
                pending.fail(EngineDied("the process that runs the models ended twice"))
            pending.again = True
        self._keep(self._replace(link))

    async def _replace(self, old: Link) -> None:
        await old.end()
        pause = 0.1
        while True:
            try:
                self._link = await self._open()
                break
            except Exception:
                log.exception("the engine's process cannot be replaced; again in %g s", pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
        for pending in self._pending.values():
            self._link.send(pending.request)

    async def _sweep(self) -> None:
        """Give up questions whose deadline passed a while ago, and a process that has not."""
        overdue: set[int] = set()
        while True:
            await asyncio.sleep(_SWEEP_S)
            now = time.monotonic()
            late = {number for number, pending in self._pending.items() if pending.late(now)}
            hung = overdue & late
            overdue = late
            for number in hung:
                self._pending.pop(number).fail(DeadlineExceeded())
            if hung and self._link is not None:
                log.error("the engine's process hangs")
                self._link.kill()

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass(slots=True)
class _Pending:
    """What the process was asked, and who waits for it."""

    request: Request
    future: asyncio.Future[Any]
    #: Whether a process has ended over it.
    again: bool = False

    def late(self, now: float) -> bool:
        """Whether the deadline is over."""
        return self.request.deadline is not None and now > self.request.deadline

    def fail(self, error: Exception) -> None:
        """Have who waits raise ``error``."""
        if not self.future.done():
            self.future.set_exception(error)
