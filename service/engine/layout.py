"""What the decoder is told at a step: arrays that describe hypotheses and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
#: Layouts that are kept.
_MOST_LAYOUTS = 64
#: What of a hypothesis goes into an array as it is: word, parent, pointed, rule.
_DESCRIBED = itemgetter(4, 5, 7, 8)

Ints = npt.NDArray[np.int64]


class _Grid:
    """Rows of cells: each item has the next ones of the row where it is, for its hypotheses."""

    def __init__(
        self, item_rows: Sequence[int], rows: int, sizes: Sequence[int], items: Ints, columns: Ints
    ) -> None:
        taken = [0] * rows
        starts = []
        for row, size in zip(item_rows, sizes, strict=True):
            starts.append(taken[row])
            taken[row] += size
        width = max(LEAST_WIDTH, *taken)
        #: Row and column of each hypothesis.
        self.cells = np.empty((len(items), 2), np.int64)
        self.cells[:, 0] = np.array(item_rows)[items]
        self.cells[:, 1] = np.array(starts)[items] + columns
        #: Where the hypotheses are when rows lie one after the other.
        self.flat = self.cells[:, 0] * width + self.cells[:, 1]
        self.grid = np.zeros((rows, width), np.int64)
        self.grid.ravel()[self.flat] = np.arange(len(items))

    def flags(self, length: int) -> Array:
        """``length`` flags for each cell, none set, as attention takes them."""
        rows, width = self.grid.shape
        return np.zeros((rows, 1, width, length), np.bool_)


class _Layout:
    """Arrays for ``sizes`` hypotheses of each item; what is set here stays.

    They serve wherever these numbers, and the shelves, are the same.
    """

    def __init__(self, sizes: Sequence[int], rows: Rows, session: ModelSession) -> None:
        batch, count = len(sizes), sum(sizes)
        self.items = np.repeat(np.arange(batch), sizes)
        self.columns = np.array([column for size in sizes for column in range(size)], np.int64)
        by_item, written, asked = (
            _Grid(item_rows, many, sizes, self.items, self.columns)
            for item_rows, many in (
                (range(batch), batch),
                (rows.standing.written, rows.caches.count),
                (rows.standing.asked, rows.questions.count),
            )
        )
        self.cells, self.self_cells, self.cross_cells = by_item.flat, written.flat, asked.flat
        rules = np.zeros_like(by_item.grid)
        self.rules = rules.ravel()
        self.words = np.empty((2 + DIGITS, count), np.int64)
        self.pointed = np.empty((count, 2), np.int64)
        self.pointed[:, 0] = self.items
        self.refers = np.empty((count, 1), session.types["refers"])
        self.places = np.empty((count, session.heads, 3), np.int64)
        self.places[:, :, 0] = written.cells[:, :1]
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
                "places": self.places,
                "grid": by_item.grid,
                "rules": rules,
                "self_grid": written.grid,
                "self_cells": written.cells,
                "visible": visible,
                "cross_grid": asked.grid,
                "cross_cells": asked.cells,
                "asked": questions,
            }
        )

    def describe(
        self, partials: Sequence[Partial], used: Sequence[int], standing: Standing
    ) -> None:
        """Tell of ``partials``, those of an item in its places from ``used`` on."""
        if standing is not self.standing:
            self.standing = standing
            self.firsts = standing.firsts[self.items]
            self.shifts = self.firsts.tolist()
            self.asked[self.cross_cells] = standing.questions[self.items]
        described = np.array([_DESCRIBED(partial) for partial in partials], np.int64).T
        self.words[:2] = described[:2]
        digits = b"".join([_digits(partial.path) for partial in partials])
        self.words[2:] = np.frombuffer(digits, np.int64).reshape(-1, DIGITS).T
        self.pointed[:, 1] = described[2]
        self.refers[:, 0] = described[2] >= 0
        self.rules[self.cells] = described[3]
        places = np.array(used)[self.items] + self.columns
        self.places[:, :, 2] = (self.firsts + places)[:, None]
        size = self.visible.shape[-1] // 8
        bits = b"".join(
            [
                ((partial.past | 1 << place) << shift).to_bytes(size, "little")
                for partial, place, shift in zip(
                    partials, places.tolist(), self.shifts, strict=True
                )
            ]
        )
        flags = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
        self.visible[self.self_cells] = flags.reshape(len(partials), -1)


class Layouts:
    """The layouts of a batch, the last ones kept."""

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self._kept: dict[tuple[int, ...], _Layout] = {}

    def describe(self, searches: Sequence[Search], rows: Rows) -> Told:
        """What to tell of all hypotheses and drafts; their places are in ``rows``, and bound."""
        sizes = [len(search.beam) + len(search.draft) for search in searches]
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
        partials = [one for search in searches for one in (*search.beam, *search.draft)]
        layout.describe(partials, used, standing)
        return layout.told


@lru_cache(10_000)
def _digits(path: int) -> bytes:
    """Rows of the decoder's table for the digits of a path, as they lie in memory."""
    digits: bytes = (path_rows(np.array(path)) + FIRST_DIGIT).tobytes()
    return digits
