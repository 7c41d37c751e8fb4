"""What each variant of a model is worth: how often its answers are verified, and CPU time.

Every question goes the whole way that a request goes, with the model alone; each variant is
asked the same ones. The default on the CPU is the variant that takes least CPU time among
those whose rate is within :data:`TOLERANCE` of float32's. On CUDA it is float16 under the same
condition: the rate is a matter of arithmetic, measured on the CPU, and that half precision
is the faster one there is taken for granted.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.progress import Progress
from rich.table import Table

from models import artifacts
from models.artifacts import Manifest, Variant
from models.differentiate import test_sets
from service.engine.batch import Batch, Item
from service.engine.search import Search
from service.engine.searches import SPREAD
from service.engine.session import ModelSession
from service.evaluation.integrate import questions, sampled
from service.metrics import Metrics
from service.problems import Problem
from service.resources import Resources, open_resources
from service.schemas import DifferentiateRequest
from service.settings import Settings
from service.solvers.antiderivative import FIRST_BEAM
from service.solvers.differentiate import differentiate
from service.solvers.integrate import integrate
from service.solvers.integrate_schema import IntegrateRequest
from tokenizer.codec import encode
from tokenizer.errors import ParseError
from tokenizer.normalise import VARIABLE, normalise
from tokenizer.parse import parse
from tokenizer.render import to_text

#: How much lower than float32's the rate of a default may be.
TOLERANCE: Final = 0.001
#: Integrals are asked of these sets; the others are large numbers and variations.
_SETS: Final = ("independent", "backward", "by parts", "forward")
#: Questions that CPU time is measured on.
_TIMED: Final = 100


def asked(name: str, fraction: float) -> list[str]:
    """Questions to the model ``name``: a fraction of its held-out sets."""
    if name == "differentiate":
        return [to_text(tree) for _, trees in test_sets.sets(fraction) for tree in trees]
    return [
        question.integrand
        for held_out in _SETS
        for question in sampled(questions(held_out, ()), fraction, seed=1)
    ]


async def rates(
    folder: Path, texts: Sequence[str], settings: Settings, limit_s: float, bar: Progress
) -> Manifest:
    """The manifest in ``folder`` with the rate of every variant in it.

    ``limit_s`` is the time limit of a question.
    """
    manifest = artifacts.read(folder)
    found: dict[str, Variant] = {}
    for variant, files in manifest.variants.items():
        with _alone(folder) as root:
            alone = settings.model_copy(update={"artifacts": root, "precision": variant})
            async with open_resources(alone, Metrics()) as resources:
                verified = await _verified(manifest.name, texts, resources, limit_s, bar, variant)
        rate = {"questions": len(texts), "verified": round(verified / len(texts), 5)}
        found[variant] = replace(files, accuracy={**files.accuracy, **rate})
    return replace(manifest, variants=found)


def costs(folder: Path, manifest: Manifest, texts: Sequence[str], settings: Settings) -> Manifest:
    """``manifest`` with the CPU time of every variant, and the defaults that follow.

    Searches are by the beam that is served, one at a time; each question is put to all
    variants in turn, so that whatever else the machine does slows all of them.
    """
    beam = settings.beam if manifest.output == "expression" else max(FIRST_BEAM, settings.beam)
    step = max(1, len(texts) // _TIMED)
    sources = [encode(normalise(parse(text), VARIABLE).tree) for text in texts[::step]]
    sources = [s for s in sources if len(s.ids) <= manifest.limits.source_tokens]
    batches = {
        variant: Batch(
            ModelSession(folder, manifest, device="cpu", threads=1, variant=variant), 1, 1 << 30
        )
        for variant in manifest.variants
    }
    spent = dict.fromkeys(batches, 0.0)
    for i, source in enumerate([sources[0], *sources]):
        for variant, batch in batches.items():
            started = time.process_time()
            search = Search(source, beam, manifest.output, manifest.limits.output_tokens, SPREAD)
            item = Item(search, None, 0.0)
            batch.join([item])
            while not item.done:
                batch.step()
            batch.leave(item)
            if i:  # the first one warms up
                spent[variant] += time.process_time() - started
    found = {
        variant: replace(
            files,
            accuracy={
                **files.accuracy,
                "cpu_ms": round(1000 * spent[variant] / len(sources), 2),
            },
        )
        for variant, files in manifest.variants.items()
    }
    return replace(manifest, variants=found, default=defaults(found))


def defaults(variants: Mapping[str, Variant]) -> dict[str, str]:
    """Which variant to use on which device; see the module's text."""
    least = variants["float32"].accuracy["verified"] - TOLERANCE
    good = [name for name, variant in variants.items() if variant.accuracy["verified"] >= least]
    fastest = min(good, key=lambda name: variants[name].accuracy["cpu_ms"])
    return {"cpu": fastest, "cuda": "float16" if "float16" in good else "float32"}


def table(manifest: Manifest) -> Table:
    """The variants as a person reads them."""
    shown = Table(title=f"{manifest.name} {manifest.version}, the model alone")
    for heading in ("variant", "questions", "verified", "CPU ms a question", "bytes", "default on"):
        shown.add_column(heading, justify="left" if heading == "variant" else "right")
    for name, variant in manifest.variants.items():
        measured = variant.accuracy
        shown.add_row(
            name,
            f"{measured['questions']:.0f}",
            f"{100 * measured['verified']:.2f}%",
            f"{measured['cpu_ms']:.2f}",
            f"{variant.encoder.bytes + variant.decoder.bytes:,}",
            ", ".join(device for device, chosen in manifest.default.items() if chosen == name),
        )
    return shown


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """A folder of artifacts with this one in it: others may lack the variant."""
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / folder.name).symlink_to(folder.resolve())
        yield Path(root)


async def _verified(
    name: str,
    texts: Sequence[str],
    resources: Resources,
    limit_s: float,
    bar: Progress,
    variant: str,
) -> int:
    task = bar.add_task(f"{name} {variant}", total=len(texts))
    gate = asyncio.Semaphore(resources.settings.workers)

    async def one(text: str) -> bool:
        given: dict[str, Any] = {"variable": VARIABLE, "engine": "model", "timeout_s": limit_s}
        async with gate:
            try:
                if name == "differentiate":
                    request = DifferentiateRequest(expression=text, **given)
                    status = (await differentiate(request, resources)).status
                else:
                    integral = IntegrateRequest(expression=text, **given)
                    status = (await integrate(integral, resources)).status
            except (ParseError, Problem):
                status = "unsolved"
        bar.advance(task)
        return status == "solved"

    return sum(await asyncio.gather(*map(one, texts)))
