"""Running a Lark grammar over a source."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters

from tokenizer.refusals import unexpected_character

GRAMMARS: Final = ("text", "latex")


@cache
def _lexer(syntax: str) -> Lark:
    grammar = resources.files("tokenizer").joinpath(f"{syntax}.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic")


def lex(syntax: str, source: str) -> list[Token]:
    """The tokens of ``source``, white space left out.

    Raises :class:`~tokenizer.errors.ParseError` at the first character that no
    terminal of the grammar begins with. Linear in the length of the source.
    """
    try:
        return list(_lexer(syntax).lex(source))
    except UnexpectedCharacters as error:
        raise unexpected_character(source, error.pos_in_stream) from None
