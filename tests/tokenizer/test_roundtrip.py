from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tokenizer.strategies import tasks, trees
from tokenizer.errors import ParseError
from tokenizer.heads import ARITY
from tokenizer.limits import DEFAULT_LIMITS
from tokenizer.parse import Syntax, parse
from tokenizer.render import to_text
from tokenizer.tree import Tree, call, symbol
from tokenizer.typeset import to_latex


@given(trees())
@settings(max_examples=100)
def test_text_reads_back_as_the_same_tree(tree: Tree) -> None:
    """Rendering and parsing text is the identity on Trees."""
    assert parse(to_text(tree), syntax="text", variables=tree.symbols()) == tree


@given(trees())
@settings(max_examples=100)
def test_latex_reads_back_as_the_same_tree(tree: Tree) -> None:
    """Typesetting and parsing LaTeX is the identity on Trees."""
    assert parse(to_latex(tree), syntax="latex", variables=tree.symbols()) == tree


@given(tasks())
@settings(max_examples=100)
def test_tasks_read_back_from_both_syntaxes(tree: Tree) -> None:
    """Integrals and derivatives survive both renderings."""
    names = tree.symbols()
    assert parse(to_text(tree), syntax="text", variables=names) == tree
    assert parse(to_latex(tree), syntax="latex", variables=names) == tree


@given(trees(), st.sampled_from(("z", "theta", "x_1", "omega", "rate")))
@settings(max_examples=100)
def test_renaming_a_variable_changes_nothing_else(tree: Tree, name: str) -> None:
    """The structure read does not depend on what the variable is called."""
    renamed = tree.map_leaves(
        lambda leaf: symbol(name) if leaf.head == "symbol" and leaf.value == "x" else leaf
    )
    names = renamed.symbols()
    assert parse(to_text(renamed), syntax="text", variables=names) == renamed
    assert parse(to_latex(renamed), syntax="latex", variables=names) == renamed


_PIECES = (
    *"xyabcdefg0123456789+-*/^()!|,_=<>",
    *("sin", "cos", "ln", "log", "exp", "sqrt", "theta", "pi", "dx", "²", "√", "∫", " ", "**"),
    *("\\frac", "\\sqrt", "\\int", "\\left(", "\\right)", "\\sin", "\\cdot", "{", "}", "\\alpha"),
    *("\\begin{cases}", "\\end{cases}", "&", "\\\\", "\\mathrm{d}", "[", "]", "\\left|"),
    *(
        "\\left\\|",
        "\\|",
        "\\right.",
        "\\left.",
        "\n",
        "ₙ",
        "ˣ",
        "½",
        "\\text{if}",
        "1.5",
        "=",
        "int",
    ),
)


@given(
    st.lists(st.sampled_from(_PIECES), max_size=25).map("".join) | st.text(max_size=40),
    st.sampled_from(get_args(Syntax)),
)
@settings(max_examples=300)
def test_whatever_is_typed_is_read_or_refused_in_words(source: str, syntax: Syntax) -> None:
    """No input raises anything but ParseError, and what is read can be echoed and read again."""
    try:
        tree = parse(source, syntax=syntax)
    except ParseError as error:
        refusal = error
    else:
        names = tree.symbols()
        assert parse(to_text(tree), syntax="text", variables=names) == tree
        assert parse(to_latex(tree), syntax="latex", variables=names) == tree
        return
    assert refusal.message
    assert refusal.position is None or 0 <= refusal.position <= len(source)


@pytest.mark.parametrize("first", ["add", "sub", "mul", "div", "pow", "neg", "sqrt", "sin", "Abs"])
@pytest.mark.parametrize("second", ["mul", "pow", "neg", "exp", "factorial", "sqrt", "log"])
def test_the_deepest_trees_read_back(first: str, second: str) -> None:
    """What the depth limit allows can be echoed and read again, from either side."""
    for turn in (1, -1):
        tree = symbol("x")
        for level in range(DEFAULT_LIMITS.depth - 1):
            head = second if level % 2 else first
            args = (tree, symbol("y"))[: ARITY[head]][::turn]
            tree = call(head, *args)
        names = tree.symbols()
        assert parse(to_text(tree), syntax="text", variables=names) == tree
        assert parse(to_latex(tree), syntax="latex", variables=names) == tree
