"""Beam search over trees, for one question.

The score of a hypothesis is the sum of the log-probabilities of its tokens, so
it only falls as the tree grows. The search therefore knows when it is done: no
hypothesis in the beam can overtake one that scores better already. Of the 2W best
continuations of W hypotheses, those left out can matter only if fewer than W
have open slots, and then W complete ones beat them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models.artifacts import Output
from service.engine.grammar import kind, rule
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, advance

#: Below this no sum of log-probabilities is found: a token was masked.
IMPOSSIBLE = -5000.0

#: What the decoder is told of one hypothesis: previous token, parent, path code, rule.
Columns = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A complete tree as token ids, and its log-probability."""

    tokens: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Partial:
    """A tree with open slots.

    ``past`` has a bit for each place of the cache that this hypothesis sees.
    """

    tokens: tuple[int, ...]
    score: float
    open_slots: list[tuple[int, int]]
    past: int
    columns: Columns


#: Fills a beam that is not full; its score rules it out.
NOTHING = Partial((), float("-inf"), [], 0, (v.START, v.START, 0, 0))


class Search:
    """The state of one search: ``beam`` (W partial trees, best first) and what is finished.

    ``longest`` is the most tokens an answer may have. A hypothesis ``spread`` nats
    less probable than the best complete one is given up.
    """

    def __init__(
        self, source: Encoded, width: int, output: Output, longest: int, spread: float
    ) -> None:
        self.source = source
        self.width = width
        self.output: Output = output
        self.longest = longest
        self.spread = spread
        self.steps = 0
        self.finished: list[Hypothesis] = []
        root = self._partial((), 0.0, [(v.START, 0)], 0)
        self.beam = [root] + [NOTHING] * (width - 1)

    @property
    def done(self) -> bool:
        """Nothing in the beam can add to what is finished."""
        best = self.beam[0].score
        if best < IMPOSSIBLE:
            return True
        if not self.finished:
            return False
        full = len(self.finished) == self.width
        return (full and best <= self.finished[-1].score) or (
            best < self.finished[0].score - self.spread
        )

    @property
    def places(self) -> range:
        """The places of the cache that the coming step fills, one a hypothesis."""
        return range(self.steps * self.width, (self.steps + 1) * self.width)

    def visible(self) -> Iterator[int]:
        """For each hypothesis the places it sees in the coming step, as bits."""
        for place, partial in zip(self.places, self.beam, strict=True):
            yield partial.past | 1 << place

    def extend(
        self, scores: Sequence[float], origins: Sequence[int], tokens: Sequence[int]
    ) -> None:
        """Go on to the next token; the continuations come in falling order of score."""
        past = list(self.visible())
        beam: list[Partial] = []
        for score, origin, token in zip(scores, origins, tokens, strict=True):
            if score < IMPOSSIBLE:
                break
            parent = self.beam[origin]
            if len(parent.open_slots) == 1 and v.arity(token) == 0:
                self.finished.append(Hypothesis((*parent.tokens, token), score))
            elif len(beam) < self.width:
                open_slots = parent.open_slots.copy()
                advance(open_slots, token)
                beam.append(self._partial((*parent.tokens, token), score, open_slots, past[origin]))
        # a stable sort: among equals the one finished first stays first
        self.finished.sort(key=lambda hypothesis: -hypothesis.score)
        del self.finished[self.width :]
        self.beam = beam + [NOTHING] * (self.width - len(beam))
        self.steps += 1

    def _partial(
        self, tokens: tuple[int, ...], score: float, open_slots: list[tuple[int, int]], past: int
    ) -> Partial:
        parent, path = open_slots[-1]
        allowed = rule(kind(parent, path, self.output), self.longest - len(tokens), len(open_slots))
        previous = tokens[-1] if tokens else v.START
        return Partial(tokens, score, open_slots, past, (previous, parent, path, allowed))
