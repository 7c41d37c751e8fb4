"""One running service for the tests of this folder, with the heat model alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from models.heat.artifact import NAME
from service.settings import Settings
from tests.service.http_server import serving

Post = Callable[..., httpx.Response]


@pytest.fixture(scope="session")
def heat_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("artifacts")
    shutil.copytree(Settings().artifacts / NAME, folder / NAME)
    with serving(Settings(workers=2, artifacts=folder)) as running:
        yield running.url


@pytest.fixture
def post(heat_url: str) -> Iterator[Post]:
    """POST /pde/heat with the given fields; ``accept`` sets that header."""
    with httpx.Client(base_url=heat_url, timeout=60) as client:

        def send(accept: str = "application/json", **body: Any) -> httpx.Response:
            return client.post("/pde/heat", json=body, headers={"Accept": accept})

        yield send
