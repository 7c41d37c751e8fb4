"""The process that runs the models.

Python's interpreter serves one thread at a time: beside an event loop that reads and writes
requests, a decoder would wait for it at every turn, and the other way round. The two have
a process each, and speak in pickles over a socket, see :mod:`service.frames`.
"""

from __future__ import annotations

import logging
import pickle
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from service.collector import settle
from service.engine.batcher import Batcher, broken
from service.engine.errors import QueueFull
from service.engine.job import Job, Kind
from service.engine.searches import ModelInfo, open_models
from service.engine.session import Device
from service.frames import Inbox, frame
from service.processes import leave_signals_to_parent

log = logging.getLogger(__name__)

#: Steps that are reported together at most.
_MOST_STEPS = 64


@dataclass(frozen=True, slots=True)
class Setup:
    """What an engine computes with; see :class:`service.engine.engine.Engine`.

    ``loaders`` open kinds other than the models in ``folder``; ``prepare`` is called first.
    """

    folder: Path
    device: Device
    threads: int
    batch_items: int
    batch_tokens: int
    queue_items: int
    variant: str
    loaders: tuple[Callable[[], Mapping[str, Kind[Any]]], ...]
    prepare: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Ready:
    """Models are loaded and warm; ``providers`` are of all kinds of jobs."""

    models: Mapping[str, ModelInfo]
    providers: Mapping[str, str]


class Request(NamedTuple):
    """A job for ``kind``, which takes ``question``; times are of ``time.monotonic``."""

    number: int
    kind: str
    question: Any
    deadline: float | None
    submitted: float


class Report(NamedTuple):
    """What became of jobs by number, rows and seconds of steps, and how many jobs wait."""

    outcomes: list[tuple[int, Any]]
    steps: list[tuple[int, float]]
    waiting: int


def serve(stream: socket.socket) -> None:
    """The life of the process: a :class:`Setup` comes, then requests, and numbers to cancel.

    It answers with a :class:`Ready`, or with why it cannot be, and reports. Returns when the
    other end is closed.
    """
    leave_signals_to_parent()
    inbox = Inbox(stream)
    first = inbox.wait()
    if not first:
        return
    setup: Setup = pickle.loads(first[0])  # noqa: S301 - from our own parent
    try:
        setup.prepare()
        models, kinds = open_models(
            setup.folder,
            device=setup.device,
            threads=setup.threads,
            variant=setup.variant,
            batch_items=setup.batch_items,
            batch_tokens=setup.batch_tokens,
        )
        for load in setup.loaders:
            kinds |= load()
    except Exception as error:
        _send(stream, error)
        return
    settle()
    providers = {name: kind.provider for name, kind in kinds.items()}
    _send(stream, Ready(models, providers))
    work = _Work(kinds, setup.queue_items)
    while not inbox.ended:
        for message in inbox.poll() if work.batcher.busy else inbox.wait():
            work.take(pickle.loads(message))  # noqa: S301 - from our own parent
        work.batcher.turn()
        if report := work.report():
            _send(stream, report)


def _send(stream: socket.socket, message: Ready | Report | Exception) -> None:
    stream.sendall(frame(pickle.dumps(message)))


class _Work:
    """The jobs of the other end, by its numbers."""

    def __init__(self, kinds: Mapping[str, Kind[Any]], queue_items: int) -> None:
        self.batcher = Batcher(kinds, queue_items, self._settle, self._on_step)
        self._kinds = kinds
        self._jobs: dict[int, tuple[str, Job]] = {}
        self._numbers: dict[int, int] = {}
        self._outcomes: list[tuple[int, Any]] = []
        self._steps: list[tuple[int, float]] = []

    def take(self, message: Request | int) -> None:
        """Queue a job, or forget one by its number."""
        if isinstance(message, int):
            if message in self._jobs:
                name, job = self._jobs[message]
                self._forget(job)
                self.batcher.cancel(name, job)
            return
        number, name, question, deadline, submitted = message
        try:
            job = self._kinds[name].job(question, deadline, submitted)
            self.batcher.submit(name, job)
        except QueueFull as error:
            self._outcomes.append((number, error))
        except Exception as error:
            log.exception("a question could not be taken")
            self._outcomes.append((number, broken(error)))
        else:
            self._jobs[number] = name, job
            self._numbers[id(job)] = number

    def report(self) -> Report | None:
        """What the other end has to know now."""
        if not self._outcomes and len(self._steps) < _MOST_STEPS:
            return None
        report = Report(self._outcomes, self._steps, self.batcher.waiting)
        self._outcomes, self._steps = [], []
        return report

    def _settle(self, job: Job, outcome: object) -> None:
        self._outcomes.append((self._forget(job), outcome))

    def _forget(self, job: Job) -> int:
        number = self._numbers.pop(id(job))
        del self._jobs[number]
        return number

    def _on_step(self, rows: int, seconds: float) -> None:
        self._steps.append((rows, seconds))
