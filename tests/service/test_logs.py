"""What a process writes to standard error."""

from __future__ import annotations

import json
import subprocess
import sys

_SCRIPT = """
import logging, sys, structlog
from service.logs import configure_logs
from service.settings import Settings

configure_logs(Settings(log_format="json", log_level="info"))
log = structlog.get_logger("calcert.request")
log.debug("unseen")
log.info("request", route="/café", status=200)
logging.getLogger("uvicorn.error").info("started %d", 1)
try:
    1 / 0
except ZeroDivisionError as error:
    log.error("crash", exc_info=error)
"""


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )


def test_ours_and_others_lines_look_alike() -> None:
    """One JSON object a line, with level, logger and time, whoever wrote it."""
    request, started, crash = map(json.loads, _run(_SCRIPT).stderr.splitlines())
    assert (request["event"], request["route"], request["status"]) == ("request", "/café", 200)
    assert (request["level"], request["logger"]) == ("info", "calcert.request")
    assert (started["event"], started["level"]) == ("started 1", "info")
    assert started["logger"] == "uvicorn.error"
    assert crash["exception"].endswith("ZeroDivisionError: division by zero")
    for line in (request, started, crash):
        assert line["timestamp"].endswith("Z")


def test_a_log_that_is_gone_stops_nothing() -> None:
    """With nobody to write to the process goes on."""
    script = "import os\nos.close(2)\n" + _SCRIPT + "print('done', flush=True)\nos._exit(0)"
    assert _run(script).stdout == "done\n"
