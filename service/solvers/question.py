"""What a request asks: its formula parsed and its variable chosen."""

from __future__ import annotations

from service.problems import Problem
from service.schemas import Format, Formula, Understood
from tokenizer.parse import parse, parse_name
from tokenizer.render import to_text
from tokenizer.tree import Tree
from tokenizer.typeset import to_latex


def read(expression: str, variable: str | None, syntax: Format) -> tuple[Tree, str | None]:
    """The Tree, and the variable's canonical name when one was named.

    A named variable is known to the parser, which then keeps it whole.
    Raises ``ParseError``.
    """
    name = parse_name(variable) if variable is not None else None
    tree = parse(expression, syntax=syntax, variables=(name,) if name else ())
    return tree, name


def choose_variable(tree: Tree) -> str:
    """The variable of a question that names none.

    The only symbol, or ``x`` when that is one of several or there is none at
    all. Raises :class:`Problem` listing the symbols otherwise.
    """
    symbols = tree.symbols()
    if len(symbols) == 1:
        return symbols[0]
    if not symbols or "x" in symbols:
        return "x"
    raise Problem(
        "ambiguous-variable",
        f"The expression has the symbols {', '.join(symbols)}; which one is the variable?",
        hint=f'Name it: "variable": "{symbols[0]}"',
        symbols=list(symbols),
    )


def formula(tree: Tree) -> Formula:
    """A Tree in both syntaxes."""
    return Formula(text=to_text(tree), latex=to_latex(tree))


def understood(tree: Tree, variable: str) -> Understood:
    """The echo of a question."""
    return Understood(text=to_text(tree), latex=to_latex(tree), variable=variable)
