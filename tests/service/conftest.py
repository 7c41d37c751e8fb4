"""One running service for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from service.settings import Settings
from tests.service.http_server import Serving, serving


@pytest.fixture(scope="session")
def service() -> Iterator[Serving]:
    with serving(Settings(workers=2)) as running:
        yield running


@pytest.fixture
def base_url(service: Serving) -> str:
    return service.url


@pytest.fixture
def client(base_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base_url, timeout=60) as client:
        yield client
