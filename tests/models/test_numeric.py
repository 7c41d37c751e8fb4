"""Values of Trees in floating point."""

from __future__ import annotations

import random

import pytest

from models.numeric import is_finite
from tokenizer.parse import parse


@pytest.mark.parametrize(
    ("source", "finite"),
    [
        ("sin(x)/x", True),
        ("exp(exp(x + 5))", False),
        # finite parts whose absolute value is too large for a float
        ("1.2*10**308*(x/x)*(1 + I*x/x)", False),
        ("log(x - x)", False),
    ],
)
def test_moderate_values(source: str, finite: bool) -> None:
    """Overflow on the way to a value, or in its absolute value, is no error."""
    assert is_finite(parse(source), random.Random(1)) is finite
