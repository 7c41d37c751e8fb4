"""The id of the request being served."""

from __future__ import annotations

import random
import re
from contextvars import ContextVar
from typing import Final

_ACCEPTED: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_current: ContextVar[str] = ContextVar("request_id", default="")


def current_request_id() -> str:
    """The id of the request this task serves; empty outside of one."""
    return _current.get()


def adopt_request_id(offered: str) -> str:
    """Make ``offered`` the current id if it is a plain word of up to 64, else a new one."""
    request_id = offered if _ACCEPTED.match(offered) else f"{random.getrandbits(128):032x}"
    _current.set(request_id)
    return request_id
