"""The collection of real inputs, each with its right outcome.

They are not part of this repository. ``CALCERT_CASES`` names their folder; by
default it is ``../shared/cases`` beside the repository. Inputs are kept as
their collectors wrote them down, so what a person would type is worked out here.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("CALCERT_CASES", ROOT.parent / "shared" / "cases"))

_REMARK = re.compile(r"\s{2,}(?:\[[^\]]*\]|\([a-z ]+\))")
_REPEATED = re.compile(r"'([^']*)'(?:\s*\*\s*(\d+))?")
_JOINED = re.compile(r"'([^']*)'\.join\(\['([^']*)'\]\s*\*\s*(\d+)\)")
_ZEROS = re.compile(r"1 followed by (\d+) zeros, (.*)")
_FIELD = re.compile(r"(?:initial_condition|LaTeX): ")


@dataclass(frozen=True, slots=True)
class Case:
    """One line of ``cases.jsonl``; ``source`` is the input as it would be typed."""

    id: str
    kind: str
    source: str
    syntax: Literal["auto", "latex"]
    variable: str
    expected: str
    record: dict[str, Any]

    def typed(self, key: str) -> str:
        """A further input of the record, such as ``integrand`` or ``lhs``, as typed."""
        return typed(str(self.record[key]))


def typed(written: str) -> str:
    """What a person types, from how a case describes it.

    >>> typed("x**3   [value at x = 0]"), typed("'(1+' * 2 + '(1)' + ')' * 2")
    ('x**3', '(1+(1+(1)))')
    """
    text = _FIELD.sub("", _REMARK.sub("", written), count=1)
    if joined := _JOINED.fullmatch(text):
        return joined[1].join([joined[2]] * int(joined[3]))
    if zeros := _ZEROS.fullmatch(text):
        return "1" + "0" * int(zeros[1]) + zeros[2].replace(" ", "")
    if text.startswith("'") and re.fullmatch(rf"(?:{_REPEATED.pattern}[\s+]*)+", text):
        return "".join(part[1] * int(part[2] or 1) for part in _REPEATED.finditer(text))
    return text.replace("\\u0000", "\0")


def load(*kinds: str) -> list[Case]:
    """The cases of these kinds, in the order of the file; empty where the file is absent."""
    path = FOLDER / "cases.jsonl"
    if not path.exists():
        return []
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return [
        Case(
            record["id"],
            record["kind"],
            typed(record["input"]),
            "latex" if record["kind"] == "latex" or "LaTeX:" in record["input"] else "auto",
            record.get("variable") or "",
            str(record["expected"]),
            record,
        )
        for record in records
        if record["kind"] in kinds
    ]


def parameters(*kinds: str) -> list[Any]:
    """Parameters for ``pytest.mark.parametrize("case", …)``; one skipped where there are none."""
    cases = load(*kinds)
    if not cases:
        reason = f"no cases in {FOLDER}: set CALCERT_CASES to their folder"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(case, id=case.id) for case in cases]
