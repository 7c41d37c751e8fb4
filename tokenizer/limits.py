"""Limits on an input, checked before any arithmetic is done on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What an input may cost at most.

    ``characters`` bounds the source, ``depth`` the nesting of the source and of
    the Tree (levels), ``nodes`` the Tree, ``digits`` one number (decimal
    digits; the default has room for every double, ``1e300``), ``exponent`` the
    absolute value of a literal exponent on a literal number, and
    ``power_digits`` the decimal digits that evaluating a power, a product or a
    factorial of literal numbers would give (``9**9**9`` is refused on sight).
    """

    characters: int = 4000
    depth: int = 100
    nodes: int = 1000
    digits: int = 400
    exponent: int = 100_000
    power_digits: int = 1000


DEFAULT_LIMITS = Limits()
