"""All models of the service behind one asynchronous call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from models import artifacts
from service.engine.batch import Batch, Generation, Item
from service.engine.batcher import Batcher
from service.engine.errors import InputTooLong, UnknownModel
from service.engine.job import Job, Running
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


class Engine:
    """Beam search with every model in a folder of artifacts.

        async with Engine(folder) as engine:
            generation = await engine.generate("differentiate", encode(tree))

    ``threads`` is for one step of one model; ``batch_items`` and ``batch_tokens``
    bound what is decoded together (tokens with padding), ``queue_items`` what waits.
    ``variant`` names a precision, else each manifest's default. ``on_step`` as in
    :class:`Batcher`.

    Starting raises ``ArtifactError`` for a broken artifact and
    :class:`DeviceUnavailable` when ``cuda`` is asked for and cannot be had.
    """

    def __init__(
        self,
        folder: Path,
        *,
        device: Device = "auto",
        threads: int = 1,
        batch_items: int = 32,
        batch_tokens: int = 16_384,
        queue_items: int = 512,
        variant: str = "",
        on_step: Callable[[int, float], None] | None = None,
    ) -> None:
        self._folder = folder
        self._device: Device = device
        self._threads = threads
        self._batch_items = batch_items
        self._batch_tokens = batch_tokens
        self._variant = variant
        self._sessions: dict[str, ModelSession] = {}
        self._models: dict[str, ModelInfo] = {}
        self._others: dict[str, Callable[[], Running[Any]]] = {}
        self._batcher = Batcher(self._open_batch, queue_items, on_step)

    @property
    def models(self) -> Mapping[str, ModelInfo]:
        """The models that are loaded, by name; empty before the start."""
        return self._models

    @property
    def waiting(self) -> int:
        """Items in the queue."""
        return self._batcher.waiting

    async def start(self) -> None:
        """Load and warm up the models; returns when the engine is ready."""
        await asyncio.to_thread(self._load)
        self._batcher.start()

    async def stop(self) -> None:
        """Stop; whatever still waits fails with :class:`EngineStopped`."""
        await asyncio.to_thread(self._batcher.stop)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def generate(
        self,
        model: str,
        source: Encoded,
        *,
        beam: int = 4,
        deadline: float | None = None,
        max_tokens: int | None = None,
        spread: float = SPREAD,
    ) -> Generation:
        """The best trees that ``model`` writes for ``source``, at most ``beam`` of them.

        Hypotheses ``spread`` nats less probable than the best one are given up.
        ``deadline`` is on the clock of ``time.monotonic``. Cancelling the call takes
        the item out of its batch at the next step.

        Raises :class:`UnknownModel`, :class:`InputTooLong`, :class:`QueueFull`,
        :class:`DeadlineExceeded`, :class:`EngineStopped`, and ``ValueError`` for a
        beam wider than the model's limit.
        """
        session = self._sessions.get(model)
        if session is None:
            raise UnknownModel(f"no model called {model} is loaded")
        limits = session.manifest.limits
        if not 1 <= beam <= limits.beam:
            raise ValueError(f"beam must be from 1 to {limits.beam}")
        if len(source.ids) > limits.source_tokens:
            raise InputTooLong(
                f"{len(source.ids)} tokens; {model} takes {limits.source_tokens} at most"
            )
        longest = min(max_tokens or limits.output_tokens, limits.output_tokens)
        search = Search(source, beam, session.manifest.output, longest, spread)
        item = Item(search, deadline, submitted=time.monotonic())
        self._batcher.submit(model, item)
        return await asyncio.wrap_future(item.future)

    def add(self, name: str, open_batch: Callable[[], Running[Any]]) -> None:
        """Compute jobs of another kind in turn with the searches, under the same bounds."""
        self._others[name] = open_batch

    def submit(self, name: str, job: Job) -> None:
        """Queue a job for what :meth:`add` named. Raises as :meth:`Batcher.submit`.

        Its future gets the result, or :class:`DeadlineExceeded`, :class:`EngineStopped`.
        """
        self._batcher.submit(name, job)

    def _open_batch(self, model: str) -> Running[Any]:
        if model in self._others:
            return self._others[model]()
        return self._open_search(model)

    def _open_search(self, model: str) -> Batch:
        return Batch(self._sessions[model], self._batch_items, self._batch_tokens)

    def _load(self) -> None:
        sessions = {}
        for name, folder in artifacts.find(self._folder).items():
            sessions[name] = ModelSession(
                folder,
                artifacts.read(folder),
                device=self._device,
                threads=self._threads,
                variant=self._variant,
            )
        self._sessions = sessions
        self._models = {
            name: ModelInfo(
                name,
                session.manifest.version,
                session.digest,
                session.provider,
                session.variant,
                asdict(session.manifest.limits),
            )
            for name, session in sessions.items()
        }
        for name in sessions:
            self._warm_up(name)

    def _warm_up(self, model: str) -> None:
        """Decode a few steps in batches of every size, so that memory is there."""
        source = Encoded((v.VAR,), (0,), (), ())
        rows = self._batch_items
        while rows:
            batch = self._open_search(model)
            output = batch.session.manifest.output
            searches = [Search(source, 4, output, 4, SPREAD) for _ in range(rows)]
            batch.join([Item(search, None, 0.0) for search in searches])
            while not batch.items[0].search.done:
                batch.step()
            rows //= 2
