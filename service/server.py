"""The server process: from the command line to the application and back to an exit code."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from types import FrameType
from typing import Final

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from service.app import create_app
from service.collector import settle
from service.engine.errors import DeviceUnavailable
from service.engine.session import providers
from service.lifecycle import DRAINING, FAILED
from service.logs import configure_logs
from service.settings import Settings
from service.tracing import MissingExtra
from service.transport import Protocol

_log = structlog.get_logger(__name__)

#: Exit code when the service could not be started; uvicorn's own is the same.
START_FAILED: Final = 3

#: Seconds beyond the longest deadline that a stop waits for what runs.
GRACE_S: Final = 5


#: Seconds that an idle connection is kept. Proxies keep theirs for a minute, and a question sent
#: on one that is being closed at this end is lost.
KEEP_ALIVE_S: Final = 75


class Server(uvicorn.Server):
    """Stops listening ``drain_s`` seconds after SIGTERM, and when the start has failed."""

    def __init__(self, config: uvicorn.Config, drain_s: float) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        wait = self._drain_s if sig == signal.SIGTERM and not DRAINING.is_set() else 0.0
        DRAINING.set()
        if not wait:
            super().handle_exit(sig, frame)
            return
        timer = threading.Timer(wait, super().handle_exit, (sig, frame))
        timer.daemon = True
        timer.start()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or FAILED.is_set()


def run(settings: Settings) -> None:
    """Serve until a signal; leaves with ``SystemExit``, 0 after SIGTERM."""
    configure_logs(settings)
    # uvicorn finishes what runs and then sends itself the signal again: a clean end, not a death
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if settings.processes > 1:
        _run_several(settings)
        return
    try:
        app = create_app(settings, on_ready=settle)
    except MissingExtra as error:
        _log.critical("the service could not be started", error=str(error))
        sys.exit(START_FAILED)
    Server(_config(settings, app), settings.drain_s).run()
    if FAILED.is_set():
        sys.exit(START_FAILED)


def application() -> FastAPI:
    """The application of one of several processes, which has only the environment to go by."""
    settings = Settings()
    configure_logs(settings)
    return create_app(settings, on_ready=settle)


def _run_several(settings: Settings) -> None:
    try:
        providers(settings.device)  # else each of the processes would fail, again and again
    except DeviceUnavailable as error:
        _log.critical("the service could not be started", error=str(error))
        sys.exit(START_FAILED)
    with tempfile.TemporaryDirectory(prefix="calcert-metrics-") as folder:
        # prometheus-client keeps the metrics of all processes there
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        config = _config(settings, "service.server:application")
        sock = config.bind_socket()
        supervisor = Multiprocess(config, sockets=[sock])
        supervisor.run()
        # it stops when a process could not start, since the next one could not, either
        if any(process.exitcode == START_FAILED for process in supervisor.processes):
            sys.exit(START_FAILED)


def _config(settings: Settings, app: FastAPI | str) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=settings.processes,
        host=settings.host,
        port=settings.port,
        http=Protocol,
        log_config=None,
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(settings.timeout_max_s) + GRACE_S,
    )
