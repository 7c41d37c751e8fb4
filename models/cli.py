"""``calcert train`` and ``calcert export``; needs the ``train`` extra."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(no_args_is_help=True)
train_app = typer.Typer(help="Train a model; a second start resumes.", no_args_is_help=True)
app.add_typer(train_app, name="train")

_RUNS = Path("runs")


@train_app.command("differentiate")
def train_differentiate(
    minutes: Annotated[float, typer.Option(help="Wall-clock minutes, all starts together.")] = 60,
    shards: Annotated[int, typer.Option(help="Files of 20,000 examples to make first.")] = 60,
    folder: Annotated[Path, typer.Option(help="Checkpoints and curves.")] = _RUNS / "differentiate",
    threads: Annotated[int, typer.Option(help="CPU threads.")] = 2,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Of data and weights.")] = 1,
) -> None:
    """Train the differentiation model on generated examples."""
    from models.differentiate.data import validation, write
    from models.training import Run, train

    drawn = write(folder / "data", shards, 20_000, seed)
    typer.echo(f"examples: {drawn}")
    held = folder / "validation.npz"
    if not held.exists():
        validation(800).save(held)
    train(
        Run(
            folder=folder,
            data=((folder / "data", 1.0),),
            minutes=minutes,
            validation=held,
            threads=threads,
            device=device,
            seed=seed,
        )
    )


@app.command("export")
def export_command(
    name: Annotated[str, typer.Argument(help="The artifact's name: differentiate, integrate.")],
    version: Annotated[str, typer.Option(help="Version in the manifest.")],
    folder: Annotated[Path | None, typer.Option(help="Where the checkpoint lies.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where the artifacts go.")] = None,
) -> None:
    """Write a checkpoint as ONNX graphs with a manifest."""
    from models.export import export

    run = folder or _RUNS / name
    artifacts = output or Path(__file__).parent / "artifacts"
    kind: Literal["expression", "terms"] = "terms" if name == "integrate" else "expression"
    export(run / "checkpoint.pt", name, artifacts, version, output=kind)
    typer.echo(f"written to {artifacts / name}")
