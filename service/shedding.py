"""Refusals that cost little: by the body's bytes, before anything in it is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Protocol

from starlette.types import Message, Scope, Send

from service.lifecycle import CAME_LATE
from service.singleflight import SingleFlight
from service.tasks import is_batch, task_at


class Route(Protocol):
    """What is asked at one address."""

    path: str


class Shedding:
    """Refuses questions unread while as many are in work as may be.

    To see whether the cache has an answer, a question must be parsed and normalised, which
    costs several times what HTTP itself does: at a multiple of what the service can do,
    refusing alone would keep it busy. So while it is full only such bodies pass that
    had an answer before, the last ``bodies`` of them. Another spelling of a known question is
    refused until there is a place again.

    ``flights`` gives where questions are counted, or None before the service is ready.
    """

    def __init__(
        self, routes: Iterable[Route], bodies: int, flights: Callable[[], SingleFlight | None]
    ) -> None:
        self._routes = {
            route.path: (route, task_at(route.path), is_batch(route.path)) for route in routes
        }
        self._bodies = bodies
        self._flights = flights
        self._answered: OrderedDict[bytes, None] = OrderedDict()

    def check(self, scope: Scope, body: bytes) -> None:
        """Raises :class:`Problem` (429) for a question that is one too many."""
        asked = self._asked(scope)
        flights = self._flights()
        if asked is None or flights is None or scope[CAME_LATE]:
            return
        route, task, batch = asked
        busy = flights.limit.backlogged if batch else flights.limit.full(task)
        if not busy or _digest(scope, body) in self._answered:
            return
        scope["route"] = route  # for the log and the metrics, since nobody will look for it
        raise flights.refusal(task)

    def remembering(self, scope: Scope, body: bytes, send: Send) -> Send:
        """``send``, and the ``body`` is remembered if it gets an answer."""
        if not self._bodies or self._asked(scope) is None:
            return send

        async def send_and_remember(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                digest = _digest(scope, body)
                self._answered[digest] = None
                self._answered.move_to_end(digest)
                if len(self._answered) > self._bodies:
                    self._answered.popitem(last=False)
            await send(message)

        return send_and_remember

    def _asked(self, scope: Scope) -> tuple[Route, str, bool] | None:
        return self._routes.get(scope["path"]) if scope["method"] == "POST" else None


def _digest(scope: Scope, body: bytes) -> bytes:
    return blake2b(body, digest_size=16, key=scope["path"].encode()).digest()
