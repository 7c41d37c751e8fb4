"""The command ``calcert`` in a process of its own, with the models loaded there."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.redis_server import free_port


def calcert(
    *arguments: str, typed: str = "", folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; in ``folder`` as it is installed."""
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments]
        if folder is None
        else [str(Path(sys.executable).with_name("calcert")), *arguments],
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
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


def test_formulas_are_read_one_a_line_and_answered_in_order() -> None:
    """A bad line has its number, leaves an empty line and spoils no other; blank lines are none."""
    done = calcert("differentiate", typed="x^2\n\n1+foo(x)\n-cos(x)\n")
    assert done.stdout == "2*x\n\nsin(x)\n"
    assert "line 3" in done.stderr
    assert "    ^\n" in done.stderr
    assert done.returncode == 2


def test_a_definite_integral_as_json_has_its_value_and_steps() -> None:
    """--from and --to are the service's bounds; --steps is one more member."""
    done = calcert("integrate", "x^2", "--from", "-1", "--to", "1", "--json", "--steps")
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert found["answer"]["text"] == "2/3"
    assert found["input"]["lower"]["text"] == "-1"
    assert found["steps"]["sections"][-1]["steps"]


def test_heat_prints_a_table_into_a_pipe() -> None:
    """CSV: a row a point, a column a time."""
    done = calcert("heat", "sin(pi*x)", "--times", "0,0.1", "--points", "3", "--alpha", "1/2")
    assert done.returncode == 0, done.stderr
    heading, *rows = done.stdout.splitlines()
    assert heading == "x,t=0.0,t=0.1"
    middle = [float(value) for value in rows[1].split(",")]
    assert middle == pytest.approx([0.5, 1, math.exp(-(math.pi**2) * 0.05)], abs=1e-6)


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


def test_modules_of_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    """Whatever is called as a module of Python's or SymPy is in the folder that one works in."""
    for name in ("random", "sympy", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    done = calcert("differentiate", "x**3", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "3*x**2\n"), done.stderr
