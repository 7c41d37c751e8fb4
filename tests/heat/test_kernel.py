"""The shipped kernel model: what was learned, and how good the exported graphs are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import models
from models.artifacts import ArtifactError, find
from models.heat.artifact import NAME, read
from models.heat.boundary import Boundary
from models.heat.evaluation import UNSEEN, Kernel, load, settings
from models.heat.families import FAMILIES, truth
from models.heat.metrics import measure
from models.heat.train_kernel import RESOLUTIONS

ROOT = Path(models.__file__).parent / "artifacts"


def test_the_law_of_diffusion_was_learned() -> None:
    """Decay ω²τ and score d²/4τ, each to eight digits, from a start that knew neither."""
    learned = read(ROOT / NAME).raw["learned"]
    expected = {
        "decay_factor": 1, "decay_power": 2, "decay_time": 1,
        "score_factor": 0.25, "score_power": 2, "score_time": -1,
    }  # fmt: skip
    assert learned == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("precision", "target"), [("float64", 1e-6), ("float32", 1e-4)])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_sample_meets_the_target(family: str, precision: str, target: float) -> None:
    """Worst sample over boundary kinds, times and resolutions, 17 and 1025 among them."""
    manifest, predictor = load(ROOT / NAME, "float64" if precision == "float64" else "float32")
    kernel = Kernel(predictor, manifest.threshold)
    seen = set()
    for setting in settings(family, 120, batch=4):
        seen.add(len(setting.x))
        exact = truth(setting.u0, setting.boundary, np.full(len(setting.u0), setting.tau))
        errors = measure(setting.u0, exact, kernel(setting), setting.boundary)
        assert errors.relative_l2.max() <= target, setting.facts()
        if precision == "float64":
            assert errors.overshoot.max() <= 1e-9, setting.facts()
    assert set(UNSEEN) <= seen
    assert not set(UNSEEN) & set(RESOLUTIONS)


def test_a_large_batch_is_what_its_rows_are_alone() -> None:
    """Linearity used for large batches changes nothing but rounding."""
    manifest, predictor = load(ROOT / NAME, "float64")
    x = np.linspace(0, 1, 33)
    u = np.random.default_rng(3).normal(size=(40, 33))
    for tau in (2e-5, 1e-2):
        many = predictor.on_grid(u, x, Boundary.NEUMANN, tau, manifest.threshold)
        one = predictor.on_grid(u[:1], x, Boundary.NEUMANN, tau, manifest.threshold)
        assert np.abs(many[0] - one[0]).max() < 1e-13


def test_a_damaged_graph_is_refused(tmp_path: Path) -> None:
    """A file that is not the one in the manifest is an error at start-up, not wrong numbers."""
    folder = shutil.copytree(ROOT / NAME, tmp_path / NAME)
    graph = folder / "modes.float64.onnx"
    graph.write_bytes(graph.read_bytes() + b"\0")
    with pytest.raises(ArtifactError, match=r"modes\.float64\.onnx"):
        read(folder)


def test_a_manifest_without_a_field_is_refused(tmp_path: Path) -> None:
    """The reader says which manifest it could not read."""
    folder = shutil.copytree(ROOT / NAME, tmp_path / NAME)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["threshold"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError, match="threshold"):
        read(folder)


def test_the_sequence_models_reader_leaves_it_alone() -> None:
    """Beside encoder–decoder artifacts it is not taken for one."""
    assert NAME not in find(ROOT)
