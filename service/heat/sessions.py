"""The kernel model in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime as ort

from models.artifacts import ArtifactError
from models.heat.artifact import NAME, HeatManifest, Precision, read
from models.heat.boundary import Array
from models.heat.predictor import KernelPredictor
from models.heat.rows import Branch, in_runs
from service.engine.job import Kind
from service.engine.session import Device, providers
from service.heat.batch import HeatKind, Work

BRANCHES: Final[tuple[Branch, ...]] = ("modes", "points")

#: What the service computes in.
PRECISION: Final[Precision] = "float64"


class HeatModel:
    """The two graphs of the kernel model, loaded; safe to call from several threads.

    float64 on the CPU, float32 where the graphs run on a CUDA device unless
    ``precision`` says otherwise. Raises :class:`ArtifactError` when the artifact cannot
    be used and :class:`service.engine.errors.DeviceUnavailable` for a device that
    cannot be had.
    """

    def __init__(
        self, root: Path, *, device: Device, threads: int, precision: Precision = PRECISION
    ) -> None:
        self.manifest: HeatManifest = read(root / NAME)
        self.precision = precision
        self._type = np.float64 if precision == "float64" else np.float32
        wanted = providers(device)
        self._sessions = {branch: self._open(branch, wanted, threads) for branch in BRANCHES}
        self.provider = str(self._sessions["modes"].get_providers()[0])
        #: Runs the graphs here and now.
        self.predictor = KernelPredictor(
            *(in_runs(partial(self._run, branch), branch) for branch in BRANCHES)
        )

    def kind(self, branch: Branch, most: int) -> HeatKind:
        """Rows of ``branch`` as an engine's jobs; ``most`` questions share a run."""
        return HeatKind(partial(self._run, branch), branch, most, self.provider)

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


def open_kinds(
    root: Path, *, device: Device, threads: int, batch_items: int
) -> dict[str, Kind[Work]]:
    """Both graphs of the model under ``root`` as an engine's jobs. Raises as :class:`HeatModel`."""
    model = HeatModel(root, device=device, threads=threads)
    return {kind_of(branch): model.kind(branch, batch_items) for branch in BRANCHES}


def kind_of(branch: Branch) -> str:
    """What an engine calls rows of ``branch``."""
    return f"{NAME}.{branch}"
