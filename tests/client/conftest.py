"""A running service for the client to ask."""

from __future__ import annotations

from tests.service.conftest import (
    base_url,  # noqa: F401 - a fixture is used by being in this module
    service,  # noqa: F401 - as above
)
