"""Answers on their way out: head and body in one piece."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Bytes that are sent without waiting for what else there is in this turn of the event loop.
LARGE: Final = 64 * 1024


class Gathered(asyncio.Transport):
    """Writes to ``transport`` together what is written in one turn of the event loop.

    uvicorn writes the head of an answer, then the body, and uvloop sends each at once. A
    packet costs the service as much as some parts of an answer do, and its client wakes up twice.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._written: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> None:
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(data)
        self._size += len(data)
        if self._size > LARGE:
            self._send()

    def _send(self) -> None:
        if self._written:
            data = b"".join(self._written)
            self._written.clear()
            self._size = 0
            self._transport.write(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def abort(self) -> None:
        self._written.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)


class Protocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 over a :class:`Gathered` transport."""

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(Gathered(transport, asyncio.get_running_loop()))
