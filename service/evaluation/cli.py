"""``calcert evaluate``: measure a task and write the tables that the documentation quotes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
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


def _wants_cases(sets: list[str] | None) -> bool:
    return sets is None or "cases" in sets


@evaluate_app.command("integrate")
def integrate_command(
    sets: Annotated[
        list[str] | None,
        typer.Option("--sets", help="Names of sets; default all. `cases`: bug reports."),
    ] = None,
    fraction: Annotated[float, typer.Option(help="Share of each set, for a quick look.")] = 1.0,
    timeout: Annotated[float, typer.Option(help="Seconds for each question.")] = 10.0,
    rivals: Annotated[float, typer.Option(help="Share that SymPy is asked, too.")] = 0.1,
    at_once: Annotated[int, typer.Option(help="Questions side by side.")] = 1,
    artifacts: Annotated[Path, typer.Option(help="Folder of the models.")] = _ARTIFACTS,
    records: Annotated[
        Path, typer.Option(help="Answers, one a line; what is there is not asked again.")
    ] = Path("runs/evaluation/integrate.jsonl"),
    output: Annotated[Path | None, typer.Option(help="Where the JSON goes.")] = None,
) -> None:
    """Integrals solved by width of the beam, served, with SymPy and against SymPy."""
    from service.evaluation import cases
    from service.evaluation.integrate import SETS, Plan, run
    from service.evaluation.integrate_summary import compared, summarise, tables
    from service.settings import Settings

    settings = Settings(
        artifacts=artifacts,
        redis_url=None,
        cache_items=0,
        timeout_default_s=timeout,
        timeout_max_s=max(60.0, timeout),
    )
    plan = Plan(
        sets=tuple(name for name in sets or SETS if name != "cases"),
        fraction=fraction,
        limit_s=timeout,
        rival_share=rivals,
        at_once=at_once,
        records=records,
    )
    with Progress() as bar:
        answered, measured = asyncio.run(run(plan, settings, bar))
        outcomes = asyncio.run(cases.run(timeout, settings, bar)) if _wants_cases(sets) else []
    found = {
        "task": "integrate",
        **measured,
        "sets": summarise(answered),
        "compared": compared(answered),
    }
    console = Console()
    if outcomes:
        found["cases"] = [asdict(outcome) for outcome in outcomes]
        for kind, right, asked in cases.rows(outcomes):
            console.print(f"cases, {kind}: {right} of {asked} right")
        for outcome in outcomes:
            if not outcome.right:
                console.print(f"{outcome.id}: {outcome.said} ({outcome.remark})", markup=False)
    for table in tables(found) if plan.sets else ():
        console.print(table)
    for entry in found["sets"]:
        for integrand, answer in entry["wrong"]:
            console.print(f"[red]wrong:[/red] {integrand} -> {answer}")
    path = output or _ARTIFACTS / "integrate" / "evaluation.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not plan.sets and path.exists():
        # what was measured before stays
        found = json.loads(path.read_text()) | {"cases": found["cases"]}
    path.write_text(json.dumps(found, indent=1) + "\n")
    console.print(f"written to {path}")


@evaluate_app.command("search")
def search_command(
    sets: Annotated[
        list[str] | None,
        typer.Option("--sets", help="Names of sets, a share of its own behind a colon."),
    ] = None,
    fraction: Annotated[float, typer.Option(help="Share of each set without its own.")] = 0.25,
    timeout: Annotated[float, typer.Option(help="Seconds for each question.")] = 10.0,
    artifacts: Annotated[Path, typer.Option(help="Folder of the models.")] = _ARTIFACTS,
) -> None:
    """What each part of the integration search is worth: one switched off at a time."""
    from service.evaluation.search_parts import as_json, measure, table
    from service.settings import Settings

    settings = Settings(artifacts=artifacts, redis_url=None, cache_items=0)
    asked = sets or ["independent"]
    with Progress() as bar:
        rows = asyncio.run(measure(asked, fraction, timeout, settings, bar))
    Console().print(table(rows))
    found = as_json(rows, sets=asked, fraction=fraction, limit_s=timeout)
    path = artifacts / "integrate" / "search.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    Console().print(f"written to {path}")


@evaluate_app.command("expert")
def expert_command(
    folder: Annotated[Path, typer.Argument(help="Folder of shards that gets one more.")],
    minutes: Annotated[float, typer.Option(help="How long the model is asked.")] = 20.0,
    seed: Annotated[int, typer.Option(help="Which integrands; names the shard.")] = 1,
    artifacts: Annotated[Path, typer.Option(help="Folder of the models.")] = _ARTIFACTS,
) -> None:
    """Expert iteration: training examples from what the served search proves."""
    from service.evaluation.expert import iterate
    from service.settings import Settings

    settings = Settings(artifacts=artifacts, redis_url=None, cache_items=0)
    with Progress() as bar:
        harvest = asyncio.run(iterate(folder, minutes, seed, settings, bar))
    Console().print(
        f"{harvest.solved} of {harvest.asked} integrands solved, {harvest.known} by the first "
        f"hypothesis as it stands; {len(harvest.examples)} examples written to {folder}"
    )


@evaluate_app.command("variants")
def variants_command(
    model: Annotated[str, typer.Argument(help="differentiate or integrate.")],
    fraction: Annotated[float, typer.Option(help="Share of each set.")] = 1.0,
    timeout: Annotated[float, typer.Option(help="Seconds for each question.")] = 10.0,
    rate: Annotated[bool, typer.Option(help="Off: CPU time alone, rates stay.")] = True,
    artifacts: Annotated[Path, typer.Option(help="Folder of the models.")] = _ARTIFACTS,
) -> None:
    """Verified rate and CPU time of each precision; both and the default go into the manifest."""
    from models.artifacts import read
    from service.evaluation.variants import asked, costs, rates, table
    from service.settings import Settings

    settings = Settings(artifacts=artifacts, redis_url=None, cache_items=0, timeout_max_s=60)
    folder = artifacts / model
    texts = asked(model, fraction)
    found = read(folder)
    if rate:
        with Progress() as bar:
            found = asyncio.run(rates(folder, texts, settings, timeout, bar))
    elif not all("verified" in variant.accuracy for variant in found.variants.values()):
        raise typer.BadParameter("no rate has been measured yet", param_hint="--no-rate")
    found = costs(folder, found, texts, settings)
    found.write(folder)
    Console().print(table(found))
    Console().print(f"written to {folder}")
