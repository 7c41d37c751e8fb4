"""Structured logs: JSON lines for machines, colours for people."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any

import structlog

from service.settings import Settings


class _Lines:
    """Writes what it is given to standard error, a line each; ``name`` is the logger's."""

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, message: str) -> None:
        # nobody who reads the log must not keep anybody from an answer
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(message + "\n")  # looked up anew: it may have been redirected

    debug = info = warning = error = critical = write


def configure_logs(settings: Settings) -> None:
    """Send structlog and the standard library's loggers to standard error in one format.

    Our own lines, one a request at least, do not go through the standard library's
    ``logging``, which takes longer over a line than HTTP over a request.
    """
    people = settings.log_format == "console" or (
        settings.log_format == "auto" and sys.stderr.isatty()
    )
    rendering: list[structlog.types.Processor] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if people
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, *rendering],
        logger_factory=_lines,
        wrapper_class=structlog.make_filtering_bound_logger(settings.log_level),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    # our own line a request says more
    logging.getLogger("uvicorn.access").setLevel("WARNING")


def _lines(*names: Any) -> _Lines:
    return _Lines(names[0])
