"""POST /parse: how an input is understood, before anything is answered."""

from __future__ import annotations

import math
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from service.heat.evaluate import NotEvaluableError, constant
from service.problems import responses
from service.schemas import (
    DifferentiateRequest,
    Expression,
    Format,
    Formula,
    Request,
    Understood,
    VariableName,
)
from service.solvers import differentiate, integral_question
from service.solvers.integrate_schema import Bound, IntegrateRequest
from service.solvers.question import choose_variable, formula, read, understood
from tokenizer.tree import Tree, call, integer, symbol

router = APIRouter(tags=["calculus"])


class ParseRequest(Request):
    """An input, and what it is meant for."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"expression": "3 sin^2 2x"},
                {"expression": "1/(2+cos x)", "task": "integrate", "lower": "0", "upper": "2pi"},
            ]
        }
    )

    expression: Expression
    variable: VariableName | None = None
    task: Literal["differentiate", "integrate"] | None = Field(
        None, description="Which address it is meant for; its rules are applied then."
    )
    order: int | None = Field(None, ge=1, le=10, description="Of a derivative; absent: 1.")
    lower: Bound | None = None
    upper: Bound | None = None
    format: Format = "auto"


class Interval(BaseModel):
    """Bounds as numbers; null where one is infinite or has symbols."""

    lower: float | None
    upper: float | None


class Parsed(BaseModel):
    """An input as it is understood."""

    input: Understood
    question: Formula = Field(description="The whole question: with d/dx, or ∫ and bounds.")
    symbols: list[str] = Field(description="Free symbols, the variable among them.")
    interval: Interval | None = Field(description="null without bounds.")


@router.post(
    "/parse",
    responses=responses(400, 408, 413, 415, 422),
    summary="Show how an input is understood",
)
def post_parse(request: ParseRequest) -> Parsed:
    """The input in SymPy syntax and in LaTeX, or a problem with the place of the mistake.

    Nothing is answered and nothing computed: this is for previews while somebody types.
    """
    if request.task == "differentiate":
        asked = {"expression": request.expression, "format": request.format}
        if request.variable is not None:
            asked["variable"] = request.variable
        order = {} if request.order is None else {"order": request.order}
        derivative = differentiate.understand(
            DifferentiateRequest.model_validate({**asked, **order})
        )
        question = call(
            "derivative",
            derivative.expression,
            symbol(derivative.variable),
            integer(derivative.order),
        )
        return _parsed(derivative.expression, derivative.variable, question, None)
    if request.task == "integrate" or request.lower is not None or request.upper is not None:
        integral = integral_question.understand(
            IntegrateRequest(
                expression=request.expression,
                variable=request.variable,
                lower=request.lower,
                upper=request.upper,
                format=request.format,
            )
        )
        bounds = [bound for bound in (integral.lower, integral.upper) if bound is not None]
        question = call("integral", integral.integrand, symbol(integral.variable), *bounds)
        interval = Interval(lower=_number(bounds[0]), upper=_number(bounds[1])) if bounds else None
        return _parsed(integral.integrand, integral.variable, question, interval)
    tree, named = read(request.expression, request.variable, request.format)
    variable = named if named is not None else _variable(tree)
    return _parsed(tree, variable, tree, None)


def _variable(tree: Tree) -> str:
    if tree.head in ("integral", "derivative"):
        return str(tree.args[1].value)
    return choose_variable(tree)


def _parsed(expression: Tree, variable: str, question: Tree, interval: Interval | None) -> Parsed:
    return Parsed(
        input=understood(expression, variable),
        question=formula(question),
        symbols=list(dict.fromkeys((*expression.symbols(), variable))),
        interval=interval,
    )


def _number(bound: Tree) -> float | None:
    if bound.symbols():
        return None
    try:
        value = constant(bound)
    except NotEvaluableError:
        return None
    return value if math.isfinite(value) else None
