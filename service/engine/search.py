"""Beam search over trees, for one question.

The score of a hypothesis is the sum of the log-probabilities of its tokens, so
it only falls as the tree grows. The search therefore knows when it is done: no
hypothesis in the beam can overtake one that scores better already. Of the 2W best
continuations of W hypotheses, those left out can matter only if fewer than W
have open slots, and then W complete ones beat them.

Relative threshold pruning (Freitag & Al-Onaizan, 2017, arXiv:1702.01806) keeps the
beam as narrow as the model is sure of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from models.artifacts import Output
from models.paths import FIRST_PARENT, NOTHING
from service.engine.grammar import kind, rule
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, advance

#: Below this no sum of log-probabilities is found: a token was masked.
IMPOSSIBLE = -5000.0


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A complete tree as token ids, and its log-probability."""

    tokens: tuple[int, ...]
    score: float


class Partial(NamedTuple):
    """A tree with open slots, and what the decoder is told of it.

    ``past`` has a bit for each place of the cache that this hypothesis sees. ``word`` and
    ``parent`` are rows of the decoder's table (:mod:`models.paths`): the token before, or
    ``pointed``, the position that it refers to, else -1; and where the next token hangs, at
    ``path``, by ``rule``.
    """

    tokens: tuple[int, ...]
    score: float
    open_slots: list[tuple[int, int]]
    past: int
    word: int
    parent: int
    path: int
    pointed: int
    rule: int


class Search:
    """The state of one search: ``beam`` (partial trees, best first) and what is ``finished``.

    ``width`` hypotheses are kept at most, ``longest`` is the most tokens an answer may
    have. A hypothesis ``spread`` nats less probable than the best one is given up.
    ``used`` places of the cache are taken.
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
        self.used = 0
        self.finished: list[Hypothesis] = []
        self.beam = [self._partial((), 0.0, [(v.START, 0)], 0)]

    @property
    def done(self) -> bool:
        """Nothing in the beam can add to what is finished."""
        if not self.beam:
            return True
        if not self.finished:
            return False
        best = self.beam[0].score
        full = len(self.finished) == self.width
        return best < self.finished[0].score - self.spread or (
            full and best <= self.finished[-1].score
        )

    def extend(
        self, scores: Sequence[float], origins: Sequence[int], tokens: Sequence[int]
    ) -> None:
        """Go on to the next token; the continuations come in falling order of score."""
        best = scores[0]
        if self.finished and self.finished[0].score > best:
            best = self.finished[0].score
        least = max(best - self.spread, IMPOSSIBLE)
        beam: list[Partial] = []
        finished: list[Hypothesis] = []
        for score, origin, token in zip(scores, origins, tokens, strict=True):
            if score < least:
                break
            parent = self.beam[origin]
            if len(parent.open_slots) == 1 and v.arity(token) == 0:
                finished.append(Hypothesis((*parent.tokens, token), score))
            elif len(beam) < self.width:
                open_slots = parent.open_slots.copy()
                advance(open_slots, token)
                past = parent.past | 1 << self.used + origin
                beam.append(self._partial((*parent.tokens, token), score, open_slots, past))
        if finished or self.finished:
            # a stable sort: among equals the one finished first stays first
            ranked = sorted([*self.finished, *finished], key=lambda hypothesis: -hypothesis.score)
            self.finished = [h for h in ranked[: self.width] if h.score >= least]
        self.steps += 1
        self.used += len(self.beam)
        self.beam = beam

    def _partial(
        self, tokens: tuple[int, ...], score: float, open_slots: list[tuple[int, int]], past: int
    ) -> Partial:
        parent, path = open_slots[-1]
        allowed = rule(kind(parent, path, self.output), self.longest - len(tokens), len(open_slots))
        previous = tokens[-1] if tokens else v.START
        return Partial(
            tokens,
            score,
            open_slots,
            past,
            *(NOTHING if previous >= v.SIZE else previous, FIRST_PARENT + parent, path),
            *(previous - v.SIZE if previous >= v.SIZE else -1, allowed),
        )
