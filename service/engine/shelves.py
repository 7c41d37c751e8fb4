"""Tensors whose rows are shelves, each for several items; see :mod:`service.engine.spans`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from service.engine.session import Array, Binding, Kept, ModelSession
from service.engine.spans import Plan, Span, whole


class Shelves:
    """The tensors ``names`` of a session, shelves of the decoder that ``binding`` runs.

    They are parts of one array, :attr:`tensors`: (names, shelves, H, places, D). A shelf has
    ``block`` places, or a multiple of that where there is something longer. ``version`` is
    another one when anything stands elsewhere.
    """

    def __init__(
        self, session: ModelSession, binding: Binding, names: Sequence[str], block: int
    ) -> None:
        _, heads, _, head = session.shapes[names[0]]
        self._names = names
        self._block = block
        self._plan = Plan(block)
        shape = len(names), 0, int(heads), block, int(head)
        self.tensors: Array = np.zeros(shape, session.types[names[0]])
        self._kept = Kept(binding, self._parts())
        self.version = 0

    @property
    def count(self) -> int:
        """Shelves in use."""
        return len(self._plan.shelves)

    @property
    def length(self) -> int:
        """Places of a shelf."""
        return self._plan.length

    def add(self, tensors: Array, size: int) -> Span:
        """``size`` places, or a few more, that begin with ``tensors`` (places, names, H, D)."""
        size = whole(size)
        self.version += 1
        self._lengthen(size)
        span = self._plan.put(size)
        self._reserve()
        self._kept.open()
        end = span.first + len(tensors)
        self.tensors[:, span.shelf, :, span.first : end] = tensors.transpose(1, 2, 0, 3)
        return span

    def remove(self, span: Span) -> None:
        """Clear the places of ``span``."""
        self.version += 1
        if self._plan.remove(span):
            self._kept.open()
            self.tensors[:, span.shelf] = self.tensors[:, self.count]

    def widen(self, span: Span, size: int) -> None:
        """Have ``size`` places in ``span``, which may move; what stands there goes with it."""
        size = whole(size)
        self.version += 1
        if size > self.length:
            self._lengthen(size)
        if self._plan.grow(span, size):
            return
        old = Span(span.shelf, span.first, span.size)
        self._plan.move(span, size)
        self._reserve()
        self._kept.open()
        _move(self.tensors, old, self.tensors, span)

    def bind(self) -> None:
        """Have the decoder look at the shelves in use."""
        self._kept.bind(self.count)

    def _lengthen(self, size: int) -> None:
        """Have shelves long enough for ``size`` places, and not more than twice too long."""
        if size <= self.length <= 2 * whole(size, self._block):
            return
        longest = max([size, *(span.size for span in self._plan)])
        length = whole(longest, self._block)
        if length <= self.length <= 2 * length:
            return
        spans = sorted(self._plan, key=lambda span: -span.size)
        before = [Span(span.shelf, span.first, span.size) for span in spans]
        self._plan = Plan(length)
        for span in spans:
            self._plan.place(span)
        old = self.tensors
        self._replace(max(old.shape[1], self.count))
        for place, span in zip(before, spans, strict=True):
            _move(old, place, self.tensors, span)

    def _reserve(self) -> None:
        """Have room for the shelves that there are."""
        old = self.tensors
        if self.count > old.shape[1]:
            self._replace(2 * self.count)
            self.tensors[:, : old.shape[1]] = old

    def _replace(self, shelves: int) -> None:
        """Have ``shelves`` empty ones instead."""
        self._kept.open()
        names, _, heads, _, head = self.tensors.shape
        self.tensors = np.zeros((names, shelves, heads, self.length, head), self.tensors.dtype)
        self._kept.replace(self._parts())

    def _parts(self) -> dict[str, Array]:
        return dict(zip(self._names, self.tensors, strict=True))


def _move(old: Array, before: Span, new: Array, span: Span) -> None:
    """Copy what stood in ``before`` to where ``span`` begins; they may overlap."""
    end = span.first + before.size
    new[:, span.shelf, :, span.first : end] = old[
        :, before.shelf, :, before.first : before.first + before.size
    ]
