"""Training, the same for every symbolic task.

    train(Run(folder=Path("runs/differentiate"), data=((Path("…/data"), 1.0),), minutes=40))

Resumable: a checkpoint is written every few minutes and picked up by the next
start. The loss curve goes to ``curve.csv`` and ``curve.png`` beside it.
"""

from __future__ import annotations

import csv
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from models.config import ModelConfig
from models.dataset import Batch, Shard, batches, stream
from models.restore import starting
from models.transformer import Transformer
from tokenizer.vocabulary import PAD


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that decides a training.

    ``data`` are folders of shards with weights; ``budget`` is tokens a batch,
    padding counted; ``minutes`` is the wall-clock time after which the learning
    rate has fallen to zero, over all starts together.
    """

    folder: Path
    data: tuple[tuple[Path, float], ...]
    minutes: float
    validation: Path | None = None
    config: ModelConfig = field(default_factory=ModelConfig)
    budget: int = 4000
    peak_rate: float = 1.2e-3
    warmup_steps: int = 400
    weight_decay: float = 0.01
    average: float = 0.999
    seed: int = 0
    threads: int = 2
    device: str = "cpu"
    checkpoint_seconds: float = 180.0
    #: count processor time instead, for a fair race on a machine with other work to do
    processor_time: bool = False
    #: share of the time in which long sequences are still left out; 0 when weights are refined
    curriculum: float = 0.4
    #: checkpoint or artifact whose weights (not its clock or optimizer) a fresh run begins with
    start: Path | None = None


def loss_of(model: Transformer, batch: Batch, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Mean cross-entropy a token (nats), number right, number of sequences all right."""
    source, source_paths, previous, parents, paths, target = (
        torch.from_numpy(array).to(device, non_blocking=True) for array in batch
    )
    with torch.autocast(device, dtype=torch.bfloat16):
        logits = model(source, source_paths, previous, parents, paths)
    real = target != PAD
    scores = logits[real].float()
    loss = functional.cross_entropy(scores, target[real])
    right = torch.zeros_like(target, dtype=torch.bool)
    right[real] = scores.argmax(-1) == target[real]
    whole = (right | ~real).all(dim=1).sum()
    return loss, right.sum(), whole


@torch.no_grad()
def validate(model: Transformer, shard: Shard, budget: int, device: str) -> tuple[float, float]:
    """Loss a token (nats) and share of sequences whose every token is ranked first."""
    model.eval()
    total, tokens, whole = 0.0, 0, 0
    for batch in batches(shard, np.random.default_rng(0), budget):
        count = int((batch.target != PAD).sum())
        loss, _, right = loss_of(model, batch, device)
        total, tokens, whole = total + float(loss) * count, tokens + count, whole + int(right)
    model.train()
    return total / tokens, whole / len(shard)


class Average:
    """Exponential moving average of the weights, which is what gets exported."""

    def __init__(self, model: Transformer, decay: float) -> None:
        self.decay = decay
        self.weights = {k: p.detach().clone() for k, p in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model: Transformer, step: int) -> None:
        """Mix the current weights in; early steps count more."""
        keep = min(self.decay, (1 + step) / (10 + step))
        for name, weight in model.state_dict().items():
            self.weights[name].lerp_(weight, 1 - keep)


def rate(run: Run, step: int, elapsed: float) -> float:
    """Linear warm-up by steps, then a cosine that ends with the time."""
    done = min(1.0, elapsed / (run.minutes * 60))
    cosine = 0.5 * (1 + math.cos(math.pi * done))
    return run.peak_rate * min(1.0, (step + 1) / run.warmup_steps) * (0.01 + 0.99 * cosine)


def curriculum(run: Run, elapsed: float) -> int:
    """Longest question and label together, in tokens: short first, then all."""
    share = elapsed / (run.minutes * 60)
    return 40 + int(260 * share / run.curriculum) if share < run.curriculum else 1 << 30


def train(run: Run) -> Transformer:
    """Train until the time is used up; returns the model with averaged weights."""
    torch.manual_seed(run.seed)
    torch.set_num_threads(run.threads)
    run.folder.mkdir(parents=True, exist_ok=True)
    model = Transformer(run.config).to(run.device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=run.peak_rate, betas=(0.9, 0.98), weight_decay=run.weight_decay
    )
    average = Average(model, run.average)
    state: dict[str, Any] = {"step": 0, "examples": 0, "elapsed": 0.0}
    checkpoint = run.folder / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True, map_location=run.device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        average.weights = saved["average"]
        state = saved["state"]
    elif run.start is not None:
        model.load_state_dict(starting(run.start, run.config))
        average = Average(model, run.average)
    held = Shard.load(run.validation) if run.validation else None
    feed = stream(
        run.data,
        run.seed + 1000 + state["step"],
        run.budget,
        lambda: curriculum(run, state["elapsed"]),
    )
    model.train()
    clock = time.process_time if run.processor_time else time.monotonic
    started, last_saved = clock() - state["elapsed"], clock()
    smooth: float | None = None
    bar = tqdm(total=int(run.minutes * 60), initial=int(state["elapsed"]), unit="s")
    while state["elapsed"] < run.minutes * 60:
        batch = next(feed)
        for group in optimizer.param_groups:
            group["lr"] = rate(run, state["step"], state["elapsed"])
        loss, _, _ = loss_of(model, batch, run.device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average.update(model, state["step"])
        value = float(loss)
        smooth = value if smooth is None else 0.98 * smooth + 0.02 * value
        state["step"] += 1
        state["examples"] += len(batch.source)
        before, state["elapsed"] = state["elapsed"], clock() - started
        bar.update(int(state["elapsed"]) - int(before))
        bar.set_postfix(step=state["step"], examples=state["examples"], loss=f"{smooth:.4f}")
        if clock() - last_saved > run.checkpoint_seconds or state["elapsed"] >= run.minutes * 60:
            save(checkpoint, run, model, optimizer, average, state)
            record(run, state, smooth, average, held)
            last_saved = clock()
    bar.close()
    model.load_state_dict(average.weights)
    return model


def save(
    path: Path,
    run: Run,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    average: Average,
    state: dict[str, Any],
) -> None:
    """Write a checkpoint so that a crash leaves the last one whole."""
    partial = path.with_suffix(".partial")
    torch.save(
        {
            "config": run.config.as_dict(),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "average": average.weights,
            "state": state,
        },
        partial,
    )
    partial.rename(path)


def record(
    run: Run, state: dict[str, Any], loss: float, average: Average, held: Shard | None
) -> None:
    """Append a line to the learning curve and draw it again."""
    row = {**state, "loss": loss}
    if held is not None:
        averaged = Transformer(run.config).to(run.device)
        averaged.load_state_dict(average.weights)
        row["held_loss"], row["held_exact"] = validate(averaged, held, run.budget, run.device)
    path = run.folder / "curve.csv"
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)
    plot(path)


def plot(curve: Path) -> None:
    """Loss and held-out accuracy against time, ``curve.png`` beside the table."""
    import matplotlib as mpl  # noqa: PLC0415 - only drawn a few times an hour

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the backend is chosen

    with curve.open() as file:
        rows = list(csv.DictReader(file))
    minutes = [float(row["elapsed"]) / 60 for row in rows]
    figure, left = plt.subplots(figsize=(7, 4))
    left.plot(minutes, [float(row["loss"]) for row in rows], label="training loss")
    left.set(xlabel="minutes", ylabel="nats a token", yscale="log")
    if "held_exact" in rows[0]:
        right = left.twinx()
        right.plot(minutes, [float(row["held_exact"]) for row in rows], "C1", label="held exact")
        right.set(ylabel="held-out questions exactly right", ylim=(0, 1))
    figure.legend(loc="upper center", ncols=2)
    figure.tight_layout()
    figure.savefig(curve.with_suffix(".png"))
    plt.close(figure)
