"""Learning curves: ``curve.csv`` drawn to ``curve.png``."""

from __future__ import annotations

import csv
from pathlib import Path


def draw(folder: Path) -> Path:
    """Every column after the time against the time, in seconds, on a logarithmic scale."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - seconds to import, needed at the end only

    rows = _rows(folder)
    measures = [name for name in rows[0] if name not in ("branch", "step", "seconds")]
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for branch in dict.fromkeys(row.get("branch", "") for row in rows):
        some = [row for row in rows if row.get("branch", "") == branch]
        for measure in measures:
            axes.semilogy(
                [float(row["seconds"]) for row in some],
                [max(float(row[measure]), 1e-16) for row in some],
                label=f"{branch} {measure}".strip(),
            )
    axes.set_xlabel("seconds of training")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle(folder.name)
    path = folder / "curve.png"
    figure.savefig(path, dpi=110)
    return path


def last(folder: Path) -> list[dict[str, str]]:
    """The last row of each branch."""
    ends = {row.get("branch", ""): row for row in _rows(folder)}
    return list(ends.values())


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(newline="") as file:
        return list(csv.DictReader(file))
