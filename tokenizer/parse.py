"""Text or LaTeX to a Tree: the tokenizer's way in."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from tokenizer import latex, magnitude, tasks, text
from tokenizer.errors import ParseError
from tokenizer.limits import DEFAULT_LIMITS, Limits
from tokenizer.names import parse_name, plain_characters
from tokenizer.refusals import refuse_escaped_command
from tokenizer.structure import Structure
from tokenizer.tree import Tree

__all__ = ["Syntax", "detect", "parse", "parse_name"]

Syntax = Literal["auto", "text", "latex"]


def detect(source: str) -> Literal["text", "latex"]:
    """The syntax of ``source``: a backslash, a brace or a dollar sign means LaTeX."""
    return "latex" if any(character in source for character in "\\{}$") else "text"


def parse(
    source: str,
    *,
    syntax: Syntax = "auto",
    variables: Collection[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Tree:
    """The Tree of an expression.

    ``variables`` are names that the caller declares: they stay whole where
    letters would be multiplied, and ``E`` and ``e`` give way to them. An
    integral or a derivative may stand at the root, nowhere else.

    >>> parse("sin^2 x + 2x")
    add(pow(sin(x), 2), mul(2, x))
    >>> parse(r"\\frac{1}{2}x") == parse("1/2x")
    True

    Raises :class:`ParseError`, with the position, for everything that is not
    such an expression or goes over a limit; nothing is ever evaluated.
    """
    try:
        return _parse(source, syntax, variables, limits)
    except ParseError as error:
        error.source = error.source or source
        raise


def _parse(source: str, syntax: Syntax, variables: Collection[str], limits: Limits) -> Tree:
    if len(source) > limits.characters:
        raise ParseError(
            f"the input has {len(source)} characters, the limit is {limits.characters}",
            position=limits.characters,
            hint="shorten the expression, or send its parts",
            code="too-long",
        )
    declared = frozenset(map(parse_name, variables))
    plain = plain_characters(source)
    if not plain.strip():
        raise ParseError(
            "the input is empty", position=0, hint="type an expression: x**2", code="empty"
        )

    refuse_escaped_command(plain)
    if syntax == "auto":
        syntax = detect(plain)
    atoms = (latex if syntax == "latex" else text).atomise(plain, declared, limits)
    structure = Structure(atoms, len(source), declared, limits)
    tree = tasks.read(structure)
    if structure.atom.kind != "end":
        raise structure.unexpected(structure.atom)
    structure.number(tree, 0)
    magnitude.check(tree, limits, structure.positions)
    return tree
