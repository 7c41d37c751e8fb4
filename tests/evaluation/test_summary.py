"""What is counted in the tables of the integration evaluation."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from service.evaluation.integrate import Record, Rival, read
from service.evaluation.integrate_summary import compared, summarise, tables

SOLVED = Record(
    "independent",
    "x",
    "easy",
    first=True,
    beams={"1": True, "10": True, "50": True},
    model=True,
    model_s=0.1,
    answer="x**2/2",
    status="proved",
    auto=True,
    auto_s=0.1,
    rivals={"integrate": Rival(True, 0.5, 1.0), "manualintegrate": Rival(False, 10.0, 10.0)},
)
FAILED = Record(
    "independent",
    "sin(x)",
    "hard",
    beams={"1": False, "10": False, "50": True},
    auto=True,
    auto_s=2.0,
    auto_answer="cos(x)",
    reason="wrong form",
    wrong=["cos(x)"],
)


def test_each_column_counts_what_it_says() -> None:
    """Solved by beam, served and with the fallback; failures with reason and family."""
    (entry,) = summarise([SOLVED, FAILED])
    assert (entry["questions"], entry["first"], entry["model"], entry["auto"]) == (2, 1, 1, 2)
    assert entry["beams"] == {"1": 1, "10": 1, "50": 2}
    assert entry["failures"] == {"wrong form": 1}
    assert entry["families"] == {"easy": [1, 1], "hard": [0, 1]}
    assert entry["unsolved"] == ["sin(x)"]


def test_a_refuted_answer_is_never_lost() -> None:
    """A false proof shows with its integrand, whoever gave the answer."""
    (entry,) = summarise([SOLVED, FAILED])
    assert entry["wrong"] == [["sin(x)", "cos(x)"]]


def test_the_comparison_is_of_the_same_questions() -> None:
    """Only what SymPy was asked counts, for the model too."""
    (entry,) = summarise([SOLVED, FAILED])
    beside = entry["compared"]
    assert beside == compared([SOLVED, FAILED])
    assert (beside["questions"], beside["model"]) == (1, 1)
    assert (beside["integrate"], beside["manualintegrate"], beside["together"]) == (1, 0, 1)
    assert beside["integrate_s"] == {"median": 1.0, "p95": 1.0}
    assert beside["manualintegrate_s"] == {}


def test_tables_can_be_drawn_without_a_comparison() -> None:
    """An evaluation that asked no rival prints all the same."""
    drawn = tables({"sets": summarise([FAILED]), "compared": compared([FAILED])})
    assert [table.row_count for table in drawn] == [1, 0, 1, 1]


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    """An interrupted run goes on where it stopped."""
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(asdict(r)) + "\n" for r in (SOLVED, FAILED)))
    assert read(path) == [SOLVED, FAILED]
    assert read(tmp_path / "none.jsonl") == []
