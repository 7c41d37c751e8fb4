"""A trained network as two ONNX graphs and a manifest.

    export(Path("runs/differentiate/checkpoint.pt"), "differentiate", Path("models/artifacts"),
           "1", examples)

:mod:`models.graphs` says what the graphs take and give. There are three variants of each:

``float32``
    The network as it is.
``int8``
    Weights of the layers in int8, one scale a column; what they are multiplied by is
    quantised with one scale a layer, from the range it has on ``examples``. The scale is
    fixed, so an answer does not depend on what else is in the batch.
``float16``
    For GPUs: weights and activations in half precision, probabilities in float32.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from models import graphs
from models.artifacts import (
    GraphFile,
    Limits,
    Manifest,
    Output,
    Variant,
    vocabulary_digest,
)
from models.config import ModelConfig
from models.dataset import Batch, Shard, batches
from models.transformer import Transformer

#: Longest question and answer that a model is asked for, in tokens; widest beam.
LIMITS = Limits(source_tokens=160, output_tokens=256, beam=16)

#: Variant -> what the names of its files end with.
_SUFFIXES: Final = {"float32": ".onnx", "int8": ".int8.onnx", "float16": ".float16.onnx"}
#: Tokens in one batch of examples.
_BUDGET: Final = 4000


def ranges(model: Transformer, examples: Iterable[Batch]) -> graphs.Ranges:
    """Linear layer -> least and greatest number that it is given while ``model`` reads."""
    found: dict[str, tuple[float, float]] = {}

    def watch(name: str, layer: nn.Linear) -> torch.utils.hooks.RemovableHandle:
        def seen(_: nn.Module, given: tuple[Tensor, ...]) -> None:
            low, high = found.get(name, (0.0, 0.0))
            found[name] = min(low, float(given[0].min())), max(high, float(given[0].max()))

        return layer.register_forward_pre_hook(seen)

    watched = [
        watch(name, layer) for name, layer in model.named_modules() if isinstance(layer, nn.Linear)
    ]
    with torch.no_grad():
        for batch in examples:
            model(*(torch.from_numpy(array) for array in batch[:-1]))
    for handle in watched:
        handle.remove()
    return found


def load(checkpoint: Path) -> tuple[Transformer, dict[str, Any]]:
    """The network with its averaged weights, and how far training had come."""
    # the optimizer's learning rate was once a NumPy number
    numbers: list[Any] = [np.dtype, np.dtypes.Float64DType, np.float64(0).__reduce__()[0]]
    with torch.serialization.safe_globals(numbers):
        saved = torch.load(checkpoint, weights_only=True, map_location="cpu")
    model = Transformer(ModelConfig(**saved["config"]))
    model.load_state_dict(saved["average"])
    return model.eval(), saved["state"]


def export(
    checkpoint: Path,
    name: str,
    folder: Path,
    version: str,
    examples: Shard,
    *,
    output: Output = "expression",
    limits: Limits = LIMITS,
) -> Manifest:
    """Write ``folder/name/``: the graphs of all variants, and the manifest."""
    model, state = load(checkpoint)
    training = {
        "steps": int(state["step"]),
        "examples": int(state["examples"]),
        "minutes": round(float(state["elapsed"]) / 60, 1),
    }
    return export_model(
        model, name, folder, version, training, examples, output=output, limits=limits
    )


def export_model(
    model: Transformer,
    name: str,
    folder: Path,
    version: str,
    training: dict[str, Any],
    examples: Shard,
    *,
    output: Output = "expression",
    limits: Limits = LIMITS,
) -> Manifest:
    """As :func:`export`, from a network in memory.

    Raises ``ValueError`` for an ablation: only tree positions and references are served.
    """
    config = model.config
    if not (config.tree_positions and config.references):
        raise ValueError("only models with tree positions and references are exported")
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    weights = {key: tensor.numpy() for key, tensor in model.state_dict().items()}
    seen = ranges(model, batches(examples, np.random.default_rng(0), _BUDGET))
    variants: dict[str, Variant] = {}
    for variant, suffix in _SUFFIXES.items():
        precision: graphs.Precision = "float16" if variant == "float16" else "float32"
        given = (weights, config, precision, seen if variant == "int8" else None)
        files = {}
        for part, graph in (
            ("encoder", graphs.encoder(*given)),
            ("decoder", graphs.decoder(*given)),
        ):
            onnx.save(graph, target / (part + suffix))
            files[part] = GraphFile.of(target / (part + suffix))
        variants[variant] = Variant(files["encoder"], files["decoder"], accuracy={})
    manifest = Manifest(
        name=name,
        version=version,
        output=output,
        vocabulary=vocabulary_digest(),
        opset=graphs.OPSET,
        config=config.as_dict(),
        training=training,
        limits=limits,
        default={"cpu": "float32", "cuda": "float32"},
        variants=variants,
    )
    manifest.write(target)
    return manifest
