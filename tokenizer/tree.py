"""The grammar tree: one immutable expression, whatever syntax it was typed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tokenizer.heads import ARITY


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Tree:
    """A node and its arguments, in the order they are written.

    Equality and hashing are structural. ``size`` (nodes) and ``depth`` (levels,
    a leaf has 1) are kept, since every limit asks for them.

    >>> x = symbol("x")
    >>> call("sin", call("mul", integer(2), x))
    sin(mul(2, x))

    Raises ``ValueError`` for an unknown head or a wrong number of arguments.
    """

    head: str
    args: tuple[Tree, ...]
    value: int | str | None
    size: int
    depth: int
    _hash: int

    def __init__(
        self, head: str, args: tuple[Tree, ...] = (), value: int | str | None = None
    ) -> None:
        try:
            arity = ARITY[head]
        except KeyError:
            raise ValueError(f"unknown head {head!r}") from None
        if arity is not None and arity != len(args):
            raise ValueError(f"{head} takes {arity} arguments, not {len(args)}")
        size, depth = 1, 0
        for arg in args:
            size += arg.size
            if arg.depth > depth:  # noqa: PLR1730 - max() takes longer than all of the rest
                depth = arg.depth
        _PUT_HEAD(self, head)
        _PUT_ARGS(self, args)
        _PUT_VALUE(self, value)
        _PUT_SIZE(self, size)
        _PUT_DEPTH(self, depth + 1)
        _PUT_HASH(self, hash((head, value, args)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self._hash == other._hash
            and self.head == other.head
            and self.value == other.value
            and self.args == other.args
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # hashes of strings differ between processes, so a pickle must not carry _hash
        return (Tree, (self.head, self.args, self.value))

    def __repr__(self) -> str:
        if not self.args:
            return str(self.value)
        return f"{self.head}({', '.join(map(repr, self.args))})"

    def preorder(self) -> Iterator[Tree]:
        """Every node, parents before children, left to right (Polish order)."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.args:
                stack.extend(node.args[::-1])

    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols, each once, in order of first appearance."""
        names: dict[str, None] = {}
        stack = [self]
        while stack:
            node = stack.pop()
            if node.args:
                stack.extend(node.args[::-1])
            elif node.head == "symbol":
                names[str(node.value)] = None
        return tuple(names)

    def contains(self, name: str, head: str = "symbol") -> bool:
        """Whether the symbol, or another leaf with ``head``, of this name occurs anywhere."""
        stack = [self]
        while stack:
            node = stack.pop()
            if node.args:
                stack += node.args
            elif node.value == name and node.head == head:
                return True
        return False

    def map_leaves(self, change: Callable[[Tree], Tree]) -> Tree:
        """The same tree with every leaf replaced by ``change(leaf)``."""
        if not self.args:
            return change(self)
        args = tuple(arg.map_leaves(change) for arg in self.args)
        return Tree(self.head, args, self.value)


# what fills the slots of a frozen node: as object.__setattr__, without a search for the name
_PUT_HEAD, _PUT_ARGS, _PUT_VALUE, _PUT_SIZE, _PUT_DEPTH, _PUT_HASH = (
    vars(Tree)[name].__set__ for name in ("head", "args", "value", "size", "depth", "_hash")
)


def integer(value: int) -> Tree:
    """An integer of either sign; a negative one is ``neg`` of its absolute value."""
    if value < 0:
        return Tree("neg", (Tree("integer", (), -value),))
    return Tree("integer", (), value)


def rational(numerator: int, denominator: int) -> Tree:
    """A fraction as ``div`` of two integers, kept as given (no reduction)."""
    if denominator == 1:
        return integer(numerator)
    fraction = Tree("div", (integer(abs(numerator)), integer(denominator)))
    return Tree("neg", (fraction,)) if numerator < 0 else fraction


def symbol(name: str) -> Tree:
    """A symbol leaf."""
    return Tree("symbol", (), name)


def constant(name: str) -> Tree:
    """One of :data:`tokenizer.heads.CONSTANTS`."""
    return Tree("constant", (), name)


def call(head: str, *args: Tree) -> Tree:
    """A node with arguments: ``call("sin", x)``."""
    return Tree(head, args)


def negated(tree: Tree) -> Tree:
    """-tree as it parses: the sign of the first factor."""
    return tree.args[0] if tree.head == "neg" else call("neg", tree)
