"""Messages between an engine and its process, on a stream: a length, then a pickle."""

from __future__ import annotations

import pickle
import struct
from typing import Any, Final

_SIZE: Final = struct.Struct("!I")


def frame(message: Any) -> bytes:
    """``message`` as :class:`Frames` takes it."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _SIZE.pack(len(body)) + body


class Frames:
    """Puts together what arrives in pieces."""

    def __init__(self) -> None:
        self._arrived = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """The messages that ``data`` completes."""
        messages: list[Any] = []
        arrived = self._arrived
        arrived += data
        start = 0
        while len(arrived) >= start + _SIZE.size:
            begin = start + _SIZE.size
            end = begin + _SIZE.unpack_from(arrived, start)[0]
            if len(arrived) < end:
                break
            start = end
            # both ends are ours
            messages.append(pickle.loads(memoryview(arrived)[begin:end]))  # noqa: S301
        del arrived[:start]
        return messages
