"""Messages between a process and its children, on a stream: a length, then the message."""

from __future__ import annotations

import select
import socket
import struct
from typing import Final

_SIZE: Final = struct.Struct("!I")

#: The most that is read from a stream at once, in bytes: nearly every message whole.
_CHUNK: Final = 1 << 16


def frame(message: bytes) -> bytes:
    """``message`` as :class:`Frames` takes it."""
    return _SIZE.pack(len(message)) + message


class Frames:
    """Puts together what arrives in pieces."""

    def __init__(self) -> None:
        self._arrived = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that ``data`` completes."""
        messages: list[bytes] = []
        arrived = self._arrived
        arrived += data
        start = 0
        while len(arrived) >= start + _SIZE.size:
            begin = start + _SIZE.size
            end = begin + _SIZE.unpack_from(arrived, start)[0]
            if len(arrived) < end:
                break
            start = end
            messages.append(bytes(arrived[begin:end]))
        del arrived[:start]
        return messages


class Inbox:
    """Messages from the other end of ``stream``, for a process that has nothing else to wait for.

    Reading raises ``OSError`` where the stream does.
    """

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._frames = Frames()
        #: Whether the other end is closed.
        self.ended = False

    def poll(self) -> list[bytes]:
        """Those that are there."""
        messages: list[bytes] = []
        while not self.ended and select.select([self._stream], [], [], 0)[0]:
            messages += self._read()
        return messages

    def wait(self) -> list[bytes]:
        """The next ones; none when there will be no more."""
        messages: list[bytes] = []
        while not messages and not self.ended:
            messages += self._read()
        return messages

    def _read(self) -> list[bytes]:
        data = self._stream.recv(_CHUNK)
        self.ended = not data
        return self._frames.feed(data)
