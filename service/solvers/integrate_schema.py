"""What goes in and comes out of POST /integrate."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from service.schemas import (
    EngineChoice,
    Expression,
    Format,
    Formula,
    ModelName,
    Request,
    Timeout,
    Timing,
    Understood,
    VariableName,
    Verification,
)


def _number_as_text(value: Any) -> Any:
    """A JSON number is the decimal that stands there, not the double nearest to it."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return f"{Decimal(repr(value)):f}"
    return value


_Text = Field(min_length=1, max_length=500)
Bound = Annotated[
    str,
    _Text,
    BeforeValidator(_number_as_text, json_schema_input_type=Annotated[str, _Text] | float | int),
    Field(description="An expression, a number, `oo` or `-oo`."),
]


class IntegrateRequest(Request):
    """An integral that is wanted; definite when it has bounds."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"expression": "x*exp(x)"},
                {"expression": "1/(2 + cos(x))", "lower": "0", "upper": "2*pi"},
                {"expression": "\\int_0^1 x^2\\,dx"},
            ]
        }
    )

    expression: Expression
    variable: VariableName | None = None
    lower: Bound | None = None
    upper: Bound | None = None
    format: Format = "auto"
    engine: EngineChoice = "auto"
    domain: Literal["real", "complex"] = Field(
        "real", description="`real`: an answer is real wherever the integrand is."
    )
    beam: int | None = Field(
        None, ge=1, le=64, description="Hypotheses of the first round; the model's limit caps it."
    )
    timeout_s: Timeout | None = Field(
        None, description="Absent: the service's default, 10 s unless set otherwise."
    )


class UnderstoodIntegral(Understood):
    """The question as it was understood; bounds are null for an indefinite integral."""

    lower: Formula | None = None
    upper: Formula | None = None


class Search(BaseModel):
    """What it took to find the answer."""

    hypotheses: int = Field(description="Ansätze of the model that were tried.")
    rounds: int = Field(description="Times the search was widened, the first one counted.")


class Case(BaseModel):
    """The answer under other conditions on the parameters."""

    condition: str
    answer: Formula | None = Field(description="null where there is only the note.")
    note: str


class IntegralSolved(BaseModel):
    """An integral, verified."""

    status: Literal["solved"] = "solved"
    input: UnderstoodIntegral
    answer: Formula | None = Field(
        description="Without the constant of integration. null for an integral that diverges "
        "to no definite infinity."
    )
    constant: Literal["C"] | None = Field(description="C for an indefinite integral, else null.")
    value: float | str | None = Field(
        description="A definite integral to 15 digits; a string when it is complex or infinite."
    )
    convergence: Literal["proper", "improper", "divergent"] | None = None
    principal_value: Formula | None = Field(
        None, description="Cauchy's principal value of a divergent integral that has one."
    )
    assumptions: list[str] = Field(description="Conditions that the answer needs.")
    cases: list[Case] = Field(description="What holds where a condition fails.")
    functions: list[str] = Field(description="Non-elementary functions in the answer, named.")
    source: Literal["model", "sympy"]
    verification: Verification
    search: Search
    model: ModelName | None = Field(description="null when no model had a part in the answer.")
    cached: bool
    timing_ms: Timing


class IntegralUnsolved(BaseModel):
    """No answer that could be verified in time; for a definite integral maybe its value."""

    status: Literal["unsolved"] = "unsolved"
    input: UnderstoodIntegral
    answer: None = None
    value: float | str | None = Field(None, description="By quadrature alone.")
    error_estimate: float | None = Field(None, description="Absolute error of `value`.")
    convergence: Literal["proper", "improper", "divergent"] | None = None
    source: None = None
    verification: None = None
    reason: str = Field(description="Why there is none.")
    search: Search
    model: ModelName | None
    cached: Literal[False] = False
    timing_ms: Timing
