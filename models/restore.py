"""A trained network from the ONNX graphs it was exported as, to train it further.

    model = restored(Path("models/artifacts/integrate"))

Checkpoints stay where they were made; artifacts are published. The float32 graphs hold every
weight, some of them joined, cut, scaled or added up by :mod:`models.graphs`; here each is
taken apart again. What an optimizer knew is lost.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from models import artifacts
from models.config import ModelConfig
from models.export import load
from models.paths import FIRST_DIGIT, FIRST_PARENT, NOTHING, path_projection
from models.transformer import Transformer

Floats = npt.NDArray[np.float32]


def network(source: Path) -> Transformer:
    """The network of a checkpoint file (its averaged weights), or of an artifact's folder."""
    return restored(source) if source.is_dir() else load(source)[0]


def starting(source: Path, config: ModelConfig) -> dict[str, Tensor]:
    """Weights for a network of ``config`` to begin with.

    ``source`` is as for :func:`network`. Where only the new network shares keys, each is
    the mean of those of the heads, from which training recovers soon (Ainslie et al., 2023,
    arXiv:2305.13245).
    """
    model = network(source)
    weights: dict[str, Tensor] = model.state_dict()
    if config.shared_keys and not model.config.shared_keys:
        for name, weight in weights.items():
            if ".key_value." in name:
                # (2 H D, …) -> (2 D, …)
                parts = weight.view(2, config.heads, config.head, *weight.shape[1:])
                weights[name] = parts.mean(1).flatten(0, 1)
    return weights


def restored(folder: Path) -> Transformer:
    """The network whose artifact lies in ``folder``.

    Raises :class:`models.artifacts.ArtifactError` for an artifact that cannot be read or was
    written by another version of :mod:`models.graphs`.
    """
    manifest = artifacts.read(folder)
    config = ModelConfig(**manifest.config)
    variant = manifest.variants["float32"]
    try:
        weights = {
            **_encoder(_initializers(folder / variant.encoder.file), config),
            **_decoder(_initializers(folder / variant.decoder.file), config),
        }
        model = Transformer(config)
        model.load_state_dict(
            # what protobuf gives is read-only
            {name: torch.from_numpy(weight.copy()) for name, weight in weights.items()}
        )
    except (KeyError, ValueError, RuntimeError) as error:
        raise artifacts.ArtifactError(
            f"{folder}: the graphs do not hold the weights of this network: {error}"
        ) from error
    return model.eval()


def _initializers(path: Path) -> dict[str, Floats]:
    graph = onnx.load(path).graph
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def _encoder(found: dict[str, Floats], config: ModelConfig) -> dict[str, Floats]:
    """What the encoder graph holds: the encoder, and what the decoder asks of the question."""
    width = config.width
    weights = {
        "source_embedding.weight": found["source_embedding.weight"],
        "source_path.project.weight": path_projection(found["source_paths"]),
        **_as_they_are(found, "encoder_norm"),
    }

    for layer in range(config.encoder_layers):
        name = f"encoder.{layer}"
        weights |= _as_they_are(found, f"{name}.norm1", f"{name}.norm2")
        weights |= _linear(found, f"{name}.attention.output")
        weights |= _feed(found, f"{name}.feed")
        weights |= _attention(found, name, width)
    for name in ("pointer_key", "pointer_value"):
        weights |= _linear(found, name)
    layers = [f"{layer}.cross.key_value" for layer in range(config.decoder_layers)]
    for kind in ("weight", "bias"):
        joined = found[f"decoder.{'+'.join(layers)}.{kind}"].T
        for name, part in zip(layers, np.split(joined, len(layers)), strict=True):
            weights[f"decoder.{name}.{kind}"] = part
    return weights


def _decoder(found: dict[str, Floats], config: ModelConfig) -> dict[str, Floats]:
    """What the decoder graph holds: everything else."""
    width = config.width
    table = found["table"]
    weights = {
        "target_embedding.weight": table[:NOTHING],
        "parent_embedding.weight": table[FIRST_PARENT:FIRST_DIGIT],
        "target_path.project.weight": path_projection(table[FIRST_DIGIT:]),
        **_as_they_are(found, "decoder_norm"),
        **_linear(found, "to_vocabulary"),
    }
    for layer in range(config.decoder_layers):
        name = f"decoder.{layer}"
        weights |= _as_they_are(found, *(f"{name}.norm{i}" for i in (1, 2, 3)))
        for part in ("attention.output", "cross.query", "cross.output"):
            weights |= _linear(found, f"{name}.{part}")
        weights |= _feed(found, f"{name}.feed")
        weights |= _attention(found, name, width)
    # the graph's has the scale of the logits multiplied in
    for key, scaled in _linear(found, "pointer_query").items():
        weights[key] = scaled * np.float32(width**0.5)
    return weights


def _as_they_are(found: dict[str, Floats], *names: str) -> dict[str, Floats]:
    keys = (f"{name}.{kind}" for name in names for kind in ("weight", "bias"))
    return {key: found[key] for key in keys}


def _linear(found: dict[str, Floats], *names: str) -> dict[str, Floats]:
    """Linear layers: the graphs hold their weights transposed."""
    return {key: array.T for key, array in _as_they_are(found, *names).items()}


def _attention(found: dict[str, Floats], name: str, width: int) -> dict[str, Floats]:
    """The projections that the graphs compute side by side."""
    weights: dict[str, Floats] = {}
    for kind in ("weight", "bias"):
        joined = found[f"{name}.attention.query+key_value.{kind}"].T
        weights[f"{name}.attention.query.{kind}"] = joined[:width]
        weights[f"{name}.attention.key_value.{kind}"] = joined[width:]
    return weights


def _feed(found: dict[str, Floats], name: str) -> dict[str, Floats]:
    return _linear(found, f"{name}.0", f"{name}.2")
