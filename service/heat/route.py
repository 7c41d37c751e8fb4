"""POST /pde/heat."""

from __future__ import annotations

from typing import Final

import numpy as np
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from service.accept import negotiate
from service.heat.render import picture, table
from service.heat.schema import HeatAnswer, HeatRequest, HeatUnsolved
from service.heat.solver import HeatSolver
from service.problems import Problem, responses
from service.resources import Resources, ResourcesOf
from service.routes.admission import admit

router = APIRouter(tags=["heat"], dependencies=[Depends(admit)])

#: In order of preference when a client accepts several equally.
OFFERED: Final = ("application/json", "text/csv", "image/png", "image/svg+xml")


@router.post(
    "/pde/heat",
    response_model=HeatAnswer | HeatUnsolved,
    responses={
        **responses(400, 401, 406, 408, 413, 415, 422, 429, 500, 503, 504),
        200: {"content": {kind: {"schema": {"type": "string"}} for kind in OFFERED[1:]}},
    },
    summary="Solve the heat equation",
)
async def post_heat(body: HeatRequest, request: Request, resources: ResourcesOf) -> Response:
    """Values of the solution, with how they were verified.

    `Accept` chooses the form: JSON, a CSV table with a column a time, or a picture
    (PNG or SVG) of profiles and the space–time map.
    """
    form = negotiate(request.headers.get("accept", "*/*"), OFFERED)
    answer = await solver(resources).solve(body, formula=form == OFFERED[0])
    if form == OFFERED[0]:
        return Response(answer.model_dump_json(), media_type=form)
    if isinstance(answer, HeatUnsolved):
        raise Problem("unsolved", answer.reason, status=504, title="No answer in time")
    x, times, u = (np.array(part) for part in (answer.x, answer.times, answer.u))
    headers = {
        "X-Verification": answer.verification.status,
        "X-Source": answer.source,
    }
    if form == "text/csv":
        return Response(table(x, times, u), headers=headers, media_type=form)
    given = answer.input.initial_condition
    title = f"u(x, 0) = {given if isinstance(given, str) else given.text}"
    kind = "png" if form == "image/png" else "svg"
    drawn = await solver(resources).draw(picture, x, times, u, title, kind)
    return Response(drawn, headers=headers, media_type=form)


def solver(resources: Resources) -> HeatSolver:
    """What answers questions about heat."""
    return HeatSolver(
        resources.heat, resources.pool, resources.settings, resources.flights, resources.metrics
    )
