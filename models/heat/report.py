"""Tables of an evaluation, for a terminal."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from models.heat.metrics import BANDS


def tables(found: dict[str, Any]) -> list[Table]:
    """One table a model with a row a family, the ablation, and the comparison."""
    kernel = found.get("kernel", {})
    shown = [families(f"kernel, {precision}", rows) for precision, rows in kernel.items()]
    if "ablation" in found:
        shown.append(ablation(found["ablation"]))
    if "comparison" in found:
        comparison = found["comparison"]
        shown += [
            families(f"{name}, 33 points, Dirichlet", rows)
            for name, rows in comparison["families"].items()
        ]
        shown.append(claims(comparison))
    return shown


def markdown(found: dict[str, Any]) -> str:
    """The same tables as a page."""
    learned = ", ".join(f"{name} = {value:.12g}" for name, value in found["learned"].items())
    parts = [
        "# Heat models, measured\n",
        "Written by `calcert evaluate heat`; `models/heat/README.md` explains the columns.\n",
        f"Learned: {learned}.\n",
    ]
    return "\n".join([*parts, *map(as_markdown, tables(found))])


def as_markdown(table: Table) -> str:
    """One table under its title."""
    heads = [str(column.header) for column in table.columns]
    rules = ["---:" if column.justify == "right" else "---" for column in table.columns]
    cells = zip(*(map(str, column.cells) for column in table.columns), strict=True)
    return "\n".join(
        [
            f"## {table.title}\n",
            *(f"| {' | '.join(line)} |" for line in (heads, rules, *cells)),
            f"\n{table.caption}\n" if table.caption else "",
        ]
    )


def families(title: str, rows: dict[str, Any]) -> Table:
    """A row a family, errors relative to ‖truth‖ or to max |u₀|."""
    table = Table(title=title)
    for name in (
        "family", "n", "mean [95%]", "median", "worst", "at 17", "at 1025", "max", "boundary",
        *BANDS, "overshoot", "> 1e-9", "semigroup",
    ):  # fmt: skip
        table.add_column(name, justify="left" if name == "family" else "right")
    for family, row in rows.items():
        error = row["relative_l2"]
        table.add_row(
            family,
            str(row["samples"]),
            f"{error['mean']:.1e} [{error['low']:.1e}, {error['high']:.1e}]",
            *(f"{error[key]:.1e}" for key in ("median", "worst")),
            *(_number(row["worst_at_points"].get(points)) for points in ("17", "1025")),
            _number(row["maximum"]),
            _number(row["boundary"]),
            *(_number(row["bands"][band]) for band in BANDS),
            _number(row["overshoot"]),
            str(row["violations"]),
            _number(row["semigroup"]),
        )
    return table


def ablation(variants: dict[str, Any]) -> Table:
    """The worst sample of each family with one part taken away."""
    table = Table(title="kernel, one built-in part taken away: worst relative L2")
    names = list(next(iter(variants.values())))
    for name in ("variant", *names):
        table.add_column(name, justify="left" if name == "variant" else "right")
    for variant, rows in variants.items():
        table.add_row(variant, *(f"{rows[name]['relative_l2']['worst']:.1e}" for name in names))
    return table


def claims(comparison: dict[str, Any]) -> Table:
    """Our figures beside the article's."""
    table = Table(title="the article's claims and what we measured")
    for name in ("model", "parameters", "minutes", "steps", "MSE", "residual", "step MSE"):
        table.add_column(name, justify="left" if name == "model" else "right")
    said = comparison["claims"]
    step = f"{said['step_without_pathological']} → {said['step_with_pathological']}"
    table.add_row(
        "article's own, 1M", "1M", "", "", str(said["mean_squared"]), str(said["residual"]), step
    )
    for name, figures in comparison["figures"].items():
        facts = comparison["training"][name]
        table.add_row(
            name,
            str(facts["parameters"]),
            str(facts["minutes"]),
            str(facts["steps"]),
            _number(figures["mean_squared"]),
            _number(figures["residual"]),
            _number(figures["step_mean_squared"]),
        )
    better = ", ".join(
        f"{size}: {100 * share:.0f}%" for size, share in comparison["better_than_plain"].items()
    )
    table.caption = (
        f"MSE below plain: {better} (the article: {100 * said['better_than_plain']:.0f}%)"
    )
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"
