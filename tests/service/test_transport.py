"""What leaves the service in one piece."""

from __future__ import annotations

import asyncio
import socket

from service.transport import LARGE, Gathered


async def _gathered() -> tuple[Gathered, socket.socket]:
    """A transport, and where what it sends arrives."""
    loop = asyncio.get_running_loop()
    here, there = socket.socketpair()
    there.setblocking(False)
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=here)
    return Gathered(transport, loop), there


def _arrived(there: socket.socket) -> bytes | None:
    try:
        return there.recv(4 * LARGE)
    except BlockingIOError:
        return None


def test_one_turn_is_one_piece() -> None:
    """Nothing is sent before the turn ends, and then all of it in order."""

    async def scenario() -> None:
        gathered, there = await _gathered()
        gathered.write(b"head ")
        gathered.write(b"body")
        assert _arrived(there) is None
        await asyncio.sleep(0)
        assert _arrived(there) == b"head body"
        gathered.write(b"more")
        await asyncio.sleep(0)
        assert _arrived(there) == b"more"
        gathered.abort()
        there.close()

    asyncio.run(scenario())


def test_closing_loses_nothing() -> None:
    """What was written before the end arrives before it."""

    async def scenario() -> None:
        gathered, there = await _gathered()
        gathered.write(b"last words")
        gathered.close()
        assert gathered.is_closing()
        await asyncio.sleep(0.01)
        assert _arrived(there) == b"last words"
        assert _arrived(there) == b""
        there.close()

    asyncio.run(scenario())


def test_much_is_sent_at_once() -> None:
    """A long answer is not held in memory for the end of a turn that may be far."""

    async def scenario() -> None:
        gathered, there = await _gathered()
        gathered.write(b"x" * (LARGE + 1))
        assert _arrived(there)
        gathered.abort()
        there.close()

    asyncio.run(scenario())
