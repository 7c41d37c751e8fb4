"""Routes at which a question is sent as JSON and its answer comes back as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, get_args, get_type_hints

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response

from service.resources import ResourcesOf
from service.routes.admission import admit

_, _RESOURCES = get_args(ResourcesOf)


class QuestionRoute(APIRoute):
    """Answers with what ``endpoint(question, resources)`` gives, both pydantic models.

    FastAPI looks at each request for everything that an endpoint may have (forms, files,
    parameters, overrides, dependencies that have to be closed), which costs as much as all
    else that HTTP does. Here a body that is a valid question goes straight to the endpoint, and
    everything else FastAPI's way, which finds out what is wrong with it and says so.

    Raises ``TypeError`` for a route that needs more than this: other parameters, or
    dependencies besides ``admit``.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        general = super().get_route_handler()
        endpoint = self.endpoint
        hints = get_type_hints(endpoint, include_extras=True)
        hints.pop("return", None)
        model, *others = hints.values()
        if others != [ResourcesOf] or [it.dependency for it in self.dependencies] != [admit]:
            raise TypeError(f"{self.path}: a question and ResourcesOf, after admit, and no more")

        async def handle(request: Request) -> Response:
            question = _question(model, request.headers, await request.body())
            if question is None:
                return await general(request)
            resources = await _RESOURCES.dependency(request)
            await admit(request, resources)
            answer: BaseModel = await endpoint(question, resources)
            return Response(answer.model_dump_json(), media_type="application/json")

        return handle


def _question(model: type[BaseModel], headers: Mapping[str, str], body: bytes) -> BaseModel | None:
    """The body as ``model``; None where it is none, or does not say that it is JSON."""
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return None
    try:
        return model.model_validate(json.loads(body))
    except (ValueError, RecursionError):
        return None
