"""``calcert evaluate``: measure a task and write the tables that the documentation quotes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from models.heat import cli as heat

app = typer.Typer(no_args_is_help=True)
evaluate_app = typer.Typer(help="Measure a task and write the tables.", no_args_is_help=True)
app.add_typer(evaluate_app, name="evaluate")


@app.callback()
def _commands() -> None:
    """Commands that :mod:`service.cli` delegates to."""


evaluate_app.command("heat")(heat.evaluate)

_ARTIFACTS = Path(__file__).parents[2] / "models" / "artifacts"


@evaluate_app.command("differentiate")
def differentiate_command(
    fraction: Annotated[float, typer.Option(help="Share of each set, for a quick look.")] = 1.0,
    output: Annotated[Path | None, typer.Option(help="Where the JSON goes.")] = None,
) -> None:
    """Accuracy of the differentiation model, alone and with the fallback."""
    from service.evaluation.differentiate import Row, evaluate, table

    with Progress() as bar:
        found = asyncio.run(evaluate(fraction, bar))
    Console().print(table([Row(**row) for row in found["rows"]]))
    path = output or _ARTIFACTS / "differentiate" / "evaluation.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    Console().print(f"written to {path}")
