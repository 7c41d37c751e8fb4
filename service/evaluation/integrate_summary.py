"""What the records of an evaluation of integration come to, and the tables that show it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.table import Table

from service.evaluation.integrate import BEAMS, Record

#: Why a question is not solved, the earliest reason first.
REASONS: Final = ("no parse", "wrong form", "completion failed", "not proved", "time")


def summarise(records: Sequence[Record]) -> list[dict[str, Any]]:
    """One entry a set, in the order of the records: counts of questions, times in seconds."""
    return [
        _of_set(name, [r for r in records if r.set == name])
        for name in dict.fromkeys(r.set for r in records)
    ]


def _of_set(name: str, records: Sequence[Record]) -> dict[str, Any]:
    failed = [r for r in records if not r.model]
    families: dict[str, list[int]] = {}
    for r in records:
        solved_of = families.setdefault(r.family, [0, 0])
        solved_of[0] += r.model
        solved_of[1] += 1
    by_reason: dict[str, dict[str, int]] = {}
    for r in failed:
        reasons = by_reason.setdefault(r.family, {})
        reason = r.reason or "time"
        reasons[reason] = reasons.get(reason, 0) + 1
    return {
        "name": name,
        "questions": len(records),
        "first": sum(r.first for r in records),
        "beams": {str(b): sum(r.beams.get(str(b), False) for r in records) for b in BEAMS},
        "model": len(records) - len(failed),
        "numeric": sum(r.status == "numeric" for r in records),
        "auto": sum(r.auto for r in records),
        "model_s": _times(r.model_s for r in records if r.model),
        "auto_s": _times(r.auto_s for r in records if r.auto),
        "failures": dict(Counter(r.reason or "time" for r in failed).most_common()),
        "families": families,
        "failures_by_family": by_reason,
        "judged": sum(r.model or r.auto for r in records),
        "wrong": [[r.integrand, answer] for r in records for answer in r.wrong],
        "unjudged": [[r.integrand, answer] for r in records for answer in r.unjudged],
        "compared": compared(records),
        "unsolved": [r.integrand for r in failed],
    }


def compared(records: Sequence[Record]) -> dict[str, Any]:
    """The model beside SymPy's integrators on the same questions; empty without any.

    Times are of all these questions, solved or not: what somebody waits who asks.
    """
    records = [record for record in records if record.rivals]
    if not records:
        return {}
    names = list(records[0].rivals)
    found: dict[str, Any] = {
        "questions": len(records),
        "model": sum(r.model for r in records),
        "model_s": _times(r.model_s for r in records if r.model),
        "auto": sum(r.auto for r in records),
        "together": sum(any(rival.solved for rival in r.rivals.values()) for r in records),
    }
    for name in names:
        found[name] = sum(r.rivals[name].solved for r in records)
        found[f"{name}_s"] = _times(
            r.rivals[name].total_s for r in records if r.rivals[name].solved
        )
        found[f"{name}_all_s"] = _times(r.rivals[name].total_s for r in records)
    found["model_all_s"] = _times(r.model_s for r in records)
    return found


def _times(seconds: Iterable[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    if not ordered:
        return {}
    return {
        "median": round(statistics.median(ordered), 4),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 4),
    }


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(title=title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.1f}%" if of else ""


def tables(found: dict[str, Any]) -> list[Table]:
    """The tables of an evaluation as a person reads them."""
    sets = found["sets"]
    widths = [str(b) for b in BEAMS]
    solved = _table(
        "Integrals solved and verified",
        ["set", "questions", "first", *(f"beam {w}" for w in widths), "widened", "auto", "wrong"],
        (
            [
                s["name"],
                str(s["questions"]),
                *(_percent(n, s["questions"]) for n in (s["first"], *map(s["beams"].get, widths))),
                _percent(s["model"], s["questions"]),
                _percent(s["auto"], s["questions"]),
                str(len(s["wrong"])),
            ]
            for s in sets
        ),
    )
    beside = _table(
        "Beside SymPy, on the same sample of each set; median / p95 seconds of the solved ones",
        ["set", "sample", "model", "integrate", "manualintegrate", "either", "auto"],
        (
            [
                s["name"],
                str(c["questions"]),
                *(_beside(c, n) for n in ("model", "integrate", "manualintegrate")),
                _percent(c["together"], c["questions"]),
                _percent(c["auto"], c["questions"]),
            ]
            for s in (*sets, {"name": "all", "compared": found["compared"]})
            if (c := s["compared"])
        ),
    )
    failed = _table(
        "Why the model alone fails",
        ["set", *REASONS],
        ([s["name"], *(str(s["failures"].get(reason, 0)) for reason in REASONS)] for s in sets),
    )
    families = _table(
        "By family, model alone",
        ["family", "solved", "questions", *REASONS],
        (
            [
                f"{s['name']}: {family}",
                str(solved),
                str(count),
                *(
                    str(s["failures_by_family"].get(family, {}).get(reason, 0) or "")
                    for reason in REASONS
                ),
            ]
            for s in sets
            for family, (solved, count) in s["families"].items()
        ),
    )
    return [solved, beside, failed, families]


def _beside(compared: dict[str, Any], name: str) -> str:
    times = compared[f"{name}_s"]
    share = _percent(compared[name], compared["questions"])
    return f"{share}  {times['median']:.2f} / {times['p95']:.2f}" if times else share
