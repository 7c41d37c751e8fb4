"""The body and the answer of POST /pde/heat."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.schemas import Format, Formula, ModelName, Request, Timeout
from tokenizer.limits import DEFAULT_LIMITS

#: What one request may ask for; also in GET /info.
LIMITS: Final = {
    "heat_points": 4097,
    "heat_samples": 8193,
    "heat_times": 256,
    "heat_values": 262_144,
}

Number = float | int
Text = Annotated[str, Field(min_length=1, max_length=DEFAULT_LIMITS.characters)]
Quantity = Annotated[
    Number | Text, Field(description='A number, or an expression without symbols such as "pi/2".')
]


class Samples(Request):
    """Values u at increasing x, on any grid."""

    x: list[Number] = Field(max_length=LIMITS["heat_samples"])
    u: list[Number] = Field(max_length=LIMITS["heat_samples"])


class End(Request):
    """What holds at one end of a mixed problem: a value or a slope."""

    u: Quantity | None = None
    u_x: Quantity | None = None


class BoundaryRequest(Request):
    """Conditions at x = 0 and x = length, constant in time."""

    kind: Literal["dirichlet", "neumann", "periodic", "mixed"] = Field(
        "dirichlet",
        description="`dirichlet`: values u; `neumann`: slopes u_x (0 is insulated); "
        "`periodic`: u and u_x agree at both ends; `mixed`: a value at one end, "
        "a slope at the other.",
    )
    left: Quantity | End | None = Field(
        None,
        description='Default 0. Mixed: "u=0" or "u_x=0" with any number, or {"u": 0}.',
    )
    right: Quantity | End | None = None


class HeatRequest(Request):
    """u_t = alpha u_xx + source_term on 0 ≤ x ≤ length, from an initial condition."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"initial_condition": "x*(1-x)", "alpha": 1.0, "times": [0.01, 0.1]},
                {
                    "initial_condition": "Piecewise((0, x < 1/2), (1, True))",
                    "length": "pi",
                    "times": [0.1],
                    "boundary": {"kind": "neumann"},
                    "points": 65,
                },
            ]
        }
    )

    initial_condition: (
        Text | Number | Annotated[list[Number], Field(max_length=LIMITS["heat_samples"])] | Samples
    ) = Field(
        description="An expression in x (text or LaTeX), samples on a uniform grid that "
        "includes both ends, or samples with their x."
    )
    alpha: Quantity = Field(1.0, description="Diffusivity, ≥ 0; 0 keeps the initial condition.")
    length: Quantity = Field(1.0, description="Length of the interval, > 0.")
    times: Quantity | Annotated[list[Quantity], Field(max_length=LIMITS["heat_times"])] = Field(
        description="One time or several, each ≥ 0; 0 gives the initial condition."
    )
    boundary: BoundaryRequest = Field(default_factory=BoundaryRequest)
    points: int = Field(
        129, ge=2, le=LIMITS["heat_points"], description="Uniform points, both ends included."
    )
    x: Annotated[list[Number], Field(max_length=LIMITS["heat_points"])] | None = Field(
        None, description="Points in place of `points`: any order, within [0, length]."
    )
    contract: Literal["piecewise_linear", "cell_average"] = Field(
        "piecewise_linear",
        description="What samples stand for: straight lines between them, or averages over "
        "cells that meet half-way between them.",
    )
    source_term: Text | Number = Field("0", description="An expression in x and t.")
    engine: Literal["auto", "model", "spectral"] = Field(
        "auto",
        description="`auto`: the model, and exact formulas where it fails its check; "
        "`model`: never the formulas; `spectral`: never the model.",
    )
    format: Format = "auto"
    timeout_s: Timeout | None = Field(None, description="Absent: the service's default.")


class HeatVerification(BaseModel):
    """How good the values are, measured on this very answer."""

    status: Literal["proved", "numeric", "refuted"] = Field(
        description="`proved`: SymPy proved the closed form and the values agree with it; "
        "`numeric`: the values agree with the reference; `refuted`: they do not."
    )
    method: str = Field(description="What was compared, and to what tolerance.")
    reference: Literal["spectral", "images"] = Field(
        description="The exact formula compared with: modes, or mirror images."
    )
    relative_l2: list[float | None] = Field(
        description="‖u - reference‖ / ‖reference‖, one a time; null where not compared."
    )
    max_abs: list[float | None] = Field(description="max |u - reference|, one a time.")
    maximum_principle: bool | None = Field(
        description="No value beyond initial and boundary values; null where heat is added."
    )
    energy_decay: bool | None = Field(
        description="∫v² of the homogeneous part v never grows from one time to the next; "
        "null when all times are too early to tell."
    )
    semigroup: float | None = Field(
        description="max |S(t/2)S(t/2)v - S(t)v| / max |v₀| at the last time; "
        "null when there is no positive time."
    )
    input_error_bound: float = Field(
        description="What the input's form costs at most, absolute: for samples under "
        "piecewise_linear, from their second differences; for cell averages, half the "
        "largest step between cells; for an expression, from quadrature."
    )
    elapsed_ms: float


class ClosedForm(Formula):
    """u(x, t) as a formula."""

    exact: bool = Field(description="Whether it is the whole solution or a truncated series.")
    terms: int = Field(description="Number of modes written out.")
    checks: dict[str, str] = Field(
        description="equation, boundary, initial_value: `proved`, `numeric`, or for a "
        "truncated series `truncated`."
    )
    max_abs: float | None = Field(description="max |formula - u| over the values returned.")


class HeatModelName(ModelName):
    """Which weights, and what they solved."""

    part: str = Field(description="What the model computed; the rest is exact formulas.")


class HeatInput(BaseModel):
    """The question as it was understood."""

    initial_condition: Formula | str
    source_term: Formula | None
    alpha: float
    length: float
    boundary: dict[str, Any]
    notes: list[str] = Field(description="What was decided where the input left a choice.")


class HeatAnswer(BaseModel):
    """Values u[m][q] at times[m] and x[q], in the order asked."""

    status: Literal["solved"] = "solved"
    input: HeatInput
    x: list[float]
    times: list[float]
    u: list[list[float]]
    source: Literal["model", "spectral"]
    verification: HeatVerification
    closed_form: ClosedForm | None
    model: HeatModelName | None
    cached: bool
    timing_ms: dict[str, float]


class HeatUnsolved(BaseModel):
    """No values that could be verified in time."""

    status: Literal["unsolved"] = "unsolved"
    input: HeatInput
    u: None = None
    source: None = None
    verification: None = None
    reason: str = Field(description="Why there are none.")
    cached: Literal[False] = False
    timing_ms: dict[str, float]
