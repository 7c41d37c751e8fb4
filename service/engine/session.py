"""The two graphs of a model in ONNX Runtime, on the CPU or on a CUDA device.

The caches of the decoder are outputs bound to the memory of their inputs, so a
step writes only what is new.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from models.artifacts import ArtifactError, Manifest
from models.paths import rows as path_rows
from service.engine.errors import DeviceUnavailable
from service.engine.spans import Plan, whole
from tokenizer.codec import Encoded

Device = Literal["auto", "cpu", "cuda"]
Array = npt.NDArray[Any]

#: What the decoder is told anew at each step; :mod:`models.graphs` says what it is.
FEEDS = (
    *("words", "pointed", "refers", "places", "grid", "rules"),
    *("self_grid", "self_cells", "visible", "cross_grid", "cross_cells", "asked"),
    "continuations",
)
#: What it is told once: what may stand where, and, of each question, what it has and how long
#: it is.
GRAMMAR, NAMES, MASK = "grammar", "names", "mask"
#: What the encoder gives of questions for all cross-attentions.
_CROSS = "cross"

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
            "`cpu` (pip install '.[gpu]'), or set CALCERT_DEVICE=auto."
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
        inputs = {given.name: given for given in self._decoder.get_inputs()}
        #: The decoder's caches, and what it keeps of questions in the same way.
        self.caches = [name for name in inputs if name.startswith("past_")]
        self.questions = [
            name for name in inputs if name.startswith("cross_") and name not in FEEDS
        ]
        self._pointers = [out.name for out in self._encoder.get_outputs() if out.name != _CROSS]
        #: What it keeps with a row for each item.
        self.rows = [NAMES, MASK, *self._pointers]
        if inputs.keys() != {*self.rows, *FEEDS, *self.caches, *self.questions, GRAMMAR}:
            raise ArtifactError(
                f"{folder} was exported for another release of this engine; export it again"
            )
        #: What is kept between steps; names stand for what varies.
        self.shapes: dict[str, tuple[int | str, ...]] = {
            name: tuple(inputs[name].shape) for name in (*self.rows, *self.caches, *self.questions)
        }
        #: NumPy's type of each input of the decoder.
        self.types: dict[str, type[np.generic]] = {
            name: _TYPES[given.type] for name, given in inputs.items()
        }
        #: Heads of keys and values.
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

    def encode(self, sources: Sequence[Encoded]) -> Encoding:
        """What the decoder asks of ``sources``, all their tokens in a row."""
        sizes = [whole(len(source.ids)) for source in sources]
        plan = Plan(max(sizes))
        # long ones first: the others find gaps
        spans = sorted([(-size, index) for index, size in enumerate(sizes)])
        placed = {index: plan.put(-size) for size, index in spans}
        grid = np.zeros((len(plan.shelves), plan.length), np.int64)
        seen = np.zeros((len(plan.shelves), 1, plan.length, plan.length), np.bool_)
        cells = np.empty((sum([len(source.ids) for source in sources]), 2), np.int64)
        start = 0
        for index, source in enumerate(sources):
            span, end = placed[index], start + len(source.ids)
            own = slice(span.first, span.first + len(source.ids))
            grid[span.shelf, own] = np.arange(start, end)
            seen[span.shelf, 0, own, own] = True
            cells[start:end, 0] = span.shelf
            cells[start:end, 1] = np.arange(own.start, own.stop)
            start = end
        given = {
            "tokens": np.array([token for source in sources for token in source.ids]),
            "digits": path_rows(np.array([path for source in sources for path in source.paths])),
            "grid": grid,
            "cells": cells,
            "seen": seen,
        }
        *rows, cross = self._encoder.run([*self._pointers, _CROSS], given)
        return Encoding(
            dict(zip(self._pointers, rows, strict=True)),
            cross.reshape(len(cross), len(self.questions), self.heads, -1),
        )

    def bind(self) -> Binding:
        """The decoder, to run with what it is told and what is kept where it runs."""
        return Binding(self._decoder, self.device, self.caches)


@dataclass(frozen=True, slots=True)
class Encoding:
    """What the encoder gives of T tokens: ``rows`` (T, C) by name, ``questions`` (T, 2 L, H, D).

    The latter are keys and values of each of the decoder's L layers.
    """

    rows: Mapping[str, Array]
    questions: Array


class Told:
    """What the decoder is told anew at a step: ``arrays`` by name, which may be written over.

    They are what :data:`FEEDS` names, but for the last.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = arrays
        #: That of the grid of items.
        self.shape = arrays["grid"].shape
        self._bound = False
        self._values: dict[str, Any] = {}

    def bind(self, binding: Any) -> None:
        """Have ``binding`` look at the arrays, or at copies on another device."""
        if not self._bound:
            # most are told once, and values that can be bound again would not pay
            self._bound = True
            for name, array in self._arrays.items():
                binding.bind_cpu_input(name, array)
            return
        if not self._values:
            self._values = {
                name: ort.OrtValue.ortvalue_from_numpy(array)
                for name, array in self._arrays.items()
            }
        for name, value in self._values.items():
            binding.bind_ortvalue_input(name, value)


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
    """A decoder, and the tensors that it runs with: what it is told, and what is :class:`Kept`."""

    def __init__(self, decoder: Any, device: str, caches: Sequence[str]) -> None:
        self._decoder = decoder
        self.device = device
        self.caches = caches
        self._binding = decoder.io_binding()
        self._told: Told | None = None
        self._found: _Found | None = None
        self._all_found: dict[tuple[int, ...], _Found] = {}

    def keep(self, values: Mapping[str, Any]) -> None:
        """Run with ``values``, by name, from now on; caches are written in place."""
        for name, value in values.items():
            self._binding.bind_ortvalue_input(name, value)
            if name in self.caches:
                self._binding.bind_ortvalue_output(f"new_{name}", value)

    def step(self, told: Told, continuations: int) -> tuple[Array, Array]:
        """One decoder step: log-probabilities and tokens, (B, W, K) each.

        The arrays are written over by the next step.
        """
        if told is not self._told or self.device != "cpu":
            told.bind(self._binding)
            self._told = told
        shape = *told.shape, continuations
        found = self._all_found.get(shape)
        if found is None:
            found = self._all_found[shape] = _Found(*shape)
        if found is not self._found:
            self._binding.bind_ortvalue_input("continuations", found.continuations)
            self._binding.bind_ortvalue_output("best", found.best_value)
            self._binding.bind_ortvalue_output("index", found.index_value)
            self._found = found
        self._decoder.run_with_iobinding(self._binding)
        return found.best, found.index


class Kept:
    """Tensors that are kept between steps: some rows of ``arrays``, as many of each.

    On the CPU the arrays themselves are bound, so steps change the caches in place;
    elsewhere copies are, which :meth:`open` brings back.
    """

    def __init__(self, binding: Binding, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self._binding = binding
        self._values: dict[int, dict[str, Any]] = {}
        self._bound = 0

    def bind(self, count: int) -> None:
        """Have the decoder look at the first ``count`` rows."""
        if count == self._bound:
            return
        values = self._values.get(count)
        if values is None:
            values = self._values[count] = {
                name: ort.OrtValue.ortvalue_from_numpy(array[:count], self._binding.device, 0)
                for name, array in self.arrays.items()
            }
        self._binding.keep(values)
        self._bound = count

    def open(self) -> None:
        """Before a change: have the arrays up to date, and no copy of them in use."""
        if self._binding.device != "cpu" and self._bound:
            for name in self.arrays.keys() & self._binding.caches:
                self.arrays[name][: self._bound] = self._values[self._bound][name].numpy()
            self._values.clear()
            self._bound = 0

    def replace(self, arrays: Mapping[str, Array]) -> None:
        """Keep ``arrays`` instead."""
        self.open()
        self.arrays = arrays
        self._values.clear()
        self._bound = 0


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
