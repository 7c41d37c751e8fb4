"""The plain and the article's Transformers as they are kept: weights in half precision.

They are shown beside the kernel model and never served, so they have no ONNX graph.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.artifacts import MANIFEST, GraphFile
from models.heat.grid import GridConfig, GridModel
from models.heat.train_grid import load

NAME = "heat-grid"


def export(runs: Path, folder: Path, names: list[str]) -> dict[str, Any]:
    """Write ``folder/<name>.npz`` for each trained run, and the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Any] = {}
    for name in names:
        model, facts = load(runs / name)
        path = folder / f"{name}.npz"
        state = {key: value.half().numpy() for key, value in model.state_dict().items()}
        np.savez_compressed(path, **state)
        entries[name] = {
            "file": path.name,
            "sha256": GraphFile.of(path).sha256,
            "bytes": path.stat().st_size,
            "parameters": sum(p.numel() for p in model.parameters()),
            **facts,
        }
    manifest = {"name": NAME, "version": "1", "task": "heat, for comparison", "models": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def read(folder: Path) -> dict[str, tuple[GridModel, dict[str, Any]]]:
    """Name -> the model in float32, and its facts."""
    manifest = json.loads((folder / MANIFEST).read_text())
    models = {}
    for name, facts in manifest["models"].items():
        model = GridModel(GridConfig(**facts["config"]))
        with np.load(folder / facts["file"]) as kept:
            own = model.state_dict()
            model.load_state_dict(
                {key: torch.from_numpy(kept[key]).to(own[key].dtype) for key in own}
            )
        models[name] = (model.eval(), facts)
    return models
