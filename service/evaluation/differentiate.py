"""Accuracy of ``POST /differentiate``: the model alone, with the fallback, and under renaming.

Every question goes the whole way that a request goes, from text to a verified
answer. The sets are those of :mod:`models.differentiate.test_sets`.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rich.progress import Progress
from rich.table import Table

from models.differentiate.test_sets import sets
from service.metrics import Metrics
from service.problems import Problem
from service.resources import Resources, open_resources
from service.schemas import DifferentiateRequest, Solved
from service.settings import Settings
from service.solvers.differentiate import differentiate
from tokenizer.codec import encode
from tokenizer.errors import ParseError
from tokenizer.normalise import normalise, rename
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree

#: Names that a variable is changed to.
NAMES = ("z", "theta", "x_1")


@dataclass(slots=True)
class Row:
    """One set: counts of questions, milliseconds a question, and why questions failed."""

    name: str
    questions: int
    model_proved: int = 0
    auto_solved: int = 0
    median_ms: float = 0.0
    p95_ms: float = 0.0
    failures: dict[str, int] = field(default_factory=dict)
    unsolved: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Share that the model alone answers with a proof."""
        return self.model_proved / self.questions


async def ask(
    text: str, variable: str, engine: Literal["auto", "model"], resources: Resources
) -> Solved | str:
    """The answer, or why there is none."""
    request = DifferentiateRequest(
        expression=text,
        variable=variable,
        engine=engine,
        timeout_s=resources.settings.timeout_max_s,
    )
    try:
        found = await differentiate(request, resources)
    except (ParseError, Problem) as error:
        return f"refused: {error}"
    return found if isinstance(found, Solved) else found.reason


async def gather_limited(work: Iterable[Any], at_once: int) -> list[Any]:
    """Results in order, with at most ``at_once`` running."""
    gate = asyncio.Semaphore(at_once)

    async def one(item: Any) -> Any:
        async with gate:
            return await item

    return list(await asyncio.gather(*(one(item) for item in work)))


async def measure(name: str, trees: Sequence[Tree], resources: Resources, bar: Progress) -> Row:
    """One line of the table."""
    row = Row(name, len(trees))
    task = bar.add_task(name, total=len(trees))
    times: list[float] = []
    failures: Counter[str] = Counter()

    async def one(tree: Tree) -> None:
        text = to_text(tree)
        found = await ask(text, "x", "model", resources)
        if isinstance(found, Solved) and found.verification.status == "proved":
            row.model_proved += 1
            row.auto_solved += 1
            times.append(found.timing_ms.total)
        else:
            failures[found if isinstance(found, str) else "checked to 30 digits, not proved"] += 1
            row.unsolved.append(text)
            again = await ask(text, "x", "auto", resources)
            row.auto_solved += isinstance(again, Solved)
        bar.advance(task)

    await gather_limited(map(one, trees), at_once=4)
    row.failures = dict(failures.most_common())
    if times:
        row.median_ms = statistics.median(times)
        row.p95_ms = sorted(times)[int(0.95 * (len(times) - 1))]
    return row


async def measure_renaming(trees: Sequence[Tree], resources: Resources, bar: Progress) -> Row:
    """How many questions give the same tokens and the same answer under every name."""
    row = Row("renamed to " + ", ".join(NAMES), len(trees))
    task = bar.add_task(row.name, total=len(trees))
    failures: Counter[str] = Counter()
    for tree in trees:
        expected = await ask(to_text(tree), "x", "auto", resources)
        same = isinstance(expected, Solved)
        for name in NAMES:
            changed = rename(tree, {"x": name})
            tokens = encode(normalise(parse(to_text(changed), variables=(name,)), name).tree).ids
            found = await ask(to_text(changed), name, "auto", resources)
            if tokens != encode(normalise(tree, "x").tree).ids:
                failures["other tokens"] += 1
                same = False
            elif (
                isinstance(found, Solved)
                and isinstance(expected, Solved)
                and found.answer.text
                != to_text(rename(parse(expected.answer.text, variables=("x",)), {"x": name}))
            ):
                failures["another answer"] += 1
                same = False
        row.model_proved += same
        row.auto_solved += same
        bar.advance(task)
    row.failures = dict(failures)
    return row


def table(rows: Sequence[Row]) -> Table:
    """The rows as a person reads them."""
    result = Table(title="Differentiation: verified answers")
    for heading in ("set", "questions", "model alone, proved", "auto", "median ms", "p95 ms"):
        result.add_column(heading, justify="left" if heading == "set" else "right")
    for row in rows:
        result.add_row(
            row.name,
            str(row.questions),
            f"{100 * row.share:.2f}%",
            f"{100 * row.auto_solved / row.questions:.2f}%",
            f"{row.median_ms:.0f}",
            f"{row.p95_ms:.0f}",
        )
    return result


async def evaluate(fraction: float, bar: Progress) -> dict[str, Any]:
    """All sets; the result is what ``evaluation.json`` holds."""
    settings = Settings(redis_url=None)
    async with open_resources(settings, Metrics()) as resources:
        info = resources.engine.models.get("differentiate")
        if info is None:
            raise RuntimeError("no differentiation model is installed")
        rows: list[Row] = []
        renamed: list[Tree] = []
        for name, trees in sets(fraction):
            rows.append(await measure(name, trees, resources, bar))
            renamed.extend(trees[: max(1, len(trees) // 10)])
        rows.append(await measure_renaming(renamed, resources, bar))
        return {
            "task": "differentiate",
            "model": {"name": info.name, "version": info.version},
            "beam": settings.beam,
            "fraction": fraction,
            "rows": [asdict(row) for row in rows],
        }
