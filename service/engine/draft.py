"""Drafts: what a search will probably write next, so that one decoder step can do for several.

Speculative decoding (Leviathan et al., 2023, arXiv:2211.17192): tokens that are only guessed
stand in the batch beside the hypothesis that they continue. Those that the search takes anyway
are done, their scores with them; the first other one ends the draft. An answer and its score
are the same, to the last bit, whatever was guessed.

The guesses need no second network. They come from a table that learns from what the search
takes: in the same context, the same token as last time. A reference is remembered by the way
in the tree of the question from the reference before, so that it holds for other questions.
"""

from __future__ import annotations

from service.engine.search import Partial, Search
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded

#: Contexts that a table remembers, some 7 MB; of more, the older half is forgotten.
MOST_CONTEXTS = 60_000
#: Most tokens of a draft.
MOST_TOKENS = 7

#: How sure one is of a token that was seen once, of 255; one part in 2**_SHIFT of what is
#: missing comes with the next time, or goes with another token, which below _LEAST takes over.
_SURE, _FIRST, _SHIFT, _LEAST = 255, 153, 2, 77

#: What stands for a neighbour that is not there; no token.
_NOBODY = 0x7F
#: The last four symbols, and the last two, of a packed history: a byte each.
_FOUR, _TWO = 0xFFFF_FFFF, 0xFFFF

#: Ways from node to node in a tree: levels up, levels down, and the path code of the latter.
_WAYS = [
    (up, down, low)
    for up in range(4)
    for down in range(3)
    for low in range(4**down)
    if all(low >> 2 * level & 3 for level in range(down))
]
#: Symbols are tokens below this; the others are ways, and the last is any longer way.
_FIRST_WAY = v.SIZE
_SYMBOLS = {way: _FIRST_WAY + i for i, way in enumerate(_WAYS)}
_FAR = _FIRST_WAY + len(_WAYS)
assert v.SIZE <= _NOBODY
assert _FAR < 256


#: What a guess is made by: much, and, where that was never seen, little.
Context = tuple[int, int]


class DraftTable:
    """What one model wrote last time in a context."""

    def __init__(self, most_contexts: int = MOST_CONTEXTS) -> None:
        self._most = most_contexts
        #: Context -> symbol and, from the ninth bit on, how sure it is.
        self._seen: dict[int, int] = {}

    def guess(self, context: Context) -> tuple[int, float] | None:
        """The symbol to expect, and how probable it is."""
        long, short = context
        found = self._seen.get(long) or self._seen.get(short)
        return None if found is None else (found & 0xFF, (found >> 8) / (_SURE + 1))

    def learn(self, context: Context, symbol: int) -> None:
        """``symbol`` is what was written."""
        seen = self._seen
        for key in context:
            found = seen.get(key)
            if found is None:
                if len(seen) >= self._most:
                    for old in [*seen][: self._most // 2]:
                        del seen[old]
                seen[key] = _FIRST << 8 | symbol
                continue
            sure, expected = found >> 8, found & 0xFF
            if expected == symbol:
                sure += _SURE - sure >> _SHIFT
            else:
                sure -= sure >> _SHIFT
                if sure < _LEAST:
                    expected, sure = symbol, _FIRST
            seen[key] = sure << 8 | expected


class Trail:
    """A hypothesis as the table sees it: its last tokens, and where its last reference points."""

    __slots__ = ("_around", "_at", "_history", "_ids", "_last", "_paths", "tokens")

    def __init__(self, source: Encoded) -> None:
        self._ids = source.ids
        self._paths = source.paths
        # a path code forgets what is too deep: of equals the first
        self._at = {path: i for i, path in reversed([*enumerate(source.paths)])}
        self._around: dict[int, tuple[int, int]] = {}
        #: Of the hypothesis, up to here.
        self.tokens: tuple[int, ...] = ()
        self._last = 0
        self._history = 0

    def follow(self, tokens: tuple[int, ...]) -> None:
        """Be where ``tokens`` end."""
        if tokens is self.tokens:
            return
        known = len(self.tokens)
        if tokens[:known] != self.tokens:
            known = self._last = self._history = 0
        for token in tokens[known:]:
            self.add(token, self.symbol(token))
        self.tokens = tokens

    def add(self, token: int, symbol: int) -> None:
        """Go on by one token, which ``symbol`` stands for; ``tokens`` stays."""
        self._history = self._history << 8 & _FOUR | symbol
        if token >= v.SIZE:
            self._last = token - v.SIZE

    @property
    def state(self) -> tuple[int, int]:
        """What :meth:`add` changes."""
        return self._last, self._history

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self._last, self._history = state

    def context(self, parent: int, path: int) -> Context:
        """Of the slot at ``path`` below the token ``parent``."""
        around = self._around.get(self._last)
        if around is None:
            code = self._neighbourhood(self._last)
            around = self._around[self._last] = code << 9, (code & 0x7F) << 9
        much, little = around
        history, slot = self._history, parent << 2 | path & 3
        # the short one negative, so that no long one is the same
        return history << 41 | much | slot, ~((history & _TWO) << 16 | little | slot)

    def symbol(self, token: int) -> int:
        """``token``, or, for a reference, the way to it from the last one; a byte."""
        if token < v.SIZE:
            return token
        start, end = self._paths[self._last], self._paths[token - v.SIZE]
        for up in range(4):
            above = start >> 2 * up
            for down in range(3):
                if end >> 2 * down == above:
                    return _SYMBOLS.get((up, down, end & (1 << 2 * down) - 1), _FAR)
            if not above:
                break
        return _FAR

    def token(self, symbol: int) -> int | None:
        """What :meth:`symbol` gives ``symbol`` for; None where the way leads nowhere."""
        if symbol < _FIRST_WAY:
            return symbol
        if symbol == _FAR:
            return None
        up, down, low = _WAYS[symbol - _FIRST_WAY]
        end = self._at.get((self._paths[self._last] >> 2 * up) << 2 * down | low)
        return None if end is None else v.SIZE + end

    def _neighbourhood(self, position: int) -> int:
        """30 bits: the tokens of the question there, above, next and to the right, and its slot."""
        ids, path = self._ids, self._paths[position]
        above = self._at.get(path >> 2) if position else None
        right = self._at.get(path + 1) if position and path & 3 < 3 else None
        after = position + 1 if position + 1 < len(ids) else None
        code = path & 3
        for neighbour in (right, after, above, position):
            code = code << 7 | (_NOBODY if neighbour is None else ids[neighbour])
        return code


class Drafter:
    """Drafts for one search, by and for the ``table`` of its model."""

    def __init__(self, search: Search, table: DraftTable) -> None:
        self._search = search
        self._table = table
        self._trail = Trail(search.source)
        #: Of the tokens that follow what the trail has followed.
        self._contexts: list[Context] = []
        #: Tokens of the draft and their symbols.
        self._guesses: list[tuple[int, int]] = []

    def propose(self, floor: float, most: int) -> None:
        """Set the draft of the search: ``most`` tokens, while it holds with probability ``floor``.

        Only a beam of one hypothesis gets one: others seldom go on as they are.
        """
        search, trail = self._search, self._trail
        self._contexts, self._guesses = [], []
        if len(search.beam) != 1:
            return
        partial: Partial | None = search.beam[0]
        trail.follow(search.beam[0].tokens)
        start = trail.state
        probability = 1.0
        while partial is not None:
            context = trail.context(*partial.open_slots[-1])
            self._contexts.append(context)
            guess = self._table.guess(context)
            if guess is None or len(search.draft) == most:
                break
            token = trail.token(guess[0])
            probability *= guess[1]
            if token is None or probability < floor:
                break
            partial = search.guess(token)
            trail.add(token, guess[0])
            self._guesses.append((token, guess[0]))
        trail.state = start

    def learn(self) -> None:
        """Learn from what the search has taken since the last draft."""
        search, trail = self._search, self._trail
        if not self._contexts:
            return
        taken = search.beam[0].tokens if search.beam else search.finished[0].tokens
        known = len(trail.tokens)
        if taken[:known] != trail.tokens:
            return  # an older hypothesis was the better one
        # of the last context nothing was guessed, or nothing that could follow
        guesses = [*self._guesses, (-1, -1)]
        for context, token, (guessed, symbol) in zip(
            self._contexts, taken[known:], guesses, strict=False
        ):
            written = symbol if token == guessed else trail.symbol(token)
            self._table.learn(context, written)
            trail.add(token, written)
            known += 1
        trail.tokens = taken if known == len(taken) else taken[:known]
