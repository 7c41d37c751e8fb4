"""Answers from the cache, or from one computation for everybody who asks at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from service.cache import Cache
from service.concurrency import ConcurrencyLimit, Ticket
from service.metrics import Metrics
from service.problems import Problem
from service.verification.pool import BEGAN

T = TypeVar("T")

#: Part of its time that a question waits for another process which has the same one.
PATIENCE: Final = 0.5


#: Whether the question that is being answered is asked again when there is no place for it.
WAITS: Final[ContextVar[bool]] = ContextVar("waits", default=False)


@dataclass(slots=True)
class _Flight:
    task: asyncio.Task[tuple[Any, bool]]
    ticket: Ticket
    waiters: int = 0


class Full(Problem):
    """There is no place for one more question of ``task``; the client may not know yet."""

    def __init__(self, task: str) -> None:
        super().__init__(
            "queue-full", "As many questions as may be worked on at a time are in work."
        )
        self.task = task


class SingleFlight:
    """One computation for each question, and no more at a time than ``limit`` says.

    Computations are shared within the process, and through the cache's claims
    with every process that has the same cache.
    """

    def __init__(self, cache: Cache, metrics: Metrics, limit: ConcurrencyLimit) -> None:
        self.limit = limit
        self._cache = cache
        self._metrics = metrics
        self._flights: dict[Hashable, _Flight] = {}

    def check_batch(self, task: str) -> None:
        """Raises :class:`Full` (429) when too many questions of batches wait already."""
        if self.limit.backlogged:
            raise Full(task)

    def refusal(self, task: str) -> Problem:
        """What a client is told that is refused for want of a place; counts it."""
        full = Full(task)
        full.headers["Retry-After"] = str(self.limit.refuse(task))
        return full

    async def answer(
        self,
        task: str,
        key: str | None,
        seconds: float,
        read: Callable[[bytes], T],
        write: Callable[[T], bytes | None],
        compute: Callable[[], Awaitable[T]],
    ) -> tuple[T, bool]:
        """The answer to the question ``key`` of ``task``, and whether it was another's work.

        ``write`` gives what to keep of an answer, if anything; ``read`` is its inverse, with
        ``ValueError`` for a value that is not one. Whatever ``compute`` raises reaches all
        who asked with the same ``seconds``, and is not kept. When all of them have been
        cancelled the computation is. A question without a ``key`` is computed for itself.
        Raises :class:`Full` (429) for a computation too many.
        """
        if key is not None:
            known = await self._recall(key, read)
            if known is not None:
                self._metrics.cache.labels("hit").inc()
                return known, True
        # others have other deadlines, and what one has no time for another may have
        name: Hashable = (key, seconds) if key is not None else object()
        flight = self._flights.get(name)
        joined = flight is not None
        if flight is None:
            if self.limit.full(task, waits=WAITS.get()):
                raise Full(task)
            ticket = self.limit.begin(task)
            computing = asyncio.create_task(self._compute(key, seconds, read, write, compute))
            flight = self._flights[name] = _Flight(computing, ticket)
            computing.add_done_callback(lambda computing: self._landed(name, computing))
        if key is not None:
            self._metrics.cache.labels("shared" if joined else "miss").inc()
        flight.waiters += 1
        try:
            answer, elsewhere = await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                flight.task.cancel()
                self._remove(name, flight.task)
        return answer, joined or elsewhere

    async def _compute(
        self,
        key: str | None,
        seconds: float,
        read: Callable[[bytes], T],
        write: Callable[[T], bytes | None],
        compute: Callable[[], Awaitable[T]],
    ) -> tuple[T, bool]:
        BEGAN.set(asyncio.get_running_loop().time())
        if key is None or not self._cache.keeps:
            return await compute(), False
        async with self._cache.claim(key, PATIENCE * seconds):
            # another may have answered and let go since this question missed the cache
            known = await self._recall(key, read)
            if known is not None:
                return known, True
            answer = await compute()
            kept = write(answer)
            if kept is not None:
                await self._cache.put(key, kept)
        return answer, False

    async def _recall(self, key: str, read: Callable[[bytes], T]) -> T | None:
        value = await self._cache.get(key)
        if value is None:
            return None
        try:
            return read(value)
        except ValueError:  # somebody else's value under our key
            self._metrics.cache.labels("error").inc()
            return None

    def _landed(self, name: Hashable, task: asyncio.Task[tuple[Any, bool]]) -> None:
        self._remove(name, task)
        if not task.cancelled():
            task.exception()  # those who asked may all have gone

    def _remove(self, name: Hashable, task: asyncio.Task[tuple[Any, bool]]) -> None:
        flight = self._flights.get(name)
        if flight is not None and flight.task is task:
            del self._flights[name]
            self.limit.end(flight.ticket)
