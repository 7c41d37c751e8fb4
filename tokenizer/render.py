"""Tree to text: SymPy's syntax, with as few parentheses as reading it back allows."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tokenizer.heads import RELATIONS
from tokenizer.tree import Tree

# how tightly a rendering binds, from loose to tight
RELATION, SUM, NEGATION, PRODUCT, POWER, ATOM = range(6)

_INFIX: Final = {"add": " + ", "sub": " - ", "mul": "*", "div": "/"}
_BINDING: Final = {
    "add": SUM,
    "sub": SUM,
    "neg": NEGATION,
    "mul": PRODUCT,
    "div": PRODUCT,
    "pow": POWER,
    **dict.fromkeys(("Lt", "Le", "Gt", "Ge"), RELATION),
}


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
        head = tree.head
        if not tree.args:
            if head == "constant" and tree.value == "E":
                return self.euler
            return "lamda" if tree.value == "lambda" else str(tree.value)
        if head in _INFIX:
            left, right = tree.args
            binding = _BINDING[head]
            looser = PRODUCT if binding == SUM else POWER
            return self.at_least(left, binding) + _INFIX[head] + self.at_least(right, looser)
        if head == "neg":
            return "-" + self.at_least(tree.args[0], PRODUCT)
        if head == "pow":
            base, exponent = tree.args
            return f"{self.at_least(base, ATOM)}**{self.at_least(exponent, POWER)}"
        if head in RELATIONS and head not in ("Eq", "Ne"):
            first, second = map(self.render, tree.args)
            return f"{first} {RELATIONS[head]} {second}"
        if head == "Piecewise":
            pairs = zip(tree.args[::2], tree.args[1::2], strict=True)
            inside = ", ".join(
                f"({self.render(value)}, {self.render(condition)})" for value, condition in pairs
            )
        elif head == "integral":
            integrand, *bounds = tree.args
            inside = self.render(integrand) + ", "
            listed = ", ".join(map(self.render, bounds))
            inside += listed if len(bounds) == 1 else f"({listed})"
        elif head == "derivative":
            expression, variable, order = map(self.render, tree.args)
            inside = f"{expression}, {variable}" + ("" if order == "1" else f", {order}")
        else:
            inside = ", ".join(map(self.render, tree.args))
        name = {"integral": "Integral", "derivative": "Derivative"}.get(head, head)
        return f"{name}({inside})"

    def at_least(self, tree: Tree, binding: int) -> str:
        text = self.render(tree)
        return text if _BINDING.get(tree.head, ATOM) >= binding else f"({text})"
