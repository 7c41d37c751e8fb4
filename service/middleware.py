"""Pure ASGI middleware: request ids, one log line a request, limits on bodies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.problems import Problem
from service.requestid import adopt_request_id

_log = structlog.get_logger("calcert.request")

#: Called once a request with its route template, method, status and seconds.
Observer = Callable[[str, str, int, float], None]


class RequestLog:
    """Gives each request an id, logs it in one line, and turns a crash into a problem.

    The id comes from ``X-Request-ID`` or is made here, and goes back in the
    same header. Nothing of the body is logged.
    """

    def __init__(self, app: ASGIApp, observe: Observer) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = adopt_request_id(Headers(scope=scope).get("x-request-id", ""))
        started = time.perf_counter()
        status = 0

        async def tagged_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        try:
            await self.app(scope, receive, tagged_send)
        except Exception as error:
            _log.error("crash", request_id=request_id, exc_info=error)
            if status:
                raise  # half an answer is out: the connection has to break
            problem = Problem(
                "internal", "The request could not be finished; the log has it under its id."
            )
            await problem.response()(scope, receive, tagged_send)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "none")
            self.observe(route, scope["method"], status, seconds)
            _log.info(
                "request",
                request_id=request_id,
                method=scope["method"],
                route=route,
                status=status,
                ms=round(1000 * seconds, 2),
            )


class BodyLimit:
    """Reads the body before the application does: 413 past a size, 408 past a time.

    A declared length over the limit is refused without reading anything.
    """

    def __init__(self, app: ASGIApp, limit: int, timeout_s: float) -> None:
        self.app = app
        self.limit = limit
        self.timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared[:20]) > self.limit:
            await self._refuse(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.timeout_s):
                body, gone = await self._read(receive)
        except TimeoutError:
            problem = Problem(
                "slow-body",
                f"The body did not arrive within {self.timeout_s:g} s.",
                headers={"Connection": "close"},
            )
            await problem.response()(scope, receive, send)
            return
        if gone:
            return
        if len(body) > self.limit:
            await self._refuse(scope, receive, send)
            return
        first: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def replay() -> Message:
            nonlocal first
            if first is not None:
                message, first = first, None
                return message
            return await receive()

        await self.app(scope, replay, send)

    async def _read(self, receive: Receive) -> tuple[bytes, bool]:
        """The body, at most a chunk longer than the limit, and whether the client has gone."""
        chunks: list[bytes] = []
        size = 0
        more = True
        while more and size <= self.limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b"", True
            chunk = message.get("body", b"")
            chunks.append(chunk)
            size += len(chunk)
            more = message.get("more_body", False)
        return b"".join(chunks), False

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = Problem(
            "body-too-large",
            f"A body may have {self.limit} bytes.",
            headers={"Connection": "close"},
        )
        await problem.response()(scope, receive, send)
