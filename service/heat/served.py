"""The kernel model, computed by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from models.heat.artifact import NAME, HeatManifest, read
from models.heat.boundary import Array
from models.heat.predictor import KernelPredictor
from models.heat.rows import Branch, Graph, Row
from service.engine import Engine
from service.engine.session import Device
from service.heat.sessions import BRANCHES, kind_of, open_kinds


class ServedHeatModel:
    """The model under ``root``, whose graphs run in the process of ``engine``.

    ``engine`` must not have been started. Rows of at most ``batch_items`` questions share a
    run. Raises :class:`ArtifactError` when the artifact cannot be used.
    """

    def __init__(
        self, root: Path, engine: Engine, *, device: Device, threads: int, batch_items: int
    ) -> None:
        self.manifest: HeatManifest = read(root / NAME)
        self._engine = engine
        engine.add(
            partial(open_kinds, root, device=device, threads=threads, batch_items=batch_items)
        )

    @classmethod
    def find(
        cls, root: Path, engine: Engine, *, device: Device, threads: int, batch_items: int
    ) -> ServedHeatModel | None:
        """The model under ``root``, or None when there is none."""
        if not (root / NAME).is_dir():
            return None
        return cls(root, engine, device=device, threads=threads, batch_items=batch_items)

    @property
    def provider(self) -> str:
        """ONNX Runtime's name of what the graphs run on, once the engine has started."""
        return self._engine.providers[kind_of(BRANCHES[0])]

    def batched(self, deadline: float) -> KernelPredictor:
        """A predictor for threads beside the event loop; it waits until ``deadline``.

        That is on the clock of ``time.monotonic``. Its calls raise what :meth:`Engine.compute`
        does.
        """

        def graph(branch: Branch) -> Graph:
            def values(rows: Sequence[Row]) -> list[Array]:
                found: list[Array] = self._engine.compute_from_thread(
                    kind_of(branch), rows, deadline
                )
                return found

            return values

        return KernelPredictor(*map(graph, BRANCHES))
