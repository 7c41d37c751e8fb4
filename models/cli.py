"""``calcert train`` and ``calcert export``; needs the ``train`` extra."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from models.heat import cli as heat

if TYPE_CHECKING:
    from models.dataset import Example

app = typer.Typer(no_args_is_help=True)
train_app = typer.Typer(help="Train a model; a second start resumes.", no_args_is_help=True)
export_app = typer.Typer(
    help="Write a trained model as ONNX graphs with a manifest.", no_args_is_help=True
)
app.add_typer(train_app, name="train")
app.add_typer(export_app, name="export")
train_app.command("heat")(heat.train)
export_app.command("heat")(heat.export)

_RUNS = Path("runs")
_ARTIFACTS = Path(__file__).parent / "artifacts"

#: Examples that tell the range of what int8 layers are given, and the seed they are drawn with.
_EXAMPLES, _EXAMPLES_SEED = 300, 501

Minutes = Annotated[float, typer.Option(help="Wall-clock minutes, all starts together.")]
Shards = Annotated[int, typer.Option(help="Files of 20,000 examples to make first.")]
Threads = Annotated[int, typer.Option(help="CPU threads.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]
Seed = Annotated[int, typer.Option(help="Of data and weights.")]
Start = Annotated[
    Path | None,
    typer.Option(
        help="Checkpoint, or an artifact's folder, whose weights are refined; none: from scratch."
    ),
]
PeakRate = Annotated[
    float | None,
    typer.Option(help="Highest learning rate; none: 7e-4 to refine weights, more from scratch."),
]
Version = Annotated[str, typer.Option(help="Version in the manifest.")]
Output = Annotated[Path, typer.Option(help="Where the artifacts go.")]
Trained = Annotated[
    Path,
    typer.Option(help="Where the checkpoint lies, or an artifact whose graphs to write again."),
]


@train_app.command("differentiate")
def train_differentiate(
    folder: Annotated[Path, typer.Option(help="Checkpoints and curves.")] = _RUNS / "differentiate",
    minutes: Minutes = 60,
    shards: Shards = 60,
    threads: Threads = 2,
    device: Device = "cpu",
    seed: Seed = 1,
    start: Start = None,
    peak_rate: PeakRate = None,
) -> None:
    """Train the differentiation model on generated examples."""
    from models.config import DIFFERENTIATE
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
            config=DIFFERENTIATE,
            start=start,
            curriculum=0.0 if start else 0.4,
            peak_rate=peak_rate or (7e-4 if start else 1.2e-3),
            threads=threads,
            device=device,
            seed=seed,
        )
    )


@train_app.command("integrate")
def train_integrate(
    folder: Annotated[Path, typer.Option(help="Checkpoints and curves.")] = _RUNS / "integrate",
    minutes: Minutes = 80,
    shards: Shards = 60,
    threads: Threads = 2,
    device: Device = "cpu",
    seed: Seed = 1,
    start: Start = None,
    expert: Annotated[
        Path | None, typer.Option(help="Shards of expert iteration: a twentieth of the examples.")
    ] = None,
    peak_rate: PeakRate = None,
) -> None:
    """Train the integration model on generated problems; see models.integrate.data."""
    from models.config import INTEGRATE
    from models.integrate.data import write
    from models.training import Run, train

    write(folder / "data", shards, 20_000, seed)
    data = (
        ((folder / "data", 1.0),) if expert is None else ((folder / "data", 0.95), (expert, 0.05))
    )
    train(
        Run(
            folder=folder,
            data=data,
            minutes=minutes,
            start=start,
            curriculum=0.0 if start else 0.4,
            validation=folder / "data" / "validation" / f"{seed:03d}.npz",
            config=INTEGRATE,
            # questions and labels are short: fewer tokens still make a hundred examples
            budget=3000,
            peak_rate=peak_rate or (7e-4 if start else 1e-3),
            threads=threads,
            device=device,
            seed=seed,
        )
    )


@export_app.command("differentiate")
def export_differentiate(
    version: Version,
    folder: Trained = _RUNS / "differentiate",
    output: Output = _ARTIFACTS,
) -> None:
    """Export the differentiation model."""
    from models.differentiate.data import Drawn, examples

    drawn = examples(_EXAMPLES_SEED, _EXAMPLES, Drawn())
    _export("differentiate", folder, output, version, "expression", drawn)


@export_app.command("integrate")
def export_integrate(
    version: Version,
    folder: Trained = _RUNS / "integrate",
    output: Output = _ARTIFACTS,
) -> None:
    """Export the integration model, for beams up to 50."""
    from models.integrate.data import Drawn, examples
    from models.integrate.excluded import Measured

    # nothing is trained on these, so nothing need be excluded
    drawn = (item for _, item in examples(_EXAMPLES_SEED, _EXAMPLES, Drawn(), Measured()))
    _export("integrate", folder, output, version, "terms", drawn, beam=50)


def _export(
    name: str,
    folder: Path,
    output: Path,
    version: str,
    kind: Literal["expression", "terms"],
    examples: Iterable[Example],
    beam: int = 16,
) -> None:
    from models import artifacts
    from models.dataset import Shard
    from models.export import LIMITS, export, export_model
    from models.restore import restored

    limits = replace(LIMITS, beam=beam)
    shard = Shard.of(examples)
    if (folder / artifacts.MANIFEST).exists():
        training = dict(artifacts.read(folder).training)
        export_model(
            restored(folder), name, output, version, training, shard, output=kind, limits=limits
        )
    else:
        export(folder / "checkpoint.pt", name, output, version, shard, output=kind, limits=limits)
    typer.echo(f"written to {output / name}")
