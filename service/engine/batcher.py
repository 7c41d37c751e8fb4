"""A bounded queue and the thread that computes what is in it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import InvalidStateError
from contextlib import suppress
from typing import Any

from service.engine.errors import DeadlineExceeded, EngineStopped, QueueFull
from service.engine.job import Job, Running

log = logging.getLogger(__name__)


class Batcher:
    """Runs batches, one for each model, in turn; a step of each at a time.

    ``queue_items`` is how many items may wait, over all models. ``on_step`` is told,
    in the decoding thread, the rows of each step and how long it took in seconds.
    """

    def __init__(
        self,
        open_batch: Callable[[str], Running[Any]],
        queue_items: int,
        on_step: Callable[[int, float], None] | None = None,
    ) -> None:
        self._open_batch = open_batch
        self._queue_items = queue_items
        self._on_step = on_step
        self._waiting: dict[str, deque[Job]] = {}
        self._batches: dict[str, Running[Any]] = {}
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="decoder", daemon=True)

    @property
    def waiting(self) -> int:
        """Items that no batch has taken yet."""
        return sum(len(queue) for queue in self._waiting.values())

    def start(self) -> None:
        """Start decoding."""
        self._thread.start()

    def stop(self) -> None:
        """Stop decoding; items that are not done fail with :class:`EngineStopped`."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def submit(self, model: str, item: Job) -> None:
        """Queue ``item``. Raises :class:`QueueFull` and :class:`EngineStopped`."""
        with self._wake:
            if self._stopping or not self._thread.is_alive():
                raise EngineStopped("the engine is not running")
            if self.waiting >= self._queue_items:
                raise QueueFull(f"{self._queue_items} items are waiting already")
            self._waiting.setdefault(model, deque()).append(item)
            self._wake.notify()

    def _run(self) -> None:
        while self._pause():
            for model in list(self._waiting):
                try:
                    self._advance(model)
                except Exception as error:
                    # the batch's state is unknown: its items fail, the next ones start afresh
                    log.exception("decoding failed")
                    batch = self._batches.pop(model, None)
                    for item in batch.items if batch else ():
                        _fail(item, _broken(error))
        waiting = [item for queue in self._waiting.values() for item in queue]
        for item in waiting + [item for batch in self._batches.values() for item in batch.items]:
            _fail(item, EngineStopped("the engine was stopped"))

    def _pause(self) -> bool:
        """Sleep until there is work; False when it is time to stop."""
        with self._wake:
            self._wake.wait_for(
                lambda: (
                    self._stopping
                    or any(self._waiting.values())
                    or any(batch.items for batch in self._batches.values())
                )
            )
            return not self._stopping

    def _advance(self, model: str) -> None:
        if model not in self._batches:
            self._batches[model] = self._open_batch(model)
        batch = self._batches[model]
        self._drop(model, batch)
        self._admit(model, batch)
        if not batch.items:
            return
        started = time.monotonic()
        batch.step()
        now = time.monotonic()
        if self._on_step is not None:
            self._on_step(len(batch.items), now - started)
        for item in [item for item in batch.items if item.done]:
            batch.leave(item)
            _settle(item, item.result(now))

    def _drop(self, model: str, batch: Running[Any]) -> None:
        """Forget items whose client has gone or whose deadline has passed."""
        now = time.monotonic()

        def over(item: Job) -> bool:
            if item.expired(now):
                _fail(item, DeadlineExceeded("the deadline passed before the model was done"))
            return item.future.done()

        with self._wake:
            queue = self._waiting[model]
            self._waiting[model] = deque(item for item in queue if not over(item))
        for item in [item for item in batch.items if over(item)]:
            batch.leave(item)

    def _admit(self, model: str, batch: Running[Any]) -> None:
        joining: list[Job] = []
        with self._wake:
            queue = self._waiting[model]
            while queue and batch.room_for(joining, queue[0]):
                joining.append(queue.popleft())
        if not joining:
            return
        now = time.monotonic()
        for item in joining:
            item.started = now
        try:
            batch.join(joining)
        except Exception as error:
            for item in joining:
                _fail(item, _broken(error))
            raise


def _settle(item: Job, result: object) -> None:
    # cancelled at this very moment: nobody waits for it
    with suppress(InvalidStateError):
        item.future.set_result(result)


def _fail(item: Job, error: Exception) -> None:
    """``error`` must be the item's own, or tracebacks pile up on a shared one."""
    with suppress(InvalidStateError):
        item.future.set_exception(error)


def _broken(cause: Exception) -> RuntimeError:
    failure = RuntimeError("decoding failed")
    failure.__cause__ = cause
    return failure
