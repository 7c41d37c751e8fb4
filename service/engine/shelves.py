"""Tensors whose rows are shelves, each for several items; see :mod:`service.engine.spans`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from service.engine.session import Array, Binding, Kept, ModelSession
from service.engine.spans import Plan, Span, whole


class Shelves:
    """The tensors ``names`` of a session, shelves of the decoder that ``binding`` runs.

    A shelf has ``least`` places and more when there is something longer. ``version`` is another
    one when anything stands elsewhere.
    """

    def __init__(
        self, session: ModelSession, binding: Binding, names: Sequence[str], least: int
    ) -> None:
        self._shape = session.shapes[names[0]]
        self._type = session.types[names[0]]
        self._least = least
        self._plan = Plan(least)
        self.version = 0
        self._kept = Kept(binding, {name: self._empty(0, self.length) for name in names})

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The tensors, (shelves, H, places, D) with some more shelves than are in use."""
        return self._kept.arrays

    @property
    def count(self) -> int:
        """Shelves in use."""
        return len(self._plan.shelves)

    @property
    def length(self) -> int:
        """Places of a shelf."""
        return self._plan.length

    def add(self, size: int) -> Span:
        """``size`` places, or a few more."""
        size = whole(size)
        self.version += 1
        self._lengthen(size)
        span = self._plan.put(size)
        self._reserve()
        return span

    def remove(self, span: Span) -> None:
        """Clear the places of ``span``."""
        self.version += 1
        if self._plan.remove(span):
            self._kept.open()
            for array in self.arrays.values():
                array[span.shelf] = array[self.count]

    def widen(self, span: Span, size: int) -> None:
        """Have ``size`` places in ``span``, which may move; what stands there goes with it."""
        size = whole(size)
        self.version += 1
        if size > self.length:
            self._lengthen(size)
        if self._plan.grow(span, size):
            return
        old = Span(span.shelf, span.first, span.size)
        self._plan.shelves[span.shelf].remove(span)
        span.size = size
        self._plan.place(span)
        self._reserve()
        self._kept.open()
        _move(self.arrays, old, self.arrays, span)

    def write(self, span: Span, tensors: Sequence[Array]) -> None:
        """Put ``tensors``, (places, H, D) in the order of the names, where ``span`` begins."""
        self._kept.open()
        for array, tensor in zip(self.arrays.values(), tensors, strict=True):
            end = span.first + len(tensor)
            array[span.shelf, :, span.first : end] = tensor.transpose(1, 0, 2)

    def bind(self) -> None:
        """Have the decoder look at the shelves in use."""
        self._kept.bind(self.count)

    def _lengthen(self, size: int) -> None:
        """Have shelves long enough for ``size`` places, and not more than twice too long."""
        if size == self.length:
            return
        plan = Plan(max([self._least, size, *(span.size for span in self._plan)]))
        if plan.length <= self.length <= 2 * plan.length:
            return
        self._kept.open()
        spans = sorted(self._plan, key=lambda span: -span.size)
        places = [Span(span.shelf, span.first, span.size) for span in spans]
        old = self.arrays
        self._plan = plan
        for span in spans:
            plan.place(span)
        capacity = max(self._capacity, self.count)
        self._kept.replace({name: self._empty(capacity, plan.length) for name in old})
        for before, span in zip(places, spans, strict=True):
            _move(old, before, self.arrays, span)

    def _reserve(self) -> None:
        """Have room for the shelves that there are."""
        if self.count > self._capacity:
            old = self.arrays
            self._kept.replace({name: self._empty(2 * self.count, self.length) for name in old})
            for name, array in self.arrays.items():
                array[: len(old[name])] = old[name]

    @property
    def _capacity(self) -> int:
        return len(next(iter(self.arrays.values())))

    def _empty(self, shelves: int, length: int) -> Array:
        _, heads, _, head = self._shape
        return np.zeros((shelves, int(heads), length, int(head)), self._type)


def _move(old: Mapping[str, Array], before: Span, new: Mapping[str, Array], span: Span) -> None:
    """Copy what stood in ``before`` to where ``span`` begins."""
    source = before.shelf, slice(None), slice(before.first, before.first + before.size)
    target = span.shelf, slice(None), slice(span.first, span.first + before.size)
    for name, array in new.items():
        # NumPy sees to it that they may overlap
        array[target] = old[name][source]
