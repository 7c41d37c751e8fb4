"""Tree to text: SymPy's syntax, with as few parentheses as reading it back allows."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tokenizer.heads import RELATIONS
from tokenizer.tree import Tree

# how tightly a rendering binds, from loose to tight
RELATION, SUM, NEGATION, PRODUCT, POWER, ATOM = range(6)

#: Sign of an operation, and how tightly its left and its right operand have to bind.
_INFIX: Final = {
    "add": (" + ", SUM, PRODUCT),
    "sub": (" - ", SUM, PRODUCT),
    "mul": ("*", PRODUCT, POWER),
    "div": ("/", PRODUCT, POWER),
}
_BINDING: Final = {
    "add": SUM,
    "sub": SUM,
    "neg": NEGATION,
    "mul": PRODUCT,
    "div": PRODUCT,
    "pow": POWER,
    **dict.fromkeys(("Lt", "Le", "Gt", "Ge"), RELATION),
}
#: What is not written as a function of its arguments, beside operations.
_OTHERWISE: Final = frozenset(("Lt", "Le", "Gt", "Ge", "Piecewise", "integral", "derivative"))


def to_text(tree: Tree) -> str:
    """The expression in SymPy's syntax.

    ``parse(to_text(tree), variables=tree.symbols())`` gives the same Tree
    again. To read it with SymPy, pass the symbols as ``locals``, since
    ``beta`` or ``N`` means something else there by default.

    >>> from tokenizer.parse import parse
    >>> to_text(parse("3 sin^2 2x"))
    '3*sin(2*x)**2'
    """
    return _Renderer(tree).render(tree)


class _Renderer:
    def __init__(self, root: Tree) -> None:
        self.root = root

    @cached_property
    def euler(self) -> str:
        # a symbol called E leaves the number e to be written otherwise
        return "exp(1)" if self.root.contains("E") else "E"

    def render(self, tree: Tree) -> str:
        head, args = tree.head, tree.args
        if not args:
            if head == "constant" and tree.value == "E":
                return self.euler
            return "lamda" if tree.value == "lambda" else str(tree.value)
        if head in _INFIX:
            sign, left, right = _INFIX[head]
            return self.at_least(args[0], left) + sign + self.at_least(args[1], right)
        if head == "neg":
            return "-" + self.at_least(args[0], PRODUCT)
        if head == "pow":
            return f"{self.at_least(args[0], ATOM)}**{self.at_least(args[1], POWER)}"
        if head in _OTHERWISE:
            return self.otherwise(head, args)
        return f"{head}({', '.join([self.render(arg) for arg in args])})"

    def otherwise(self, head: str, args: tuple[Tree, ...]) -> str:
        if head == "Piecewise":
            pairs = zip(args[::2], args[1::2], strict=True)
            listed = ", ".join(
                f"({self.render(value)}, {self.render(condition)})" for value, condition in pairs
            )
            return f"Piecewise({listed})"
        first, *others = map(self.render, args)
        if head == "integral":
            listed = ", ".join(others)
            return f"Integral({first}, {listed if len(others) == 1 else f'({listed})'})"
        if head == "derivative":
            variable, order = others
            return f"Derivative({first}, {variable}{'' if order == '1' else f', {order}'})"
        return f"{first} {RELATIONS[head]} {others[0]}"

    def at_least(self, tree: Tree, binding: int) -> str:
        text = self.render(tree)
        return text if _BINDING.get(tree.head, ATOM) >= binding else f"({text})"
