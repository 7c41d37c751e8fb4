"""What each part of the search is worth: the same questions with one part switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from rich.progress import Progress
from rich.table import Table

from service.evaluation.integrate import Examiner, Question, questions, sampled
from service.metrics import Metrics
from service.resources import open_resources
from service.settings import Settings
from service.solvers.antiderivative import ALL_PARTS, SearchParts
from service.solvers.integrate_schema import IntegralSolved

#: What is asked: everything, and everything but one part.
VARIANTS: Final[dict[str, SearchParts]] = {
    "all parts": ALL_PARTS,
    "no other forms": replace(ALL_PARTS, forms=False),
    "no linearity": replace(ALL_PARTS, splitting=False),
    "no pooling": replace(ALL_PARTS, pooled=False),
    "no widening": replace(ALL_PARTS, widening=False),
}


@dataclass(frozen=True, slots=True)
class Row:
    """How many of ``asked`` questions one variant solved, by set."""

    variant: str
    set: str
    solved: int
    asked: int


async def measure(
    sets: Sequence[str], fraction: float, limit_s: float, settings: Settings, bar: Progress
) -> list[Row]:
    """Ask ``fraction`` of each of ``sets`` with ``engine=model``, ``limit_s`` seconds each."""
    rows: list[Row] = []
    async with open_resources(settings, Metrics()) as resources:
        for name in sets:
            asked: list[Question] = sampled(questions(name, ()), fraction, 1)
            for variant, parts in VARIANTS.items():
                examiner = Examiner(resources, limit_s, parts)
                solved = 0
                for question in bar.track(asked, description=f"{name}, {variant}"):
                    answer = await examiner.ask(question.integrand, "model")
                    solved += isinstance(answer, IntegralSolved)
                rows.append(Row(variant, name, solved, len(asked)))
    return rows


def table(rows: Sequence[Row]) -> Table:
    """One line a variant, one column a set."""
    sets = list(dict.fromkeys(row.set for row in rows))
    found = Table("search", *sets, title="One part of the search switched off")
    for variant in dict.fromkeys(row.variant for row in rows):
        cells = {row.set: f"{row.solved}/{row.asked}" for row in rows if row.variant == variant}
        found.add_row(variant, *(cells[name] for name in sets))
    return found


def as_json(rows: Sequence[Row], **measured: Any) -> dict[str, Any]:
    """What is stored."""
    return {"task": "search", **measured, "rows": [asdict(row) for row in rows]}
