"""The text syntax: a source to atoms."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Final

from tokenizer.atoms import Atom, Kind
from tokenizer.errors import ParseError
from tokenizer.functions import FUNCTIONS
from tokenizer.lexing import Token, lex
from tokenizer.limits import Limits
from tokenizer.names import CONSTANTS, GREEK, LONGEST_NAME, canonical_subscripts, leaf
from tokenizer.numbers import number
from tokenizer.refusals import long_name, unexpected_character
from tokenizer.tree import Tree, call, integer, symbol
from tokenizer.words import Words

OPERATORS: Final = {
    "POWER": "^",
    "TIMES": "*",
    "DIVIDE": "/",
    "PLUS": "+",
    "MINUS": "-",
    "FACTORIAL": "!",
    "LE": "<=",
    "GE": ">=",
    "NE": "!=",
    "EQ": "==",
    "LT": "<",
    "GT": ">",
    "AND": "and",
    "OR": "or",
    "UNDERSCORE": "_",
    "COMMA": ",",
}
_NAME: Final = re.compile(r"([A-Za-z]+|.)([0-9]*)(.*)", re.DOTALL)
_SUPERSCRIPT: Final = re.compile(r"([+\u2212]?)([0-9]*)([a-z]*)\Z")
_OTHER_BASE: Final = re.compile(r"[xXbBoO][0-9]")
_ROOTS: Final = {"∛": 3, "∜": 4}
#: Tokens that can end an expression, and such that can begin one.
_ENDS: Final = frozenset("NUMBER NAME SUPERSCRIPT VULGAR FACTORIAL CLOSE INFINITY".split())
_BEGINS: Final = frozenset("NUMBER NAME VULGAR OPEN ROOT INFINITY INTEGRAL".split())


def atomise(source: str, declared: frozenset[str], limits: Limits) -> list[Atom]:
    """The atoms of ``source``; raises :class:`ParseError`."""
    tokens = lex("text", source)
    integral = any(token.type == "INTEGRAL" or token in ("int", "integral") for token in tokens)
    words = Words(declared, integral=integral)
    atoms: list[Atom] = []
    for index, token in enumerate(tokens):
        kind, position = token.type, token.start_pos
        if kind in _BEGINS and index and tokens[index - 1].type in _ENDS:
            _refuse_gap(tokens[index - 1], token, source)
        if kind in OPERATORS:
            atoms.append(Atom("operator", OPERATORS[kind], position))
        elif kind == "NUMBER":
            atoms.append(Atom("number", token, position, number(token, position, limits)))
        elif kind == "NAME":
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            applied = following is not None and following.type == "OPEN"
            atoms += _name(token, words, limits, applied=applied)
        elif kind == "OPEN":
            atoms.append(Atom("open", "(", position))
        elif kind == "CLOSE":
            atoms.append(Atom("close", ")", position))
        elif kind == "BAR":
            atoms.append(Atom("bar", "|", position))
        elif kind == "SUPERSCRIPT":
            atoms.append(Atom("superscript", token, position, superscript(token, position, limits)))
        elif kind == "VULGAR":
            atoms.append(Atom("number", token, position, vulgar(token)))
        elif kind == "ROOT":
            atoms.append(Atom("radical", token, position, root_index(token)))
        elif kind == "INFINITY":
            atoms.append(Atom("constant", token, position, CONSTANTS["oo"]))
        elif kind == "INTEGRAL":
            atoms.append(Atom("integral", token, position))
        else:
            atoms.append(Atom("d", token, position))
    return atoms


def _refuse_gap(before: Token, token: Token, source: str) -> None:
    """Refuse what only looks like a product: a line break, ``x.1``, ``0x10``."""
    start, end = before.end_pos, token.start_pos
    if "\n" in source[start:end]:
        raise ParseError(
            "a new line begins another expression",
            position=end,
            hint="send one expression at a time; end the line with a sign to go on",
            code="two-expressions",
        )
    if start == end and token[0] == ".":
        raise unexpected_character(source, end, "text")
    if start == end and before == "0" and _OTHER_BASE.match(token):
        raise ParseError(
            f"0{token:.20} looks like a number to another base",
            position=start - 1,
            hint="write numbers in decimal; for a product write 0*…",
            code="unsupported",
        )


def _name(token: Token, words: Words, limits: Limits, *, applied: bool) -> list[Atom]:
    """The atoms of letters with the digits and subscripts that follow them."""
    position = token.start_pos
    if token.isalpha() and token.isascii():
        letters, digits, subscripts = str(token), "", ""
    else:
        match = _NAME.match(token)
        assert match is not None
        letters, digits, subscripts = match.groups()
    after = position + len(letters)
    if len(token) > LONGEST_NAME:
        raise long_name(position)
    name = GREEK.get(letters, letters)
    suffix = digits + canonical_subscripts(subscripts)
    if name + suffix in words.declared and not (applied and name + suffix in FUNCTIONS):
        return [Atom("symbol", name + suffix, position, leaf(name + suffix))]
    if name in ("int", "integral") and not digits:
        sign = Atom("integral", name, position)
        return [sign, *_script(subscripts, after, words, limits)]
    if letters in GREEK and name != "pi":
        atoms = [Atom("symbol", name, position, leaf(name))]
    else:
        atoms = words.atoms(name, position, applied=applied and not suffix)
    if not suffix:
        return atoms
    *before, last = atoms
    if last.kind in ("symbol", "differential") or len(last.text) == 1:
        text = last.text + suffix
        kind: Kind = "differential" if last.kind == "differential" else "symbol"
        return [*before, Atom(kind, text, last.position, leaf(text))]
    if digits and last.text + digits in FUNCTIONS:
        last = last._replace(text=FUNCTIONS[last.text + digits])
    elif digits and (applied or subscripts):
        raise ParseError(
            f"digits between {last.text} and its argument have no clear meaning",
            position=after,
            hint=f"write {last.text}({digits}*x), or {last.text}(x)**{digits} for a power",
            code="ambiguous",
        )
    elif digits:
        return [*atoms, Atom("number", digits, after, number(digits, after, limits))]
    return [*before, last, *_script(subscripts, after + len(digits), words, limits)]


def _script(subscripts: str, position: int, words: Words, limits: Limits) -> list[Atom]:
    """A subscript that is no part of a name: a bound, or the base of a logarithm."""
    if not subscripts:
        return []
    text = canonical_subscripts(subscripts)[1:]
    at = position + subscripts.find(text[0])
    if text.isdigit():
        content = [Atom("number", text, at, number(text, at, limits))]
    elif text.isalpha():
        content = words.atoms(text, at)
    else:
        raise ParseError(
            f"{text:.40} is no base and no bound",
            position=position,
            hint="write log(x, b), or integrate(f, (x, a, b))",
            code="subscript",
        )
    return [Atom("operator", "_", position), *content]


def root_index(sign: str) -> Tree | None:
    """The index of one of the signs √ ∛ ∜; None for 2."""
    return integer(_ROOTS[sign]) if sign in _ROOTS else None


def superscript(token: str, position: int, limits: Limits) -> Tree:
    """The exponent that raised signs such as ``⁻¹²`` or ``²ˣ`` stand for."""
    match = _SUPERSCRIPT.match(unicodedata.normalize("NFKC", token))
    assert match is not None
    sign, digits, letters = match.groups()
    factors = [CONSTANTS.get(letter, symbol(letter)) for letter in letters]
    if digits:
        factors.insert(0, number(digits, position, limits))
    exponent = functools.reduce(lambda left, right: call("mul", left, right), factors)
    return call("neg", exponent) if sign == "\u2212" else exponent


def vulgar(token: str) -> Tree:
    """The fraction that a sign such as ``½`` stands for."""
    numerator, denominator = unicodedata.normalize("NFKC", token).split("\u2044")
    return call("div", integer(int(numerator)), integer(int(denominator)))
