"""The tensors of a running batch: memory that is kept between steps.

Padding does not change an answer, not even in the last bit: what lies past an
item's own tokens is masked to an exact zero and comes last in every sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from service.engine import grammar
from service.engine.session import GRAMMAR, MASK, NAMES, Array, Encoding, Kept, ModelSession
from service.engine.shelves import Shelves
from service.engine.spans import BLOCK, Span, whole
from tokenizer.codec import Encoded
from tokenizer.vocabulary import SIZE

#: What varies in the shape of a tensor with a row for each item, but for their number.
_VARYING = ("source", "choices")
#: What stands where a question has ended; 0 where nothing is said.
_PADDING = {MASK: -1e4, NAMES: -np.inf}
#: What lengths of shelves are multiples of; caches grow, and do not often get longer ones.
_QUESTION_BLOCK, _CACHE_BLOCK = BLOCK, 2 * BLOCK


class Rows:
    """What the decoder keeps of each of ``count`` items.

    That is a row of its own of what the pointer head takes, a span of a shelf of ``questions``,
    for the cross-attentions, and one of ``caches``: :attr:`asked`, of which a question takes up
    as much as :attr:`lengths` says, and :attr:`written`.
    """

    def __init__(self, session: ModelSession) -> None:
        self._session = session
        self.binding = session.bind()
        self._axis = {
            name: next(i for i, size in enumerate(session.shapes[name]) if size in _VARYING)
            for name in session.rows
        }
        self._kept = Kept(self.binding, {name: self._padding(name, 0, 0) for name in session.rows})
        self._grammar = Kept(self.binding, {})
        self.questions = Shelves(session, self.binding, session.questions, _QUESTION_BLOCK)
        self.caches = Shelves(session, self.binding, session.caches, _CACHE_BLOCK)
        self.asked: list[Span] = []
        self.written: list[Span] = []
        self.lengths: list[int] = []
        self._standing: Standing | None = None
        self._capacity = 0
        self._source = 0

    @property
    def count(self) -> int:
        """Items that there are."""
        return len(self.asked)

    def reserve(self, rows: int, longest: int) -> None:
        """Have room for ``rows`` items, of ``longest`` tokens at most.

        What fits already is left as it is, unless it is more than twice too long.
        """
        source = whole(longest)
        if rows <= self._capacity and source <= self._source <= 2 * source:
            return
        self._capacity, self._source = max(rows, self._capacity), source
        old = self._kept.arrays
        self._kept.replace({name: self._padding(name, self._capacity, source) for name in old})
        for name, new in self._kept.arrays.items():
            length = min(array.shape[self._axis[name]] for array in (old[name], new))
            part = self._part(name, length)
            new[: self.count][part] = old[name][: self.count][part]
        table = grammar.table(source)
        self._grammar.replace({GRAMMAR: table})

    def add(self, encoding: Encoding, tokens: slice, source: Encoded, places: int) -> None:
        """Append an item: ``tokens`` of what the encoder gave are of the question ``source``.

        ``places`` of the caches are for it, to begin with.
        """
        given: dict[str, Array] = {
            **{name: array[None, tokens] for name, array in encoding.rows.items()},
            MASK: np.zeros((1, 1, len(source.ids)), self._session.types[MASK]),
            NAMES: grammar.names(source)[None],
        }
        self._kept.open()
        for name, array in self._kept.arrays.items():
            new = array[self.count : self.count + 1]
            if name in _PADDING:
                new[:] = _PADDING[name]
            new[self._part(name, given[name].shape[self._axis[name]])] = given[name]
        self.asked.append(self.questions.add(encoding.questions[tokens], len(source.ids)))
        self.lengths.append(len(source.ids))
        nothing = encoding.questions[:0]
        self.written.append(self.caches.add(nothing, places))

    def remove(self, row: int) -> None:
        """Take out an item; the last one moves into its row."""
        self.questions.remove(self.asked[row])
        self.caches.remove(self.written[row])
        for spans in (self.asked, self.written):
            spans[row] = spans[-1]
            spans.pop()
        self.lengths[row] = self.lengths[-1]
        self.lengths.pop()
        if row != self.count:
            self._kept.open()
            for array in self._kept.arrays.values():
                array[row] = array[self.count]

    @property
    def standing(self) -> Standing:
        """Where all items stand."""
        version = self.questions.version, self.caches.version
        if self._standing is None or self._standing.version != version:
            self._standing = Standing(version, self)
        return self._standing

    def widen(self, needed: Sequence[int]) -> None:
        """Have as many places of the caches for each item as are ``needed``."""
        for span, size in zip(self.written, needed, strict=True):
            if size > span.size:
                self.caches.widen(span, size)

    def bind(self) -> None:
        """Have the decoder look at what there is."""
        self._grammar.bind(len(self._grammar.arrays[GRAMMAR]))
        self._kept.bind(self.count)
        self.questions.bind()
        self.caches.bind()

    def _part(self, name: str, length: int) -> tuple[slice, ...]:
        """The first ``length`` entries of the axis that grows."""
        return (*[slice(None)] * self._axis[name], slice(length))

    def _padding(self, name: str, rows: int, source: int) -> Array:
        lengths = {"batch": rows, "source": source, "choices": SIZE + source}
        shape = [
            size if isinstance(size, int) else lengths[size] for size in self._session.shapes[name]
        ]
        return np.full(shape, _PADDING.get(name, 0), self._session.types[name])


class Standing:
    """Where the items of ``rows`` stand, for as long as nothing moves."""

    def __init__(self, version: tuple[int, int], rows: Rows) -> None:
        self.version = version
        #: Shelves of each item, of caches and of questions, which make a layout with what follows.
        self.written = [span.shelf for span in rows.written]
        self.asked = [span.shelf for span in rows.asked]
        self.key = (
            *self.written,
            *self.asked,
            *(rows.caches.count, rows.caches.length),
            *(rows.questions.count, rows.questions.length),
        )
        #: First places of the caches.
        self.firsts = [span.first for span in rows.written]
        #: Which places of its shelf are those of an item's question: bool (B, Q).
        begins = np.array([span.first for span in rows.asked])[:, None]
        places = np.arange(rows.questions.length) - begins
        self.questions = (places >= 0) & (places < np.array(rows.lengths)[:, None])
