"""Rows of many heat problems in one run of a graph, under the engine's own queue.

A question is cut into rows before it gets here, none larger than a run may be, so a
long one takes many steps and lets searches and other questions have theirs between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models.heat.boundary import Array
from models.heat.rows import Branch, Row, stack, together, unstack


@dataclass(eq=False, slots=True)
class Work:
    """The rows of one question and the values found so far, in the same order."""

    rows: Sequence[Row]
    deadline: float
    started: float = 0.0
    found: list[Array] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether every row has its values."""
        return len(self.found) == len(self.rows)

    def result(self, now: float) -> list[Array]:
        """The values of each row, (C, M, Q)."""
        return self.found

    def expired(self, now: float) -> bool:
        """The deadline has passed."""
        return now >= self.deadline


class HeatKind:
    """Rows of the ``branch`` that ``run`` computes, on ``provider``, as an engine's jobs.

    At most ``most`` questions share a run.
    """

    def __init__(
        self,
        run: Callable[[Mapping[str, Array]], Array],
        branch: Branch,
        most: int,
        provider: str,
    ) -> None:
        self._run = run
        self._branch = branch
        self._most = most
        self.provider = provider

    def job(self, request: Sequence[Row], deadline: float | None, submitted: float) -> Work:
        """The job of a question's rows."""
        return Work(request, math.inf if deadline is None else deadline)

    def open(self) -> HeatBatch:
        """A batch without questions."""
        return HeatBatch(self._run, self._branch, self._most)


class HeatBatch:
    """The questions whose rows one graph computes together, ``most`` at a time.

    More wait in the queue. Where ``most`` is 1, only rows of one question share a run.
    """

    def __init__(
        self, run: Callable[[Mapping[str, Array]], Array], branch: Branch, most: int
    ) -> None:
        self._run = run
        self._branch = branch
        self._most = most
        self.items: list[Work] = []

    def room_for(self, joining: Sequence[Work], item: Work) -> bool:
        """Whether one more may take turns."""
        return len(self.items) + len(joining) < self._most

    def join(self, items: Sequence[Work]) -> None:
        """Take ``items`` in."""
        self.items += items

    def leave(self, item: Work) -> None:
        """Take ``item`` out."""
        self.items.remove(item)

    def step(self) -> None:
        """One run: a row of each question, then a second of each, as long as they fit."""
        pending = list(self._pending())
        taken = together(row for _, row in pending)
        values = self._run(stack(taken, self._branch))
        for (item, _), value in zip(pending, unstack(values, taken), strict=False):
            item.found.append(value)
        # who has had a turn goes last, or rows unlike the first would wait for ever
        served = dict.fromkeys(item for item, _ in pending[: len(taken)])
        self.items = [item for item in self.items if item not in served] + list(served)

    def _pending(self) -> Iterator[tuple[Work, Row]]:
        depth = 0
        while True:
            left = [item for item in self.items if len(item.found) + depth < len(item.rows)]
            if not left:
                return
            for item in left:
                yield item, item.rows[len(item.found) + depth]
            depth += 1
