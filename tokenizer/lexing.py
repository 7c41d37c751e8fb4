"""Running a Lark grammar over a source."""

from __future__ import annotations

from functools import cache

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters

from tokenizer.refusals import unexpected_character


@cache
def _lexer(syntax: str) -> Lark:
    return Lark.open_from_package("tokenizer", f"{syntax}.lark", parser=None, lexer="basic")


def lex(syntax: str, source: str) -> list[Token]:
    """The tokens of ``source``, white space left out.

    Raises :class:`~tokenizer.errors.ParseError` at the first character that no
    terminal of the grammar begins with. Linear in the length of the source.
    """
    try:
        return list(_lexer(syntax).lex(source))
    except UnexpectedCharacters as error:
        raise unexpected_character(source, error.pos_in_stream or 0, syntax) from None
