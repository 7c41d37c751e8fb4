"""Where this server process is in its life; one of each a process."""

from __future__ import annotations

import threading
from typing import Final

#: In a request's scope: whether a stop had been asked for when the request arrived.
CAME_LATE: Final = "calcert.came_late"

#: Set once a stop was asked for: new questions are refused, what runs is finished.
DRAINING: Final = threading.Event()

#: Set when the service could not be started; a server that sees it exits.
FAILED: Final = threading.Event()
