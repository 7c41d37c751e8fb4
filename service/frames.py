"""Messages between a process and its children, on a stream: a length, then the message."""

from __future__ import annotations

import struct
from typing import Final

_SIZE: Final = struct.Struct("!I")


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
