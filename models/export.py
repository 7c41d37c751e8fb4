"""A trained network as two ONNX graphs and a manifest.

    export(Path("runs/differentiate/checkpoint.pt"), "differentiate", Path("models/artifacts"), "1")

*Encoder*: reads a question once; besides the padding mask and what the pointer
head needs it gives the keys and values of every cross-attention. *Decoder*: one
step of a beam search, ending in the best continuations.

All hypotheses of an item share one cache. Each step writes the keys and values of
its hypotheses into new places, and ``visible`` tells which places belong to whose
past. So nothing is reordered when hypotheses branch, and memory of the question is
never copied per hypothesis. The caches come back as outputs of the same shape, to
be bound to the same memory.

Shapes as in :mod:`models.transformer`; N hypotheses altogether, W at most of one
item, P places in the cache, K continuations given back: two for each hypothesis of
the widest beam. What each hypothesis needs for itself is computed on the N that
there are; they are spread over a grid (B, W) only to look at the caches of their item.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from models.artifacts import (
    GraphFile,
    Limits,
    Manifest,
    Output,
    Variant,
    vocabulary_digest,
)
from models.config import ModelConfig
from models.transformer import MASKED, DecoderLayer, PathEmbedding, Transformer
from tokenizer.vocabulary import PAD

OPSET = 20
#: Longest question and answer that a model is asked for, in tokens; widest beam.
LIMITS = Limits(source_tokens=160, output_tokens=256, beam=16)


def path_vectors(embed: PathEmbedding, paths: Tensor) -> Tensor:
    """``embed(paths)`` without shifts, which ONNX has for unsigned integers only."""
    powers = torch.tensor([4**level for level in range(embed.config.path_levels)])
    slots = paths.unsqueeze(-1) // powers % 4
    one_hot = slots.unsqueeze(-1) == torch.tensor([1, 2, 3])
    result: Tensor = embed.project(one_hot.flatten(-2).to(torch.float32))
    return result


class EncoderGraph(nn.Module):
    """A question to all that a decoder asks of it."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, paths: Tensor) -> tuple[Tensor, ...]:
        """int64 (B, S) twice -> additive mask (B, 1, 1, S), pointer keys and values (B, S, C)
        and, for each decoder layer, cross-attention keys and values (B, H, S, D)."""
        model = self.model
        mask = (tokens == PAD).to(torch.float32)[:, None, None, :] * MASKED
        x = model.source_embedding(tokens) + path_vectors(model.source_path, paths)
        for layer in model.encoder:
            x = layer(x, mask)
        memory = model.encoder_norm(x)
        cross = [
            tensor
            for layer in model.decoder
            if isinstance(layer, DecoderLayer)
            for tensor in layer.cross.keys_values(memory)
        ]
        return mask, model.pointer_key(memory), model.pointer_value(memory), *cross


class DecoderGraph(nn.Module):
    """One step of a beam search for each of B items."""

    def __init__(self, model: Transformer, continuations: int) -> None:
        super().__init__()
        self.model = model
        self.continuations = continuations
        self.projections = nn.ModuleList(
            _joined(layer.attention.query, layer.attention.key_value)
            for layer in model.decoder
            if isinstance(layer, DecoderLayer)
        )

    def forward(
        self,
        previous: Tensor,
        parents: Tensor,
        paths: Tensor,
        items: Tensor,
        places: Tensor,
        cells: Tensor,
        grid: Tensor,
        scores: Tensor,
        word_bias: Tensor,
        reference_bias: Tensor,
        visible: Tensor,
        mask: Tensor,
        pointer_keys: Tensor,
        pointer_values: Tensor,
        cross: list[Tensor],
        past: list[Tensor],
    ) -> tuple[Tensor, ...]:
        """The best K continuations of each item, and the caches with this step in them.

        int64 (N,): ``previous`` tokens, ``parents``, ``paths``; ``items`` they belong to,
        ``places`` in the item's cache that they write to, ``cells`` of the flattened grid.
        ``grid``: int64 (B, W), which hypothesis is in a cell; any where there is none.
        ``scores`` (B, W): log-probability so far, -inf where there is none. ``word_bias``
        (B, W, V) and ``reference_bias`` (B, W, 1) are added to log-probabilities: -inf for
        what the grammar forbids. ``visible``: bool (B, W, P), this step's place included.
        ``mask``, ``pointer_keys``, ``pointer_values``, ``cross``: from the encoder.
        ``past``: for each layer keys and values (B, H, P, D).

        Gives scores (B, K) in falling order, int64 (B, K) ``column * (V + S) + token``
        (equal scores: lowest first), then ``past``.
        """
        model = self.model
        x = self.read(previous, parents, paths, items, pointer_values)
        hidden = (1 - visible.to(torch.float32)).unsqueeze(1) * MASKED
        written = (
            items.unsqueeze(1),
            torch.arange(model.config.heads).unsqueeze(0),
            places.unsqueeze(1),
        )
        caches: list[Tensor] = []
        for i, (layer, projection) in enumerate(zip(model.decoder, self.projections, strict=True)):
            assert isinstance(layer, DecoderLayer)
            query, *new = projection(layer.norm1(x)).chunk(3, dim=-1)
            keys, values = (
                torch.index_put(cache, written, tensor.unflatten(-1, (model.config.heads, -1)))
                for cache, tensor in zip(past[2 * i : 2 * i + 2], new, strict=True)
            )
            caches += [keys, values]
            mixed = self.attend(query, keys, values, hidden, grid, cells)
            x = x + layer.attention.output(mixed)
            query = layer.cross.query(layer.norm2(x))
            mixed = self.attend(query, cross[2 * i], cross[2 * i + 1], mask, grid, cells)
            x = x + layer.cross.output(mixed)
            x = x + layer.feed(layer.norm3(x))
        x = model.decoder_norm(x)
        query = model.pointer_query(x) * model.config.width**-0.5
        pointed = query[grid] @ pointer_keys.transpose(-1, -2) + mask.squeeze(1)
        logits = torch.cat([model.to_vocabulary(x)[grid], pointed], dim=-1)
        words, references = torch.split(
            logits.log_softmax(-1), [model.config.vocabulary, pointer_keys.shape[1]], dim=-1
        )
        allowed = torch.cat([words + word_bias, references + reference_bias], dim=-1)
        total = (allowed + scores.unsqueeze(-1)).flatten(1)
        best, index = total.topk(self.continuations, dim=-1)
        return best, index, *caches

    def read(
        self, previous: Tensor, parents: Tensor, paths: Tensor, items: Tensor, pointed: Tensor
    ) -> Tensor:
        """As :meth:`Transformer.read`, for N hypotheses of any items -> (N, C)."""
        model, size = self.model, self.model.config.vocabulary
        x = model.parent_embedding(parents) + path_vectors(model.target_path, paths)
        reference = pointed[items, (previous - size).clamp(min=0)]
        word = model.target_embedding(previous.clamp(max=size - 1))
        result: Tensor = x + torch.where((previous >= size).unsqueeze(-1), reference, word)
        return result

    def attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        grid: Tensor,
        cells: Tensor,
    ) -> Tensor:
        """(N, C) with keys and values (B, H, P, D), mask (B, 1, W|1, P) -> (N, C)."""
        config = self.model.config
        queries = query[grid].reshape(*grid.shape, config.heads, -1).transpose(1, 2)
        scores = (queries * (config.width // config.heads) ** -0.5) @ keys.transpose(-1, -2)
        mixed: Tensor = (scores + mask).softmax(-1) @ values
        return mixed.transpose(1, 2).flatten(-2).flatten(0, 1)[cells]


def _joined(*layers: nn.Linear) -> nn.Linear:
    """One layer that gives what ``layers`` give, side by side."""
    joined = nn.Linear(layers[0].in_features, sum(layer.out_features for layer in layers))
    joined.weight = nn.Parameter(torch.cat([layer.weight for layer in layers]))
    joined.bias = nn.Parameter(torch.cat([layer.bias for layer in layers]))
    return joined


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
    *,
    output: Output = "expression",
    limits: Limits = LIMITS,
) -> Manifest:
    """Write ``folder/name/``: graphs in float32 and int8, and the manifest."""
    model, state = load(checkpoint)
    training = {
        "steps": int(state["step"]),
        "examples": int(state["examples"]),
        "minutes": round(float(state["elapsed"]) / 60, 1),
    }
    return export_model(model, name, folder, version, training, output=output, limits=limits)


def export_model(
    model: Transformer,
    name: str,
    folder: Path,
    version: str,
    training: dict[str, Any],
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
    graphs = {"encoder": _encoder(model), "decoder": _decoder(model, 2 * limits.beam)}
    variants: dict[str, Variant] = {}
    for part, graph in graphs.items():
        onnx.checker.check_model(graph)
        onnx.save(graph, target / f"{part}.onnx")
        _quantise(target / f"{part}.onnx", target / f"{part}.int8.onnx")
    for precision, suffix in (("float32", ".onnx"), ("int8", ".int8.onnx")):
        encoder, decoder = (GraphFile.of(target / (part + suffix)) for part in graphs)
        variants[precision] = Variant(encoder, decoder, accuracy={})
    manifest = Manifest(
        name=name,
        version=version,
        output=output,
        vocabulary=vocabulary_digest(),
        opset=OPSET,
        config=config.as_dict(),
        training=training,
        limits=limits,
        default="float32",
        variants=variants,
    )
    manifest.write(target)
    return manifest


def _encoder(model: Transformer) -> onnx.ModelProto:
    batch, source = (torch.export.Dim(name) for name in ("batch", "source"))
    tokens, paths = torch.full((2, 2, 3), PAD + 1)
    cross = _layered("cross", model.config.decoder_layers)
    return _trace(
        EncoderGraph(model),
        (tokens, paths),
        ({0: batch, 1: source}, {0: batch, 1: source}),
        ["tokens", "paths"],
        ["mask", "pointer_keys", "pointer_values", *cross],
    )


def _decoder(model: Transformer, continuations: int) -> onnx.ModelProto:
    config = model.config
    hypotheses, batch, source, width, places = (
        torch.export.Dim(name) for name in ("hypotheses", "batch", "source", "beam", "places")
    )
    n, b, s, w, p = 5, 2, 3, 4, 8  # sizes to trace with: all different, none of them 1
    # a tensor of its own for each input: one given twice would become one input
    ids = torch.ones(6, n, dtype=torch.int64)
    names = ("previous", "parents", "paths", "items", "places", "cells")
    row: dict[int, Any] = {0: batch, 1: width}
    head = config.width // config.heads
    cross = [torch.zeros(b, config.heads, s, head) for _ in range(2 * config.decoder_layers)]
    past = [torch.zeros(b, config.heads, p, head) for _ in range(2 * config.decoder_layers)]
    inputs: dict[str, tuple[Any, Any]] = {
        **{name: (tensor, {0: hypotheses}) for name, tensor in zip(names, ids, strict=True)},
        "grid": (torch.ones(b, w, dtype=torch.int64), row),
        "scores": (torch.zeros(b, w), row),
        "word_bias": (torch.zeros(b, w, config.vocabulary), row),
        "reference_bias": (torch.zeros(b, w, 1), row),
        "visible": (torch.ones(b, w, p, dtype=torch.bool), {**row, 2: places}),
        "mask": (torch.zeros(b, 1, 1, s), {0: batch, 3: source}),
        "pointer_keys": (torch.zeros(b, s, config.width), {0: batch, 1: source}),
        "pointer_values": (torch.zeros(b, s, config.width), {0: batch, 1: source}),
        "cross": (cross, [{0: batch, 2: source}] * len(cross)),
        "past": (past, [{0: batch, 2: places}] * len(past)),
    }
    layered = {name: _layered(name, config.decoder_layers) for name in ("cross", "past")}
    return _trace(
        DecoderGraph(model, continuations),
        tuple(tensor for tensor, _ in inputs.values()),
        tuple(shape for _, shape in inputs.values()),
        [full for name in inputs for full in layered.get(name, [name])],
        ["best", "index", *(f"new_{name}" for name in layered["past"])],
    )


def _layered(name: str, layers: int) -> list[str]:
    return [f"{name}_{kind}_{layer}" for layer in range(layers) for kind in ("keys", "values")]


def _trace(
    module: nn.Module,
    inputs: tuple[Any, ...],
    shapes: tuple[Any, ...],
    input_names: list[str],
    output_names: list[str],
) -> onnx.ModelProto:
    exporter = logging.getLogger("torch.onnx")
    level = exporter.level
    exporter.setLevel(logging.ERROR)  # it warns of operators from packages that are not there
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # deprecations inside the exporter itself
            program = torch.onnx.export(
                module.eval(),
                inputs,
                dynamo=True,
                dynamic_shapes=shapes,
                input_names=input_names,
                output_names=output_names,
                opset_version=OPSET,
                verbose=False,
            )
    finally:
        exporter.setLevel(level)
    assert program is not None
    graph = program.model_proto
    for node in graph.graph.node:
        # traces of the machine it was exported on
        del node.metadata_props[:]
        node.doc_string = ""
    del graph.graph.metadata_props[:]
    del graph.metadata_props[:]
    return graph


def _quantise(source: Path, target: Path) -> None:
    """int8 weights, one scale a column; activations are quantised as they come.

    They share one scale over the whole batch, so unlike in float32 an answer
    may depend on what else is in the batch.
    """
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # advice to run another tool first
    try:
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    finally:
        root.setLevel(level)
