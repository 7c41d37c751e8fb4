"""The tensors of a running batch: one row an item, rows packed, memory kept between steps.

Padding does not change an answer, not even in the last bit: what lies past an
item's own tokens is masked to an exact zero and comes last in every sum.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from service.engine import grammar
from service.engine.session import GRAMMAR, NAMES, Array, Binding, ModelSession
from tokenizer.codec import Encoded
from tokenizer.vocabulary import SIZE

#: What changes with the questions and with the time that they have been in work.
_VARYING = ("source", "choices", "places")
#: What stands where a question has ended; 0 where nothing is said. ``mask`` and ``there`` are
#: the encoder's.
_PADDING: Mapping[str, float] = {"mask": -1e4, "there": 0, NAMES: -np.inf}


class Rows:
    """Encoder outputs and decoder caches of ``count`` items.

    ``source`` and ``places`` are the lengths that all rows are padded to.
    """

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self._axis = {
            name: next(i for i, size in enumerate(shape) if size in _VARYING)
            for name, shape in session.shapes.items()
        }
        self._arrays = {
            name: np.zeros(
                [size if isinstance(size, int) else 0 for size in shape], session.types[name]
            )
            for name, shape in session.shapes.items()
        }
        #: Number of rows -> the decoder bound to that many. Rows are written over in place, so
        #: that a binding serves until the arrays are others, but for devices with copies.
        self._bindings: dict[int, Binding] = {}
        self.count = 0
        self.capacity = 0
        self.source = 0
        self.places = 0

    def resize(self, rows: int, source: int, places: int) -> None:
        """Pad to ``source`` and ``places`` and have room for ``rows`` rows.

        What fits already is left as it is, unless it is more than twice too long.
        """
        if (
            rows <= self.capacity
            and source <= self.source <= 2 * source
            and places <= self.places <= 2 * places
        ):
            return
        self._update()
        self._bindings.clear()
        self.capacity, self.source, self.places = max(rows, self.capacity), source, places
        lengths = {"source": source, "places": places, "choices": SIZE + source}
        for name, old in self._arrays.items():
            axis = self._axis[name]
            shape = list(old.shape)
            shape[0] = self.capacity
            shape[axis] = lengths[str(self._session.shapes[name][axis])]
            new = np.full(shape, _PADDING.get(name, 0), old.dtype)
            part = self._part(name, min(shape[axis], old.shape[axis]))
            new[: self.count][part] = old[: self.count][part]
            self._arrays[name] = new

    def add(self, memory: Mapping[str, Array], row: int, source: Encoded) -> None:
        """Append an item: row ``row`` of what the encoder gave for the question ``source``."""
        self._update()
        new = slice(self.count, self.count + 1)
        for name, array in memory.items():
            part = self._part(name, len(source.ids))
            if name in _PADDING:
                self._arrays[name][new] = _PADDING[name]
            self._arrays[name][new][part] = array[row : row + 1][part]
        names = grammar.names(source)
        self._arrays[NAMES][new] = _PADDING[NAMES]
        self._arrays[NAMES][new][self._part(NAMES, names.shape[-1])] = names
        self.count += 1

    def remove(self, row: int) -> None:
        """Take out an item; the last one moves into its row."""
        self._update()
        self.count -= 1
        if row != self.count:
            for array in self._arrays.values():
                array[row] = array[self.count]

    @property
    def binding(self) -> Binding:
        """The decoder bound to the rows that there are."""
        binding = self._bindings.get(self.count)
        if binding is None:
            kept = {name: array[: self.count] for name, array in self._arrays.items()}
            binding = self._session.bind({GRAMMAR: grammar.table(self.source), **kept})
            self._bindings[self.count] = binding
        return binding

    def _part(self, name: str, length: int) -> tuple[slice, ...]:
        """The first ``length`` entries of the axis that grows."""
        return (*[slice(None)] * self._axis[name], slice(length))

    def _update(self) -> None:
        """Before a change: have the arrays up to date, and no copy of them in use."""
        binding = self._bindings.get(self.count)
        if binding is not None and binding.copies:
            binding.fetch()
            self._bindings.clear()
