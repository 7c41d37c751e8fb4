"""A network can be had back from the graphs it was exported as."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from typer.testing import CliRunner

from models import artifacts, graphs
from models.artifacts import ArtifactError
from models.cli import app
from models.dataset import batches
from models.restore import restored, starting
from models.training import Run, train
from models.transformer import Transformer
from tests import tiny_model

SHIPPED = Path(artifacts.__file__).parent


@pytest.fixture(scope="module", params=tiny_model.CONFIGS)
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return tiny_model.exported(tmp_path_factory) / str(request.param)


def logits(model: Transformer) -> list[torch.Tensor]:
    """What ``model`` gives for the tiny model's questions."""
    rng = np.random.default_rng(1)
    with torch.no_grad():
        return [
            model(*(torch.from_numpy(array) for array in batch[:-1]))
            for batch in batches(tiny_model.examples(), rng, 2000)
        ]


def differing(model: Transformer, other: Transformer) -> set[str]:
    """Names of the weights in which the two are not equal up to rounding."""
    weights, others = model.state_dict(), other.state_dict()
    assert weights.keys() == others.keys()
    return {
        name
        for name, weight in weights.items()
        if not torch.allclose(weight, others[name], rtol=0, atol=1e-5)
    }


def test_every_weight_comes_back(folder: Path) -> None:
    """A restored network has the exported one's weights, each of them, and says what it said."""
    model = restored(folder)
    assert model.config == tiny_model.CONFIGS[folder.name]
    assert differing(model, tiny_model.network(folder.name)) == set()
    for found, expected in zip(logits(model), logits(tiny_model.network(folder.name)), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["differentiate", "integrate"])
@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_shipped_models_are_written_again(name: str, part: str) -> None:
    """The shipped graphs are what a restored network is exported as: same steps, same numbers.

    So they give the same outputs.
    """
    model = restored(SHIPPED / name)
    weights = {key: tensor.numpy() for key, tensor in model.state_dict().items()}
    write = graphs.encoder if part == "encoder" else graphs.decoder
    again = write(weights, model.config, "float32").graph
    shipped = onnx.load(SHIPPED / name / f"{part}.onnx").graph
    assert [node.op_type for node in again.node] == [node.op_type for node in shipped.node]
    expected = {tensor.name: numpy_helper.to_array(tensor) for tensor in shipped.initializer}
    assert {tensor.name for tensor in again.initializer} == expected.keys()
    for tensor in again.initializer:
        found = numpy_helper.to_array(tensor)
        np.testing.assert_allclose(found, expected[tensor.name], rtol=1e-6, atol=1e-8)


def test_an_artifact_is_exported_again(folder: Path, tmp_path: Path) -> None:
    """``calcert export`` writes graphs with the weights of an artifact, and where they are from."""
    given = ["export", "differentiate", "--folder", folder, "--output", tmp_path, "--version", "2"]
    done = CliRunner().invoke(app, [str(argument) for argument in given])
    assert done.exit_code == 0, done.output
    manifest = artifacts.read(tmp_path / "differentiate")
    assert manifest.version == "2"
    assert manifest.training == artifacts.read(folder).training
    again = restored(tmp_path / "differentiate")
    assert differing(again, tiny_model.network(folder.name)) == set()


def test_graphs_of_another_network_are_refused(folder: Path, tmp_path: Path) -> None:
    """Graphs without the weights that the manifest promises are an error that names the folder."""
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    manifest = artifacts.read(copy)
    replace(manifest, config={**manifest.config, "encoder_layers": 3}).write(copy)
    with pytest.raises(ArtifactError, match="copy"):
        restored(copy)


@pytest.mark.parametrize("kind", ["checkpoint", "artifact"])
def test_training_begins_with_given_weights(folder: Path, tmp_path: Path, kind: str) -> None:
    """A run without a minute of time ends with the weights it was told to start from."""
    start = folder
    if kind == "checkpoint":
        start = tmp_path / "checkpoint.pt"
        weights = tiny_model.network(folder.name).state_dict()
        torch.save(
            {"config": tiny_model.CONFIGS[folder.name].as_dict(), "average": weights, "state": {}},
            start,
        )
    data = tmp_path / "data"
    data.mkdir()
    tiny_model.examples().save(data / "1.npz")
    run = Run(
        folder=tmp_path / "run",
        data=((data, 1.0),),
        minutes=0,
        config=tiny_model.CONFIGS[folder.name],
        start=start,
        threads=1,
    )
    assert differing(train(run), tiny_model.network(folder.name)) == set()


def test_shared_keys_are_means(tmp_path: Path) -> None:
    """A network that shares keys begins with the means of those of the heads; the rest stays."""
    start = tmp_path / "checkpoint.pt"
    weights = tiny_model.network().state_dict()
    torch.save({"config": tiny_model.CONFIG.as_dict(), "average": weights, "state": {}}, start)
    shared = replace(tiny_model.CONFIG, shared_keys=True)
    begun = starting(start, shared)
    Transformer(shared).load_state_dict(begun)
    name = "decoder.1.cross.key_value.weight"
    for found, of_heads in zip(begun[name].chunk(2), weights[name].chunk(2), strict=True):
        torch.testing.assert_close(found, of_heads.unflatten(0, (2, shared.head)).mean(0))
    same = [key for key in weights if ".key_value." not in key]
    assert all(torch.equal(begun[key], weights[key]) for key in same)
