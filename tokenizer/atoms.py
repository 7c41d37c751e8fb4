"""Atoms: what a Lark grammar finds in a source, before it has any structure.

Both syntaxes come down to the same few kinds, so that one structure layer
serves them both. `\\frac ab`, `\\frac{a}{b}` and `x^2`, `x^{2}` differ only in
the invisible groups ``{`` ``}`` around an argument.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tokenizer.tree import Tree

Kind = Literal[
    "number",  # tree: an integer, or div of two
    "symbol",  # tree
    "constant",  # tree
    "boolean",  # tree
    "function",  # text: a key of functions.FUNCTIONS, in its canonical spelling
    "operator",  # text: + - * / ^ _ ! , & or a relation such as <=
    "superscript",  # tree: the exponent of x²
    "open",  # text: a key of BRACKETS
    "close",  # text: a value of BRACKETS
    "bar",  # | that may open or close
    "radical",  # \sqrt, with an optional [index] and a group; or √ before one operand
    "fraction",  # \frac and two groups
    "binomial",  # \binom and two groups
    "integral",  # ∫ and \int
    "differential",  # tree: the variable x of dx
    "d",  # the upright d of \mathrm{d}x, and ∂
    "column",  # & between value and condition, inside the brackets of cases
    "row",  # \\ between rows of cases
    "end",
]

#: Opening bracket -> closing bracket. ``{`` is TeX's invisible group.
BRACKETS: Final = {
    "(": ")",
    "[": "]",
    "{": "}",
    "\\{": "\\}",
    "|": "|",
    "⌊": "⌋",
    "⌈": "⌉",
    "cases": "end cases",
}


class Atom(NamedTuple):
    """One atom and where it starts in the source, in code points."""

    kind: Kind
    text: str
    position: int
    tree: Tree | None = None
