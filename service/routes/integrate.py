"""POST /integrate."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from service.problems import responses
from service.resources import ResourcesOf
from service.routes.admission import admit
from service.routes.question import QuestionRoute
from service.solvers.integrate import integrate
from service.solvers.integrate_schema import IntegralSolved, IntegralUnsolved, IntegrateRequest

router = APIRouter(tags=["calculus"], dependencies=[Depends(admit)], route_class=QuestionRoute)


@router.post(
    "/integrate",
    responses=responses(400, 401, 408, 413, 415, 422, 429, 500, 503, 504),
    summary="Integrate an expression",
)
async def post_integrate(
    request: IntegrateRequest, resources: ResourcesOf
) -> IntegralSolved | IntegralUnsolved:
    """An antiderivative, or the value between bounds, with how it was verified.

    `unsolved` means that nothing could be verified in time; a definite integral then
    still has the `value` that quadrature gives, with an estimate of its error.
    """
    return await integrate(request, resources)
