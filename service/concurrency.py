"""How many questions are worked on at a time, so that each of them is done soon."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Final

#: What a computation counts for when the next one has ended.
FADING: Final = 0.98

#: Computations that must have ended before their rate is believed: the first ones of a burst
#: end late, and the others soon after them.
BELIEVED: Final = 16

#: Seconds without a refusal after which more is no longer asked than can be done.
CALM_S: Final = 1.0

#: Longest time that a refused client is told to wait, in seconds.
LONGEST_WAIT_S: Final = 60


class ConcurrencyLimit:
    """A limit on what runs at a time, from the rate at which it is being done.

    By Little's law what runs takes ``running / rate`` seconds on average, so that
    ``rate * burst_s`` may run: a burst is worked off by itself. Where questions have to
    be refused there is no burst but a standing queue, which does no more in a second and
    makes everybody wait for longer; ``rate * overload_s`` may run then, until nothing had to
    be refused for :data:`CALM_S`. (The two times are those of CoDel, Nichols and Jacobson
    2012, as servers apply it: wangle's ``Codel``, with a count in place of a queue.)

    The limit is never less than ``least``, which is to keep all cores busy, and never more
    than ``most``. ``clock`` gives seconds.
    """

    def __init__(
        self,
        most: int,
        *,
        least: int = 1,
        burst_s: float = math.inf,
        overload_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._least = min(least, most)
        self._burst_s = burst_s
        self._overload_s = min(overload_s, burst_s)
        self._clock = clock
        self._running = 0
        # weights that fade, so that the rate follows the kind of questions
        self._ended = self._busy_s = 0.0
        self._marked = 0.0
        # refusals, fading with time: about as many as there were in the last second
        self._refusals = 0.0
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
        """How many may run at present."""
        soon_s = self._overload_s if self.overloaded else self._burst_s
        if self._ended < BELIEVED or math.isinf(soon_s):
            return self._most
        soon = int(soon_s * self._ended / self._busy_s)
        return min(self._most, max(self._least, soon))

    @property
    def full(self) -> bool:
        """Whether one more is one too many."""
        return self._running >= self.value

    def begin(self) -> None:
        """Count one more that runs."""
        if not self._running:
            self._marked = self._clock()  # idle time says nothing about what can be done
        self._running += 1

    def end(self) -> None:
        """Count one that has ended."""
        now = self._clock()
        self._running -= 1
        self._ended = 1 + FADING * self._ended
        self._busy_s = now - self._marked + FADING * self._busy_s
        self._marked = now

    def refuse(self) -> int:
        """Count one that was refused; the seconds after which it should be asked again.

        In that time what was refused in the last second can be done. Half as long or half as
        long again for each, or those who were refused together would come back together.
        """
        now = self._clock()
        self._refusals = 1 + self._refusals * math.exp(self._refused_at - now)
        self._refused_at = now
        if self._ended < BELIEVED:
            return 1
        wait = self._refusals * self._busy_s / self._ended
        wait *= random.uniform(0.5, 1.5)  # noqa: S311 - to spread clients, no secret
        return min(LONGEST_WAIT_S, max(1, math.ceil(wait)))
