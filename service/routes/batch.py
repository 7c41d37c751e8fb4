"""POST /…/batch: many questions in one request."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field, WithJsonSchema
from starlette.responses import Response

from service import schemas
from service.accept import negotiate
from service.batches import JSON, MOST_ITEMS, NDJSON, Batch
from service.heat import route as heat
from service.heat.schema import HeatAnswer, HeatRequest, HeatUnsolved
from service.problems import ProblemDetails, responses
from service.resources import Resources, ResourcesOf
from service.routes.admission import Client, admit
from service.schemas import DifferentiateRequest, Solved, Unsolved
from service.solvers.differentiate import differentiate
from service.solvers.integrate import integrate
from service.solvers.integrate_schema import IntegralSolved, IntegralUnsolved, IntegrateRequest
from service.tasks import DIFFERENTIATE, HEAT, INTEGRATE

router = APIRouter(tags=["batches"], dependencies=[Depends(admit)])

A = TypeVar("A")
Q = TypeVar("Q", bound=BaseModel)


def _items(question: str) -> Any:
    """A list of ``question``; anything else gets a 422 in its own place."""
    item = Annotated[
        Any,
        WithJsonSchema({"anyOf": [{"$ref": f"#/components/schemas/{question}"}, {}]}),
    ]
    return Annotated[
        list[item],
        Field(
            min_length=1,
            max_length=MOST_ITEMS,
            description=f"Each as the body of a single request ({question}).",
        ),
    ]


class DifferentiateBatch(schemas.Request):
    """Derivatives that are wanted."""

    items: _items("DifferentiateRequest")  # type: ignore[valid-type]


class IntegrateBatch(schemas.Request):
    """Integrals that are wanted."""

    items: _items("IntegrateRequest")  # type: ignore[valid-type]


class HeatBatch(schemas.Request):
    """Heat problems to solve."""

    items: _items("HeatRequest")  # type: ignore[valid-type]


class Outcome(BaseModel, Generic[A]):
    """What became of one question."""

    index: int = Field(description="Its place among the questions, from 0.")
    status: int = Field(description="The HTTP status it would have had alone.")
    result: A | None = Field(description="As the body of a single answer; null on a problem.")
    problem: ProblemDetails | None


class Outcomes(BaseModel, Generic[A]):
    """What became of each question, in their order."""

    items: list[Outcome[A]]


_RESPONSES: dict[int | str, dict[str, Any]] = {
    **responses(400, 401, 406, 408, 413, 415, 422, 429, 500, 503),
    200: {
        "content": {
            NDJSON: {
                "schema": {
                    "type": "string",
                    "description": "One outcome a line, as they finish; `index` says whose.",
                }
            }
        }
    },
}


@router.post(
    "/differentiate/batch",
    response_model=Outcomes[Solved | Unsolved],
    responses=_RESPONSES,
    summary="Differentiate many expressions",
)
async def post_differentiate_batch(
    body: DifferentiateBatch, request: Request, resources: ResourcesOf, client: Client
) -> Response:
    """Each question is answered as if it were alone; a bad one never spoils the rest.

    With `Accept: application/x-ndjson` outcomes arrive as they finish.
    """
    solve = partial(differentiate, resources=resources)
    return await _respond(
        DIFFERENTIATE, body.items, DifferentiateRequest, solve, request, resources, client
    )


@router.post(
    "/integrate/batch",
    response_model=Outcomes[IntegralSolved | IntegralUnsolved],
    responses=_RESPONSES,
    summary="Integrate many expressions",
)
async def post_integrate_batch(
    body: IntegrateBatch, request: Request, resources: ResourcesOf, client: Client
) -> Response:
    """Each question is answered as if it were alone; a bad one never spoils the rest.

    With `Accept: application/x-ndjson` outcomes arrive as they finish.
    """
    solve = partial(integrate, resources=resources)
    return await _respond(
        INTEGRATE, body.items, IntegrateRequest, solve, request, resources, client
    )


@router.post(
    "/pde/heat/batch",
    response_model=Outcomes[HeatAnswer | HeatUnsolved],
    responses=_RESPONSES,
    summary="Solve many heat problems",
)
async def post_heat_batch(
    body: HeatBatch, request: Request, resources: ResourcesOf, client: Client
) -> Response:
    """Each problem is solved as if it were alone; a bad one never spoils the rest.

    With `Accept: application/x-ndjson` outcomes arrive as they finish.
    """
    solve = heat.solver(resources).solve
    return await _respond(HEAT, body.items, HeatRequest, solve, request, resources, client)


async def _respond(
    task: str,
    items: list[Any],
    question: type[Q],
    solve: Any,
    request: Request,
    resources: Resources,
    client: str,
) -> Response:
    form = negotiate(request.headers.get("accept", "*/*"), (JSON, NDJSON))
    resources.flights.check_batch(task)
    await resources.access.spend(client, len(items) - 1)
    return Batch(task, items, question, solve, resources).response(form)
