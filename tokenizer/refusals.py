"""Refusals that need a choice of words: unknown functions, stray characters."""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import Final

from tokenizer.errors import ParseError
from tokenizer.functions import FUNCTIONS

_DEGREES: Final = (
    "degrees are not supported",
    "angles are in radians: write x*pi/180 for x degrees",
    "degrees",
)
_STRING: Final = (
    "quotes and primes are not part of an expression",
    "type the expression bare; for a derivative write diff(f, x)",
    "forbidden",
)
_CODE: Final = "only mathematics is read here, nothing is ever evaluated as code"

#: Character -> message, hint, code.
_CHARACTERS: Final[dict[str, tuple[str, str, str]]] = {
    **dict.fromkeys("'\"`“”‘’′″", _STRING),
    **dict.fromkeys("°º", _DEGREES),
    ".": ("a dot belongs inside a number", f"{_CODE}; a product is *, a decimal 0.5", "forbidden"),
    ";": ("one expression at a time", f"remove the semicolon; {_CODE}", "forbidden"),
    ":": ("a colon is not part of an expression", _CODE, "forbidden"),
    "[": ("square brackets are not part of the text syntax", "group with ( )", "forbidden"),
    "]": ("square brackets are not part of the text syntax", "group with ( )", "forbidden"),
    "{": ("braces belong to LaTeX", 'group with ( ), or send format "latex"', "forbidden"),
    "}": ("braces belong to LaTeX", 'group with ( ), or send format "latex"', "forbidden"),
    "\\": ("a backslash belongs to LaTeX", 'send format "latex"', "forbidden"),
    "%": ("% is not supported", "for a remainder write Mod(a, b)", "unsupported"),
    "±": ("± stands for two expressions", "send each sign on its own", "unsupported"),
    "∑": ("sums are not supported", "write the terms out", "unsupported"),
    "∏": ("products over an index are not supported", "write the factors out", "unsupported"),
    "$": ("a dollar sign belongs to LaTeX", 'send format "latex"', "unsupported"),
}


#: What is left of a command when JSON reads its first two characters as an escape.
_ESCAPED_COMMAND: Final = re.compile(
    r"\t(?:imes|heta|ext|frac|anh?|au|riangle)(?![a-z])|\r(?:ight|ho|vert|floor|ceil)|\neq(?![a-z])"
    r"|[\x08\f](?=[a-z])"
)


def refuse_escaped_command(source: str) -> None:
    r"""Refuse a source in which JSON has read ``\times`` or ``\frac`` as an escape."""
    match = _ESCAPED_COMMAND.search(source)
    if match is None:
        return
    letter = {"\t": "t", "\r": "r", "\n": "n", "\b": "b", "\f": "f"}[match[0][0]]
    rest = re.match(r"[a-z]*", source[match.start() + 1 :])
    command = letter + (rest[0] if rest else "")
    raise ParseError(
        f"the backslash of \\{command} was lost: a control character stands in its place",
        position=match.start(),
        hint=f"in JSON write two backslashes: \\\\{command}",
        code="lost-backslash",
    )


def unexpected_character(source: str, position: int, syntax: str) -> ParseError:
    """The refusal of the character at ``position``, with its reason."""
    character = source[position]
    message, hint, code = _CHARACTERS.get(character, ("", "", "character"))
    if character == "\\" and syntax == "latex":
        message = f"{source[position : position + 2]} is not understood"
        hint, code = "write it without this command", "unknown-command"
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


def long_name(position: int) -> ParseError:
    """The refusal of a name, or a run of letters, that nobody would write."""
    return ParseError(
        "this name is too long",
        position=position,
        hint="write products with a sign, a*b, and give long names a short one",
        code="name",
    )


def degrees(position: int) -> ParseError:
    """The refusal of a degree sign."""
    message, hint, code = _DEGREES
    return ParseError(message, position=position, hint=hint, code=code)


def unknown_function(name: str, position: int) -> ParseError:
    """The refusal of ``name(…)``, with the nearest function we have."""
    near = difflib.get_close_matches(name[:40], FUNCTIONS, n=1, cutoff=0.6)
    hints = [f"did you mean {FUNCTIONS[near[0]]}?"] if near and near[0] != name else []
    if len(name) <= 3:
        hints.append(f"for a product write {'*'.join(name)}*(…)")
    return ParseError(
        f"unknown function {name:.40}",
        position=position,
        hint="; ".join(hints) or "see the list of functions in the documentation",
        code="unknown-function",
    )
