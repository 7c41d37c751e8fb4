"""One running batch: items that are decoded together, step by step.

Batching is continuous: an item joins between two steps and leaves as soon as its
search is done, whatever the others do (Orca, Yu et al., OSDI 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter

import numpy as np

from models.paths import DIGITS, FIRST_DIGIT
from models.paths import rows as path_rows
from service.engine.draft import MOST_TOKENS, Drafter, DraftTable
from service.engine.rows import Rows
from service.engine.search import Hypothesis, Partial, Search
from service.engine.session import ModelSession, Told
from tokenizer.vocabulary import PAD

#: Questions are padded to a multiple of this many tokens.
_SOURCE_BLOCK = 16
#: The cache grows by this many places at a time.
_PLACE_BLOCK = 32
#: Columns that a grid has at least. A product of one row is summed in another order than one
#: of several, and with a draft beside it a hypothesis is one of several.
_LEAST_WIDTH = 2
#: A draft goes on while it holds with this probability, times what part of a step the items
#: of a batch make up: what is done once a step costs as much as some rows of the decoder.
_DRAFT_FLOOR = 0.5
_STEP_ROWS = 8
#: Most rows that all drafts of a step may have, but for one an item.
_DRAFT_ROWS = 64
#: Layouts that are kept.
_MOST_LAYOUTS = 64
#: What of a hypothesis goes into an array as it is: word, parent, pointed, rule.
_DESCRIBED = itemgetter(4, 5, 7, 8)
#: One more run of the encoder costs as much as this many tokens more in a run.
_RUN_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Generation:
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
    future: Future[Generation] = field(default_factory=Future)
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


class Layout:
    """Arrays that the decoder is told, for ``sizes`` hypotheses of each item, at most ``width``.

    They serve wherever the sizes and the ``places`` of the cache are these; what is set here
    stays.
    """

    def __init__(
        self, sizes: Sequence[int], width: int, places: int, session: ModelSession
    ) -> None:
        count, batch = sum(sizes), len(sizes)
        self.items = np.repeat(np.arange(batch), sizes)
        self.columns = np.array([column for size in sizes for column in range(size)], np.int64)
        #: Where the hypotheses are in a grid whose rows lie one after the other.
        self.cells = self.items * width + self.columns
        grid, rules = np.zeros((2, batch, width), np.int64)
        grid.ravel()[self.cells] = np.arange(count)
        self.rules = rules.ravel()
        self.words = np.empty((2 + DIGITS, count), np.int64)
        self.pointed = np.empty((count, 2), np.int64)
        self.pointed[:, 0] = self.items
        self.refers = np.empty((count, 1), session.types["refers"])
        self.places = np.empty((count, session.heads, 3), np.int64)
        self.places[:, :, 0] = self.items[:, None]
        self.places[:, :, 1] = np.arange(session.heads)
        visible = np.zeros((batch, 1, width, places), np.bool_)
        self.visible = visible.reshape(batch * width, places)
        self.told = Told(
            {
                "words": self.words,
                "pointed": self.pointed,
                "refers": self.refers,
                "places": self.places,
                "cells": np.stack([self.items, self.columns], axis=1),
                "grid": grid,
                "rules": rules,
                "visible": visible,
            },
            width,
        )

    def describe(self, partials: Sequence[Partial], first_places: Sequence[int]) -> None:
        """Tell of ``partials``, those of an item in places from its ``first_places`` on."""
        described = np.array([_DESCRIBED(partial) for partial in partials], np.int64).T
        self.words[:2] = described[:2]
        digits = b"".join([_digits(partial.path) for partial in partials])
        self.words[2:] = np.frombuffer(digits, np.int64).reshape(-1, DIGITS).T
        self.pointed[:, 1] = described[2]
        self.refers[:, 0] = described[2] >= 0
        self.rules[self.cells] = described[3]
        places = np.array(first_places)[self.items] + self.columns
        self.places[:, :, 2] = places[:, None]
        size = self.visible.shape[-1] // 8
        bits = b"".join(
            [
                (partial.past | 1 << place).to_bytes(size, "little")
                for partial, place in zip(partials, places.tolist(), strict=True)
            ]
        )
        flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
        self.visible[self.cells] = flags.reshape(len(partials), -1)


class Batch:
    """The items of one model that are being decoded.

    At most ``most_items``, and at most ``most_tokens`` counting what they are
    padded to: tokens of questions and places of caches. ``table`` is what drafts come from,
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
        self._layouts: dict[tuple[int, ...], Layout] = {}

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
        self._rows.resize(len(searches), self._source(self.items), self._places())
        layout = self._described(searches)
        most = 2 * max(search.width for search in searches)
        best, index = self._rows.binding.step(layout.told, most)
        for row, item in enumerate(self.items):
            item.search.take(best[row], index[row])
            item.drafter.learn()

    def _described(self, searches: Sequence[Search]) -> Layout:
        """What the decoder is told anew; see :func:`models.graphs.decoder`."""
        partials = [[*search.beam, *search.draft] for search in searches]
        sizes = tuple(map(len, partials))
        width = max(_LEAST_WIDTH, *sizes)
        key = (self._rows.places, width, *sizes)
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) == _MOST_LAYOUTS:
                self._layouts.clear()
            layout = Layout(sizes, width, self._rows.places, self.session)
            self._layouts[key] = layout
        layout.describe(
            [partial for of_one in partials for partial in of_one],
            [search.used for search in searches],
        )
        return layout

    def _source(self, items: Sequence[Item]) -> int:
        return _padded(max([item.length for item in items], default=1), _SOURCE_BLOCK)

    def _places(self) -> int:
        used = max([item.search.used for item in self.items], default=0)
        widest = max([item.search.width for item in self.items], default=1)
        return _padded(used + max(widest, 1 + MOST_TOKENS), _PLACE_BLOCK)


@lru_cache(10_000)
def _digits(path: int) -> bytes:
    """Rows of the decoder's table for the digits of a path, as they lie in memory."""
    digits: bytes = (path_rows(np.array(path)) + FIRST_DIGIT).tobytes()
    return digits


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
