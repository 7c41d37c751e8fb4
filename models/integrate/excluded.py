"""Problems that measure, and so are never trained on.

A problem is compared in a canonical form in which renamed symbols, constant factors,
a rescaled variable (``f(3*x)`` for ``f(x)``) and the order of terms and factors make
no difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from tokenizer.errors import ParseError
from tokenizer.normalise import normalise
from tokenizer.parse import parse
from tokenizer.tree import Tree, call, integer, rational, symbol

_X = symbol("x")
_ALGEBRAIC = frozenset(("add", "sub", "mul", "div", "pow", "neg", "sqrt"))

#: Occurrences of the variable, sorted heads of functions of it.
Signature = tuple[int, tuple[str, ...]]


def cases_folder() -> Path | None:
    """Where the measuring problems lie: CALCERT_CASES, or ``../shared/cases``; None if nowhere."""
    root = Path(__file__).parents[2]
    folder = Path(os.environ.get("CALCERT_CASES", root.parent / "shared" / "cases"))
    return folder if folder.is_dir() else None


class Measured:
    """A set of problems in canonical form."""

    def __init__(self, problems: Iterable[Tree] = ()) -> None:
        self._forms: set[Tree] = set()
        self._signatures: set[Signature] = set()
        for tree in problems:
            self._forms.add(canonical(tree))
            self._signatures.add(signature(tree))

    def __contains__(self, tree: Tree) -> bool:
        """Whether ``tree`` (normalised names) is one of the problems, or reduces to one."""
        return signature(tree) in self._signatures and canonical(tree) in self._forms

    def __len__(self) -> int:
        return len(self._forms)


def signature(tree: Tree) -> Signature:
    """How often the variable occurs, and functions of it: the same for one canonical form."""
    count = 0
    heads: list[str] = []

    def visit(node: Tree) -> bool:
        nonlocal count
        if not node.args:
            found = node == _X
            count += found
            return found
        varies = False
        for arg in node.args:
            varies |= visit(arg)
        if varies and node.head not in _ALGEBRAIC:
            heads.append(node.head)
        return varies

    visit(tree)
    return count, tuple(sorted(heads))


def load(folder: Path) -> Measured:
    """All integrands in ``folder`` that parse."""
    sources: list[tuple[str, str]] = []
    for line in (folder / "rubi_dev.tsv").read_text().splitlines():
        sources.append((line.split("\t")[1], "x"))
    for line in (folder / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["kind"] in ("integrate", "definite"):
            source = case.get("integrand") or case["input"]
            sources.append((source.split("   [")[0], case.get("variable") or "x"))
    found: list[Tree] = []
    for source, variable in sources:
        try:
            tree = parse(source)
        except (ParseError, RecursionError):
            continue
        found.append(normalise(tree, variable).tree)
    return Measured(found)


def canonical(tree: Tree) -> Tree:
    """The form in which ``tree`` (normalised names) is compared; not equal to it in value."""
    scales = set(_scales(tree))
    if len(scales) == 1 and scales != {_X}:
        scale = scales.pop()
        tree = _replaced(tree, scale)
    return _sorted(_without_constant(tree))


def _scales(tree: Tree) -> list[Tree]:
    """The largest pieces of the forms k*x, x*k, x/k, -x that the variable occurs in."""
    if not tree.contains("x"):
        return []
    if tree == _X or _is_scaled(tree):
        return [tree]
    return [scale for arg in tree.args for scale in _scales(arg)]


def _is_scaled(tree: Tree) -> bool:
    if tree.head == "neg":
        return tree.args[0] == _X or _is_scaled(tree.args[0])
    if tree.head == "mul":
        left, right = tree.args
        if not left.contains("x"):
            return right == _X or _is_scaled(right)
        return not right.contains("x") and (left == _X or _is_scaled(left))
    if tree.head == "div":
        above, below = tree.args
        return not below.contains("x") and (above == _X or _is_scaled(above))
    return False


def _replaced(tree: Tree, scale: Tree) -> Tree:
    if tree == scale:
        return _X
    if not tree.args:
        return tree
    return Tree(tree.head, tuple(_replaced(arg, scale) for arg in tree.args), tree.value)


def _without_constant(tree: Tree) -> Tree:
    if tree.head == "neg":
        return _without_constant(tree.args[0])
    if tree.head == "mul":
        for factor, other in (tree.args, tree.args[::-1]):
            if not factor.contains("x"):
                return _without_constant(other)
        return call("mul", *(_without_constant(arg) for arg in tree.args))
    if tree.head == "div":
        above, below = tree.args
        if not below.contains("x"):
            return _without_constant(above)
        if not above.contains("x"):
            return call("div", integer(1), _without_constant(below))
        return call("div", _without_constant(above), _without_constant(below))
    return tree


def _sorted(tree: Tree) -> Tree:
    """Powers, products and sums in one spelling: flat, sorted, differences as sums."""
    if not tree.args:
        return tree
    if tree.head == "sqrt":
        return call("pow", _sorted(tree.args[0]), rational(1, 2))
    if tree.head in ("add", "sub"):
        terms = _flat_sum(tree, 1)
        # a common sign is a constant factor
        first = min(terms, key=lambda term: repr(term[1]))[0]
        ordered = sorted(((s * first, t) for s, t in terms), key=repr)
        return _chain("add", [t if s > 0 else call("neg", t) for s, t in ordered])
    if tree.head in ("mul", "div"):
        powers = sorted(_flat_product(tree, False), key=repr)
        return _chain(
            "mul", [t if not below else call("div", integer(1), t) for below, t in powers]
        )
    return Tree(tree.head, tuple(_sorted(arg) for arg in tree.args), tree.value)


def _flat_sum(tree: Tree, sign: int) -> list[tuple[int, Tree]]:
    if tree.head == "add":
        return _flat_sum(tree.args[0], sign) + _flat_sum(tree.args[1], sign)
    if tree.head == "sub":
        return _flat_sum(tree.args[0], sign) + _flat_sum(tree.args[1], -sign)
    if tree.head == "neg":
        return _flat_sum(tree.args[0], -sign)
    return [(sign, _sorted(tree))]


def _flat_product(tree: Tree, below: bool) -> list[tuple[bool, Tree]]:
    if tree.head == "mul":
        return _flat_product(tree.args[0], below) + _flat_product(tree.args[1], below)
    if tree.head == "div":
        return _flat_product(tree.args[0], below) + _flat_product(tree.args[1], not below)
    if tree.head == "pow" and tree.args[1].head == "neg":
        return [(not below, _sorted(call("pow", tree.args[0], tree.args[1].args[0])))]
    return [] if tree == integer(1) else [(below, _sorted(tree))]


def _chain(head: str, args: list[Tree]) -> Tree:
    tree: Tree | None = None
    for arg in args:
        tree = arg if tree is None else call(head, tree, arg)
    return tree or integer(1)
