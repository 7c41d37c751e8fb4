"""``calcert train heat``, ``calcert export heat`` and ``calcert evaluate heat``.

python -m models.heat.cli train --model kernel
python -m models.heat.cli train --model article --size 1M --steps 800
python -m models.heat.cli export
python -m models.heat.cli evaluate
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="The heat equation's models.", no_args_is_help=True)

RUNS = Path("runs/heat")
ARTIFACTS = Path(__file__).parents[1] / "artifacts"
DESIGNS = (("plain", ""), ("article", ""), ("article", "-ordinary"))
STEPS = 800
#: All sizes for as few steps as the largest could be trained for, too.
FEW_STEPS = 200
#: Kept as artifacts; the others are measured too, and stay with the runs.
KEPT = tuple(f"{design}-{size}{suffix}" for size in ("0.1M", "1M") for design, suffix in DESIGNS)
OTHERS = (
    *(f"{design}-5M{suffix}" for design, suffix in DESIGNS),
    *(f"{d}-{size}-{FEW_STEPS}" for size in ("0.1M", "1M", "5M") for d in ("plain", "article")),
)

#: Places a batch that a perceptron as the score is trained on; a power law sees all.
PLACES = 24


class Model(StrEnum):
    """Which model."""

    PLAIN = "plain"
    ARTICLE = "article"
    KERNEL = "kernel"


class Form(StrEnum):
    """The kernel model's learned functions."""

    POWER = "power"
    NETWORK = "network"


class Part(StrEnum):
    """What an evaluation measures."""

    KERNEL = "kernel"
    ABLATION = "ablation"
    COMPARISON = "comparison"


@app.command()
def train(
    model: Annotated[Model, typer.Option(help="Which model.")] = Model.KERNEL,
    size: Annotated[str, typer.Option(help="plain, article: 0.1M, 1M or 5M.")] = "0.1M",
    steps: Annotated[int, typer.Option(help="plain, article: of 64 pairs each.")] = STEPS,
    pathological: Annotated[
        float, typer.Option(help="plain, article: share of steps, hats and near-deltas.")
    ] = 0.1,
    form: Annotated[Form, typer.Option(help="kernel: power law or perceptron.")] = Form.POWER,
    seed: Annotated[int, typer.Option(help="Of data and weights.")] = 0,
    runs: Annotated[Path, typer.Option(help="Checkpoints and curves.")] = RUNS,
) -> None:
    """Train one model; a second start resumes."""
    from models.heat.curve import draw

    if model is Model.KERNEL:
        from models.heat import train_kernel
        from models.heat.kernel import KernelConfig

        power = form is Form.POWER
        folder = runs / ("kernel" if power else "kernel-network")
        kernel = train_kernel.train(
            KernelConfig(form="power" if power else "network"),
            train_kernel.KernelTraining(seed=seed, places=None if power else PLACES),
            folder,
        )
        if power:
            typer.echo(json.dumps(kernel.learned(), indent=1))
    else:
        from models.heat import train_grid
        from models.heat.grid import SIZES, GridConfig

        if size not in SIZES:
            raise typer.BadParameter(f"one of {', '.join(SIZES)}", param_hint="--size")
        name = f"{model.value}-{size}" + ("" if pathological else "-ordinary")
        folder = runs / (name if steps == STEPS else f"{name}-{steps}")
        train_grid.train(
            GridConfig(design="plain" if model is Model.PLAIN else "article", **SIZES[size]),
            train_grid.GridTraining(steps=steps, seed=seed, pathological=pathological),
            folder,
        )
    typer.echo(f"learning curve: {draw(folder)}")


@app.command()
def export(
    runs: Annotated[Path, typer.Option(help="Where the checkpoints lie.")] = RUNS,
    artifacts: Annotated[Path, typer.Option(help="Where the artifacts go.")] = ARTIFACTS,
) -> None:
    """Write what is trained as ONNX graphs."""
    from models.heat import export as kernel_export
    from models.heat import grid_artifact, train_kernel
    from models.heat.artifact import NAME
    from models.heat.curve import last
    from models.heat.kernel import KernelConfig

    written: list[str] = []
    if (runs / "kernel" / "points.pt").exists():
        training = train_kernel.KernelTraining()
        model = train_kernel.train(KernelConfig(), training, runs / "kernel", progress=False)
        kernel_export.export(
            model,
            artifacts / NAME,
            {**asdict(training), "curve_end": last(runs / "kernel")},
        )
        written.append(NAME)
    for names, folder in (
        (KEPT, artifacts / grid_artifact.NAME),
        (OTHERS, runs / grid_artifact.NAME),
    ):
        trained = [name for name in names if (runs / name / "model.pt").exists()]
        if trained:
            written += grid_artifact.export(runs, folder, trained)["models"]
    if not written:
        raise typer.BadParameter("nothing is trained there", param_hint="--runs")
    typer.echo(f"written: {', '.join(written)}")


@app.command()
def evaluate(
    samples: Annotated[int, typer.Option(help="Samples a family of the kernel model.")] = 1250,
    runs: Annotated[Path, typer.Option(help="Where the perceptron form lies, if trained.")] = RUNS,
    artifacts: Annotated[Path, typer.Option(help="Where the artifacts lie.")] = ARTIFACTS,
    part: Annotated[
        list[Part] | None, typer.Option(help="Measure this part again, keep the others.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the tables.")] = None,
) -> None:
    """Measure all models on all families; print the tables, write them as JSON and Markdown."""
    from rich.console import Console
    from rich.progress import Progress

    from models.heat import evaluation as kernel_evaluation
    from models.heat import evaluation_grid, grid_artifact, report
    from models.heat.artifact import NAME

    console = Console()
    folder = artifacts / NAME
    target = (output or folder) / "evaluation.json"
    manifest, exact = kernel_evaluation.load(folder, "float64")
    _, raw = kernel_evaluation.load(folder, "float32")
    kernel = kernel_evaluation.Kernel(exact, manifest.threshold)
    found: dict[str, Any] = {}
    if part and target.is_file():
        found = json.loads(target.read_text())
    found["learned"] = manifest.raw["learned"]
    wanted = set(part or Part)
    with Progress(console=console) as bar:

        def step(name: str) -> Any:
            task = bar.add_task(name, total=None)
            return lambda done, total: bar.update(task, advance=done, total=total)

        if Part.KERNEL in wanted:
            both = {"float64": kernel, "float32": kernel_evaluation.Kernel(raw, manifest.threshold)}
            found["kernel"] = kernel_evaluation.evaluate_families(
                {**both},
                samples,
                step("kernel model"),
                semigroup_of={
                    name: partial(kernel_evaluation.semigroup, model)
                    for name, model in both.items()
                },
            )
        if Part.ABLATION in wanted:
            others = kernel_evaluation.otherwise_learned(runs / "kernel-network", exact)
            found["ablation"] = kernel_evaluation.evaluate_families(
                {**kernel_evaluation.without(kernel, others)},
                max(30, samples // 20),
                step("ablation"),
            )
        if Part.COMPARISON in wanted and (artifacts / grid_artifact.NAME).is_dir():
            grid = grid_artifact.read(artifacts / grid_artifact.NAME)
            if (runs / grid_artifact.NAME).is_dir():
                grid |= grid_artifact.read(runs / grid_artifact.NAME)
            found["comparison"] = evaluation_grid.compare(
                grid,
                kernel,
                max(100, samples // 5),
                step("comparison"),
            )
    for table in report.tables(found):
        console.print(table)
    kernel_evaluation.write(target, found)
    target.with_suffix(".md").write_text(report.markdown(found))
    console.print(f"written: {target}, and the same as Markdown beside it")


if __name__ == "__main__":
    app()
