"""The two graphs of a model in ONNX Runtime, on the CPU or on a CUDA device.

The caches of the decoder are outputs bound to the memory of their inputs, so a
step writes only what is new; what it is told is written over what the last one was told.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from models.artifacts import ArtifactError, Manifest
from models.paths import rows as path_rows
from service.engine.errors import DeviceUnavailable

Device = Literal["auto", "cpu", "cuda"]
Array = npt.NDArray[Any]

#: What the decoder is told anew at each step; :mod:`models.graphs` says what it is.
FEEDS = (
    *("words", "pointed", "refers", "places", "cells", "grid", "rules"),
    *("visible", "continuations"),
)
#: What it is told once: what may stand where, and what of each question.
GRAMMAR, NAMES = "grammar", "names"

#: NumPy's names of the types that the graphs take.
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}

_CUDA = "CUDAExecutionProvider"
_CPU = "CPUExecutionProvider"
#: Provider -> kind of device, as ORT and manifests call it.
_KINDS = {_CUDA: "cuda", _CPU: "cpu"}

log = logging.getLogger(__name__)


def providers(device: Device) -> list[str]:
    """What to ask ONNX Runtime for, best first.

    Raises :class:`DeviceUnavailable` for ``cuda`` when the installed package cannot use it.
    """
    has_cuda = _CUDA in ort.get_available_providers()
    if device == "cuda" and not has_cuda:
        raise DeviceUnavailable(
            f"CUDA was asked for, but onnxruntime {ort.__version__} as installed has only "
            f"{', '.join(ort.get_available_providers())}. Install the extra `gpu` instead of "
            "`cpu` (pip install 'calcert[gpu]'), or set CALCERT_DEVICE=auto."
        )
    return [_CUDA, _CPU] if has_cuda and device != "cpu" else [_CPU]


class ModelSession:
    """One model ready to run; calls must come from one thread at a time.

    Raises :class:`DeviceUnavailable` when ``device`` is ``cuda`` and ONNX Runtime
    quietly falls back to the CPU, and ``ArtifactError`` for an unknown ``variant``
    or for graphs that take other inputs.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, *, device: Device, threads: int, variant: str = ""
    ) -> None:
        self.manifest = manifest
        wanted = providers(device)
        if wanted[0] == _CUDA and hasattr(ort, "preload_dlls"):
            ort.preload_dlls()
        self._open(folder, variant, wanted, threads)
        if device == "cuda" and self.provider != _CUDA:
            raise DeviceUnavailable(
                "CUDA was asked for, but ONNX Runtime could not start it and fell back to "
                f"{self.provider}: the driver, or the CUDA and cuDNN libraries that "
                f"onnxruntime {ort.__version__} needs, are missing or too old."
            )
        if wanted[0] != self.provider:
            log.warning("CUDA could not be started; %s runs on the CPU", manifest.name)
            self._open(folder, variant, [_CPU], threads)
        self.device = _KINDS[self.provider]
        #: What the encoder gives, in the decoder's terms.
        self.memory = [output.name for output in self._encoder.get_outputs()]
        inputs = {given.name: given for given in self._decoder.get_inputs()}
        #: The decoder's caches.
        self.caches = [name for name in inputs if name.startswith("past_")]
        if inputs.keys() != {*self.memory, *FEEDS, *self.caches, GRAMMAR, NAMES}:
            raise ArtifactError(
                f"{folder} was exported for another release of this engine; export it again"
            )
        #: What is kept for each item; "batch", "source", "choices" and "places" vary.
        self.shapes: dict[str, tuple[int | str, ...]] = {
            name: tuple(inputs[name].shape) for name in (NAMES, *self.memory, *self.caches)
        }
        #: NumPy's type of each input of the decoder.
        self.types: dict[str, type[np.generic]] = {
            name: _TYPES[given.type] for name, given in inputs.items()
        }
        #: Heads of an attention.
        self.heads = int(self.shapes[self.caches[0]][1])

    def _open(self, folder: Path, variant: str, wanted: list[str], threads: int) -> None:
        """Open ``variant``, or the default on the best of ``wanted``."""
        self.variant = variant or self.manifest.default[_KINDS[wanted[0]]]
        if self.variant not in self.manifest.variants:
            raise ArtifactError(
                f"{self.manifest.name} has no variant {self.variant}; "
                f"it has {', '.join(sorted(self.manifest.variants))}"
            )
        graphs = self.manifest.variants[self.variant]
        self.digest = hashlib.sha256(
            f"{graphs.encoder.sha256} {graphs.decoder.sha256}".encode()
        ).hexdigest()
        self._encoder = _open(folder / graphs.encoder.file, wanted, threads)
        self._decoder = _open(folder / graphs.decoder.file, wanted, threads)
        self.provider = str(self._decoder.get_providers()[0])

    def encode(self, tokens: Array, paths: Array) -> dict[str, Array]:
        """int64 (B, S) twice -> the tensors named in :attr:`memory`, one row an item."""
        given = {"tokens": tokens, "digits": path_rows(paths)}
        outputs = self._encoder.run(self.memory, given)
        return dict(zip(self.memory, outputs, strict=True))

    def bind(self, tensors: Mapping[str, Array]) -> Binding:
        """Keep what the decoder reads and writes at every step where it runs."""
        return Binding(self._decoder, tensors, self.caches, self.device)


class Told:
    """What the decoder is told anew at a step: arrays by name, to be written over.

    ``width`` is that of the grid.
    """

    def __init__(self, arrays: Mapping[str, Array], width: int) -> None:
        self.width = width
        # ONNX Runtime does not keep the arrays alive that it looks into
        self._arrays = arrays
        #: The arrays themselves, as ONNX Runtime takes them.
        self.values = {
            name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()
        }


class _Found:
    """Where a step puts what it finds, (B, W, K), with ONNX Runtime's views of it."""

    def __init__(self, *shape: int) -> None:
        self.best, self.index = np.empty(shape, np.float32), np.empty(shape, np.int64)
        self._count = np.array(shape[-1:], np.int64)
        self.best_value, self.index_value, self.continuations = (
            ort.OrtValue.ortvalue_from_numpy(array)
            for array in (self.best, self.index, self._count)
        )


class Binding:
    """A decoder bound to the tensors of a batch by name: the grammar, and all that is kept.

    On the CPU the arrays themselves are bound, so steps change the caches in place;
    elsewhere they are copied and :meth:`fetch` brings the caches back.
    """

    def __init__(
        self, decoder: Any, tensors: Mapping[str, Array], caches: Sequence[str], device: str
    ) -> None:
        self._decoder = decoder
        self._tensors = tensors
        self._device = device
        self._binding = decoder.io_binding()
        values = {
            name: ort.OrtValue.ortvalue_from_numpy(array, device, 0)
            for name, array in tensors.items()
        }
        self._caches = {name: values[name] for name in caches} if self.copies else {}
        for name, value in values.items():
            self._binding.bind_ortvalue_input(name, value)
        for name in caches:
            self._binding.bind_ortvalue_output(f"new_{name}", values[name])
        self._rows = len(tensors[caches[0]])
        self._told: Told | None = None
        self._found: _Found | None = None
        self._all_found: dict[tuple[int, int], _Found] = {}

    def step(self, told: Told, continuations: int) -> tuple[Array, Array]:
        """One decoder step: log-probabilities and tokens, (B, W, K) each.

        The arrays are written over by the next step.
        """
        if told is not self._told or self.copies:
            for name, value in told.values.items():
                self._binding.bind_ortvalue_input(name, value)
            self._told = told
        shape = told.width, continuations
        found = self._all_found.get(shape)
        if found is None:
            found = self._all_found[shape] = _Found(self._rows, *shape)
        if found is not self._found:
            self._binding.bind_ortvalue_input("continuations", found.continuations)
            self._binding.bind_ortvalue_output("best", found.best_value)
            self._binding.bind_ortvalue_output("index", found.index_value)
            self._found = found
        self._decoder.run_with_iobinding(self._binding)
        return found.best, found.index

    @property
    def copies(self) -> bool:
        """Whether the tensors are copies in the memory of a device."""
        return self._device != "cpu"

    def fetch(self) -> None:
        """Bring the caches back to their arrays from a device with memory of its own."""
        for name, value in self._caches.items():
            np.copyto(self._tensors[name], value.numpy())


def _open(path: Path, wanted: list[str], threads: int) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # the cores are shared with the verifiers: a thread without work must sleep
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # a pattern is kept for each combination of shapes, and shapes change at every step
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=wanted)
