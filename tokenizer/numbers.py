"""Number literals, kept exact."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from tokenizer.errors import ParseError
from tokenizer.limits import Limits
from tokenizer.tree import Tree, integer, rational

_LITERAL: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?\Z")


def number(text: str, position: int, limits: Limits) -> Tree:
    """The Tree of a literal: ``12`` is an integer, ``0.50`` and ``5e-1`` are 1/2.

    Raises :class:`ParseError` when written out it has over ``limits.digits`` digits, and
    for a point without any, which ``\\sqrt5.`` leaves behind.
    """
    if text.isdecimal() and len(text) <= limits.digits:
        return integer(int(text))
    match = _LITERAL.match(text)
    assert match is not None
    whole, decimals, exponent = match[1], match[2] or "", match[3] or "0"
    if not whole and not decimals:
        raise ParseError(
            "a point without digits is not a number",
            position=position,
            hint="write \\sqrt{5.} where the point belongs to the number",
        )
    if len(exponent) > 6:
        raise _too_long(position, limits)
    shift = int(exponent)
    if len(whole) + len(decimals) + abs(shift) > limits.digits:
        raise _too_long(position, limits)
    if not decimals and not shift:
        return integer(int(whole))
    value = Fraction(int(whole + decimals)) * Fraction(10) ** (shift - len(decimals))
    return rational(value.numerator, value.denominator)


def _too_long(position: int, limits: Limits) -> ParseError:
    return ParseError(
        f"this number has more than {limits.digits} digits",
        position=position,
        hint="use a symbol for the constant and put its value in afterwards",
        code="number-too-long",
    )
