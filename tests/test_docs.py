"""The documentation says everything there is to say, and nothing that is not so."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.problems import KINDS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))


def test_the_reference_is_what_the_code_says() -> None:
    """No endpoint, setting, metric or option is missing: scripts/reference would change nothing."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference", "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", ["settings", "metrics", "command", "endpoints"])
def test_everything_in_the_reference_is_explained(page: str) -> None:
    """A setting, metric, option or field without a description has an empty last cell."""
    rows = [
        line.rstrip().removesuffix("|").split(" | ")
        for line in (DOCS / "reference" / f"{page}.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    assert len(rows) > 10
    assert [row[0] for row in rows if not row[-1].strip()] == []


def _slugs() -> Iterator[str]:
    """Every type of problem and code of a parse error in the sources."""
    for folder in ("service", "tokenizer"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    given = node.args[:1] if name == "Problem" else []
                    given += [k.value for k in node.keywords if k.arg == "code"]
                elif isinstance(node, ast.arguments):
                    pairs = zip(node.kwonlyargs, node.kw_defaults, strict=True)
                    given = [value for arg, value in pairs if arg.arg == "code" and value]
                else:
                    continue
                yield from (str(one.value) for one in given if isinstance(one, ast.Constant))


def test_every_error_is_documented_and_no_other() -> None:
    """Each type of problem and each code of a parse error has its line, and only those."""
    text = (DOCS / "reference" / "errors.md").read_text()
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE))
    assert documented == set(_slugs()) | set(KINDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links and pictures exist."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_menu() -> None:
    """No page is written that nobody finds."""
    menu = (DOCS / "site" / "mkdocs.yml").read_text()
    assert [p.name for p in PAGES if p.relative_to(DOCS).as_posix() not in menu] == []
