"""What each part of the search is worth: the same questions with one part switched off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from rich.progress import Progress
from rich.table import Table

from service.evaluation.integrate import RUBI, Examiner, Question, questions, sampled
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
    "no substitution": replace(ALL_PARTS, substitution=False),
    "no pooling": replace(ALL_PARTS, pooled=False),
    "no remainder": replace(ALL_PARTS, remainder=False),
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
    """Ask ``fraction`` of each of ``sets`` with ``engine=model``, ``limit_s`` seconds each.

    A set may carry a fraction of its own: ``robustness:0.5``. The variations in *robustness*
    are made of what all parts together solved of the sets before it.
    """
    rows: list[Row] = []
    solved_so_far: list[str] = []
    async with open_resources(settings, Metrics()) as resources:
        for entry in sets:
            name, *own = entry.split(":")
            share = float(own[0]) if own else fraction
            asked: list[Question] = sampled(questions(name, solved_so_far), share, 1)
            for variant, parts in VARIANTS.items():
                examiner = Examiner(resources, limit_s, parts)
                solved: list[str] = []
                for question in bar.track(asked, description=f"{name}, {variant}"):
                    answer = await examiner.ask(question.integrand, "model")
                    if isinstance(answer, IntegralSolved):
                        solved.append(question.integrand)
                rows.append(Row(variant, name, len(solved), len(asked)))
                if parts == ALL_PARTS and name in RUBI:
                    solved_so_far += solved
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
