"""Settings: read from the environment, checked, described."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from service.settings import Settings


def test_environment_sets_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """CALCERT_<NAME> reaches the field."""
    monkeypatch.setenv("CALCERT_BEAM", "2")
    assert Settings().beam == 2


def test_a_value_out_of_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the field."""
    monkeypatch.setenv("CALCERT_BEAM", "0")
    with pytest.raises(ValidationError, match="beam"):
        Settings()


def test_every_field_is_described() -> None:
    """No setting without a sentence that says what it does."""
    undescribed = [name for name, field in Settings.model_fields.items() if not field.description]
    assert undescribed == []
