"""Small networks with random weights, exported once for all tests that need them."""

from __future__ import annotations

import functools
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models import artifacts
from models.config import ModelConfig
from models.dataset import Shard, example
from models.export import LIMITS, export_model
from models.random_trees import Alphabet, RandomTrees
from models.transformer import Transformer
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, encode

CONFIG = ModelConfig(width=32, heads=2, encoder_layers=1, decoder_layers=2, hidden=64)


#: By the names of the artifacts.
CONFIGS = {"tiny": CONFIG, "shared": replace(CONFIG, heads=4, shared_keys=True)}


@functools.cache
def network(name: str = "tiny") -> Transformer:
    """Random, but with preferences as clear as a trained network's, and fond of large trees."""
    torch.manual_seed(7)
    torch.set_num_threads(1)  # threads cost more than they bring in a network this small
    model = Transformer(CONFIGS[name]).eval()
    with torch.no_grad():
        for called, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.mul_(12 if "embedding" in called else 6)
        model.to_vocabulary.bias.add_(2 * torch.tensor(v.ARITIES))
    return model


_EXPORTED: list[Path] = []


def exported(factory: pytest.TempPathFactory) -> Path:
    """A folder with artifacts: ``tiny`` and ``shared`` write expressions, ``ansatz`` terms."""
    if not _EXPORTED:
        folder = factory.mktemp("artifacts")
        training = {"steps": 0, "examples": 0, "minutes": 0.0}
        # so wide that the decoder gives back every continuation of a hypothesis
        limits = replace(LIMITS, beam=64)
        for name in CONFIGS:
            export_model(network(name), name, folder, "1.0", training, examples(), limits=limits)
        manifest = artifacts.read(folder / "tiny")
        shutil.copytree(folder / "tiny", folder / "ansatz")
        replace(manifest, name="ansatz", output="terms").write(folder / "ansatz")
        assert set(artifacts.find(folder)) == {*CONFIGS, "ansatz"}
        _EXPORTED.append(folder)
    return _EXPORTED[0]


def examples() -> Shard:
    """Questions of many lengths, each labelled with itself."""
    return Shard.of(example(source, source.ids) for source in questions(36))


def questions(count: int) -> list[Encoded]:
    """Encoded random expressions of very different lengths."""
    rng = random.Random(11)
    trees = RandomTrees(Alphabet())
    return [encode(trees.sample(rng, 1 + i % 12)) for i in range(count)]
