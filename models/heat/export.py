"""Write the kernel model as ONNX graphs with a manifest.

Each branch twice: float64, which the service runs on CPU, and float32, the raw
graph for accelerators. All sizes (rows, values on the same tokens, tokens, times,
places) are free.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from models.artifacts import MANIFEST, GraphFile
from models.heat.artifact import NAME
from models.heat.kernel import KernelModel
from models.heat.rows import INPUTS, Branch
from models.heat.train_kernel import MODE_TAU, POINT_TAU, RESOLUTIONS

VERSION = "2"

#: τ from which the mode branch answers. In float32 the point branch cannot see a
#: solution below rounding of its own terms, so it answers only while modes up to
#: k = 32 still live; the mode branch needs few modes from here on.
THRESHOLD = 1e-4


def export(model: KernelModel, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
    """Write ``folder`` and return the manifest. Checks each graph against PyTorch."""
    folder.mkdir(parents=True, exist_ok=True)
    graphs: dict[str, dict[str, Any]] = {}
    branches: dict[Branch, nn.Module] = {"modes": model.modes, "points": model.points}
    for precision, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        for name, branch in branches.items():
            file = f"{name}.{precision}.onnx"
            _export(copy.deepcopy(branch).to(dtype).eval(), name, dtype, folder / file)
            graphs[f"{name}.{precision}"] = {
                **asdict(GraphFile.of(folder / file)),
                "inputs": list(INPUTS[name]),
            }
    manifest = {
        "name": NAME,
        "version": VERSION,
        "task": "heat",
        "graphs": graphs,
        "threshold": THRESHOLD,
        "tau_range": [POINT_TAU[0], MODE_TAU[1]],
        "parameters": sum(p.numel() for p in model.parameters()),
        "learned": model.learned(),
        "training": {**training, "resolutions": list(RESOLUTIONS)},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def _example(name: Branch, dtype: torch.dtype, seed: int) -> tuple[Tensor, ...]:
    """Inputs of the right kind; every size differs, so that none is taken for another."""
    rng = np.random.default_rng(seed)
    rows, channels, tokens, times, places = 2 + seed, 5 + seed, 23 + seed, 3 + seed, 7 + seed
    amount = rng.normal(size=(rows, channels, tokens))
    tau = np.exp(rng.uniform(-6, -3, size=(rows, times)))
    place = rng.uniform(-0.1, 1.1, size=(rows, tokens))
    if name == "modes":
        place = np.pi * np.arange(1, tokens + 1) * np.ones((rows, 1))
    share, x = rng.uniform(size=(rows, tokens)), rng.uniform(size=(rows, places))
    return tuple(torch.from_numpy(a).to(dtype) for a in (amount, place, share, tau, x))


def _export(branch: nn.Module, name: Branch, dtype: torch.dtype, path: Path) -> None:
    rows, channels, tokens, times, places = (
        torch.export.Dim(size, min=1, max=2**20) for size in ("R", "C", "T", "M", "Q")
    )
    token = {0: rows, 1: tokens}
    shapes = (
        {0: rows, 1: channels, 2: tokens}, token, token, {0: rows, 1: times}, {0: rows, 1: places}
    )  # fmt: skip
    with torch.no_grad():
        torch.onnx.export(
            branch,
            _example(name, dtype, 0),
            str(path),
            dynamo=True,
            external_data=False,
            verbose=False,
            input_names=list(INPUTS[name]),
            output_names=["u"],
            dynamic_shapes=shapes,
        )
        _check(branch, name, dtype, path)


def _check(branch: nn.Module, name: Branch, dtype: torch.dtype, path: Path) -> None:
    """Raises ``AssertionError`` when ONNX Runtime and PyTorch disagree at other sizes."""
    import onnxruntime  # noqa: PLC0415 - the train extra does not bring a runtime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for seed in (1, 2):
        inputs = _example(name, dtype, seed)
        feed = {key: value.numpy() for key, value in zip(INPUTS[name], inputs, strict=True)}
        expected = branch(*inputs).numpy()
        found = session.run(None, feed)[0]
        tolerance = 1e-12 if dtype == torch.float64 else 2e-5
        if found.shape != expected.shape or np.abs(found - expected).max() > tolerance:
            raise AssertionError(f"{path.name}: ONNX Runtime and PyTorch disagree")
