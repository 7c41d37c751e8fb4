"""The command ``calcert``, as a person runs it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest


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


def test_differentiate_prints_the_answer_alone_into_a_pipe() -> None:
    """What a script reads is the formula and nothing else."""
    done = calcert("differentiate", "x**3")
    assert (done.returncode, done.stdout) == (0, "3*x**2\n")


def test_differentiate_latex() -> None:
    """LaTeX is printed when asked for."""
    done = calcert("differentiate", "x**3", "--latex")
    assert (done.returncode, done.stdout) == (0, "3 x^{2}\n")


def test_differentiate_json_is_the_answer_of_the_service() -> None:
    """--json prints the object that HTTP would return, variable and order honoured."""
    done = calcert("differentiate", "t^3*a", "--variable", "t", "--order", "2", "--json")
    answer = json.loads(done.stdout)
    assert answer["status"] == "solved"
    assert answer["input"]["variable"] == "t"
    assert answer["answer"]["text"] == "6*a*t"


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


def test_nothing_verified_exits_with_1() -> None:
    """Without a model that knows it, engine=model has no answer and says why."""
    done = calcert("differentiate", "gamma(x)", "--engine", "model")
    assert done.returncode == 1
    assert "not solved" in done.stderr


def test_serve_says_that_the_port_is_taken() -> None:
    """A second server on one port ends at once with advice."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = calcert("serve", "--port", str(port))
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1:{port}" in done.stderr


def test_a_wrong_setting_is_named() -> None:
    """A value out of range names its variable."""
    done = calcert("serve", CALCERT_WORKERS="0")
    assert done.returncode == 2
    assert "CALCERT_WORKERS" in done.stderr


@pytest.mark.parametrize("command", ["serve", "differentiate"])
def test_help_describes_every_option(command: str) -> None:
    """Each option of a command has a description."""
    done = calcert(command, "--help")
    assert done.returncode == 0
    assert "--help" in done.stdout
