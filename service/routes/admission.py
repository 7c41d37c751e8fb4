"""What comes before every question."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from service.access import HEADER
from service.lifecycle import CAME_LATE, DRAINING
from service.problems import Problem
from service.resources import ResourcesOf


async def admit(request: Request, resources: ResourcesOf) -> str:
    """The client's name; one question is counted.

    Raises :class:`Problem`: 503 while the service is being stopped, 401 without a key
    where one is needed, 429 for a client that asks too much.
    """
    if request.scope.get(CAME_LATE, DRAINING.is_set()):
        raise Problem(
            "draining",
            "This service is being stopped; another will answer.",
            headers={"Retry-After": "1", "Connection": "close"},
        )
    address = request.client.host if request.client else ""
    client = resources.access.client(request.headers.get(HEADER), address)
    await resources.access.spend(client, 1)
    return client


#: A route's parameter of this type is given the client's name.
Client = Annotated[str, Depends(admit)]
