from __future__ import annotations

import doctest
import importlib
import re

import pytest

from tests.cases import ROOT


@pytest.mark.parametrize("name", ["tree", "names", "parse", "render", "typeset"])
def test_examples_in_docstrings(name: str) -> None:
    """The examples in docstrings give what they say."""
    outcome = doctest.testmod(importlib.import_module(f"tokenizer.{name}"))
    assert outcome.attempted
    assert not outcome.failed


def test_example_in_the_readme() -> None:
    """The README's example runs, and each result in its comments is right."""
    code = re.findall(
        r"```python\n(.*?)```", (ROOT / "tokenizer" / "README.md").read_text("utf-8"), re.DOTALL
    )
    names: dict[str, object] = {}
    for line in "".join(code).splitlines():
        statement, _, result = (part.strip() for part in line.partition("#"))
        exec(statement, names)
        if result:
            value = names["tree"] if "=" in statement else eval(statement, names)
            assert str(value) == result
