"""Names taken out of a Tree, so that ``y**2 + b`` and ``z**2 + c`` become one question.

Everything behind the parser works on the normalised Tree. Renaming a symbol
therefore can change neither the tokens a model sees, nor the key of the cache,
nor the order in which SymPy prints an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tokenizer.tree import Tree, symbol

#: What the variable is called in a normalised Tree.
VARIABLE = "x"


@dataclass(frozen=True, slots=True)
class Normalised:
    """A Tree in standard names, and the way back.

    ``names`` maps each standard name to the caller's. Parameters are called
    ``p0``, ``p1``, … in order of first appearance.
    """

    tree: Tree
    names: Mapping[str, str]

    def restore(self, tree: Tree) -> Tree:
        """``tree`` with the caller's names again."""
        return rename(tree, self.names)


def rename(tree: Tree, names: Mapping[str, str]) -> Tree:
    """``tree`` with each symbol in ``names`` renamed, all at once; others stay."""
    if all(old == new for old, new in names.items()):
        return tree
    return tree.map_leaves(
        lambda leaf: (
            symbol(names.get(str(leaf.value), str(leaf.value))) if leaf.head == "symbol" else leaf
        )
    )


def rename_text(text: str, names: Mapping[str, str]) -> str:
    """``text`` about a Tree in standard names, such as a condition, in the names of ``names``."""
    return re.sub(r"\b(x|p\d+)\b", lambda match: names.get(match[0], match[0]), text)


def normalise(tree: Tree, variable: str) -> Normalised:
    """``tree`` with ``variable`` called ``x`` and the other symbols ``p0``, ``p1``, …"""
    names = {variable: VARIABLE}
    for name in tree.symbols():
        if name != variable:
            names[name] = f"p{len(names) - 1}"
    return Normalised(rename(tree, names), {new: old for old, new in names.items()})
