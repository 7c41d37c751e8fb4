"""Read the exported kernel model: manifest checked, graphs by name. No PyTorch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from models.artifacts import MANIFEST, ArtifactError, GraphFile

NAME = "heat-kernel"

Precision = Literal["float64", "float32"]


@dataclass(frozen=True, slots=True)
class HeatManifest:
    """``graphs``: file of "modes.float64" and so on; ``threshold``: the τ from which the
    mode branch answers; ``tau_range``: what was trained on."""

    name: str
    version: str
    graphs: Mapping[str, Path]
    threshold: float
    tau_range: tuple[float, float]
    parameters: int
    raw: Mapping[str, Any]


def read(folder: Path) -> HeatManifest:
    """Raises :class:`ArtifactError` when something is missing or not what was exported."""
    path = folder / MANIFEST
    try:
        raw = json.loads(path.read_text())
        files = {
            name: GraphFile(graph["file"], graph["bytes"], graph["sha256"])
            for name, graph in raw["graphs"].items()
        }
        low, high = raw["tau_range"]
        manifest = HeatManifest(
            str(raw["name"]),
            str(raw["version"]),
            {name: folder / graph.file for name, graph in files.items()},
            float(raw["threshold"]),
            (float(low), float(high)),
            int(raw["parameters"]),
            raw,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{path} cannot be read: {error!r}") from error
    for name, graph in files.items():
        file = manifest.graphs[name]
        if not file.is_file() or GraphFile.of(file) != graph:
            raise ArtifactError(f"{file} is not the file the manifest describes; export it again")
    return manifest
