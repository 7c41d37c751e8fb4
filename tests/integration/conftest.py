"""One running service for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from service.settings import Settings
from tests.service.http_server import serving


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    with (
        serving(Settings(workers=2)) as running,
        httpx.Client(base_url=running.url, timeout=120) as client,
    ):
        yield client
