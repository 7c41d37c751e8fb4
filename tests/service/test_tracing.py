"""Traces, received by a collector of our own."""

from __future__ import annotations

import gzip
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.operations.process import service

pytest.importorskip("opentelemetry.sdk", reason="the extra `tracing` is not installed")


@contextmanager
def collector() -> Iterator[tuple[str, queue.Queue[bytes]]]:
    """An OTLP endpoint: its URL, and the bodies that arrive."""
    arrived: queue.Queue[bytes] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            arrived.put(gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", arrived
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_request_is_a_span_without_its_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector gets a span with the route, and neither it nor the log tells what was asked."""
    with collector() as (url, arrived):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        with service(tracing=True) as running:
            asked = {"expression": "asinh(x)"}
            answer = httpx.post(f"{running.url}/differentiate", json=asked, timeout=60)
            assert answer.status_code == 200
            spans = arrived.get(timeout=30)
            while b"POST /differentiate" not in spans:
                spans += arrived.get(timeout=30)
            assert b"calcert" in spans
            assert b"asinh" not in spans
            assert "asinh" not in running.log()
