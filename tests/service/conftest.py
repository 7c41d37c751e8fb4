"""One running service for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from service.settings import Settings
from tests.service.http_server import serving


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    with serving(Settings(workers=2)) as url:
        yield url


@pytest.fixture
def client(base_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base_url, timeout=60) as client:
        yield client
