"""How fast the engine decodes, by batch size and beam width.

    python -m benchmarks.engine --threads 2

Distinct textbook questions are kept coming, so that the batch stays full. A step is
one token of every item in the batch; tokens are those of the best answers. CPU time
is printed beside wall-clock time, since on a busy machine only that is comparable.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

import models
from benchmarks.expressions import expressions
from models import artifacts
from service.engine.batch import Batch, Item
from service.engine.engine import SPREAD
from service.engine.search import Search
from service.engine.session import ModelSession
from tokenizer.codec import Encoded, encode
from tokenizer.normalise import normalise
from tokenizer.parse import parse

_ARTIFACTS = Path(models.__file__).parent / "artifacts"


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table; times in milliseconds."""

    variant: str
    batch: int
    beam: int
    items: int
    ms_a_step: float
    cpu_ms_a_step: float
    cpu_ms_an_item: float
    items_a_second: float
    tokens_a_second: float


def questions(seed: int) -> Iterator[Encoded]:
    """Encoded textbook expressions without end."""
    for text in expressions(seed):
        yield encode(normalise(parse(text), "x").tree)


def measure(session: ModelSession, batch_items: int, beam: int, count: int, seed: int) -> Measured:
    """Answer ``count`` questions, ``batch_items`` at a time."""
    manifest = session.manifest
    waiting = [
        Item(Search(source, beam, manifest.output, manifest.limits.output_tokens, SPREAD), None, 0)
        for source in itertools.islice(questions(seed), count)
    ]
    batch = Batch(session, batch_items, 1 << 30)
    steps = tokens = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while waiting or batch.items:
        room = batch_items - len(batch.items)
        if waiting and room:
            batch.join(waiting[-room:])
            del waiting[-room:]
        batch.step()
        steps += 1
        for item in [item for item in batch.items if item.search.done]:
            batch.leave(item)
            tokens += len(item.search.finished[0].tokens) if item.search.finished else 0
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Measured(
        session.variant,
        batch_items,
        beam,
        count,
        1000 * wall / steps,
        1000 * cpu / steps,
        1000 * cpu / count,
        count / wall,
        tokens / wall,
    )


def main(
    model: Annotated[str, typer.Option(help="Which artifact.")] = "differentiate",
    folder: Annotated[Path, typer.Option(help="Where the artifacts lie.")] = _ARTIFACTS,
    variants: Annotated[str, typer.Option(help="Precisions, comma separated.")] = "float32",
    threads: Annotated[int, typer.Option(help="Threads a step uses.")] = 1,
    count: Annotated[int, typer.Option(help="Questions for each line.")] = 200,
    output: Annotated[Path | None, typer.Option(help="Write the figures as JSON, too.")] = None,
) -> None:
    """Print ms a step, items/s and tokens/s for batches of 1, 8, 32 and beams of 1, 4."""
    manifest = artifacts.read(folder / model)
    lines = []
    for variant in variants.split(","):
        session = ModelSession(
            folder / model, manifest, device="auto", threads=threads, variant=variant
        )
        measure(session, 8, 4, 16, seed=0)
        sizes = list(itertools.product((1, 8, 32), (1, 4)))
        for batch, beam in track(sizes, variant, console=Console(stderr=True)):
            lines.append(measure(session, batch, beam, count, seed=1))
    names = list(asdict(lines[0]))
    table = Table(
        *(name.replace("_", " ") for name in names),
        title=f"{model} {manifest.version}, {session.provider}, {threads} threads a step",
    )
    for line in lines:
        cells = asdict(line).values()
        table.add_row(*(f"{x:.2f}" if isinstance(x, float) else str(x) for x in cells))
    Console().print(table)
    if output is not None:
        output.write_text(json.dumps([asdict(line) for line in lines], indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
