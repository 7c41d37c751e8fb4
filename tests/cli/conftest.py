"""A running service that the command can ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.operations.process import service


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    """In a process of its own, whose log is not taken for what the command prints."""
    with service() as running:
        yield running.url
