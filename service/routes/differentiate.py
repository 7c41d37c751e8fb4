"""POST /differentiate."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from service.problems import responses
from service.resources import ResourcesOf
from service.routes.admission import admit
from service.routes.question import QuestionRoute
from service.schemas import DifferentiateRequest, Solved, Unsolved
from service.solvers.differentiate import differentiate

router = APIRouter(tags=["calculus"], dependencies=[Depends(admit)], route_class=QuestionRoute)


@router.post(
    "/differentiate",
    responses=responses(400, 401, 408, 413, 415, 422, 429, 500, 503, 504),
    summary="Differentiate an expression",
)
async def post_differentiate(
    request: DifferentiateRequest, resources: ResourcesOf
) -> Solved | Unsolved:
    """The derivative, with how it was verified.

    `unsolved` means that nothing could be verified in time; there is no
    unverified answer.
    """
    return await differentiate(request, resources)
