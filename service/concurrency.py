"""How much work is taken on at a time, so that each question is done soon."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

#: What a question counts for when the next one of its task has ended.
FADING: Final = 0.98

#: Questions that the assumption about a task counts for.
BELIEVED: Final = 16

#: Seconds without a refusal after which more is no longer asked than can be done.
CALM_S: Final = 1.0

#: Longest time that a refused client is told to wait, in seconds.
LONGEST_WAIT_S: Final = 60


class _Cost:
    """The mean time of the whole service that a question takes, the latest counting most."""

    def __init__(self, assumed_s: float) -> None:
        self.running = 0
        #: Questions of batches that have no answer yet.
        self.expected = 0
        self._ended = float(BELIEVED)
        self._work_s = BELIEVED * assumed_s

    @property
    def seconds(self) -> float:
        return self._work_s / self._ended

    def learn(self, seconds: float) -> None:
        self._ended = 1 + FADING * self._ended
        self._work_s = seconds + FADING * self._work_s


@dataclass(frozen=True, slots=True)
class Ticket:
    """One question that runs; ``share_s`` is what a share had come to when it began."""

    task: str
    share_s: float


class ConcurrencyLimit:
    """A limit on the work in hand, from what questions of each task took of late.

    What runs is done after the sum of what its questions take, each by its task, so that
    other questions than a moment ago are known for what they are. A burst is let in while
    that sum stays within ``burst_s``; it is worked off by itself. Where questions have to be
    refused there is no burst but a standing queue, which does no more in a second and makes
    everybody wait for longer; ``overload_s`` is the bound then, until nothing had to be
    refused for :data:`CALM_S`. (The two times are those of CoDel, Nichols and Jacobson 2012,
    as servers apply it: wangle's ``Codel``, with the work that waits in place of the wait.)

    What a question takes is its share of the time that it ran: questions that run together
    share the service equally, and one alone can use one only of the ``cores``. All shares
    together are the time in which the service was busy. ``assumed_s`` is a first guess
    of the CPU time for each task; one that is not in it is assumed to take none.

    Questions of a batch, which wait in it for their turn, begin within ``overload_s`` only, so
    that there is a place for those who would be refused. A batch is let in while the questions of
    those before it will be done within ``backlog_s``.

    Two for each core may always run, one in either half of the work, decoding and
    verification, or cores would be idle; more than ``most`` never. ``clock`` gives seconds.
    """

    def __init__(
        self,
        most: int,
        *,
        cores: int = 1,
        assumed_s: Mapping[str, float] | None = None,
        burst_s: float = math.inf,
        overload_s: float = math.inf,
        backlog_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._cores = cores
        self._least = min(2 * cores, most)
        self._burst_s = burst_s
        self._overload_s = min(overload_s, burst_s)
        self._backlog_s = backlog_s
        self._clock = clock
        self._costs = {task: _Cost(s / cores) for task, s in (assumed_s or {}).items()}
        self._running = 0
        self._latest = ""
        # what a question has had that has run since the first one began
        self._share_s = 0.0
        self._marked = 0.0
        # work that was refused, fading with time: about that of the last second
        self._refused_s = 0.0
        self._refused_at = -math.inf

    @property
    def running(self) -> int:
        """What has begun and not ended."""
        return self._running

    @property
    def overloaded(self) -> bool:
        """Whether something had to be refused just now."""
        return self._clock() - self._refused_at < CALM_S

    @property
    def value(self) -> int:
        """How many may run at present: what runs, and as many more like the latest as fit."""
        more_s, each_s = self._soon_s - self._work_s, self._cost(self._latest).seconds
        if more_s >= self._most * each_s:
            return self._most
        fitting = self._running + math.floor(more_s / each_s)
        return min(self._most, max(self._least, fitting))

    def full(self, task: str, *, waits: bool = False) -> bool:
        """Whether one more question of ``task`` is one too many; of one that ``waits``, yet."""
        if self._running < self._least:
            return False
        if self._running >= self._most:
            return True
        soon_s = self._overload_s if waits else self._soon_s
        return self._work_s + self._cost(task).seconds > soon_s

    @property
    def backlogged(self) -> bool:
        """Whether one more batch is one too many."""
        expected_s = sum(cost.expected * cost.seconds for cost in self._costs.values())
        return expected_s > self._backlog_s

    def expect(self, task: str, count: int) -> None:
        """Count so many more questions of ``task`` in batches that have no answer yet."""
        self._cost(task).expected += count

    def begin(self, task: str) -> Ticket:
        """Count one more question of ``task`` that runs."""
        self._mark()
        self._running += 1
        self._cost(task).running += 1
        self._latest = task
        return Ticket(task, self._share_s)

    def end(self, ticket: Ticket) -> None:
        """Count one that has ended."""
        self._mark()
        self._running -= 1
        cost = self._cost(ticket.task)
        cost.running -= 1
        cost.learn(self._share_s - ticket.share_s)

    def refuse(self, task: str) -> int:
        """Count one that was refused; the seconds after which it should be asked again.

        In that time what was refused in the last second can be done. Half as long or half as
        long again for each, or those who were refused together would come back together.
        """
        now = self._clock()
        faded = math.exp(self._refused_at - now)
        self._refused_s = self._cost(task).seconds + self._refused_s * faded
        self._refused_at = now
        wait = self._refused_s * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
        return min(LONGEST_WAIT_S, max(1, math.ceil(wait)))

    @property
    def _soon_s(self) -> float:
        return self._overload_s if self.overloaded else self._burst_s

    @property
    def _work_s(self) -> float:
        """When what runs is expected to be done, in seconds from now."""
        return sum(cost.running * cost.seconds for cost in self._costs.values())

    def _cost(self, task: str) -> _Cost:
        return self._costs.setdefault(task, _Cost(0.0))

    def _mark(self) -> None:
        """Share out the time since something began or ended."""
        now = self._clock()
        if self._running:  # idle time says nothing about what can be done
            self._share_s += (now - self._marked) / max(self._running, self._cores)
        self._marked = now
