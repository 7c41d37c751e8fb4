"""A bounded queue of jobs, and the batches that compute them."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from service.engine.errors import DeadlineExceeded, QueueFull
from service.engine.job import Job, Kind, Running

log = logging.getLogger(__name__)


class Batcher:
    """Runs batches, one for each kind, in turn; a step of each at a time.

    ``queue_items`` is how many jobs may wait, over all kinds. ``settle`` is told what
    became of each that was not cancelled: its result or an exception. ``on_step`` is told the
    rows of each step and how long it took in seconds.
    """

    def __init__(
        self,
        kinds: Mapping[str, Kind[Any]],
        queue_items: int,
        settle: Callable[[Job, object], None],
        on_step: Callable[[int, float], None],
    ) -> None:
        self._kinds = kinds
        self._queue_items = queue_items
        self._settle = settle
        self._on_step = on_step
        self._waiting: dict[str, deque[Job]] = {name: deque() for name in kinds}
        self._batches = {name: kind.open() for name, kind in kinds.items()}

    @property
    def waiting(self) -> int:
        """Jobs that no batch has taken yet."""
        return sum(map(len, self._waiting.values()))

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return any(self._waiting.values()) or any(batch.items for batch in self._batches.values())

    def submit(self, name: str, job: Job) -> None:
        """Queue ``job``. Raises :class:`QueueFull`."""
        if self.waiting >= self._queue_items:
            raise QueueFull(f"{self._queue_items} items are waiting already")
        self._waiting[name].append(job)

    def cancel(self, name: str, job: Job) -> None:
        """Forget ``job``, which :meth:`submit` took; nothing happens if it is done."""
        if job in self._waiting[name]:
            self._waiting[name].remove(job)
        elif job in self._batches[name].items:
            self._batches[name].leave(job)

    def turn(self) -> None:
        """One step of each batch that has anything to do."""
        for name, batch in self._batches.items():
            if not batch.items and not self._waiting[name]:
                continue
            try:
                self._advance(name, batch)
            except Exception as error:
                # the batch's state is unknown: its jobs fail, the next ones start afresh
                log.exception("decoding failed")
                self._batches[name] = self._kinds[name].open()
                for job in batch.items:
                    self._settle(job, broken(error))

    def _advance(self, name: str, batch: Running[Any]) -> None:
        self._drop(name, batch)
        self._admit(name, batch)
        if not batch.items:
            return
        started = time.monotonic()
        batch.step()
        now = time.monotonic()
        self._on_step(len(batch.items), now - started)
        for job in [job for job in batch.items if job.done]:
            batch.leave(job)
            self._settle(job, job.result(now))

    def _drop(self, name: str, batch: Running[Any]) -> None:
        """Give up jobs whose deadline has passed."""
        now = time.monotonic()
        for job in [job for job in self._waiting[name] if job.expired(now)]:
            self._waiting[name].remove(job)
            self._settle(job, DeadlineExceeded())
        for job in [job for job in batch.items if job.expired(now)]:
            batch.leave(job)
            self._settle(job, DeadlineExceeded())

    def _admit(self, name: str, batch: Running[Any]) -> None:
        queue = self._waiting[name]
        joining: list[Job] = []
        while queue and batch.room_for(joining, queue[0]):
            joining.append(queue.popleft())
        if not joining:
            return
        now = time.monotonic()
        for job in joining:
            job.started = now
        try:
            batch.join(joining)
        except Exception as error:
            for job in joining:
                if job not in batch.items:  # those are told by who catches this
                    self._settle(job, broken(error))
            raise


def broken(cause: Exception) -> RuntimeError:
    """What becomes of a job that cannot be computed; each its own, since who is told raises it."""
    return RuntimeError(f"decoding failed: {cause!r}")
