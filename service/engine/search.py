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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.artifacts import Output
from models.paths import FIRST_PARENT, NOTHING
from service.engine.grammar import kind, rule
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, advance

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

#: Below this no sum of log-probabilities is found: a token was masked.
IMPOSSIBLE = -5000.0


class Hypothesis(NamedTuple):
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

    def scored(self, score: float) -> Partial:
        """The same with another score."""
        return Partial(self.tokens, score, *self[2:])


class Search:
    """The state of one search: ``beam`` (partial trees, best first) and what is ``finished``.

    ``width`` hypotheses are kept at most, ``longest`` is the most tokens an answer may
    have. A hypothesis ``spread`` nats less probable than the best one is given up.
    ``used`` places of the cache are taken. ``draft`` is what is guessed to follow the only
    hypothesis of the beam, a token more each; their places are the next ones.
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
        self.draft: list[Partial] = []
        #: Tokens that were guessed and held.
        self.drafted = 0

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

    def take(self, log_probs: Floats, tokens: Ints) -> None:
        """Go on with what follows each hypothesis of the beam and of the draft.

        ``log_probs`` and ``tokens`` are (hypotheses, K), in falling order, K at least twice
        the width. Ends where the search would not have gone on as the draft does.
        """
        count = len(self.beam)
        guesses, self.draft = self.draft, []
        if count == 1:
            # lists are faster than arrays as small as these
            rows = 1 + len(guesses)
            self._follow_all(log_probs[:rows].tolist(), tokens[:rows].tolist(), guesses)
        else:
            scores = log_probs[:count] + np.array([[p.score] for p in self.beam])
            # what falls below the spread is never taken
            origins, ranks = np.nonzero(scores >= scores.max() - self.spread)
            found = scores[origins, ranks]
            order = np.argsort(-found, kind="stable")[: 2 * self.width]
            origins, ranks = origins[order], ranks[order]
            self.extend(found[order].tolist(), origins.tolist(), tokens[origins, ranks].tolist())

    def guess(self, token: int) -> Partial | None:
        """Put ``token`` at the end of the draft; None, and no change, where nothing can follow."""
        last = self.draft[-1] if self.draft else self.beam[0]
        open_slots = last.open_slots.copy()
        advance(open_slots, token)
        if not 0 < len(open_slots) < self.longest - len(last.tokens):
            return None
        past = last.past | 1 << self.used + len(self.draft)
        guessed = self._partial((*last.tokens, token), 0.0, open_slots, past)
        self.draft.append(guessed)
        return guessed

    def _follow_all(
        self, log_probs: list[list[float]], tokens: list[list[int]], guesses: list[Partial]
    ) -> None:
        """Go on from the only hypothesis, and on from ``guesses`` while they are what comes."""
        following = iter([*guesses, None])
        guess = next(following)
        held = self._follow(log_probs[0], tokens[0], guess)
        for row, guessed in enumerate(guesses, start=1):
            if not held and (
                self.done or len(self.beam) > 1 or self.beam[0].tokens[-1] != guessed.tokens[-1]
            ):
                break
            held = self._follow(log_probs[row], tokens[row], next(following))
            self.drafted += 1

    def _follow(self, log_probs: list[float], tokens: list[int], guess: Partial | None) -> bool:
        """Go on from the only hypothesis; (K,) each. Whether ``guess`` is all that comes of it."""
        only = self.beam[0]
        best = only.score + log_probs[0]
        # nine times in ten one continuation is left: for that, a third of the time
        single = not self.finished and only.score + log_probs[1] < best - self.spread
        held = single and guess is not None and guess.tokens[-1] == tokens[0]
        if held and guess is not None:
            after = guess.scored(best)
        elif single and best >= IMPOSSIBLE and not _ends(only, tokens[0]):
            after = self._after(0, tokens[0], best)
        else:
            scores = [only.score + log_prob for log_prob in log_probs]
            self.extend(scores, [0] * len(tokens), tokens)
            return False
        self.beam = [after]
        self.steps += 1
        self.used += 1
        return held

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
            if _ends(self.beam[origin], token):
                finished.append(Hypothesis((*self.beam[origin].tokens, token), score))
            elif len(beam) < self.width:
                beam.append(self._after(origin, token, score))
        if finished or self.finished:
            # a stable sort: among equals the one finished first stays first
            ranked = sorted([*self.finished, *finished], key=lambda hypothesis: -hypothesis.score)
            self.finished = [h for h in ranked[: self.width] if h.score >= least]
        self.steps += 1
        self.used += len(self.beam)
        self.beam = beam

    def _after(self, origin: int, token: int, score: float) -> Partial:
        """What ``token`` makes of a hypothesis of the beam, which it does not complete."""
        parent = self.beam[origin]
        open_slots = parent.open_slots.copy()
        advance(open_slots, token)
        past = parent.past | 1 << self.used + origin
        return self._partial((*parent.tokens, token), score, open_slots, past)

    def _partial(
        self, tokens: tuple[int, ...], score: float, open_slots: list[tuple[int, int]], past: int
    ) -> Partial:
        parent, path = open_slots[-1]
        allowed = rule(kind(parent, path, self.output), self.longest - len(tokens), len(open_slots))
        word, pointed = tokens[-1] if tokens else v.START, -1
        if word >= v.SIZE:
            word, pointed = NOTHING, word - v.SIZE
        place = FIRST_PARENT + parent
        return Partial(tokens, score, open_slots, past, word, place, path, pointed, allowed)


def _ends(partial: Partial, token: int) -> bool:
    """Whether ``token`` completes ``partial``."""
    return len(partial.open_slots) == 1 and v.arity(token) == 0
