"""The process of an engine as the event loop sees it."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import socket
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from typing import Final, cast

from service.engine.errors import EngineDied
from service.engine.process import Ready, Report, Request, Setup, serve
from service.frames import Frames, frame
from service.processes import launch

#: Seconds that a process may take to end by itself.
_END_S: Final = 5.0


class Link(asyncio.Protocol):
    """A process and our end of the stream to it.

    ``on_report`` is told what it reports, ``on_lost`` that it has ended, or is being ended.
    """

    def __init__(
        self,
        process: SpawnProcess,
        on_report: Callable[[Report], None],
        on_lost: Callable[[Link], None],
    ) -> None:
        self._process = process
        self._on_report = on_report
        self._on_lost = on_lost
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._frames = Frames()
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(
        cls, setup: Setup, on_report: Callable[[Report], None], on_lost: Callable[[Link], None]
    ) -> tuple[Link, Ready]:
        """A process that is ready for requests.

        Raises what it raised as it began, ``OSError``, and :class:`EngineDied`.
        """
        ours, theirs = socket.socketpair()
        process = multiprocessing.get_context("spawn").Process(
            target=serve, args=(theirs,), name="engine", daemon=True
        )
        link = cls(process, on_report, on_lost)
        await asyncio.get_running_loop().create_connection(lambda: link, sock=ours)
        try:
            with theirs:
                await asyncio.to_thread(launch, process)
            link.send(setup)
            return link, await link._ready
        except BaseException:
            await link.end()
            raise

    @property
    def pid(self) -> int | None:
        """Of the process."""
        return self._process.pid

    def send(self, message: Setup | Request | int) -> None:
        """Send ``message`` when there is room."""
        assert self._transport is not None
        self._transport.write(frame(pickle.dumps(message)))

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    async def end(self) -> None:
        """Close the stream, which ends the process; kill it when it does not."""
        if self._transport is not None:
            self._transport.close()
        if self.pid is None:
            return
        await asyncio.to_thread(self._process.join, _END_S)
        self.kill()
        await asyncio.to_thread(self._process.join, _END_S)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Our end is there."""
        # uvloop's are no subclass
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """The process says something."""
        for received in self._frames.feed(data):
            message = pickle.loads(received)  # noqa: S301 - from our own child
            if isinstance(message, Report):
                self._on_report(message)
            elif self._ready.done():
                continue  # nobody waits for it any more
            elif isinstance(message, Ready):
                self._ready.set_result(message)
            else:
                self._ready.set_exception(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end is closed, or ours."""
        if not self._ready.done():
            self._ready.set_exception(EngineDied("the engine's process ended as it began"))
        self._on_lost(self)
