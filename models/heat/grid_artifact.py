"""The plain and the article's Transformers as they are kept: ONNX graphs, weights halved.

They are shown beside the kernel model and never served. Weights are stored in half
precision and computed with in single.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from models.artifacts import MANIFEST, GraphFile
from models.heat.boundary import Array

NAME = "heat-grid"

#: Initializers with more numbers than this are stored in half precision.
_SMALL = 256

#: u₀ (B, n) on the model's grid and τ (B,) -> u(τ) (B, n).
GridPredictor = Callable[[Array, Array], Array]


def export(runs: Path, folder: Path, names: list[str]) -> dict[str, Any]:
    """Write ``folder/<name>.onnx`` for each run that was trained to its end, and the manifest.

    Raises ``AssertionError`` when ONNX Runtime and PyTorch disagree.
    """
    import torch  # noqa: PLC0415 - reading an artifact needs none

    from models.heat.train_grid import load  # noqa: PLC0415 - as above

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    entries: dict[str, Any] = {}
    batch = torch.export.Dim("B", min=1, max=2**20)
    for name in names:
        model, facts = load(runs / name)
        if facts["step"] < facts["training"]["steps"]:
            continue
        path = folder / f"{name}.onnx"
        u0, tau = torch.randn(3, model.config.points), torch.tensor([1e-4, 1e-2, 0.5])
        with torch.no_grad():
            torch.onnx.export(
                model,
                (u0, tau),
                str(path),
                dynamo=True,
                external_data=False,
                verbose=False,
                input_names=["u0", "tau"],
                output_names=["u"],
                dynamic_shapes=({0: batch}, {0: batch}),
            )
            expected = model(u0, tau).numpy()
        _halve(path)
        found = _open(path)(u0.numpy(), tau.numpy())
        if not np.allclose(found, expected, atol=0.02 * np.abs(expected).max()):
            raise AssertionError(f"{path.name}: ONNX Runtime and PyTorch disagree")
        entries[name] = {
            "file": path.name,
            "sha256": GraphFile.of(path).sha256,
            "bytes": path.stat().st_size,
            "parameters": sum(p.numel() for p in model.parameters()),
            **facts,
        }
    manifest = {"name": NAME, "version": "2", "task": "heat, for comparison", "models": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def read(folder: Path) -> dict[str, tuple[GridPredictor, dict[str, Any]]]:
    """Name -> the model on one CPU thread, and its facts."""
    manifest = json.loads((folder / MANIFEST).read_text())
    return {
        name: (_open(folder / facts["file"]), facts) for name, facts in manifest["models"].items()
    }


def _open(path: Path) -> GridPredictor:
    import onnxruntime  # noqa: PLC0415 - the train extra does not bring a runtime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def predict(u0: Array, tau: Array) -> Array:
        feed = {"u0": u0.astype(np.float32), "tau": tau.astype(np.float32)}
        return np.asarray(session.run(None, feed)[0], np.float64)

    return predict


def _halve(path: Path) -> None:
    """Store large weights in half precision, each behind a cast back."""
    import onnx  # noqa: PLC0415 - for training only

    model = onnx.load(path)
    graph = model.graph
    casts = []
    for tensor in graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size <= _SMALL:
            continue
        name, stored = tensor.name, f"{tensor.name}.half"
        tensor.CopyFrom(onnx.numpy_helper.from_array(values.astype(np.float16), stored))
        casts.append(onnx.helper.make_node("Cast", [stored], [name], to=onnx.TensorProto.FLOAT))
    nodes = list(graph.node)
    del graph.node[:]
    graph.node.extend([*casts, *nodes])
    onnx.save(model, path)
