from __future__ import annotations

import ast

import sympy
from hypothesis import given, settings

from tests.tokenizer.strategies import tasks, trees
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree


@given(trees() | tasks())
@settings(max_examples=100)
def test_text_is_sympy_syntax(tree: Tree) -> None:
    """Every rendering is a Python expression that calls nothing but functions SymPy has."""
    symbols = {name if name != "lambda" else "lamda" for name in tree.symbols()}
    module = ast.parse(to_text(tree), mode="eval")
    calls = [node.func for node in ast.walk(module) if isinstance(node, ast.Call)]
    functions = {node.id for node in calls if isinstance(node, ast.Name)}
    assert all(isinstance(node, ast.Name) and hasattr(sympy, node.id) for node in calls)
    names = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    assert names - functions <= symbols | {"pi", "E", "I", "oo"}


def test_parentheses_are_only_where_they_matter() -> None:
    """Echoed text has no parentheses that the reading does not need."""
    for text in (
        "a + b - c*d/e_1",
        "a - (b + c)",
        "a/(b*c)",
        "-a*b",
        "(-a)**2 + (a**b)**c + a**b**c",
        "x**(-1/2)",
        "2*(x + 1)*(x - 1)",
        "a - (-b)",
    ):
        assert to_text(parse(text)) == text
