"""Models of a folder of artifacts, and searches with them as an engine computes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from models import artifacts
from service.engine.batch import Batch, Item
from service.engine.job import Kind
from service.engine.search import Search
from service.engine.session import Device, ModelSession
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded

#: A thousand times less probable than the best hypothesis: not worth a row in a batch.
SPREAD = 7.0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is loaded; ``provider`` is ONNX Runtime's name of what it runs on.

    ``digest`` is of the graphs: another one means other weights, whatever the version says.
    """

    name: str
    version: str
    digest: str
    provider: str
    variant: str
    limits: Mapping[str, int]


class Question(NamedTuple):
    """What a search is for: ``ids`` and ``paths`` of an Encoded, and its parameters."""

    ids: tuple[int, ...]
    paths: tuple[int, ...]
    width: int
    longest: int
    spread: float


class Searches:
    """Searches with the model of ``session``, as many in a batch as :class:`Batch` says."""

    def __init__(self, session: ModelSession, batch_items: int, batch_tokens: int) -> None:
        self.provider = session.provider
        self._session = session
        self._batch_items = batch_items
        self._batch_tokens = batch_tokens

    def job(self, request: Question, deadline: float | None, submitted: float) -> Item:
        """The search for a question."""
        ids, paths, width, longest, spread = request
        source = Encoded(ids, paths, (), ())
        output = self._session.manifest.output
        return Item(Search(source, width, output, longest, spread), deadline, submitted)

    def open(self) -> Batch:
        """A batch without searches."""
        return Batch(self._session, self._batch_items, self._batch_tokens)

    def warm_up(self) -> None:
        """Decode a few steps in batches of every size, so that memory is there."""
        question = Question((v.VAR,), (0,), 4, 4, SPREAD)
        rows = self._batch_items
        while rows:
            batch = self.open()
            batch.join([self.job(question, None, 0.0) for _ in range(rows)])
            while not batch.items[0].search.done:
                batch.step()
            rows //= 2


def open_models(
    folder: Path,
    *,
    device: Device,
    threads: int,
    variant: str,
    batch_items: int,
    batch_tokens: int,
) -> tuple[dict[str, ModelInfo], dict[str, Kind[Item]]]:
    """The models in ``folder``, loaded and warm, by name.

    Raises ``ArtifactError`` for a broken artifact and :class:`DeviceUnavailable` when ``cuda``
    is asked for and cannot be had.
    """
    models: dict[str, ModelInfo] = {}
    kinds: dict[str, Kind[Item]] = {}
    for name, path in artifacts.find(folder).items():
        manifest = artifacts.read(path)
        session = ModelSession(path, manifest, device=device, threads=threads, variant=variant)
        models[name] = ModelInfo(
            name,
            manifest.version,
            session.digest,
            session.provider,
            session.variant,
            asdict(manifest.limits),
        )
        searches = Searches(session, batch_items, batch_tokens)
        searches.warm_up()
        kinds[name] = searches
    return models, kinds
