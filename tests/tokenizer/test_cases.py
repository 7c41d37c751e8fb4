from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
import sympy

from tests.cases import Case, parameters
from tokenizer.errors import ParseError
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree

#: Where a case states its outcome in prose: the reading that we chose among the right ones.
READINGS = {
    "latex-46": "13",
    "latex-47": "A_BC*x**2",
    "parse-04": "velocity",
    "parse-14": "i*(x + 1) + j*(2*x + 3)",
    "parse-29": "2*x*y",
    "parse-34": "exp(1)*A*B",
    "parse-43": "x/2",
    "parse-45": "9",
    "parse-56": "log(x)",
}


def sympy_value(tree: Tree) -> Any:
    """The Tree as SymPy understands its text, tasks carried out."""
    names = {name: sympy.Symbol(name, real=True) for name in tree.symbols()}
    names["lamda"] = names.pop("lambda", None)
    return sympy.sympify(to_text(tree), locals=names).doit()


def is_refused(case: Case) -> bool:
    """Whether the case leaves no other outcome than a refusal."""
    return bool(re.match(r"clear (413/)?422", case.expected)) and case.id not in READINGS


def read(case: Case) -> Tree:
    names = [case.variable] if case.variable else []
    return parse(case.source, syntax=case.syntax, variables=names)


@pytest.mark.parametrize("case", parameters("parse", "latex"))
def test_inputs_mean_what_people_mean(case: Case) -> None:
    """Every collected input is read with the meaning it should have, or refused where it should."""
    if is_refused(case) or case.id in ("latex-19",):  # dy/dx: the case allows either
        with pytest.raises(ParseError) as caught:
            read(case)
        assert caught.value.hint
        assert caught.value.position is not None
        return
    expected = READINGS.get(case.id) or re.split(r" \(|;|,? (?:or|never) ", case.expected)[0]
    value = sympy_value(read(case))
    if case.expected.endswith("+ C"):
        variable = sympy.Symbol(case.variable, real=True)
        expected = expected.removesuffix(" + C")
        value -= value.subs(variable, 0)
    assert sympy.simplify(value - sympy_value(parse(expected))) == 0


@pytest.mark.parametrize("case", parameters("security"))
def test_code_is_refused_with_a_reason(case: Case) -> None:
    """Nothing that looks like a program gets past the grammar."""
    with pytest.raises(ParseError) as caught:
        read(case)
    assert caught.value.hint


@pytest.mark.parametrize("case", parameters("dos"))
def test_costly_inputs_are_refused_or_read_as_they_stand(case: Case) -> None:
    """Inputs meant to exhaust a solver cost the parser nothing: no number in them is computed."""
    if case.expected.startswith(("derivative without", "refused or answered", "answer 251")):
        with contextlib.suppress(ParseError):  # a refusal is as good as an answer here
            assert read(case).size <= 1000
        return
    with pytest.raises(ParseError) as caught:
        read(case)
    assert caught.value.hint


@pytest.mark.parametrize("case", parameters("diff", "integrate", "definite"))
def test_inputs_of_the_tasks_are_read(case: Case) -> None:
    """What is to be differentiated or integrated is read, and echoed as the same Tree."""
    tree = read(case)
    assert parse(to_text(tree), syntax="text", variables=tree.symbols()) == tree
