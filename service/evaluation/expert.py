"""Expert iteration: the served search finds what the next model is trained on.

The model is asked about integrands without an answer with its widest beam; where an exact
antiderivative lies in the span of its hypotheses, the shortest terms that span it become a
training example.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.progress import Progress

from models.dataset import Example, Shard, example
from models.held_out import is_held_out
from models.integrate import excluded
from models.integrate.problem import Unlabelled, label
from models.integrate.unlabelled import integrands
from models.numeric import is_finite, is_real_somewhere
from service.integration.distil import distil
from service.integration.forms import asked
from service.metrics import Metrics
from service.noanswer import NoAnswer
from service.problems import Problem
from service.resources import Resources, open_resources
from service.settings import Settings
from service.solvers.hypotheses import MODEL, hypotheses
from service.solvers.worker import in_worker
from service.stopwatch import Stopwatch
from tokenizer.codec import Unencodable, encode
from tokenizer.normalise import VARIABLE, normalise
from tokenizer.tree import Tree

#: Seconds for one integrand; what takes longer is no example for a beginner.
_LIMIT_S: Final = 6.0
#: Share of what the first hypothesis solves by itself that is kept: it is known already.
_KNOWN_SHARE: Final = 0.25


@dataclass(slots=True)
class Harvest:
    """What came of the integrands that were asked."""

    asked: int = 0
    solved: int = 0
    known: int = 0
    examples: list[Example] = field(default_factory=list)


async def iterate(
    folder: Path, minutes: float, seed: int, settings: Settings, bar: Progress, most: int = 20_000
) -> Harvest:
    """Ask for ``minutes``, or until there are ``most`` examples; write them to ``folder``.

    Raises ``FileNotFoundError`` when the measuring problems cannot be found: data that
    might contain them is worthless.
    """
    cases = excluded.cases_folder()
    if cases is None:
        raise FileNotFoundError("the folder of measuring problems: set CALCERT_CASES")
    source = _questions(random.Random(seed), excluded.load(cases))  # noqa: S311 - reproducible data
    harvest = Harvest()
    rng = random.Random(seed + 1)  # noqa: S311 - reproducible data
    started = time.monotonic()
    task = bar.add_task("expert iteration", total=int(60 * minutes))
    async with open_resources(settings, Metrics()) as resources:

        async def work() -> None:
            while time.monotonic() - started < 60 * minutes and len(harvest.examples) < most:
                await _ask(next(source), harvest, resources, rng)
                bar.update(
                    task,
                    completed=int(time.monotonic() - started),
                    description=f"{harvest.solved} of {harvest.asked}",
                )

        await asyncio.gather(*(work() for _ in range(4 * resources.pool.size)))
    folder.mkdir(parents=True, exist_ok=True)
    Shard.of(harvest.examples).save(folder / f"{seed:03d}-expert.npz")
    return harvest


def _questions(rng: random.Random, measured: excluded.Measured) -> Iterator[Tree]:
    """Normalised integrands of the training fold, each once."""
    seen: set[Tree] = set()
    for drawn in integrands(rng):
        tree = normalise(drawn, VARIABLE).tree
        try:
            ids = encode(tree).ids
        except Unencodable:
            continue
        if tree in seen or is_held_out(ids) or tree in measured or not is_finite(tree, rng):
            continue
        # with letters in it, what is real depends on them
        if tree.symbols() != (VARIABLE,) or is_real_somewhere(tree, VARIABLE, rng):
            seen.add(tree)
            yield tree


async def _ask(tree: Tree, harvest: Harvest, resources: Resources, rng: random.Random) -> None:
    harvest.asked += 1
    watch = Stopwatch(_LIMIT_S)
    beam = resources.engine.models[MODEL].limits["beam"]
    try:
        found = await hypotheses(asked(tree, VARIABLE), beam, resources, watch, watch.deadline)
        terms = await in_worker(resources, _LIMIT_S, distil, tree, VARIABLE, found)
    except (NoAnswer, Problem):
        return
    if terms is None:
        return
    harvest.solved += 1
    if set(terms) == set(found[0]):
        harvest.known += 1
        if rng.random() > _KNOWN_SHARE:
            return
    source = encode(tree)
    try:
        harvest.examples.append(example(source, label(terms, source)))
    except Unlabelled:
        return
