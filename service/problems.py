"""Errors for people: RFC 9457 problem details, one shape whatever went wrong.

Every error of the service is an ``application/problem+json`` object with
``type``, ``title``, ``status``, ``detail`` and ``request_id``. A parse error
adds ``code``, ``position``, ``caret`` and ``hint``; an invalid request adds
``errors``, one entry a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from service.requestid import current_request_id
from tokenizer.errors import ParseError

MEDIA_TYPE: Final = "application/problem+json"

#: Where the type of a problem is documented; the last segment is the slug.
TYPE_PREFIX: Final = "/problems/"

#: slug -> (HTTP status, title). Those of parse errors are added by their code at 422.
KINDS: Final[dict[str, tuple[int, str]]] = {
    "malformed-body": (400, "The body cannot be read"),
    "unknown-key": (401, "A key is needed"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This address does not take that method"),
    "slow-body": (408, "The body took too long to arrive"),
    "body-too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body is not JSON"),
    "invalid-request": (422, "The request is not valid"),
    "ambiguous-variable": (422, "The variable is not clear"),
    "contradiction": (422, "The request contradicts itself"),
    "wrong-task": (422, "Another address answers this"),
    "undefined-expression": (422, "The expression has no value anywhere"),
    "queue-full": (429, "Too much is waiting"),
    "too-many-requests": (429, "This client has asked too much"),
    "internal": (500, "Something went wrong on our side"),
    "not-ready": (503, "The service is not ready"),
    "draining": (503, "The service is being stopped"),
    "deadline": (504, "The deadline passed"),
}

_OF_STATUS: Final = {404: "not-found", 405: "method-not-allowed", 400: "malformed-body"}


class Problem(Exception):
    """An error that a client is told about.

    ``slug`` is a key of :data:`KINDS`, or a new one when ``status`` and
    ``title`` are given. ``extra`` holds further members of the JSON object.
    """

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        status: int | None = None,
        title: str | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        known_status, known_title = KINDS.get(slug, (status, title))
        if known_status is None or known_title is None:
            raise ValueError(f"problem {slug!r} needs a status and a title")
        self.slug = slug
        self.status = known_status
        self.title = known_title
        self.detail = detail
        self.headers = dict(headers or {})
        self.extra = extra

    @classmethod
    def queue_full(cls, what: str) -> Problem:
        """A 429: no more may wait for ``what``."""
        detail = f"As many questions as may wait for {what} are waiting."
        return cls("queue-full", detail, headers={"Retry-After": "1"})

    @classmethod
    def from_parse_error(cls, error: ParseError) -> Problem:
        """A 422 whose slug is the code of the parse error."""
        return cls(
            error.code,
            error.message,
            status=422,
            title="The expression was not understood",
            code=error.code,
            position=error.position,
            caret=error.caret(),
            hint=error.hint,
        )

    @classmethod
    def from_faults(cls, faults: Sequence[Mapping[str, Any]]) -> Problem:
        """A 422 with one entry a field; ``faults`` are those of a pydantic error."""
        messages: dict[str, list[str]] = {}
        for fault in faults[:20]:
            said = messages.setdefault(_field(fault["loc"]), [])
            # a field that may be one of several things says what is wrong with it as each
            if _message(fault) not in said:
                said.append(_message(fault))
        errors = [
            {"field": field, "message": ", or ".join(said)} for field, said in messages.items()
        ]
        detail = "; ".join(f"{entry['field']}: {entry['message']}" for entry in errors[:3])
        return cls("invalid-request", detail, errors=errors)

    def body(self) -> dict[str, Any]:
        """The members of the JSON object."""
        return {
            "type": TYPE_PREFIX + self.slug,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "request_id": current_request_id(),
            **self.extra,
        }

    def response(self) -> Response:
        return Response(self.to_bytes(), self.status, self.headers, MEDIA_TYPE)

    def to_bytes(self) -> bytes:
        """The JSON object."""
        # ASCII only: a client may have sent half a surrogate pair, which UTF-8 cannot carry
        return json.dumps(self.body(), ensure_ascii=True).encode("ascii")


class ProblemDetails(BaseModel):
    """RFC 9457 problem details, as the OpenAPI document shows them."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/unknown-function",
                    "title": "The expression was not understood",
                    "status": 422,
                    "detail": "unknown function foo",
                    "request_id": "0f8c1b7e9a4d4e0c",
                    "code": "unknown-function",
                    "position": 2,
                    "caret": "1+foo(x)\n  ^",
                    "hint": "",
                }
            ]
        },
    )

    type: str = Field(description="Which kind of problem; stays the same between releases.")
    title: str = Field(description="The kind in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong with this request.")
    request_id: str = Field(description="As in the header X-Request-ID.")
    code: str | None = Field(None, description="Parse errors: the kind of mistake.")
    position: int | None = Field(
        None, description="Parse errors: where, in code points from the start."
    )
    caret: str | None = Field(None, description="Parse errors: the place, pointed at.")
    hint: str | None = Field(None, description="What would work.")


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses=`` of a route that may answer with these problems."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Make every error that ``app`` handles a problem; RequestLog does so for crashes."""

    async def on_problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return error.response()

    async def on_parse_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ParseError)
        return Problem.from_parse_error(error).response()

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _from_validation(request, error).response()

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        slug = _OF_STATUS.get(error.status_code)
        if slug is None:
            title = HTTPStatus(error.status_code).phrase
            slug = title.lower().replace(" ", "-")
        else:
            title = ""
        detail = _DETAILS.get(error.status_code, error.detail)
        return Problem(
            slug,
            detail.format(path=request.url.path[:200], method=request.method),
            status=error.status_code,
            title=title,
            headers=error.headers,
        ).response()

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = FastAPI.openapi(app)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas["ProblemDetails"] = ProblemDetails.model_json_schema()
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way
    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(ParseError, on_parse_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)


_DETAILS: Final = {
    404: "Nothing answers at this address; GET /docs lists what does.",
    405: "This address does not take {method}; GET /docs lists what it takes.",
    400: "The body is not valid JSON in UTF-8, or is nested too deeply.",
}


def _from_validation(request: Request, error: RequestValidationError) -> Problem:
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        fault = faults[0]
        position = fault["loc"][-1] if isinstance(fault["loc"][-1], int) else None
        reason = str(fault.get("ctx", {}).get("error", "not valid JSON"))
        return Problem("malformed-body", f"The body is not JSON: {reason}.", position=position)
    content_type = request.headers.get("content-type", "")
    whole_body = [fault for fault in faults if tuple(fault["loc"]) == ("body",)]
    if whole_body and "json" not in content_type.lower():
        return Problem(
            "unsupported-media-type",
            "Send JSON and say so: Content-Type: application/json.",
            hint="curl: -H 'Content-Type: application/json'",
        )
    return Problem.from_faults(faults)


#: What pydantic puts after a field for each type that the field may have.
_ALTERNATIVE: Final = re.compile(r"(float|int|str|bool|.*[\[\]-].*|[A-Z]\w*)\Z", re.DOTALL)


def _field(location: tuple[str | int, ...]) -> str:
    named = [part for part in location if part != "body" and not _ALTERNATIVE.match(str(part))]
    names = [str(part)[:64] for part in named]
    return ".".join(names) or "body"


def _message(fault: Mapping[str, Any]) -> str:
    message = str(fault["msg"])
    return message[:1].lower() + message[1:]
