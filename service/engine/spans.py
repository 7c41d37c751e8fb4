"""Which items stand where on shelves: rows of tensors that several of them share.

What attention looks over costs, whether or not it is anybody's: with a row for every item, all
as long as the longest, half of a decoder step was attention over places that nothing stood in.
Like books, short items stand beside each other on a shelf as long as the longest one, and are
hidden from each other.

Where an item stands does not change its answer, not even in the last bit: what is hidden is an
exact zero in every sum, and an item begins at a multiple of :data:`BLOCK`, so that vectors of
ONNX Runtime add up the same numbers in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

#: An item begins and ends at a multiple of this many places.
BLOCK = 16
#: Long sums are added up in parts of this many places; nobody stands across their border, but
#: for those who are longer and begin where the shelf does.
_SUMMED = 512


def whole(size: int, block: int = BLOCK) -> int:
    """``size``, and what is missing to whole blocks."""
    return -(-size // block) * block


@dataclass(eq=False, slots=True)
class Span:
    """``size`` places of a shelf, whole blocks, from ``first`` on."""

    shelf: int
    first: int
    size: int


class Plan:
    """What stands on each shelf, of ``length`` places, from left to right."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.shelves: list[list[Span]] = []
        #: Places of each shelf that nothing stands in.
        self._free: list[int] = []

    def __iter__(self) -> Iterator[Span]:
        return (span for shelf in self.shelves for span in shelf)

    def put(self, size: int) -> Span:
        """A new span, on a new shelf if need be."""
        span = Span(0, 0, size)
        self.place(span)
        return span

    def place(self, span: Span) -> None:
        """Find room for ``span``, which is nowhere."""
        size = span.size
        best, least = -1, (self.length, self.length)
        for shelf, free in enumerate(self._free):
            if size <= free:
                # few spans, since a grid is as wide as all on one shelf; of those the fullest
                spans = self.shelves[shelf]
                taken = len(spans), free
                if taken < least and (gap := self._gap(spans, size)) is not None:
                    best, least, (index, first) = shelf, taken, gap
        if best < 0:
            best, index, first = len(self.shelves), 0, 0
            self.shelves.append([])
            self._free.append(self.length)
        span.shelf, span.first = best, first
        self.shelves[best].insert(index, span)
        self._free[best] -= size

    def grow(self, span: Span, size: int) -> bool:
        """Whether ``span`` could have ``size`` places where it is, and has them now."""
        shelf = self.shelves[span.shelf]
        after = shelf.index(span) + 1
        end = shelf[after].first if after < len(shelf) else self.length
        if span.first + size > end or not _allowed(span.first, size):
            return False
        self._free[span.shelf] -= size - span.size
        span.size = size
        return True

    def move(self, span: Span, size: int) -> None:
        """Have ``size`` places for ``span`` somewhere else, or where it is if there is room."""
        self._take(span)
        span.size = size
        self.place(span)

    def remove(self, span: Span) -> bool:
        """Take ``span`` away; whether the last shelf has moved to where it was."""
        shelf = self._take(span)
        if shelf:
            return False
        last, free = self.shelves.pop(), self._free.pop()
        if last is shelf:
            return False
        self.shelves[span.shelf], self._free[span.shelf] = last, free
        for moved in last:
            moved.shelf = span.shelf
        return True

    def _take(self, span: Span) -> list[Span]:
        """Take ``span`` from its shelf; what is left there."""
        shelf = self.shelves[span.shelf]
        shelf.remove(span)
        self._free[span.shelf] += span.size
        return shelf

    def _gap(self, spans: list[Span], size: int) -> tuple[int, int] | None:
        """The first gap between ``spans`` that holds ``size`` places: its index and begin."""
        first = 0
        for index, other in enumerate(spans):
            if first + size <= other.first and _allowed(first, size):
                return index, first
            first = other.first + other.size
        if first + size <= self.length and _allowed(first, size):
            return len(spans), first
        return None


def _allowed(first: int, size: int) -> bool:
    """Whether ``size`` places may begin at ``first``."""
    return not first or first % _SUMMED + size <= _SUMMED
