"""What the documentation shows can be run as it stands, on another port."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
HERE = "http://127.0.0.1:8000"


def blocks(language: str) -> list[tuple[str, str]]:
    """(page, code) of every block that asks a service."""
    return [
        (path.relative_to(DOCS).as_posix(), code)
        for path in sorted(DOCS.rglob("*.md"))
        for code in re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.M)
        if HERE in code
    ]


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_in_the_documentation_runs(base_url: str, page: str, code: str) -> None:
    """Every Python block raises nothing."""
    exec(compile(code.replace(HERE, base_url), page, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("page", "code"), blocks("bash"))
def test_commands_in_the_documentation_are_answered(base_url: str, page: str, code: str) -> None:
    """Every curl command gets a verified answer."""
    done = subprocess.run(
        ["bash", "-c", code.replace(HERE, base_url)], capture_output=True, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    assert found["status"] == "solved", page
    assert found["verification"]["status"] in ("proved", "numeric")
