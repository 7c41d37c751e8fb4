"""Train the plain and the article's Transformer for the same steps on the same pairs.

Every pair is analytic: u(τ) by exact modes. Each initial value comes with two times,
τ and 1.1 τ, so that the article's physics loss has its time derivative,

    τ u_τ - τ u_xx = 0   by the two predictions and by second differences on the grid,

while the plain model learns from the same values without it.
"""

from __future__ import annotations

import csv
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from models.heat.boundary import Array, Boundary
from models.heat.families import FAMILIES, PATHOLOGICAL, truth
from models.heat.grid import GridConfig, GridModel

#: Smooth initial values: all that the article trains on without pathological ones.
ORDINARY = ("fourier", "gaussian_field", "single_mode")

TAU = (1e-5, 1.0)
STRETCH = 1.1


@dataclass(frozen=True, slots=True)
class GridTraining:
    """``steps`` and not minutes, even of the process's own CPU time: a busy machine slows
    each step down and would leave one model with half the data of another. ``pathological``
    is the share of steps, hats and near-deltas among initial values. The learning rate is
    ``rate``, or ``rate_width`` / width where that is less."""

    steps: int = 800
    seed: int = 0
    batch: int = 32
    rate: float = 2e-3
    rate_width: float = 0.25
    pathological: float = 0.1
    physics: float = 0.1
    checkpoint_seconds: float = 60.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def draw(rng: np.random.Generator, size: int, points: int, pathological: float) -> Array:
    """Initial values (size, points) with zero ends and greatest absolute value 1."""
    x = np.linspace(0, 1, points)
    u = np.empty((size, points))
    for row in u:
        names = PATHOLOGICAL if rng.random() < pathological else ORDINARY
        row[:] = FAMILIES[names[rng.integers(len(names))]](rng, x)
    u[:, 0] = u[:, -1] = 0
    scaled: Array = u / (np.abs(u).max(axis=1, keepdims=True) + 1e-12)
    return scaled


def residual(early: Tensor, late: Tensor, tau: Tensor) -> Tensor:
    """Mean square of τ u_τ - τ u_xx at the middle of [τ, 1.1 τ], interior points."""

    def curvature(u: Tensor) -> Tensor:
        return (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]) * (u.shape[1] - 1) ** 2

    tau = tau[:, None]
    rise = (late - early)[:, 1:-1] / math.log(STRETCH)
    bend = (tau * curvature(early) + STRETCH * tau * curvature(late)) / 2
    # early times on this grid are too steep for differences: limit what one point may say
    return (rise - bend).clamp(-1, 1).square().mean()


def train(
    config: GridConfig, training: GridTraining, folder: Path, *, progress: bool = True
) -> GridModel:
    """A trained model; ``folder`` gets ``curve.csv`` and ``model.pt``, from which it resumes."""
    torch.manual_seed(training.seed)
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    model = GridModel(config)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    checkpoint = folder / "model.pt"
    spent, step, rows = 0.0, 0, []
    rate = min(training.rate, training.rate_width / config.width)
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        spent, step, rows = state["seconds"], state["step"], state["rows"]
    start, saved = time.process_time() - spent, spent
    bar = tqdm(total=training.steps, initial=step, disable=not progress, mininterval=5)
    bar.set_description(folder.name)
    mean = torch.zeros(2)
    while step < training.steps:
        # the same pairs in the same order for every model, however often it is interrupted
        rng = np.random.default_rng([training.seed, step])
        warm = min(1.0, (step + 1) / 100)
        for group in optimiser.param_groups:
            group["lr"] = rate * warm * (0.5 + 0.5 * math.cos(math.pi * step / training.steps))
        u0 = draw(rng, training.batch, config.points, training.pathological)
        tau = np.exp(rng.uniform(math.log(TAU[0]), math.log(TAU[1]), size=training.batch))
        double = np.concatenate([u0, u0])
        times = np.concatenate([tau, STRETCH * tau])
        target = torch.from_numpy(truth(double, Boundary.DIRICHLET, times)).float()
        h = model.encode(torch.from_numpy(double).float(), torch.from_numpy(times).float())
        # only inside the blocks: rounding of the output would drown the physics loss
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = model.blocks(h)
        found = model.decode(h)
        error = (found - target).square().mean()
        early, late = found.chunk(2)
        physics = residual(early, late, torch.from_numpy(tau).float())
        value = error + training.physics * physics if config.design == "article" else error
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        bar.update()
        now = time.process_time() - start
        latest = torch.stack([error, physics]).detach()
        mean = latest if step == 1 or not mean.any() else 0.98 * mean + 0.02 * latest
        if step % 20 == 0:
            rows.append((step, now, float(mean[0]), float(mean[1])))
            bar.set_postfix(
                mse=f"{float(mean[0]):.2e}", residual=f"{float(mean[1]):.2e}", refresh=False
            )
        if now - saved > training.checkpoint_seconds:
            saved = now
            _save(checkpoint, model, optimiser, now, step, rows, config, training)
    _save(checkpoint, model, optimiser, time.process_time() - start, step, rows, config, training)
    with (folder / "curve.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "seconds", "mse", "residual"])
        writer.writerows(rows)
    bar.close()
    return model.eval()


def _save(
    path: Path,
    model: GridModel,
    optimiser: torch.optim.Optimizer,
    seconds: float,
    step: int,
    rows: list[tuple[int, float, float, float]],
    config: GridConfig,
    training: GridTraining,
) -> None:
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "seconds": seconds,
        "step": step,
        "rows": rows,
        "config": config.as_dict(),
        "training": training.as_dict(),
    }
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def load(folder: Path) -> tuple[GridModel, dict[str, Any]]:
    """A trained model and its checkpoint's facts."""
    state = torch.load(folder / "model.pt", weights_only=True)
    model = GridModel(GridConfig(**state["config"]))
    model.load_state_dict(state["model"])
    facts = {key: state[key] for key in ("seconds", "step", "config", "training")}
    return model.eval(), facts
