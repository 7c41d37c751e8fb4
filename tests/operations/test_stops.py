"""Starts that fail and stops that reach every process."""

from __future__ import annotations

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

import models
from tests.operations.process import metric, service

ARTIFACTS = Path(models.__file__).parent / "artifacts"


def descendants(pid: int) -> list[int]:
    """Processes that a process has started, and those that they have."""
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children += map(int, (task / "children").read_text().split())
    return children + [below for child in children for below in descendants(child)]


def ignores(pid: int, number: int) -> bool:
    """Whether a process ignores a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.split("SigIgn:")[1].split()[0], 16)
    return bool(mask >> number - 1 & 1)


def test_a_stop_of_the_whole_group_loses_nothing() -> None:
    """systemd's signal reaches engine, fork server and verifiers; they end after what runs."""
    questions = [f"{n}*x^3*exp(x)*sin(x)" for n in range(2, 14)]
    with service(workers=2, drain_s=2) as running, ThreadPoolExecutor(len(questions)) as pool:
        others = descendants(running.process.pid)
        assert len(others) >= 5  # engine, fork server, two verifiers, Python's resource tracker
        heeding = [pid for pid in others if not ignores(pid, signal.SIGTERM)]
        assert not heeding, [Path(f"/proc/{pid}/cmdline").read_text() for pid in heeding]

        def ask(question: str) -> str:
            body = {"expression": question, "timeout_s": 20}
            return str(
                httpx.post(f"{running.url}/integrate", json=body, timeout=60).json()["status"]
            )

        asked = [pool.submit(ask, question) for question in questions]
        while metric(running.url, "calcert_in_flight_questions") < len(questions) / 2:
            if any(answer.done() for answer in asked):
                break  # the others are on their way
        os.killpg(running.process.pid, signal.SIGTERM)
        answers = [answer.result() for answer in asked]
        # who comes after the signal is told to go elsewhere
        assert set(answers) <= {"solved", "503"}
        assert "solved" in answers
        assert running.process.wait(60) == 0
        assert "Traceback" not in running.log()
        assert '"level": "error"' not in running.log()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_start_that_fails_exits_with_3(tmp_path: Path, processes: int) -> None:
    """And says why, so that a service manager tries again."""
    shutil.copytree(ARTIFACTS / "differentiate", tmp_path / "differentiate")
    for graph in (tmp_path / "differentiate").glob("*.onnx"):
        graph.write_bytes(b"nonsense")
    with service(ready=False, artifacts=tmp_path, processes=processes) as running:
        assert running.process.wait(120) == 3
        assert ".onnx" in running.log()


def test_a_missing_model_is_logged(tmp_path: Path) -> None:
    """A folder without models is not an error, and not silent."""
    with service(artifacts=tmp_path) as running:
        log = running.log()
        assert log.count("a model is missing") == 3
        assert str(tmp_path) in log
