"""How fast the engine decodes, by batch size and beam width.

    python -m benchmarks.engine --threads 2
    python -m benchmarks.engine --ctranslate2         beside CTranslate2, in the same run

Distinct textbook questions are kept coming, so that the batch stays full to a quarter: so
many join at a time. A step is one run of the decoder, which writes a token of every item in the
batch, and more where a draft holds; drafts (:mod:`service.engine.draft`) have learned from a
thousand other questions. Tokens are those of the best answers. CPU time is printed beside
wall-clock time, since on a busy machine only that is comparable.
``--ctranslate2`` needs the extra `load`: a network of the same shape is timed in turn with
ours in both precisions, see :mod:`benchmarks.rival`; the last columns are our tokens/s over
its, by CPU time.
"""

from __future__ import annotations

import copy
import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

import models
from benchmarks.expressions import expressions
from models import artifacts
from service.engine.batch import Batch, Item
from service.engine.draft import DraftTable
from service.engine.search import Search
from service.engine.searches import SPREAD
from service.engine.session import ModelSession
from tokenizer.codec import Encoded, encode
from tokenizer.normalise import normalise
from tokenizer.parse import parse

if TYPE_CHECKING:
    from benchmarks.rival import Rival

#: Other questions answered before, which the drafts learn from as those of a running service do.
WARM_UP = 1000

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
    tokens_a_cpu_second: float
    x_float32: float | None = None
    x_int8: float | None = None


def questions(seed: int) -> Iterator[Encoded]:
    """Encoded textbook expressions without end."""
    for text in expressions(seed):
        yield encode(normalise(parse(text), "x").tree)


def measure(
    session: ModelSession, batch_items: int, beam: int, count: int, seed: int, table: DraftTable
) -> Measured:
    """Answer ``count`` questions, ``batch_items`` at a time, with drafts from ``table``."""
    manifest = session.manifest
    waiting = [
        Item(Search(source, beam, manifest.output, manifest.limits.output_tokens, SPREAD), None, 0)
        for source in itertools.islice(questions(seed), count)
    ]
    batch = Batch(session, batch_items, 1 << 30, table)
    steps = tokens = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while waiting or batch.items:
        room = batch_items - len(batch.items)
        if waiting and room >= min(len(waiting), max(1, batch_items // 4)):
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
        tokens / cpu,
    )


def beside(rivals: Sequence[Rival], ours: Sequence[Measured], seed: int) -> list[Measured]:
    """Lines of ours in one setting with their ratios, then the rivals'."""
    one = ours[0]
    asked = list(itertools.islice(questions(seed), one.items))
    tokens = round(one.tokens_a_second / one.items_a_second)
    steps = tokens * -(-one.items // one.batch)
    theirs: dict[str, Measured] = {}
    for rival in rivals:
        wall, cpu = rival.measure(asked, one.batch, one.beam, tokens)
        theirs[rival.precision] = Measured(
            f"CTranslate2 {rival.precision}",
            one.batch,
            one.beam,
            one.items,
            1000 * wall / steps,
            1000 * cpu / steps,
            1000 * cpu / one.items,
            one.items / wall,
            one.items * tokens / wall,
            one.items * tokens / cpu,
        )
    compared = [
        replace(
            line,
            x_float32=line.tokens_a_cpu_second / theirs["float32"].tokens_a_cpu_second,
            x_int8=line.tokens_a_cpu_second / theirs["int8"].tokens_a_cpu_second,
        )
        for line in ours
    ]
    return [*compared, *theirs.values()]


def main(
    model: Annotated[str, typer.Option(help="Which artifact.")] = "differentiate",
    folder: Annotated[Path, typer.Option(help="Where the artifacts lie.")] = _ARTIFACTS,
    variants: Annotated[str, typer.Option(help="Precisions, comma separated.")] = "float32,int8",
    threads: Annotated[int, typer.Option(help="Threads a step uses.")] = 1,
    count: Annotated[int, typer.Option(help="Questions for each line.")] = 800,
    ctranslate2: Annotated[bool, typer.Option(help="Time CTranslate2 beside it.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the figures as JSON, too.")] = None,
) -> None:
    """Print ms a step, items/s and tokens/s for batches of 1, 8, 32 and beams of 1, 4."""
    manifest = artifacts.read(folder / model)
    lines: list[Measured] = []
    rivals = _rivals(folder / model, threads) if ctranslate2 else []
    sessions = [
        ModelSession(folder / model, manifest, device="auto", threads=threads, variant=variant)
        for variant in variants.split(",")
    ]
    tables = [DraftTable() for _ in sessions]
    for session, learned in zip(sessions, tables, strict=True):
        measure(session, 8, 4, WARM_UP, 0, learned)
    sizes = list(itertools.product((1, 8, 32), (1, 4)))
    for batch, beam in track(sizes, "settings", console=Console(stderr=True)):
        ours = [
            measure(session, batch, beam, count, 1, copy.deepcopy(learned))
            for session, learned in zip(sessions, tables, strict=True)
        ]
        lines += beside(rivals, ours, seed=1) if rivals else ours
    names = list(asdict(lines[0]))
    table = Table(
        *(name.replace("_", " ") for name in names),
        title=f"{model} {manifest.version}, {sessions[0].provider}, {threads} threads a step, "
        f"default {manifest.default[sessions[0].device]}",
    )
    for line in lines:
        cells = asdict(line).values()
        table.add_row(*(f"{x:.2f}" if isinstance(x, float) else str(x or "") for x in cells))
    console = Console()
    if not console.is_terminal:
        console = Console(width=180)  # a file has room
    console.print(table)
    if output is not None:
        output.write_text(json.dumps([asdict(line) for line in lines], indent=2) + "\n")


def _rivals(folder: Path, threads: int) -> list[Rival]:
    from benchmarks.rival import Rival, write  # noqa: PLC0415 - an extra

    config = json.loads((folder / "manifest.json").read_text())["config"]
    with tempfile.TemporaryDirectory() as model:
        write(Path(model), config)
        return [Rival(Path(model), threads, precision) for precision in ("float32", "int8")]


if __name__ == "__main__":
    typer.run(main)
