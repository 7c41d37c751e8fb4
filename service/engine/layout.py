"""What the decoder is told at a step: arrays that describe hypotheses and where they stand."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from models.paths import DIGITS, FIRST_DIGIT
from models.paths import rows as path_rows
from service.engine.rows import Rows, Standing
from service.engine.search import Partial, Search
from service.engine.session import Array, ModelSession, Told

#: Columns that a grid has at least. A product of one row is summed in another order than one
#: of several, and with a draft beside it a hypothesis is one of several.
LEAST_WIDTH = 2
#: What of a hypothesis goes into an array as it is: word, parent, pointed, rule.
_DESCRIBED = itemgetter(4, 5, 7, 8)

#: Layouts that are kept. A few come again and again where few items are; of many items, who
#: joins, leaves or gets another draft makes a new one at nearly every step.
_MOST_LAYOUTS = 64

Ints = npt.NDArray[np.int64]


class _Grid:
    """Rows of cells: each item has the next ones of the row where it is, for its hypotheses."""

    def __init__(self, item_rows: Sequence[int], rows: int, sizes: Sequence[int]) -> None:
        taken = [0] * rows
        #: Where the cells of each item begin in its row.
        self.begins: list[int] = []
        for row, size in zip(item_rows, sizes, strict=True):
            self.begins.append(taken[row])
            taken[row] += size
        self.shape = rows, max(LEAST_WIDTH, *taken)

    def place(self, rows: Ints, columns: Ints) -> None:
        """Place hypotheses, one after the other, in the cells at ``rows`` and ``columns``."""
        #: Where the hypotheses are when rows lie one after the other.
        self.flat = rows * self.shape[1] + columns
        #: Which hypothesis is in a cell.
        self.hypotheses = np.zeros(self.shape, np.int64)
        self.hypotheses.ravel()[self.flat] = np.arange(len(rows))

    def flags(self, length: int) -> Array:
        """``length`` flags for each cell, none set, as attention takes them."""
        rows, width = self.shape
        return np.zeros((rows, 1, width, length), np.bool_)


class _Layout:
    """Arrays for ``sizes`` hypotheses of each item; what is set here stays.

    They serve wherever these numbers, and the shelves, are the same.
    """

    def __init__(self, sizes: Sequence[int], rows: Rows, session: ModelSession) -> None:
        standing = rows.standing
        own = range(len(sizes))
        by_item = _Grid(own, len(sizes), sizes)
        written = _Grid(standing.written, rows.caches.count, sizes)
        asked = _Grid(standing.asked, rows.questions.count, sizes)
        each = _integers(
            *(own, standing.written, standing.asked, accumulate((0, *sizes[:-1]))),
            *(by_item.begins, written.begins, asked.begins),
        ).repeat(sizes, axis=1)
        self.items, self_row, cross_row, before, column, self_column, cross_column = each
        #: How many of its item come before each hypothesis.
        self.nth = np.arange(len(self.items)) - before
        each[4:] += self.nth
        by_item.place(self.items, column)
        written.place(self_row, self_column)
        asked.place(cross_row, cross_column)
        self.cells, self.self_cells, self.cross_cells = by_item.flat, written.flat, asked.flat
        count = len(self.items)
        rules = np.zeros(by_item.shape, np.int64)
        self.rules = rules.ravel()
        self.words = np.empty((2 + DIGITS, count), np.int64)
        self.pointed = np.empty((count, 2), np.int64)
        self.pointed[:, 0] = self.items
        self.refers = np.empty((count, 1), session.types["refers"])
        self.places = np.empty((count, session.heads, 3), np.int64)
        self.places[:, :, 0] = self_row[:, None]
        self.places[:, :, 1] = np.arange(session.heads)
        visible = written.flags(rows.caches.length)
        self.visible = visible.reshape(-1, rows.caches.length)
        questions = asked.flags(rows.questions.length)
        self.asked = questions.reshape(-1, rows.questions.length)
        #: Where items stood when this was told last.
        self.standing: Standing | None = None
        self.told = Told(
            {
                "words": self.words,
                "pointed": self.pointed,
                "refers": self.refers,
                "places": self.places if session.heads > 1 else self.places[:, 0],
                "grid": by_item.hypotheses,
                "rules": rules,
                "self_grid": written.hypotheses,
                "self_cells": each[1:6:4].T.copy(),
                "visible": visible,
                "cross_grid": asked.hypotheses,
                "cross_cells": each[2:7:4].T.copy(),
                "asked": questions,
            }
        )

    def describe(
        self, by_item: Sequence[Sequence[Partial]], used: Sequence[int], standing: Standing
    ) -> None:
        """Tell of the hypotheses of each item, in its places from ``used`` on."""
        if standing is not self.standing:
            self.standing = standing
            self.asked[self.cross_cells] = standing.questions[self.items]
        partials = [*chain.from_iterable(by_item)]
        count = len(partials)
        size = self.visible.shape[-1] // 8
        places, seen = [], []
        for hypotheses, taken, first in zip(by_item, used, standing.firsts, strict=True):
            for place, partial in enumerate(hypotheses, taken + first):
                places.append(place)
                seen.append((partial.past << first | 1 << place).to_bytes(size, "little"))
        described = _integers(*zip(*map(_DESCRIBED, partials), strict=True), places)
        self.words[:2] = described[:2]
        digits = b"".join([_digits(partial.path) for partial in partials])
        self.words[2:] = np.frombuffer(digits, np.int64).reshape(-1, DIGITS).T
        self.pointed[:, 1] = described[2]
        self.refers[:, 0] = described[2] >= 0
        self.rules[self.cells] = described[3]
        self.places[:, :, 2] = described[4, :, None]
        flags = np.unpackbits(np.frombuffer(b"".join(seen), np.uint8), bitorder="little")
        self.visible[self.self_cells] = flags.reshape(count, -1)


class Layouts:
    """The layouts of a batch, the last ones kept."""

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self._kept: dict[tuple[int, ...], _Layout] = {}

    def describe(self, searches: Sequence[Search], rows: Rows) -> Told:
        """What to tell of all hypotheses and drafts; their places are in ``rows``, and bound."""
        by_item = [(*search.beam, *search.draft) for search in searches]
        sizes = [len(partials) for partials in by_item]
        used = [search.used for search in searches]
        rows.widen([taken + size for taken, size in zip(used, sizes, strict=True)])
        rows.bind()
        standing = rows.standing
        key = (*sizes, *standing.key)
        layout = self._kept.get(key)
        if layout is None:
            if len(self._kept) == _MOST_LAYOUTS:
                self._kept.clear()
            layout = self._kept[key] = _Layout(sizes, rows, self._session)
        layout.describe(by_item, used, standing)
        return layout.told


def _integers(*rows: Iterable[int]) -> Ints:
    """``rows``, as many integers each, as an array, for half of the time that NumPy takes."""
    flat = [*chain.from_iterable(rows)]
    packed = struct.pack(f"{len(flat)}q", *flat)
    return np.frombuffer(packed, np.int64).reshape(len(rows), -1)


@lru_cache(10_000)
def _digits(path: int) -> bytes:
    """Rows of the decoder's table for the digits of a path, as they lie in memory."""
    digits: bytes = (path_rows(np.array(path)) + FIRST_DIGIT).tobytes()
    return digits
