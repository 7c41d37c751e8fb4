"""Schemathesis against the OpenAPI document, all checks, stateful."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.operations.process import service, tool

#: Examples an operation; raise it for a longer hunt.
EXAMPLES = os.environ.get("CALCERT_SCHEMATHESIS_EXAMPLES", "5")


@pytest.mark.skipif(
    tool("schemathesis") is None, reason="schemathesis is not installed (the extra `dev`)"
)
def test_schemathesis_finds_nothing() -> None:
    """Every operation keeps to its schema, whatever is sent."""
    with service(timeout_max_s=5, timeout_default_s=2) as running:
        done = subprocess.run(
            [
                *(
                    str(tool("schemathesis")),
                    "run",
                    f"{running.url}/openapi.json",
                    "--checks",
                    "all",
                ),
                *("--phases", "examples,coverage,fuzzing,stateful"),
                *("--max-examples", EXAMPLES, "--seed", "1", "--request-timeout", "60"),
            ],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
            check=False,
        )
    assert done.returncode == 0, done.stdout[-20_000:]
