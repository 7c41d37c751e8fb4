"""Refusals that need a choice of words: unknown functions, stray characters."""

from __future__ import annotations

import difflib
import unicodedata
from typing import Final

from tokenizer.errors import ParseError
from tokenizer.functions import FUNCTIONS

_DEGREES: Final = (
    "degrees are not supported",
    "angles are in radians: write x*pi/180 for x degrees",
    "degrees",
)
_STRING: Final = ("quotes are not part of an expression", "type the expression bare", "forbidden")
_CODE: Final = "only mathematics is read here, nothing is ever evaluated as code"

#: Character -> message, hint, code.
_CHARACTERS: Final[dict[str, tuple[str, str, str]]] = {
    **dict.fromkeys("'\"`“”‘’", _STRING),
    **dict.fromkeys("′″", ("a prime is not supported", "write diff(f, x)", "unsupported")),
    **dict.fromkeys("°º", _DEGREES),
    ".": ("a dot belongs inside a number", f"{_CODE}; a product is *, a decimal 0.5", "forbidden"),
    ";": ("one expression at a time", f"remove the semicolon; {_CODE}", "forbidden"),
    ":": ("a colon is not part of an expression", _CODE, "forbidden"),
    "[": ("square brackets are not part of the text syntax", "group with ( )", "forbidden"),
    "]": ("square brackets are not part of the text syntax", "group with ( )", "forbidden"),
    "{": ("braces belong to LaTeX", 'group with ( ), or send format "latex"', "forbidden"),
    "}": ("braces belong to LaTeX", 'group with ( ), or send format "latex"', "forbidden"),
    "\\": ("a backslash belongs to LaTeX", 'send format "latex"', "forbidden"),
    "%": ("% is not supported", "write Mod(a, b) for a remainder, x/100 for percent", "unsupported"),
    "±": ("± stands for two expressions", "send each sign on its own", "unsupported"),
    "∑": ("sums are not supported", "write the terms out", "unsupported"),
    "∏": ("products over an index are not supported", "write the factors out", "unsupported"),
    "$": ("a dollar sign belongs to LaTeX", 'send format "latex"', "unsupported"),
}


def unexpected_character(source: str, position: int) -> ParseError:
    """The refusal of the character at ``position``, with its reason."""
    character = source[position]
    message, hint, code = _CHARACTERS.get(character, ("", "", "character"))
    if not message:
        category = unicodedata.category(character)
        if category.startswith("C"):
            message = f"the control character U+{ord(character):04X} is not allowed"
            hint = "remove it; if it came from JSON, write backslashes twice: \\\\frac"
            code = "control-character"
        else:
            message = f"{character!r} is not understood here"
            hint = "names are Latin or Greek letters; operators are + - * / ^ and !"
    return ParseError(message, position=position, hint=hint, code=code)


def degrees(position: int) -> ParseError:
    """The refusal of a degree sign."""
    message, hint, code = _DEGREES
    return ParseError(message, position=position, hint=hint, code=code)


def unknown_function(name: str, position: int) -> ParseError:
    """The refusal of ``name(…)``, with the nearest function we have."""
    near = difflib.get_close_matches(name[:40], FUNCTIONS, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else "see the list of functions in the documentation"
    if len(name) <= 3:
        hint += f" For a product write {'*'.join(name)}*(…)"
    return ParseError(
        f"unknown function {name:.40}", position=position, hint=hint, code="unknown-function"
    )
