"""The command ``calcert`` with ``--server``, and everything it can print and draw."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from service.cli import app
from tests.redis_server import free_port

BRAILLE = {chr(code) for code in range(0x2801, 0x2900)}


@pytest.fixture
def calcert(base_url: str) -> Any:
    """Runs the command here against a running service, as a script would see it."""

    def run(*arguments: str, typed: str = "") -> Result:
        environment = {"CALCERT_SERVER": base_url, "NO_COLOR": "1", "COLUMNS": "100"}
        return CliRunner(env=environment).invoke(
            app, [*arguments, "--timeout", "30"], input=typed, prog_name="calcert"
        )

    return run


def on_a_terminal(base_url: str, *arguments: str, typed: str = "") -> tuple[str, int]:
    """What a person sees on a terminal, and the exit code; standard input is a pipe."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", *arguments, "--timeout", "30"],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "CALCERT_SERVER": base_url, "TERM": "xterm-256color", "COLUMNS": "100"},
    )
    os.close(theirs)
    assert process.stdin is not None
    process.stdin.write(typed.encode())
    process.stdin.close()
    shown = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return shown.decode(), process.wait(timeout=60)


def test_a_server_gives_the_same_answer_as_its_address(calcert: Any) -> None:
    """--json is the object that HTTP returns."""
    found = json.loads(calcert("integrate", "x*exp(x)", "--json").stdout)
    assert (found["status"], found["verification"]["status"]) == ("solved", "proved")
    assert found["constant"] == "C"


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["differentiate", "-x^2"], "-2*x\n"),
        (["differentiate", "x^3", "x^4", "--latex"], "3 x^{2}\n4 x^{3}\n"),
        (["differentiate", "x^3", "--order=2"], "6*x\n"),
        (["integrate", "exp(-x^2)", "--from", "-oo", "--to", "oo"], "sqrt(pi)\n"),
        (["integrate", "x", "--lower", "0", "--upper", "2"], "2\n"),
    ],
)
def test_answers_alone_go_to_standard_output(
    calcert: Any, arguments: list[str], printed: str
) -> None:
    """A formula may begin with a minus; bounds have two names."""
    done = calcert(*arguments)
    assert (done.exit_code, done.stdout) == (0, printed)


def test_steps_follow_the_answer(calcert: Any) -> None:
    """Each is a rule and what it says."""
    answer, *steps = calcert("differentiate", "x^2 sin(x)", "--steps").stdout.splitlines()
    assert answer.startswith("x*")
    assert steps[0].startswith("  Product rule: d/dx[x**2*sin(x)] = ")
    assert any(line.strip().startswith("Power rule") for line in steps)


def test_an_unsolved_question_exits_with_1(calcert: Any) -> None:
    """The reason goes to standard error."""
    done = calcert("differentiate", "gamma(x)", "--engine", "model")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "not found" in done.stderr


def test_the_worst_of_several_counts(calcert: Any) -> None:
    """One that is not understood among others makes 2."""
    done = calcert("differentiate", "x", "x+", "sin(x)")
    assert (done.exit_code, done.stdout) == (2, "1\n\ncos(x)\n")
    assert "x+: " in done.stderr


def test_json_of_a_mistake_is_the_problem(calcert: Any) -> None:
    """A program reads what is wrong in the same place as an answer."""
    done = calcert("integrate", "x", "--from", "0", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["type"] == "/problems/missing-bound"


def test_nobody_there_exits_with_3() -> None:
    """A script can tell a service that is down from a question that is wrong."""
    nobody = f"127.0.0.1:{free_port()}"
    done = CliRunner().invoke(app, ["differentiate", "x", "--server", nobody])
    assert (done.exit_code, done.stdout) == (3, "")
    assert nobody in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["differentiate", "x", "--latx"], "--latex"),
        (["differentiate", "x", "--json", "--latex"], "Choose one"),
        (["differentiate", "x", "--plot", "x.jpeg"], "png"),
        (["differentiate", "x", "--plot", "none/x.png"], "no folder"),
        (["differentiate", "x", "--range", "3", "1"], "--range"),
        (["differentiate", "x", "--order", "11"], "--order"),
        (["heat", "x", "--alpha", "-1"], "alpha"),
        (["heat", "x", "--samples", "x.csv"], "not both"),
        (["heat", "--samples", "none.csv"], "none.csv"),
        (["differentiate"], "no formula"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(calcert: Any, arguments: list[str], said: str) -> None:
    """Nothing is guessed, and the exit code is 2."""
    done = calcert(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "name", "begins"),
    [
        (["differentiate", "tan(x)"], "tan.png", b"\x89PNG"),
        (["integrate", "1/x^2", "--from", "1", "--to", "oo"], "area.svg", b"<?xml"),
        (["heat", "x*(1-x)"], "heat.svg", b"<?xml"),
    ],
)
def test_a_picture_is_drawn_into_a_file(
    calcert: Any, tmp_path: Path, arguments: list[str], name: str, begins: bytes
) -> None:
    """The kind is that of the file's name; the answer is printed all the same."""
    done = calcert(*arguments, "--plot", str(tmp_path / name))
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert done.stdout


def test_curves_are_drawn_in_the_terminal(calcert: Any) -> None:
    """--plot without a file is followed by a formula as well as by nothing."""
    for arguments in (["x^2", "--plot"], ["--plot", "x^2"]):
        shown = calcert("differentiate", *arguments, "--range", "0", "2").stdout
        assert shown.startswith("2*x\n")
        assert BRAILLE & set(shown)
        assert "derivative" in shown


def test_heat_is_drawn_in_the_terminal(calcert: Any) -> None:
    """Profiles, and a map with a line a time in shades where there are no colours."""
    shown = calcert("heat", "sin(pi*x)", "--times", "0", "--times", "0.1", "--plot").stdout
    assert BRAILLE & set(shown)
    lines = shown.splitlines()
    assert any(line.lstrip().startswith("t = 0 ") and "█" in line for line in lines)
    assert any("t = 0.1 " in line and "░" in line and "█" not in line for line in lines)


@pytest.mark.parametrize("content", ["0\n0.5\n1\n0\n", "x,u\n0,0\n0.3,1\n1,0\n", "0 1 0"])
def test_samples_are_read_from_a_file(calcert: Any, tmp_path: Path, content: str) -> None:
    """A column of values, two columns, or values in a row."""
    path = tmp_path / "start.csv"
    path.write_text(content)
    done = calcert("heat", "--samples", str(path), "--times", "0.05", "--points", "5", "--json")
    assert done.exit_code == 0, done.stderr
    assert len(json.loads(done.stdout)["u"][0]) == 5


def test_people_see_badge_source_and_time(base_url: str) -> None:
    """On a terminal the answer stands in an equation, and says how sure it is."""
    shown, code = on_a_terminal(base_url, "integrate", "x", "--from", "0", "--to", "2")
    assert code == 0
    assert "∫ [0, 2] x dx = " in shown
    assert "✓ proved" in shown
    assert "answered by" in shown
    assert "ms" in shown


def test_a_progress_bar_is_for_people_only(base_url: str, calcert: Any) -> None:
    """Several formulas have one on a terminal; a pipe gets answers alone."""
    several = "x\nx^2\nx^3\n"
    shown, code = on_a_terminal(base_url, "differentiate", "-", typed=several)
    assert code == 0
    assert "/3" in shown
    done = calcert("differentiate", "-", typed=several)
    assert (done.stdout, done.stderr) == ("1\n2*x\n3*x**2\n", "")


def test_a_shell_completes_commands_and_options() -> None:
    """The script that --install-completion writes asks like this."""

    def complete(words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "service.cli"],
            env={
                **os.environ,
                "_CALCERT_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split(" ")) - 1),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    assert "differentiate" in complete("calcert dif")
    assert "--steps" in complete("calcert integrate --st")
    assert "neumann" in complete("calcert heat --boundary ne")
