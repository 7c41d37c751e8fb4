"""The tokens of a source, as a Lark grammar describes them."""

from __future__ import annotations

import re
from functools import cache

from lark import Lark
from lark.lexer import BasicLexer

from tokenizer.refusals import unexpected_character


class Token(str):
    """The text of a token, what it is called in the grammar, and its place in the source."""

    __slots__ = ("end_pos", "start_pos", "type")

    type: str
    start_pos: int
    end_pos: int


@cache
def _lexer(syntax: str) -> tuple[re.Pattern[str], frozenset[str]]:
    """One pattern with a group for each terminal, and the terminals that are left out.

    Lark brings the terminals in the order in which they are tried, which is all that its
    own lexer does with them here; going through a source token by token takes it longer than
    all else that is done with them.
    """
    lexer = Lark.open_from_package("tokenizer", f"{syntax}.lark", parser=None, lexer="basic").lexer
    assert isinstance(lexer, BasicLexer)
    # a keyword that another terminal matches as well would be told from it by a callback
    assert lexer.scanner.allowed_types == {terminal.name for terminal in lexer.terminals}
    assert not lexer.callback
    patterns = (f"(?P<{one.name}>{one.pattern.to_regexp()})" for one in lexer.terminals)
    return re.compile("|".join(patterns), lexer.g_regex_flags), lexer.ignore_types


def lex(syntax: str, source: str) -> list[Token]:
    """The tokens of ``source``, white space left out.

    Raises :class:`~tokenizer.errors.ParseError` at the first character that no
    terminal of the grammar begins with. Linear in the length of the source.
    """
    pattern, ignored = _lexer(syntax)
    tokens = []
    position = 0
    for match in pattern.finditer(source):
        start, end = match.span()
        if start != position:
            break
        position = end
        kind = match.lastgroup or ""  # never none: every terminal is a group
        if kind not in ignored:
            token = Token(match[0])
            token.type, token.start_pos, token.end_pos = kind, start, end
            tokens.append(token)
    if position != len(source):
        raise unexpected_character(source, position, syntax)
    return tokens
