"""How fast the engine decodes, by batch size and beam width.

    python -m benchmarks.engine --threads 2
    python -m benchmarks.engine --ctranslate2         beside CTranslate2, in the same run

Distinct textbook questions are kept coming, so that the batch stays full to a quarter: so
many join at a time. A step is one run of the decoder, which writes a token of every item in the
batch, and more where a draft holds; drafts (:mod:`service.engine.draft`) have learned from a
thousand other questions. Tokens are those of the best answers. CPU time is printed beside
wall-clock time, since on a busy machine only that is comparable.
``--ctranslate2`` needs the extra `load`: a network of the same shape takes turns with
ours in both precisions, see :mod:`benchmarks.rival`, round by round, since the speed of a machine
is seldom the same for long; the last columns are our tokens/s over its, by CPU time.
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
from models.artifacts import Manifest
from models.config import ModelConfig
from service.collector import settle
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


@dataclass(slots=True)
class Spent:
    """Seconds, and what was done in them."""

    wall: float = 0.0
    cpu: float = 0.0
    items: int = 0
    steps: int = 0
    tokens: int = 0


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

    @classmethod
    def of(cls, variant: str, batch: int, beam: int, spent: Spent) -> Measured:
        """The line of ``spent``."""
        return cls(
            variant,
            batch,
            beam,
            spent.items,
            1000 * spent.wall / spent.steps,
            1000 * spent.cpu / spent.steps,
            1000 * spent.cpu / spent.items,
            spent.items / spent.wall,
            spent.tokens / spent.wall,
            spent.tokens / spent.cpu,
        )


def questions(seed: int) -> Iterator[Encoded]:
    """Encoded textbook expressions without end."""
    for text in expressions(seed):
        yield encode(normalise(parse(text), "x").tree)


def measure(
    session: ModelSession,
    batch_items: int,
    beam: int,
    asked: Sequence[Encoded],
    table: DraftTable,
    spent: Spent,
) -> None:
    """Answer what is ``asked``, ``batch_items`` at a time, with drafts from ``table``."""
    manifest = session.manifest
    waiting = [
        Item(Search(source, beam, manifest.output, manifest.limits.output_tokens, SPREAD), None, 0)
        for source in asked
    ]
    batch = Batch(session, batch_items, 1 << 30, table)
    wall, cpu = time.perf_counter(), time.process_time()
    while waiting or batch.items:
        room = batch_items - len(batch.items)
        if waiting and room >= min(len(waiting), max(1, batch_items // 4)):
            batch.join(waiting[-room:])
            del waiting[-room:]
        batch.step()
        spent.steps += 1
        for item in [item for item in batch.items if item.search.done]:
            batch.leave(item)
            spent.tokens += len(item.search.finished[0].tokens) if item.search.finished else 0
    spent.wall += time.perf_counter() - wall
    spent.cpu += time.process_time() - cpu
    spent.items += len(asked)


def compare(
    sessions: Sequence[ModelSession],
    rivals: Sequence[Rival],
    batch: int,
    beam: int,
    rounds: Sequence[Sequence[Encoded]],
    tables: Sequence[DraftTable],
) -> list[Measured]:
    """Lines of ours in one setting, with their ratios, then the rivals'.

    All take turns at the questions of each round. ``tables`` go on learning.
    """
    ours, theirs = [Spent() for _ in sessions], [Spent() for _ in rivals]
    for asked in rounds:
        for session, table, spent in zip(sessions, tables, ours, strict=True):
            measure(session, batch, beam, asked, table, spent)
        tokens = round(ours[0].tokens / ours[0].items)
        for rival, spent in zip(rivals, theirs, strict=True):
            wall, cpu = rival.measure(asked, batch, beam, tokens)
            spent.wall += wall
            spent.cpu += cpu
            spent.items += len(asked)
            spent.steps += tokens * -(-len(asked) // batch)
            spent.tokens += tokens * len(asked)
    lines = [
        Measured.of(f"CTranslate2 {rival.precision}", batch, beam, spent)
        for rival, spent in zip(rivals, theirs, strict=True)
    ]
    speeds = {
        rival.precision: line.tokens_a_cpu_second for rival, line in zip(rivals, lines, strict=True)
    }
    compared = []
    for session, spent in zip(sessions, ours, strict=True):
        line = Measured.of(session.variant, batch, beam, spent)
        one = line.tokens_a_cpu_second
        if speeds:
            line = replace(line, x_float32=one / speeds["float32"], x_int8=one / speeds["int8"])
        compared.append(line)
    return [*compared, *lines]


def main(
    model: Annotated[str, typer.Option(help="Which artifact.")] = "differentiate",
    folder: Annotated[Path, typer.Option(help="Where the artifacts lie.")] = _ARTIFACTS,
    variants: Annotated[str, typer.Option(help="Precisions, comma separated.")] = "float32,int8",
    threads: Annotated[int, typer.Option(help="Threads a step uses.")] = 1,
    count: Annotated[int, typer.Option(help="Questions of a round.")] = 512,
    rounds: Annotated[int, typer.Option(help="Rounds for each line.")] = 3,
    ctranslate2: Annotated[bool, typer.Option(help="Time CTranslate2 beside it.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the figures as JSON, too.")] = None,
) -> None:
    """Print ms a step, items/s and tokens/s for batches of 1, 8, 32 and beams of 1, 4."""
    manifest = artifacts.read(folder / model)
    lines: list[Measured] = []
    rivals = _rivals(manifest, threads) if ctranslate2 else []
    sessions = [
        ModelSession(folder / model, manifest, device="auto", threads=threads, variant=variant)
        for variant in variants.split(",")
    ]
    tables = [DraftTable() for _ in sessions]
    others = list(itertools.islice(questions(0), WARM_UP))
    for session, learned in zip(sessions, tables, strict=True):
        measure(session, 8, 4, others, learned, Spent())
    settle()  # as the process of an engine does
    asked = questions(1)
    parts = [list(itertools.islice(asked, count)) for _ in range(rounds)]
    sizes = list(itertools.product((1, 8, 32), (1, 4)))
    for batch, beam in track(sizes, "settings", console=Console(stderr=True)):
        lines += compare(sessions, rivals, batch, beam, parts, copy.deepcopy(tables))
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


def _rivals(manifest: Manifest, threads: int) -> list[Rival]:
    from benchmarks.rival import Rival, write  # noqa: PLC0415 - an extra

    with tempfile.TemporaryDirectory() as model:
        write(Path(model), ModelConfig(**manifest.config))
        return [Rival(Path(model), threads, precision) for precision in ("float32", "int8")]


if __name__ == "__main__":
    typer.run(main)
