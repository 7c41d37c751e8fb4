"""A small HTTP client for load: it shares the cores with the service, so it must cost little."""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit


class Connection:
    """One kept-alive HTTP/1.1 connection to ``url``; one question at a time."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next question opens it again."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body of the answer, which must state its length."""
        try:
            return await self._post(path, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            # it was idle for so long that the service had closed it
            self.close()
            return await self._post(path, body)

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        reader, writer = self._streams or await self._open()
        content = json.dumps(body).encode()
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0])
        return int(head.split(" ", 2)[1]), await reader.readexactly(length)

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._streams = await asyncio.open_connection(self._host, self._port)
        return self._streams
