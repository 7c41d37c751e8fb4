"""The exported graphs give what the network gives."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pytest
import torch

from models import artifacts, paths
from models.artifacts import ArtifactError
from models.config import ModelConfig
from models.export import export_model
from models.transformer import Transformer
from tests import tiny_model
from tokenizer import vocabulary as v
from tokenizer.codec import Encoded, slots

WIDTH = 4
PLACES = 128
FLOATS: dict[str, type[np.floating[Any]]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
}


@pytest.fixture(scope="module", params=tiny_model.CONFIGS)
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return tiny_model.exported(tmp_path_factory) / str(request.param)


@dataclass
class Forced:
    """A question with an answer that is forced on the decoder, its hypothesis moving about."""

    source: Encoded
    answer: list[int]
    column: list[int]
    seen: list[int] = field(default_factory=list)
    found: list[npt.NDArray[np.float32]] = field(default_factory=list)

    @property
    def hung(self) -> list[tuple[int, int]]:
        """Parent and path code of each token of the answer."""
        return list(slots(self.answer))

    def torch_log_probs(self, network: str) -> npt.NDArray[np.float32]:
        """(T, V + S) by one forward pass of ``network``."""
        rows = (
            self.source.ids,
            self.source.paths,
            [v.START, *self.answer[:-1]],
            [parent for parent, _ in self.hung],
            [path for _, path in self.hung],
        )
        with torch.no_grad():
            logits = tiny_model.network(network)(*(torch.tensor([row]) for row in rows))
        result: npt.NDArray[np.float32] = logits[0].log_softmax(-1).numpy()
        return result


def random_answer(rng: random.Random, source: Encoded, longest: int) -> list[int]:
    """Tokens of a random tree, references among them."""
    answer: list[int] = []
    open_slots = 1
    tokens = [*range(v.VAR, v.SIZE), *range(v.SIZE, v.SIZE + len(source.ids))]
    while open_slots:
        room = longest - len(answer) - open_slots
        arities = range(min(room, 1), min(room, 2) + 1)  # no leaf as long as there is room
        token = rng.choice([t for t in tokens if v.arity(t) in arities])
        answer.append(token)
        open_slots += v.arity(token) - 1
    return answer


def run_decoder(folder: Path, encoder: str, decoder: str, forced: list[Forced]) -> None:
    """Force all answers in one batch; item i joins after 3 i steps and leaves when it is done."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    encode = ort.InferenceSession(folder / encoder, options)
    step = ort.InferenceSession(folder / decoder, options)
    sizes = [len(item.source.ids) for item in forced]
    longest = max(sizes) + 5
    there = np.arange(longest) < np.array(sizes)[:, None]
    grid = np.zeros(there.shape, np.int64)
    grid[there] = np.arange(sum(sizes))
    codes = np.array([path for item in forced for path in item.source.paths])
    given = {
        "tokens": np.array([token for item in forced for token in item.source.ids]),
        "digits": paths.rows(codes),
        "grid": grid,
        "cells": np.argwhere(there),
        "seen": there[:, None, None] & there[:, None, :, None],
    }
    outputs = encode.run(["pointer_keys", "pointer_values", "cross"], given)
    keys, values, cross = (array[grid] for array in outputs)
    past = {
        given.name: np.zeros(
            (len(forced), given.shape[1], PLACES, given.shape[3]), FLOATS[given.type]
        )
        for given in step.get_inputs()
        if given.name.startswith("past")
    }
    (kind,) = {given.type for given in step.get_inputs() if given.name == "refers"}
    heads = next(iter(past.values())).shape[1]
    # one of these for keys and one for values, of each layer
    crossed = cross.reshape(len(forced), longest, len(past), heads, -1).transpose(2, 0, 3, 1, 4)
    memory = {
        "mask": np.where(there, 0, -1e4).astype(keys.dtype)[:, None],
        "pointer_keys": keys,
        "pointer_values": values,
        **{name.replace("past", "cross"): array for name, array in zip(past, crossed, strict=True)},
    }
    rng = random.Random(1)
    for now in range(max(3 * i + len(item.answer) for i, item in enumerate(forced))):
        rows = [i for i, item in enumerate(forced) if 0 <= now - 3 * i < len(item.answer)]
        shape = (len(rows), WIDTH)
        # everybody has a shelf
        cells = np.repeat(np.arange(len(rows))[:, None], WIDTH, 1)
        columns = [forced[i].column[now - 3 * i] for i in rows]
        visible = np.zeros((len(rows), 1, WIDTH, PLACES), np.bool_)
        for row, i in enumerate(rows):
            forced[i].seen.append(rng.choice([p for p in range(PLACES) if p not in forced[i].seen]))
            visible[row, 0, columns[row], forced[i].seen] = True
        now_at = [(forced[i], now - 3 * i) for i in rows]
        previous = np.array([item.answer[t - 1] if t else v.START for item, t in now_at])
        refers = previous >= v.SIZE
        hung = np.array([item.hung[t] for item, t in now_at]).T
        places = np.zeros((len(rows), heads, 3), np.int64)
        places[:, :, 0] = np.arange(len(rows))[:, None]
        places[:, :, 1] = np.arange(heads)
        places[:, :, 2] = np.array([forced[i].seen[-1] for i in rows])[:, None]
        outputs = step.run(
            None,
            {
                "words": np.stack(
                    [
                        np.where(refers, paths.NOTHING, previous),
                        paths.FIRST_PARENT + hung[0],
                        *(paths.FIRST_DIGIT + paths.rows(hung[1])),
                    ]
                ),
                "pointed": np.stack(
                    [np.arange(len(rows)), np.where(refers, previous - v.SIZE, 0)], 1
                ),
                "refers": refers.astype(FLOATS[kind])[:, None],
                "places": places if heads > 1 else places[:, 0],
                **dict.fromkeys(("grid", "self_grid", "cross_grid"), cells),
                **dict.fromkeys(("self_cells", "cross_cells"), np.stack([cells[:, 0], columns], 1)),
                "rules": np.zeros(shape, np.int64),
                "visible": visible,
                "asked": np.repeat(there[rows, None, None], WIDTH, 2),
                "continuations": np.array([v.SIZE + longest]),
                "grammar": np.zeros((1, v.SIZE + longest), np.float32),
                "names": np.zeros((len(rows), 1, v.SIZE + longest), np.float32),
                **{name: array[rows] for name, array in memory.items()},
                **{name: array[rows] for name, array in past.items()},
            },
        )
        for name, cache in zip(past, outputs[2:], strict=True):
            past[name][rows] = cache
        for row, i in enumerate(rows):
            item = forced[i]
            log_probs = np.full(v.SIZE + longest, -np.inf, np.float32)
            log_probs[outputs[1][row, columns[row]]] = outputs[0][row, columns[row]]
            item.found.append(log_probs[: v.SIZE + len(item.source.ids)])


@pytest.fixture
def forced() -> list[Forced]:
    rng = random.Random(3)
    items = []
    for source in tiny_model.questions(12)[::4]:
        answer = random_answer(rng, source, 20)
        items.append(Forced(source, answer, [rng.randrange(WIDTH) for _ in answer]))
    return items


def test_graphs_agree_with_torch(folder: Path, forced: list[Forced]) -> None:
    """Log-probabilities are torch's at every step, with padding, joins and moving hypotheses."""
    run_decoder(folder, "encoder.onnx", "decoder.onnx", forced)
    for item in forced:
        np.testing.assert_allclose(
            item.found, item.torch_log_probs(folder.name), atol=1e-4, rtol=1e-4
        )


@pytest.mark.parametrize(("suffix", "most"), [("int8", 1.0), ("float16", 0.05)])
def test_variants_are_near(folder: Path, forced: list[Forced], suffix: str, most: float) -> None:
    """They are the same network: what float32 finds likely, they find likely."""
    run_decoder(folder, f"encoder.{suffix}.onnx", f"decoder.{suffix}.onnx", forced)
    for item in forced:
        exact = item.torch_log_probs(folder.name)
        best = exact.argmax(-1)[:, None]
        gap = np.take_along_axis(np.array(item.found), best, 1) - np.take_along_axis(exact, best, 1)
        assert np.abs(gap).mean() < most


def test_ablations_are_not_exported(tmp_path: Path) -> None:
    """A network that the decoder graph does not describe is refused before anything is written."""
    model = Transformer(ModelConfig(width=16, heads=1, hidden=16, references=False))
    with pytest.raises(ValueError, match="references"):
        export_model(model, "ablation", tmp_path, "1", {}, tiny_model.examples())
    assert list(tmp_path.iterdir()) == []


def test_manifest_survives_the_file(folder: Path) -> None:
    """What is read is what was exported."""
    manifest = artifacts.read(folder)
    assert ModelConfig(**manifest.config) == tiny_model.CONFIGS[folder.name]
    assert set(manifest.variants) == {"float32", "int8", "float16"}
    assert manifest.default == {"cpu": "float32", "cuda": "float32"}


def copy_of(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def test_another_vocabulary_is_refused(folder: Path, tmp_path: Path) -> None:
    """A model must not be read with tokens that mean something else."""
    copy = copy_of(folder, tmp_path)
    replace(artifacts.read(copy), vocabulary="0" * 64).write(copy)
    with pytest.raises(ArtifactError, match="vocabulary"):
        artifacts.read(copy)


def test_another_graph_is_refused(folder: Path, tmp_path: Path) -> None:
    """A graph that is damaged or was exchanged is found by its hash."""
    copy = copy_of(folder, tmp_path)
    with (copy / "decoder.onnx").open("r+b") as file:
        file.seek(1000)
        file.write(b"\0\1\2\3")
    with pytest.raises(ArtifactError, match=r"decoder\.onnx"):
        artifacts.read(copy)


def test_missing_graph_is_named(folder: Path, tmp_path: Path) -> None:
    """A missing graph is an error that names the file."""
    copy = copy_of(folder, tmp_path)
    (copy / "encoder.onnx").unlink()
    with pytest.raises(ArtifactError, match=r"encoder\.onnx is missing"):
        artifacts.read(copy)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"variants": 3}'])
def test_malformed_manifest_is_refused(tmp_path: Path, text: str) -> None:
    """Whatever is wrong with the manifest, one kind of error says so."""
    (tmp_path / artifacts.MANIFEST).write_text(text)
    with pytest.raises(ArtifactError, match=r"manifest\.json"):
        artifacts.read(tmp_path)


def test_reader_needs_no_torch() -> None:
    """The service reads artifacts on machines without torch."""
    code = "import sys, json, models.artifacts; print(json.dumps('torch' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) is False
