"""The real application behind a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from service.app import create_app
from service.lifecycle import FAILED
from service.settings import Settings
from tests.redis_server import free_port


@dataclass(frozen=True, slots=True)
class Serving:
    """A running service: where it answers, and the application itself."""

    url: str
    app: FastAPI


@contextmanager
def serving(settings: Settings) -> Iterator[Serving]:
    """Serve ``create_app(settings)`` from a thread."""
    port = free_port()
    FAILED.clear()  # of another service in this process
    app = create_app(settings)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        give_up = time.monotonic() + 120
        while not server.started or app.state.resources is None:
            if not thread.is_alive() or FAILED.is_set():
                raise RuntimeError("the server ended while it was starting")
            if time.monotonic() > give_up:
                raise RuntimeError("the server did not start within 120 s")
            time.sleep(0.02)
        yield Serving(f"http://127.0.0.1:{port}", app)
    finally:
        server.should_exit = True
        thread.join(timeout=30)
