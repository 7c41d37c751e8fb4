"""Answers from the cache, or from one computation for everybody who asks at the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from service.cache import Cache
from service.metrics import Metrics
from service.problems import Problem

T = TypeVar("T")

#: What a computation counts for when the next one has ended.
FADING: Final = 0.98

#: Computations that must have ended before their rate is believed: the first ones of a burst
#: end late, and the others soon after them.
BELIEVED: Final = 16

#: Part of its time that a question waits for another process which has the same one.
PATIENCE: Final = 0.5


@dataclass(slots=True)
class _Flight:
    task: asyncio.Task[tuple[Any, bool]]
    waiters: int = 0


class SingleFlight:
    """One computation for each question, and no more at a time than can be done soon.

    Computations are shared within the process, and through the cache's claims
    with every process that has the same cache. As many are let in as were recently
    finished in ``soon_s`` seconds of work (Little's law), but never less than ``least``
    and never more than ``most``.
    """

    def __init__(
        self, cache: Cache, metrics: Metrics, most: int, *, least: int = 0, soon_s: float = 1e9
    ) -> None:
        self._most = most
        self._least = min(least, most)
        self._soon_s = soon_s
        # weights that fade, so that the rate follows the kind of questions
        self._landings = self._busy_s = 0.0
        self._marked = 0.0
        self._cache = cache
        self._metrics = metrics
        self._flights: dict[Hashable, _Flight] = {}

    @property
    def running(self) -> int:
        """Computations that have not ended."""
        return len(self._flights)

    @property
    def limit(self) -> int:
        """How many computations are let in at present."""
        if self._landings < BELIEVED:
            return self._most
        soon = int(self._soon_s * self._landings / self._busy_s)
        return min(self._most, max(self._least, soon))

    def check(self) -> None:
        """Raises :class:`Problem` (429) when there is no place for one more computation."""
        if self.running >= self.limit:
            raise Problem(
                "queue-full",
                "As many questions as may be worked on at a time are in work.",
                headers={"Retry-After": "1"},
            )

    async def answer(
        self,
        key: str | None,
        seconds: float,
        read: Callable[[bytes], T],
        compute: Callable[[], Awaitable[tuple[T, bytes | None]]],
    ) -> tuple[T, bool]:
        """The answer to the question ``key``, and whether it was another's work.

        ``compute`` gives the answer and what to keep of it, if anything; ``read`` is its
        inverse, with ``ValueError`` for a value that is not one. Whatever ``compute``
        raises reaches all who asked with the same ``seconds``, and is not kept. When all
        of them have been cancelled the computation is. A question without a ``key`` is
        computed for itself. Raises :class:`Problem` (429) for a computation too many.
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
            self.check()
            if not self._flights:
                self._marked = time.monotonic()
            task = asyncio.create_task(self._compute(key, seconds, read, compute))
            flight = self._flights[name] = _Flight(task)
            task.add_done_callback(lambda task: self._landed(name, task))
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
        compute: Callable[[], Awaitable[tuple[T, bytes | None]]],
    ) -> tuple[T, bool]:
        if key is None:
            return (await compute())[0], False
        async with self._cache.claim(key, PATIENCE * seconds):
            # another may have answered and let go since this question missed the cache
            known = await self._recall(key, read)
            if known is not None:
                return known, True
            answer, kept = await compute()
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
            now = time.monotonic()
            self._landings = 1 + FADING * self._landings
            self._busy_s = now - self._marked + FADING * self._busy_s
            self._marked = now
