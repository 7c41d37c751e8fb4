"""Where this server process is in its life; one of each a process."""

from __future__ import annotations

import threading
from typing import Final

#: Set once a stop was asked for: new questions are refused, what runs is finished.
DRAINING: Final = threading.Event()

#: Set when the service could not be started; a server that sees it exits.
FAILED: Final = threading.Event()
