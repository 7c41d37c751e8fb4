"""Pure ASGI middleware: request ids, one log line a request, limits on bodies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.lifecycle import CAME_LATE, DRAINING
from service.problems import Problem
from service.requestid import adopt_request_id
from service.shedding import Shedding

_log = structlog.get_logger("calcert.request")

#: What the log and the metrics call a request whose client went before its answer.
CLIENT_GONE = 499

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
        scope[CAME_LATE] = DRAINING.is_set()
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
            status = status or CLIENT_GONE
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


class RequestBody:
    """Reads the body before the application does, and then watches whether the client stays.

    413 past ``limit`` bytes, and without reading anything when such a length is
    declared; 408 when the body takes longer than ``timeout_s``; 429 for what
    ``shedding`` refuses. When the client goes, what is being done for it is cancelled.
    """

    def __init__(self, app: ASGIApp, limit: int, timeout_s: float, shedding: Shedding) -> None:
        self.app = app
        self.limit = limit
        self.timeout_s = timeout_s
        self.shedding = shedding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.timeout_s):
                body = await self._read(scope, receive)
        except TimeoutError:
            await _refuse(
                Problem("slow-body", f"The body did not arrive within {self.timeout_s:g} s."),
                send,
            )
        except _TooLarge:
            await _refuse(Problem("body-too-large", f"A body may have {self.limit} bytes."), send)
        except _Gone:
            return
        else:
            try:
                self.shedding.check(scope, body)
            except Problem as problem:
                await problem.response()(scope, receive, send)
                return
            send = self.shedding.remembering(scope, body, send)
            await self._serve(scope, body, receive, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """The body. Holds at most a chunk more than the limit."""
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared[:20]) > self.limit:
            raise _TooLarge
        chunks: list[bytes] = []
        size = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            more = message.get("more_body", False)
            if size > self.limit:
                raise _TooLarge
        return b"".join(chunks)

    async def _serve(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application until it is done or the client has gone."""
        first: Message | None = {"type": "http.request", "body": body, "more_body": False}
        gone = asyncio.ensure_future(receive())

        async def replay() -> Message:
            nonlocal first
            if first is not None:
                message, first = first, None
                return message
            return await asyncio.shield(gone)

        serving = asyncio.current_task()
        assert serving is not None
        left = False

        def leave(gone: asyncio.Future[Message]) -> None:
            nonlocal left
            if not gone.cancelled():
                left = serving.cancel()

        gone.add_done_callback(leave)
        try:
            await self.app(scope, replay, send)
        except asyncio.CancelledError:
            # whoever else wants this to end must not be kept waiting
            if not left or serving.uncancel():
                raise
        finally:
            gone.remove_done_callback(leave)
            gone.cancel()


class _TooLarge(Exception):
    pass


class _Gone(Exception):
    """The client closed the connection."""


async def _refuse(problem: Problem, send: Send) -> None:
    """Answer without having read all of the body, so the connection cannot be used again."""
    problem.headers["Connection"] = "close"
    response = problem.response()
    await response({"type": "http"}, _nothing, send)


async def _nothing() -> Message:
    raise AssertionError("a problem reads no body")
