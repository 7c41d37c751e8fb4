"""Functions by cases: ``Piecewise`` in text, the environment ``cases`` in LaTeX.

Both give one flat node ``Piecewise(value, condition, value, condition, …)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizer.atoms import BRACKETS
from tokenizer.tree import Tree, call

if TYPE_CHECKING:
    from tokenizer.structure import Structure


def pairs(structure: Structure) -> list[Tree]:
    """The arguments of ``Piecewise((value, condition), …)``, brackets included."""
    structure.expect("open", "(")
    structure.bars.append(0)
    flat: list[Tree] = []
    while True:
        structure.expect("open", "(")
        flat.append(_value(structure))
        structure.expect("operator", ",")
        flat.append(_condition(structure))
        structure.expect("close", ")")
        if not structure.is_operator(","):
            break
        structure.at += 1
    structure.bars.pop()
    structure.expect("close", ")")
    return flat


def cases(structure: Structure) -> Tree:
    """``\\begin{cases} value & condition \\\\ … \\end{cases}``; a comma may precede ``&``."""
    opening = structure.atom
    structure.at += 1
    structure.bars.append(0)
    flat: list[Tree] = []
    while not structure.is_kind("close"):
        flat.append(_value(structure))
        structure.at += structure.is_operator(",")
        if not structure.is_kind("column"):
            raise structure.unexpected(structure.atom)
        structure.at += 1
        structure.at += structure.is_operator("if")
        flat.append(_condition(structure))
        if structure.is_kind("row"):
            structure.at += 1
        elif not structure.is_kind("close"):
            raise structure.unexpected(structure.atom)
    structure.bars.pop()
    structure.expect("close", BRACKETS["cases"])
    if not flat:
        raise structure.unexpected(opening)
    return structure.checked(call("Piecewise", *flat), opening.position)


def _value(structure: Structure) -> Tree:
    position = structure.atom.position
    return structure.number(structure.expression(), position)


def _condition(structure: Structure) -> Tree:
    position = structure.atom.position
    return structure.condition(structure.expression(), position)
