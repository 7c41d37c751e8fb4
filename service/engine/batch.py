"""One running batch: items that are decoded together, step by step.

Batching is continuous: an item joins between two steps and leaves as soon as its
search is done, whatever the others do (Orca, Yu et al., OSDI 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from service.engine.draft import MOST_TOKENS, Drafter, DraftTable
from service.engine.layout import Layouts
from service.engine.rows import Rows
from service.engine.search import Hypothesis, Search
from service.engine.session import ModelSession
from service.engine.spans import BLOCK

#: A draft goes on while it holds with this probability, times what part of a step the items
#: of a batch make up: what is done once a step costs as much as some rows of the decoder.
_DRAFT_FLOOR = 0.5
_STEP_ROWS = 8
#: Most rows that all drafts of a step may have, but for one an item.
_DRAFT_ROWS = 128


class Generation(NamedTuple):
    """What a model found, best first, and what it took.

    ``tokens_decoded`` counts the steps of the search, ``tokens_drafted`` those of them that
    took no step of the decoder.
    """

    hypotheses: tuple[Hypothesis, ...]
    queue_ms: float
    model_ms: float
    tokens_decoded: int
    tokens_drafted: int


@dataclass(eq=False, slots=True)
class Item:
    """One question on its way. Times are of ``time.monotonic``."""

    search: Search
    deadline: float | None
    submitted: float
    started: float = 0.0
    #: Tokens of the question.
    length: int = field(init=False)
    drafter: Drafter = field(init=False)

    def __post_init__(self) -> None:
        self.length = len(self.search.source.ids)

    @property
    def done(self) -> bool:
        """Whether the search is over."""
        return self.search.done

    def result(self, now: float) -> Generation:
        """What the search found, at the time ``now``."""
        return Generation(
            tuple(self.search.finished),
            1000 * (self.started - self.submitted),
            1000 * (now - self.started),
            self.search.steps,
            self.search.drafted,
        )

    def expired(self, now: float) -> bool:
        """The deadline has passed."""
        return self.deadline is not None and now >= self.deadline


class Batch:
    """The items of one model that are being decoded.

    At most ``most_items``, and at most ``most_tokens`` if all were as long as the longest:
    tokens of questions and places of caches. ``table`` is what drafts come from,
    and go into.
    """

    def __init__(
        self,
        session: ModelSession,
        most_items: int,
        most_tokens: int,
        table: DraftTable | None = None,
    ) -> None:
        self.session = session
        self.table = table or DraftTable()
        self.most_items = most_items
        self.most_tokens = most_tokens
        self.items: list[Item] = []
        self._rows = Rows(session)
        self._layouts = Layouts(session)

    def room_for(self, joining: Sequence[Item], item: Item) -> bool:
        """Whether ``item`` may join besides ``joining``; an empty batch takes any."""
        others = [*self.items, *joining]
        if not others:
            return True
        places = max([one.search.used + max(one.search.width, 1 + MOST_TOKENS) for one in others])
        padded = max([one.length for one in (*others, item)]) + places
        rows = len(others) + 1
        return rows <= self.most_items and rows * padded <= self.most_tokens

    def join(self, items: Sequence[Item]) -> None:
        """Encode ``items`` and take them in."""
        if not items:
            return
        longest = max([item.length for item in (*self.items, *items)])
        self._rows.reserve(len(self.items) + len(items), longest)
        encoding = self.session.encode([item.search.source for item in items])
        for item, end in zip(items, accumulate([item.length for item in items]), strict=True):
            source = item.search.source
            self._rows.add(encoding, slice(end - item.length, end), source, BLOCK)
            item.drafter = Drafter(item.search, self.table)
            self.items.append(item)

    def leave(self, item: Item) -> None:
        """Take ``item`` out."""
        row = self.items.index(item)
        self._rows.remove(row)
        self.items[row] = self.items[-1]
        self.items.pop()

    def step(self) -> None:
        """Every search goes on by a token, and by more where its draft holds."""
        searches = [item.search for item in self.items]
        floor = _DRAFT_FLOOR * len(searches) / (len(searches) + _STEP_ROWS)
        most = max(1, min(MOST_TOKENS, _DRAFT_ROWS // max(1, len(searches))))
        for item in self.items:
            item.drafter.propose(floor, most)
        told = self._layouts.describe(searches, self._rows)
        most = 2 * max([search.width for search in searches])
        best, index = self._rows.binding.step(told, most)
        for row, item in enumerate(self.items):
            item.search.take(best[row], index[row])
            item.drafter.learn()
