"""The arguments of TeX commands that are not in braces.

TeX gives a command a group ``{…}`` or one single sign: ``\\frac12x`` is one half
times x, ``\\int_0^52x\\,dx`` goes from 0 to 5. Where that is surely not what was
meant (``x^10``) the input is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tokenizer.errors import ParseError
from tokenizer.functions import FUNCTIONS
from tokenizer.lexing import Token
from tokenizer.limits import Limits
from tokenizer.names import CONSTANTS, GREEK_NAMES

_COUNTS: Final = {"FRACTION": 2, "BINOMIAL": 2, "RADICAL": 1}


class Arguments:
    """Where the arguments in ``tokens`` begin and end.

    A place is the index of a token and how many of its characters lie before.
    ``cuts`` counts the leading characters of a token that are an argument each;
    ``opens`` and ``closes`` are groups to be opened before a token and closed
    at a place; ``bounds`` are the ``^`` and ``_`` of integral signs; ``partner``
    leads from an opening brace or square bracket to the closing one.

    Raises :class:`ParseError` where an argument is missing or unclear.
    """

    def __init__(self, tokens: Sequence[Token], declared: frozenset[str], limits: Limits) -> None:
        self.tokens = tokens
        self.declared = declared
        self.limits = limits
        self.partner = self._match_groups()
        self.opens: Counter[int] = Counter()
        self.closes: Counter[tuple[int, int]] = Counter()
        self.cuts: dict[int, int] = {}
        self.bounds: set[int] = set()
        self._ends: dict[int, tuple[int, int]] = {}
        self._find()

    def _match_groups(self) -> dict[int, int]:
        partner: dict[int, int] = {}
        stacks: dict[str, list[int]] = {"RBRACE": [], "RBRACKET": []}
        for index, token in enumerate(self.tokens):
            if token.type in ("LBRACE", "LBRACKET"):
                stacks["R" + token.type[1:]].append(index)
            elif stacks.get(token.type):
                partner[stacks[token.type].pop()] = index
        return partner

    def _find(self) -> None:
        bound = -1  # where a bound of an integral may stand
        for index, token in enumerate(self.tokens):
            if token.type == "INTEGRAL":
                bound = index + 1
            elif token.type in _COUNTS:
                self._command(index)
            elif str(token) == "^" or (
                token.type == "UNDERSCORE" and (index == bound or self._after_log(index))
            ):
                at, offset = self._script(index, bound=index == bound)
                if index == bound:
                    self.bounds.add(index)
                    bound = at if offset == 0 else -1

    def _after_log(self, index: int) -> bool:
        return index > 0 and self.tokens[index - 1].rstrip("}").endswith("log")

    def _command(self, index: int, depth: int = 0) -> tuple[int, int]:
        """The place after the arguments of the command at ``index``."""
        if index in self._ends:
            return self._ends[index]
        kind = self.tokens[index].type
        at, offset = index + 1, 0
        if kind == "RADICAL" and at < len(self.tokens):
            if self.tokens[at].type == "LBRACKET":
                at = self.partner.get(at, at) + 1
            if at < len(self.tokens) and self.tokens[at].type in ("OPEN", "LEFT"):
                return at, 0  # \sqrt(x), as in text
        for _ in range(_COUNTS[kind]):
            at, offset = self._argument(index, at, offset, depth)
        self._ends[index] = at, offset
        return at, offset

    def _argument(self, command: int, at: int, offset: int, depth: int) -> tuple[int, int]:
        """The place after the TeX argument that begins ``offset`` characters into token ``at``."""
        if at >= len(self.tokens):
            raise self._no_argument(command)
        token = self.tokens[at]
        kind = token.type
        if kind == "LBRACE":
            return self.partner.get(at, len(self.tokens) - 1) + 1, 0
        if kind in ("NUMBER", "LETTERS") and token[offset] != ".":
            self.cuts[at] = offset + 1
            return (at, offset + 1) if offset + 1 < len(token) else (at + 1, 0)
        if kind in _COUNTS:
            if depth >= self.limits.depth:
                raise ParseError(
                    f"nested more than {self.limits.depth} levels deep",
                    position=token.start_pos,
                    hint="write the arguments in braces, and fewer of them",
                    code="too-deep",
                )
            end = self._command(at, depth + 1)
            self._wrap(at, end)
            return end
        if kind in ("GREEK", "COMMAND", "UPRIGHT", "INFINITY", "PARTIAL", "VULGAR"):
            if FUNCTIONS.get(token[1:]) is None or token[1:] in GREEK_NAMES:
                self._wrap(at, (at + 1, 0))
            return at + 1, 0
        raise self._no_argument(command)

    def _script(self, index: int, *, bound: bool) -> tuple[int, int]:
        """The place after what stands at ``^``, or at ``_`` of an integral or a logarithm."""
        at = index + 1
        signed = at < len(self.tokens) and self.tokens[at].type in ("PLUS", "MINUS")
        at += signed
        if at >= len(self.tokens):
            raise self._no_argument(index)
        token = self.tokens[at]
        if token.type in ("OPEN", "LEFT", "LBAR", "BAR", "ROOT", "VISIBLE_LBRACE"):
            return at, 0  # x^(2y) is read as in text
        if token.type == "WORD" or (
            token.type == "LETTERS"
            and (token in FUNCTIONS or token in self.declared or token in CONSTANTS)
        ):
            return at + 1, 0
        if token.type == "NUMBER" and len(token) > 1:
            if self._after_log(index):
                return at + 1, 0
            if not bound or token[1] in "0.":
                raise ParseError(
                    f"TeX takes only the first digit of {token} here",
                    position=token.start_pos,
                    hint=f"write {self.tokens[index]}{{{token}}}",
                    code="ambiguous",
                )
        end = self._argument(index, at, 0, 0)
        if signed:
            self._wrap(at - 1, end)
        return end

    def _wrap(self, start: int, end: tuple[int, int]) -> None:
        at, offset = end
        self.opens[start] += 1
        self.closes[(at, offset) if offset else (at - 1, len(self.tokens[at - 1]))] += 1

    def _no_argument(self, command: int) -> ParseError:
        token = self.tokens[command]
        return ParseError(
            f"an argument of {token} is missing",
            position=token.start_pos,
            hint="arguments stand in braces: \\frac{1}{2}, x^{2}, \\sqrt{x}",
            code="no-argument",
        )
