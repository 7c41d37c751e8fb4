"""The files of the page over real HTTP."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.routes.page import FOLDER
from tests.service.http_server import Serving


@pytest.fixture
def client(service: Serving) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        yield client


def assets(client: httpx.Client) -> list[str]:
    return re.findall(r'(?:src|href)="(/static/[^"]+)"', client.get("/").text)


def test_what_the_page_names_is_there(client: httpx.Client) -> None:
    """Script, style and icon are served with their media types."""
    kinds = {Path(a).suffix: client.get(a).headers["content-type"] for a in assets(client)}
    assert kinds[".js"].startswith("text/javascript")
    assert kinds[".css"].startswith("text/css")
    assert kinds[".svg"] == "image/svg+xml"


def test_hashed_files_are_kept_forever_and_the_page_is_asked_for_again(
    client: httpx.Client,
) -> None:
    """A new release reaches every browser at once, and nothing is downloaded twice."""
    script = next(a for a in assets(client) if a.endswith(".js"))
    assert "immutable" in client.get(script).headers["cache-control"]
    first = client.get("/")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline(client: httpx.Client) -> None:
    """The browser is told to refuse other sources, inline code and frames."""
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize(
    "path",
    ["/static/../routes/page.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/"],
)
def test_only_built_files_can_be_had(client: httpx.Client, path: str) -> None:
    """No path leads out of the folder."""
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["type"] == "/problems/not-found"


def test_the_bundle_is_small() -> None:
    """All that a visitor may download is at most 500 KB, compressed."""
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert len(files) > 5
    sizes = [
        len(path.read_bytes() if path.suffix == ".woff2" else gzip.compress(path.read_bytes()))
        for path in files
    ]
    assert sum(sizes) <= 500 * 1024


def test_the_built_files_are_those_of_the_sources(web_sources: Path) -> None:
    """Whoever changes a source builds it: npm run build in service/web."""
    digest = hashlib.sha256()
    for path in sorted((web_sources / "src").iterdir(), key=lambda path: path.name):
        digest.update(path.read_bytes())
    digest.update((web_sources / "package-lock.json").read_bytes())
    assert (FOLDER / "sources.txt").read_text().strip() == digest.hexdigest()
