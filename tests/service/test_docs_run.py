"""What the README and the documentation show can be run as it stands, on another port."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HERE = "http://127.0.0.1:8000"
#: Where scripts/serve puts the command.
INSTALLED = ".calcert/venv/bin/calcert"

#: A block, after a comment that says why it is not run, if it is not.
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    place: str
    language: str
    code: str
    why_not: str | None


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text()
        for found in _BLOCK.finditer(text):
            line = text[: found.start("code")].count("\n")
            place = f"{page.relative_to(ROOT).as_posix()}:{line}"
            yield Block(place, found["language"], found["code"], found["why"])


ALL = list(blocks())


def to_run(language: str) -> list[Any]:
    return [
        pytest.param(block, id=block.place)
        for block in ALL
        if block.language == language and block.why_not is None
    ]


def test_no_block_escapes() -> None:
    """Each is run, read, or has its reason why not; none is hidden by indentation or a typo."""
    languages = {"python", "bash", "json", "yaml", "text"}
    assert [block.place for block in ALL if block.language not in languages] == []
    fences = sum(len(re.findall(r"^\s*```\w+", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert fences == len(ALL)
    indented = re.compile(r"\n\n {4}(?:curl|calcert|scripts/|\.calcert|from |import |pip )")
    assert [page.name for page in PAGES if indented.search(page.read_text())] == []


def test_most_blocks_are_run() -> None:
    """Reasons are the exception; the README itself is run."""
    run = [block.place for language in ("python", "bash") for (block,) in _values(language)]
    assert len(run) >= 15
    assert sum(place.startswith("README.md") for place in run) >= 2
    assert len(run) > sum(block.why_not is not None for block in ALL)


def _values(language: str) -> Iterator[tuple[Block]]:
    for parameter in to_run(language):
        yield parameter.values


@pytest.mark.parametrize("block", to_run("python"))
def test_python_runs(base_url: str, block: Block) -> None:
    """Every Python block raises nothing."""
    code = block.code.replace(HERE, base_url)
    exec(compile(code, block.place, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("block", to_run("bash"))
def test_commands_are_answered(base_url: str, tmp_path: Path, block: Block) -> None:
    """No command fails; what curl prints are verified answers."""
    tools = Path(sys.executable).parent
    done = subprocess.run(
        [
            "bash",
            "-euo",
            "pipefail",
            "-c",
            block.code.replace(HERE, base_url).replace(INSTALLED, "calcert"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "CALCERT_SERVER": base_url,
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if "curl" in block.code:
        answers = list(_objects(done.stdout))
        assert len(answers) == block.code.count("curl ")
        for answer in answers:
            assert answer["status"] == "solved"
            assert answer["verification"]["status"] in ("proved", "numeric")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects, one after the other."""
    decoder = json.JSONDecoder()
    rest = text.strip()
    while rest:
        found, end = decoder.raw_decode(rest)
        yield found
        rest = rest[end:].strip()


def test_data_can_be_read() -> None:
    """JSON and YAML that is shown is JSON and YAML, and Python parses where it is not run."""
    readers: dict[str, Callable[[str], Any]] = {
        "json": json.loads,
        "yaml": yaml.safe_load,
        "python": ast.parse,
    }
    for block in ALL:
        assert readers.get(block.language, str)(block.code), block.place
