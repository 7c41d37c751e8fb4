"""What a request for an integral asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from service.problems import Problem
from service.solvers.integrate_schema import IntegrateRequest, UnderstoodIntegral
from service.solvers.question import choose_variable, formula, read
from service.tasks import INTEGRATE
from tokenizer.errors import ParseError
from tokenizer.normalise import Normalised, normalise, rename
from tokenizer.parse import parse
from tokenizer.tree import Tree, call, constant, symbol

TASK: Final = INTEGRATE


@dataclass(frozen=True, slots=True)
class Question:
    """``lower`` and ``upper`` are both None for an indefinite integral."""

    integrand: Tree
    variable: str
    lower: Tree | None
    upper: Tree | None


def understand(request: IntegrateRequest) -> Question:
    """Parse, choose the variable and the bounds. Raises ``ParseError`` and :class:`Problem`."""
    tree, named = _read(request)
    if tree.head == "derivative":
        raise Problem("wrong-task", "This is a derivative.", hint="Send it to POST /differentiate.")
    lower, upper = (_bound(text, named) for text in (request.lower, request.upper))
    if tree.head == "integral":
        integrand, by, *bounds = tree.args
        variable = str(by.value)
        if named is not None and named != variable:
            raise Problem(
                "contradiction",
                f"The expression is an integral over {variable}, the field `variable` says "
                f"{named}.",
            )
        if bounds and (lower, upper) not in ((None, None), tuple(bounds)):
            raise Problem("contradiction", "The expression has bounds, and the fields say others.")
        if bounds:
            lower, upper = bounds
    else:
        integrand = tree
        variable = named if named is not None else choose_variable(tree)
    if (lower is None) != (upper is None):
        missing = "lower" if lower is None else "upper"
        raise Problem(
            "missing-bound",
            f"A definite integral has two bounds; `{missing}` is missing.",
            status=422,
            title="A bound is missing",
        )
    if integrand.contains("oo", head="constant"):
        raise Problem("undefined-expression", "Infinity is not a number that a function can use.")
    return Question(integrand, variable, lower, upper)


def _read(request: IntegrateRequest) -> tuple[Tree, str | None]:
    """The question; ``x^2 dx`` is one whose sign was left out."""
    try:
        return read(request.expression, request.variable, request.format)
    except ParseError as error:
        if error.code != "differential":
            raise
        try:
            return read(f"∫ {request.expression}", request.variable, request.format)
        except ParseError:
            raise error from None


def _bound(text: str | None, variable: str | None) -> Tree | None:
    if text is None:
        return None
    tree = parse(text, variables=(variable,) if variable else ())
    if tree.head in ("integral", "derivative"):
        raise Problem("wrong-task", "A bound is an expression, not a question.")
    infinite = [n for n in tree.preorder() if n.head == "constant" and n.value == "oo"]
    if infinite and tree not in (constant("oo"), call("neg", constant("oo"))):
        raise Problem("undefined-expression", "A bound is a number, an expression, oo or -oo.")
    return tree


def understood(question: Question) -> UnderstoodIntegral:
    """How the question was understood, in the client's names."""
    shown = formula(question.integrand)
    return UnderstoodIntegral(
        text=shown.text,
        latex=shown.latex,
        variable=question.variable,
        lower=question.lower and formula(question.lower),
        upper=question.upper and formula(question.upper),
    )


def in_standard_names(question: Question) -> Normalised:
    """The question as one ``integral`` Tree in standard names.

    The variable is bound inside: a bound may use its name for something else.
    """
    if question.lower is None or question.upper is None:
        tree = call("integral", question.integrand, symbol(question.variable))
        return normalise(tree, question.variable)
    outside = {*question.lower.symbols(), *question.upper.symbols()}
    variable = question.variable
    integrand = question.integrand
    if variable in outside:
        variable = next(
            name
            for name in (f"{question.variable}_{'i' * k}" for k in range(1, 99))
            if name not in outside and not integrand.contains(name)
        )
        integrand = rename(integrand, {question.variable: variable})
    tree = call("integral", integrand, symbol(variable), question.lower, question.upper)
    return normalise(tree, variable)
