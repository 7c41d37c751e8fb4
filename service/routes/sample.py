"""POST /sample: values of expressions on a grid, for plots."""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from service.heat.evaluate import NotEvaluableError, evaluate
from service.problems import Problem, responses
from service.schemas import Expression, Request
from service.solvers.question import read
from tokenizer.tree import Tree

router = APIRouter(tags=["calculus"])

#: Curves and points of one request.
CURVES: Final = 4
POINTS: Final = 2001

#: Values are shown, not computed with; this many digits are enough for any screen.
DIGITS: Final = 9

#: Finite as a double, whatever is done with two of them.
Number = Annotated[float | int, Field(ge=-1e300, le=1e300)]


class SampleRequest(Request):
    """Curves that are wanted over an interval."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"expressions": ["sin(x)/x", "a*x"], "variable": "x", "lower": -10, "upper": 10}
            ]
        }
    )

    expressions: list[Expression] = Field(
        min_length=1, max_length=CURVES, description="One curve each."
    )
    variable: str = Field(min_length=1, max_length=64, description="What runs over the interval.")
    lower: Number = Field(description="Left end of the interval.")
    upper: Number = Field(description="Right end, greater than `lower`.")
    points: int = Field(601, ge=2, le=POINTS, description="Uniform, both ends included.")
    parameters: dict[Annotated[str, Field(max_length=64)], Number] = Field(
        default_factory=dict,
        max_length=32,
        description="Values of the other symbols; 1 where one is not given.",
    )


class Curve(BaseModel):
    """One expression on the grid."""

    values: list[float | None] | None = Field(
        description="null at a point without a finite real value; null for all where there are "
        "none that can be computed."
    )
    reason: str | None = Field(description="Why there are no values.")


class Sampled(BaseModel):
    """Values on a uniform grid."""

    x: list[float]
    curves: list[Curve]
    parameters: dict[str, float] = Field(description="What each other symbol was taken to be.")


@router.post(
    "/sample",
    responses=responses(400, 408, 413, 415, 422),
    summary="Evaluate expressions on a grid",
)
def post_sample(request: SampleRequest) -> Sampled:
    """Double-precision values for drawing; for exact ones use the answer's formula."""
    lower, upper = float(request.lower), float(request.upper)
    if not lower < upper or not np.isfinite(upper - lower):
        raise Problem("invalid-request", "lower: it must be less than upper", errors=[])
    trees: list[Tree] = []
    variable = request.variable
    for expression in request.expressions:
        tree, named = read(expression, request.variable, "auto")
        if tree.head in ("integral", "derivative"):
            raise Problem("wrong-task", "A curve is an expression, not a question.")
        variable = named or variable
        trees.append(tree)
    others = dict.fromkeys(name for tree in trees for name in tree.symbols() if name != variable)
    parameters = {name: float(request.parameters.get(name, 1.0)) for name in others}
    x = np.linspace(lower, upper, request.points)
    return Sampled(
        x=x.tolist(),
        curves=[_curve(tree, {**parameters, variable: x}) for tree in trees],
        parameters=parameters,
    )


def _curve(tree: Tree, values: dict[str, float | np.ndarray]) -> Curve:
    try:
        u = evaluate(tree, values)
    except NotEvaluableError as error:
        return Curve(values=None, reason=str(error))
    return Curve(
        values=[float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in u], reason=None
    )
