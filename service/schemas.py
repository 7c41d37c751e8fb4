"""What goes in and comes out over HTTP; every field is bounded and none is guessed at."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tokenizer.limits import DEFAULT_LIMITS


class Request(BaseModel):
    """A body: unknown fields, wrong types, NaN and infinities are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


Expression = Annotated[
    str,
    Field(
        min_length=1,
        max_length=DEFAULT_LIMITS.characters,
        description="A formula as people type it, or LaTeX.",
    ),
]
VariableName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="Absent: the only free symbol, else `x` if it is there, else 422.",
    ),
]
Format = Annotated[
    Literal["auto", "text", "latex"], Field(description="How to read the expression.")
]
EngineChoice = Annotated[
    Literal["auto", "model", "sympy"],
    Field(
        description="`auto`: the model, then SymPy if nothing it said could be verified; "
        "`model`: never SymPy; `sympy`: never the model."
    ),
]
Timeout = Annotated[
    float,
    Field(gt=0, le=3600, description="Deadline for everything, in seconds; the service caps it."),
]


class DifferentiateRequest(Request):
    """A derivative that is wanted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"expression": "sin(exp(x**2))"},
                {"expression": "\\frac{\\sin^2 t}{1+t}", "variable": "t", "order": 2},
            ]
        }
    )

    expression: Expression
    variable: VariableName | None = None
    order: int = Field(1, ge=1, le=10, description="How many times to differentiate.")
    format: Format = "auto"
    engine: EngineChoice = "auto"
    timeout_s: Timeout | None = Field(
        None, description="Absent: the service's default, 10 s unless set otherwise."
    )


class Formula(BaseModel):
    """One formula, twice."""

    text: str = Field(description="Valid SymPy syntax.")
    latex: str


class Understood(Formula):
    """The question as it was understood, ambiguity resolved."""

    variable: str


class Verification(BaseModel):
    """Why an answer may be believed."""

    status: Literal["proved", "numeric"] = Field(
        description="`proved`: symbolically; `numeric`: agrees to 30 digits at many points."
    )
    method: str = Field(description="How it was checked.")
    elapsed_ms: float = Field(description="What the check took when it was made.")
    assumptions: list[str] = Field(description="What had to be assumed; empty for nothing.")


class ModelName(BaseModel):
    """Which weights gave an answer."""

    name: str
    version: str


class Timing(BaseModel):
    """Milliseconds by stage. A cached answer has none for the stages it skipped."""

    parse: float
    queue: float = Field(description="Waiting for a place in a batch.")
    model: float
    verify: float = Field(description="Checking the model's hypotheses.")
    fallback: float = Field(description="SymPy's own answer, its check included.")
    total: float


class Solved(BaseModel):
    """An answer, verified."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "status": "solved",
                    "input": {
                        "text": "sin(exp(x**2))",
                        "latex": "\\sin\\left(e^{x^{2}}\\right)",
                        "variable": "x",
                    },
                    "answer": {
                        "text": "2*x*exp(x**2)*cos(exp(x**2))",
                        "latex": "2 x e^{x^{2}} \\cos\\left(e^{x^{2}}\\right)",
                    },
                    "source": "model",
                    "verification": {
                        "status": "proved",
                        "method": "same tree",
                        "elapsed_ms": 3.1,
                        "assumptions": [],
                    },
                    "model": {"name": "differentiate", "version": "1"},
                    "cached": False,
                    "timing_ms": {
                        "parse": 1.2,
                        "queue": 0.4,
                        "model": 21.0,
                        "verify": 4.0,
                        "fallback": 0.0,
                        "total": 27.5,
                    },
                }
            ]
        }
    )

    status: Literal["solved"] = "solved"
    input: Understood
    answer: Formula
    source: Literal["model", "sympy"]
    verification: Verification
    model: ModelName | None = Field(description="null when no model had a part in the answer.")
    cached: bool
    timing_ms: Timing


class Unsolved(BaseModel):
    """No answer that could be verified in time; never a guess."""

    status: Literal["unsolved"] = "unsolved"
    input: Understood
    answer: None = None
    source: None = None
    verification: None = None
    reason: str = Field(description="Why there is none.")
    model: ModelName | None
    cached: Literal[False] = False
    timing_ms: Timing


class ModelInfo(BaseModel):
    """One model that is loaded."""

    version: str
    provider: str = Field(description="ONNX Runtime's execution provider, as it is, not as asked.")
    limits: dict[str, int]


class Info(BaseModel):
    """What this service is made of."""

    name: str
    version: str
    models: dict[str, ModelInfo]
    limits: dict[str, float]
    cache: str


class Health(BaseModel):
    """Whether the service can be used, and its parts one by one."""

    status: Literal["ready", "degraded", "not ready"]
    models: dict[str, str]
    verification: str
    cache: str
