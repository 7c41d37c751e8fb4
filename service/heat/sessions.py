"""The kernel model in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime as ort

from models.artifacts import ArtifactError
from models.heat.artifact import NAME, HeatManifest, Precision, read
from models.heat.boundary import Array
from models.heat.predictor import KernelPredictor
from models.heat.rows import Branch, Graph, Row, in_runs
from service.engine import Engine
from service.engine.session import Device, providers
from service.heat.batch import HeatBatch, Work

_BRANCHES: Final[tuple[Branch, ...]] = ("modes", "points")


class HeatModel:
    """The two graphs of the kernel model, loaded; safe to call from several threads.

    float64 on the CPU, float32 where the graphs run on a CUDA device unless
    ``precision`` says otherwise. Raises :class:`ArtifactError` when the artifact cannot
    be used and :class:`service.engine.errors.DeviceUnavailable` for a device that
    cannot be had.
    """

    def __init__(
        self, root: Path, *, device: Device, threads: int, precision: Precision = "float64"
    ) -> None:
        self.manifest: HeatManifest = read(root / NAME)
        self.precision = precision
        self._type = np.float64 if precision == "float64" else np.float32
        wanted = providers(device)
        self._sessions = {branch: self._open(branch, wanted, threads) for branch in _BRANCHES}
        self.provider = str(self._sessions["modes"].get_providers()[0])
        self._engine: Engine | None = None
        #: Runs the graphs here and now.
        self.predictor = KernelPredictor(
            *(in_runs(partial(self._run, branch), branch) for branch in _BRANCHES)
        )

    @classmethod
    def find(cls, root: Path, *, device: Device, threads: int) -> HeatModel | None:
        """The model under ``root``, or None when there is none."""
        if not (root / NAME).is_dir():
            return None
        return cls(root, device=device, threads=threads)

    def serve(self, engine: Engine, batch_items: int) -> None:
        """From now on :meth:`batched` may be called: the graphs run in batches of ``engine``.

        Rows of at most ``batch_items`` questions share them.
        """
        for branch in _BRANCHES:
            run = partial(self._run, branch)
            engine.add(_name(branch), partial(HeatBatch, run, branch, batch_items))
        self._engine = engine

    def batched(self, deadline: float) -> KernelPredictor:
        """A predictor whose calls wait for the engine, until ``deadline`` (``time.monotonic``).

        They raise what :meth:`Engine.submit` and its futures do.
        """

        def graph(branch: Branch) -> Graph:
            def values(rows: Sequence[Row]) -> list[Array]:
                assert self._engine is not None
                work = Work(rows, deadline)
                self._engine.submit(_name(branch), work)
                return work.future.result()

            return values

        return KernelPredictor(*map(graph, _BRANCHES))

    def _open(self, branch: str, wanted: list[str], threads: int) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # shapes change with every question: a pattern for each would only pile up
        options.enable_mem_pattern = False
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        path = self.manifest.graphs[f"{branch}.{self.precision}"]
        try:
            return ort.InferenceSession(path, options, providers=wanted)
        except Exception as error:
            raise ArtifactError(f"{path} cannot be loaded: {error}") from error

    def _run(self, branch: Branch, feed: Mapping[str, Array]) -> Array:
        inputs = {name: np.ascontiguousarray(array, self._type) for name, array in feed.items()}
        result: Array = np.asarray(self._sessions[branch].run(None, inputs)[0], np.float64)
        return result


def _name(branch: Branch) -> str:
    return f"{NAME}.{branch}"
