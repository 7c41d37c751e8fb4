"""A folder of artifacts for the engine's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import tiny_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.exported(tmp_path_factory)
