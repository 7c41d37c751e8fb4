"""From a request for a derivative to one that was verified.

The model proposes, a worker process verifies; an n-th derivative is n such
steps. What no hypothesis answers goes to SymPy, whose answer is verified
independently. Everything between parsing and rendering works on the
normalised Tree, so neither names nor spelling change an answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from service import cache
from service.problems import Problem
from service.resources import Resources
from service.schemas import (
    DifferentiateRequest,
    ModelName,
    Solved,
    Timing,
    Unsolved,
    Verification,
)
from service.solvers.question import choose_variable, formula, read, understood
from service.stopwatch import Stopwatch
from tokenizer.normalise import Normalised, normalise
from tokenizer.tree import Tree

TASK = "differentiate"

#: Part of the cache key: raise it when the meaning of an answer changes.
API_VERSION = 1


@dataclass(frozen=True, slots=True)
class Question:
    """``tree`` is the whole input; ``expression`` what is to be differentiated."""

    tree: Tree
    expression: Tree
    variable: str
    order: int


def understand(request: DifferentiateRequest) -> Question:
    """Parse and choose the variable. Raises ``ParseError`` and :class:`Problem`."""
    tree, named = read(request.expression, request.variable, request.format)
    if tree.head == "integral":
        raise Problem(
            "wrong-task", "This is an integral.", hint="Send it to POST /integrate."
        )
    if tree.head != "derivative":
        variable = named if named is not None else choose_variable(tree)
        return Question(tree, tree, variable, request.order)
    expression, by, times = tree.args
    variable, order = str(by.value), times.value
    assert isinstance(order, int)
    if named is not None and named != variable:
        raise Problem(
            "contradiction",
            f"The expression is a derivative by {variable}, the field `variable` says {named}.",
        )
    if "order" in request.model_fields_set and request.order != order:
        raise Problem(
            "contradiction",
            f"The expression is a derivative of order {order}, "
            f"the field `order` says {request.order}.",
        )
    return Question(tree, expression, variable, order)
