"""The command ``calcert``, as a person runs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from tests.redis_server import free_port


def calcert(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment},
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [(["x**3"], "3*x**2\n"), (["a t^3", "--variable=t", "--order=2", "--latex"], "6 a t\n")],
)
def test_differentiate_prints_the_answer_alone_into_a_pipe(
    arguments: list[str], printed: str
) -> None:
    """What a script reads is the formula and nothing else."""
    done = calcert("differentiate", *arguments)
    assert (done.returncode, done.stdout) == (0, printed)


def test_differentiate_json_is_the_answer_of_the_service() -> None:
    """--json prints the object that HTTP would return; nothing verified exits with 1."""
    done = calcert("differentiate", "gamma(t)", "--variable", "t", "--engine", "model", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert (answer["status"], answer["answer"]) == ("unsolved", None)
    assert answer["input"]["variable"] == "t"


def test_a_question_that_is_not_understood_exits_with_2_and_a_caret() -> None:
    """A person sees the place, a script sees the exit code."""
    done = calcert("differentiate", "1+(x")
    assert done.returncode == 2
    assert "1+(x" in done.stderr
    assert "^" in done.stderr
    assert done.stdout == ""


def test_an_unclear_variable_exits_with_2() -> None:
    """Symbols are listed instead of guessing."""
    done = calcert("differentiate", "a*b")
    assert done.returncode == 2
    assert "a, b" in done.stderr


def test_serve_says_that_the_port_is_taken() -> None:
    """A second server on one port ends at once with advice."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = calcert("serve", "--port", str(port))
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1:{port}" in done.stderr


def test_sigterm_finishes_what_runs_and_exits_with_0() -> None:
    """A service manager's stop loses no accepted request and is no failure."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "serve", "--port", str(port)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if "running on" in line:
                break
        while httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=60).status_code != 200:
            time.sleep(0.1)
        body = b'{"expression": "sin(cos(tan(x)))^9/(1+x)", "timeout_s": 30}'
        request = (
            b"POST /differentiate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        with socket.create_connection(("127.0.0.1", port), timeout=60) as waiting:
            waiting.sendall(request)
            with socket.create_connection(("127.0.0.1", port), timeout=60) as later:
                # once this one is answered, the one before it was accepted
                later.sendall(b"GET /health/live HTTP/1.0\r\n\r\n")
                assert later.recv(100)
            server.send_signal(signal.SIGTERM)
            answer = b"".join(iter(lambda: waiting.recv(65_536), b""))
        assert b'"status":"solved"' in answer
        assert server.wait(timeout=60) == 0
    finally:
        server.kill()
        server.communicate()


def test_a_wrong_setting_is_named() -> None:
    """A value out of range names its variable."""
    done = calcert("serve", CALCERT_WORKERS="0")
    assert done.returncode == 2
    assert "CALCERT_WORKERS" in done.stderr
