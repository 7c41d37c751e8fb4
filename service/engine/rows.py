"""The tensors of a running batch: one row an item, rows packed, memory kept between steps.

Padding does not change an answer, not even in the last bit: what lies past an
item's own tokens is masked to an exact zero and comes last in every sum.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from service.engine.session import Binding, ModelSession

#: The additive mask of padding, as the encoder writes it.
_MASKED = -1e4


class Rows:
    """Encoder outputs and decoder caches of ``count`` items.

    ``source`` and ``places`` are the lengths that all rows are padded to.
    """

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self._axis = {
            name: next(i for i, size in enumerate(shape) if size in ("source", "places"))
            for name, shape in session.shapes.items()
        }
        self._arrays = {
            name: np.zeros([size if isinstance(size, int) else 0 for size in shape], np.float32)
            for name, shape in session.shapes.items()
        }
        self._binding: Binding | None = None
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
        self._release()
        self.capacity, self.source, self.places = max(rows, self.capacity), source, places
        for name, old in self._arrays.items():
            axis = self._axis[name]
            shape = list(old.shape)
            shape[0] = self.capacity
            shape[axis] = places if name in self._session.caches else source
            new = np.full(shape, _MASKED if name == "mask" else 0, np.float32)
            part = self._part(name, min(shape[axis], old.shape[axis]))
            new[: self.count][part] = old[: self.count][part]
            self._arrays[name] = new

    def add(self, memory: Mapping[str, npt.NDArray[np.float32]], row: int, length: int) -> None:
        """Append an item: row ``row`` of what the encoder gave, ``length`` tokens of it."""
        self._release()
        new = slice(self.count, self.count + 1)
        for name, array in memory.items():
            part = self._part(name, length)
            if name == "mask":
                self._arrays[name][new] = _MASKED
            self._arrays[name][new][part] = array[row : row + 1][part]
        self.count += 1

    def remove(self, row: int) -> None:
        """Take out an item; the last one moves into its row."""
        self._release()
        self.count -= 1
        if row != self.count:
            for array in self._arrays.values():
                array[row] = array[self.count]

    @property
    def binding(self) -> Binding:
        """The decoder bound to the rows that there are."""
        if self._binding is None:
            self._binding = self._session.bind(
                {name: array[: self.count] for name, array in self._arrays.items()}
            )
        return self._binding

    def _part(self, name: str, length: int) -> tuple[slice, ...]:
        """The first ``length`` entries of the axis that grows."""
        return (*[slice(None)] * self._axis[name], slice(length))

    def _release(self) -> None:
        """Before a change: have the arrays up to date, and nothing bound to them."""
        if self._binding is not None:
            self._binding.fetch()
        self._binding = None
