"""One running batch: items that are decoded together, step by step.

Batching is continuous: an item joins between two steps and leaves as soon as its
search is done, whatever the others do (Orca, Yu et al., OSDI 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from models.paths import DIGITS, FIRST_DIGIT
from models.paths import rows as path_rows
from service.engine.rows import Rows
from service.engine.search import Hypothesis, Search
from service.engine.session import ModelSession
from tokenizer.vocabulary import PAD, SIZE

#: Questions are padded to a multiple of this many tokens.
_SOURCE_BLOCK = 16
#: The cache grows by this many places at a time.
_PLACE_BLOCK = 32
#: Columns of a grid in which searches are wider than one hypothesis. A product of one row
#: is summed in another order than one of several, so none of these ever has one alone.
_LEAST_WIDTH = 2
#: The part of a hypothesis that goes into an array: word, parent, path, pointed, rule.
_DESCRIBED = slice(4, 9)
#: One more run of the encoder costs as much as this many tokens more in a run.
_RUN_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Generation:
    """What a model found, best first, and what it took.

    ``tokens_decoded`` counts the steps of the search.
    """

    hypotheses: tuple[Hypothesis, ...]
    queue_ms: float
    model_ms: float
    tokens_decoded: int


@dataclass(eq=False, slots=True)
class Item:
    """One question on its way. Times are of ``time.monotonic``."""

    search: Search
    deadline: float | None
    submitted: float
    started: float = 0.0
    future: Future[Generation] = field(default_factory=Future)
    #: Tokens of the question.
    length: int = field(init=False)

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
        )

    def expired(self, now: float) -> bool:
        """The deadline has passed."""
        return self.deadline is not None and now >= self.deadline


class Layout:
    """Arrays that the decoder is told, for ``sizes`` hypotheses of each item, at most ``width``.

    They are kept as long as the sizes do not change; what is set here stays.
    """

    def __init__(self, sizes: Sequence[int], width: int, session: ModelSession) -> None:
        self.sizes = sizes
        self.width = width
        count, batch = sum(sizes), len(sizes)
        self.items = np.repeat(np.arange(batch), sizes)
        self.columns = np.array([column for size in sizes for column in range(size)], np.int64)
        self.cells = np.stack([self.items, self.columns], axis=1)
        self.grid, self.rules = np.zeros((2, batch, width), np.int64)
        self.grid[self.items, self.columns] = np.arange(count)
        self.scores = np.full((batch, width, 1), -np.inf, np.float32)
        self.words = np.empty((2 + DIGITS, count), np.int64)
        self.pointed = np.empty((count, 2), np.int64)
        self.pointed[:, 0] = self.items
        self.refers = np.empty((count, 1), session.types["refers"])
        self.places = np.empty((count, session.heads, 3), np.int64)
        self.places[:, :, 0] = self.items[:, None]
        self.places[:, :, 1] = np.arange(session.heads)


class Batch:
    """The items of one model that are being decoded.

    At most ``most_items``, and at most ``most_tokens`` counting what they are
    padded to: tokens of questions and places of caches. A ``greedy`` batch takes searches
    of one hypothesis and no others, which then cost less.
    """

    def __init__(
        self, session: ModelSession, most_items: int, most_tokens: int, *, greedy: bool = False
    ) -> None:
        self.session = session
        self.least_width = 1 if greedy else _LEAST_WIDTH
        self.most_items = most_items
        self.most_tokens = most_tokens
        self.items: list[Item] = []
        self._rows = Rows(session)
        self._layout = Layout([], 0, session)

    def room_for(self, joining: Sequence[Item], item: Item) -> bool:
        """Whether ``item`` may join besides ``joining``; an empty batch takes any."""
        others = [*self.items, *joining]
        if not others:
            return True
        padded = self._source([*others, item]) + self._places()
        rows = len(others) + 1
        return rows <= self.most_items and rows * padded <= self.most_tokens

    def join(self, items: Sequence[Item]) -> None:
        """Encode ``items`` and take them in."""
        self._rows.resize(
            len(self.items) + len(items),
            self._source([*self.items, *items]),
            self._places(),
        )
        for group in _alike(items):
            longest = max(item.length for item in group)
            tokens = np.full((len(group), longest), PAD, np.int64)
            paths = np.zeros_like(tokens)
            for row, item in enumerate(group):
                tokens[row, : item.length] = item.search.source.ids
                paths[row, : item.length] = item.search.source.paths
            memory = self.session.encode(tokens, paths)
            for row, item in enumerate(group):
                self._rows.add(memory, row, item.search.source)
                self.items.append(item)

    def leave(self, item: Item) -> None:
        """Take ``item`` out."""
        row = self.items.index(item)
        self._rows.remove(row)
        self.items[row] = self.items[-1]
        self.items.pop()

    def step(self) -> None:
        """Every search goes on by one token."""
        searches = [item.search for item in self.items]
        sizes = [len(search.beam) for search in searches]
        width = max(self.least_width, *sizes)
        self._rows.resize(len(searches), self._source(self.items), self._places())
        most = 2 * max(search.width for search in searches)
        best, index = self._rows.binding.step(self._told(searches, sizes, width), most)
        origins, tokens = np.divmod(index, SIZE + self._rows.source)
        for search, *found in zip(
            searches, best.tolist(), origins.tolist(), tokens.tolist(), strict=True
        ):
            search.extend(*found)

    def _told(
        self, searches: Sequence[Search], sizes: Sequence[int], width: int
    ) -> dict[str, npt.NDArray[Any]]:
        """What the decoder is told anew; see :func:`models.graphs.decoder`."""
        if (self._layout.sizes, self._layout.width) != (sizes, width):
            self._layout = Layout(sizes, width, self.session)
        layout = self._layout
        partials = [partial for search in searches for partial in search.beam]
        described = np.array([partial[_DESCRIBED] for partial in partials], np.int64).T
        layout.words[:2] = described[:2]
        layout.words[2:] = path_rows(described[2])
        layout.words[2:] += FIRST_DIGIT
        layout.pointed[:, 1] = described[3]
        layout.refers[:, 0] = described[3] >= 0
        layout.rules[layout.items, layout.columns] = described[4]
        layout.places[:, :, 2] = [
            [place] for s in searches for place in range(s.used, s.used + len(s.beam))
        ]
        layout.scores[layout.items, layout.columns, 0] = [partial.score for partial in partials]
        return {
            "words": layout.words,
            "pointed": layout.pointed,
            "refers": layout.refers,
            "places": layout.places,
            "cells": layout.cells,
            "grid": layout.grid,
            "rules": layout.rules,
            "scores": layout.scores,
            "visible": self._visible(searches, width),
        }

    def _visible(self, searches: Sequence[Search], width: int) -> npt.NDArray[np.bool_]:
        """(B, 1, W, P), from the bits that hypotheses carry."""
        size = self._rows.places // 8
        rows: list[bytes] = []
        for search in searches:
            rows += [
                (partial.past | 1 << place).to_bytes(size, "little")
                for place, partial in enumerate(search.beam, search.used)
            ]
            rows += [bytes(size)] * (width - len(search.beam))
        flags = np.unpackbits(np.frombuffer(b"".join(rows), np.uint8), bitorder="little")
        return flags.view(np.bool_).reshape(len(searches), 1, width, -1)

    def _source(self, items: Sequence[Item]) -> int:
        return _padded(max([item.length for item in items], default=1), _SOURCE_BLOCK)

    def _places(self) -> int:
        used = max([item.search.used for item in self.items], default=0)
        widest = max([item.search.width for item in self.items], default=1)
        return _padded(used + widest, _PLACE_BLOCK)


def _padded(length: int, block: int) -> int:
    return -(-length // block) * block


def _alike(items: Sequence[Item]) -> list[list[Item]]:
    """Groups of like length: a new one where that saves more padding than a run is worth."""
    groups: list[list[Item]] = []
    ordered = sorted(items, key=lambda item: -item.length)
    for done, item in enumerate(ordered):
        shorter = groups[-1][0].length - item.length if groups else 0
        if groups and shorter * (len(ordered) - done) <= _RUN_TOKENS:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups
