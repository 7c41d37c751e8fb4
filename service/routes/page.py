"""The web page: built files that ship with the package, and nothing from elsewhere."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

router = APIRouter(include_in_schema=False)

FOLDER: Final = Path(__file__).resolve().parent.parent / "static"

#: Everything from this server, no inline script or style, no frames, no forms that post.
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}

#: esbuild puts a hash of the content into these names, so they never change.
_HASHED: Final = re.compile(r"-[0-9A-Z]{8}\.\w+$")


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    zipped: bytes | None
    media_type: str
    etag: str
    cache_control: str


@cache
def _files() -> dict[str, _File]:
    """Every file by its path below the folder; what is not in here does not exist."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        media_type = _TYPES.get(path.suffix)
        if media_type is None or not path.is_file():
            continue
        content = path.read_bytes()
        zipped = None if path.suffix == ".woff2" else gzip.compress(content, mtime=0)
        forever = _HASHED.search(path.name) is not None
        found[path.relative_to(FOLDER).as_posix()] = _File(
            content,
            zipped,
            media_type,
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            "public, max-age=31536000, immutable" if forever else "no-cache",
        )
    return found


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """The page."""
    return _send("index.html", request)


@router.api_route("/static/{path:path}", methods=["GET", "HEAD"])
async def static(path: str, request: Request) -> Response:
    """A file that the page needs."""
    return _send(path, request)


def _send(path: str, request: Request) -> Response:
    file = _files().get(path)
    if file is None:
        raise HTTPException(404)
    headers = {
        "Cache-Control": file.cache_control,
        "ETag": file.etag,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Content-Security-Policy": POLICY,
    }
    given = (
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    )
    if file.etag in given:
        return Response(status_code=304, headers=headers)
    content = file.content
    if file.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content = file.zipped
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type=file.media_type)
