"""A network of the shape of ours in CTranslate2, to hold our decoding against.

Its weights are random: what it writes means nothing, and how long that takes is what is
measured. Lengths of questions are those of ours, and every answer gets the length that ours
have on the average, since random weights know no end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

from models.config import ModelConfig
from tokenizer.codec import Encoded

_START, _END, _UNKNOWN = "<s>", "</s>", "<unk>"


def write(folder: Path, config: ModelConfig) -> None:
    """Save a model with the layers, width, heads and vocabulary of ``config`` in ``folder``."""
    spec = transformer_spec.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        activation=common_spec.Activation.GELU,
        multi_query_attention=config.shared_keys,
    )
    rng = np.random.default_rng(1)
    for name, value in spec.variables(ordered=True):
        if value is None:
            layer = spec
            *path, leaf = name.split("/")
            for part in path:
                key, _, number = part.rpartition("_")
                layer = getattr(layer, part, None) or getattr(layer, key)[int(number)]
            setattr(layer, leaf, _weights(rng, name, config))
    tokens = [_UNKNOWN, _START, _END, *(f"t{k}" for k in range(config.vocabulary - 3))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.validate()
    spec.save(str(folder))


def _weights(rng: np.random.Generator, name: str, config: ModelConfig) -> Any:
    width, hidden = config.width, config.hidden
    if name.endswith(("beta", "gamma")):
        return np.full(width, float(name.endswith("gamma")), np.float32)
    if "embeddings" in name or "projection" in name:
        shape = (config.vocabulary, width)
    elif "ffn" in name:
        shape = (hidden, width) if "linear_0" in name else (width, hidden)
    else:
        rows, keys_values = width, 2 * config.key_heads * config.head
        if "linear_0" in name and "self_attention" in name:
            rows = width + keys_values
        elif "linear_1" in name and "/attention/" in name:
            rows = keys_values
        shape = (rows, width)
    return (rng.standard_normal(shape) / np.sqrt(width)).astype(np.float32)


class Rival:
    """The model in ``folder``, with ``threads`` threads, in ``precision`` (float32 or int8)."""

    def __init__(self, folder: Path, threads: int, precision: str) -> None:
        self.precision = precision
        self._translator = ctranslate2.Translator(
            str(folder), device="cpu", inter_threads=1, intra_threads=threads,
            compute_type=precision,
        )  # fmt: skip

    def measure(
        self, questions: Sequence[Encoded], batch: int, beam: int, tokens: int
    ) -> tuple[float, float]:
        """Wall and CPU seconds to write ``tokens`` tokens for each question."""
        sources = [[f"t{k % 90}" for k in question.ids] for question in questions]
        wall, cpu = time.perf_counter(), time.process_time()
        for start in range(0, len(sources), batch):
            self._translator.translate_batch(
                sources[start : start + batch],
                beam_size=beam,
                num_hypotheses=beam,
                min_decoding_length=tokens,
                max_decoding_length=tokens,
            )
        return time.perf_counter() - wall, time.process_time() - cpu
