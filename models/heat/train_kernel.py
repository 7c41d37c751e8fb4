"""Fit the kernel model's two learned functions from pairs (u₀, u(τ)).

Adam finds the neighbourhood, L-BFGS in float64 the digits. Every batch has one
boundary kind and one resolution; τ is drawn anew for each batch, log-uniform over
the range of the branch. The loss is the mean of squared relative errors.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from models.heat.boundary import Array, Boundary
from models.heat.families import FAMILIES, truth
from models.heat.kernel import KernelConfig, KernelModel, ModeBranch, PointBranch
from models.heat.tokens import encode_modes, encode_points

#: αt/L² that the two branches are trained on; they overlap.
MODE_TAU = (3e-5, 1.0)
POINT_TAU = (1e-5, 3e-3)
#: Resolutions trained on. 17 and 1025, which evaluation uses, are never among them.
RESOLUTIONS = (33, 48, 65, 100, 129, 200, 257)


@dataclass(frozen=True, slots=True)
class KernelTraining:
    """``batch`` initial values a step; ``refine`` steps of L-BFGS over ``pool`` batches.

    The loss of the point branch looks at ``places`` points of the grid, drawn anew for each
    batch, or at all of them (None). A perceptron as the score costs a pass for each pair of
    a place and a token, so it is trained on a few places.
    """

    seed: int = 0
    batch: int = 16
    steps: int = 600
    rate: float = 0.02
    refine: int = 20
    pool: int = 24
    places: int | None = None


Batch = tuple[str, tuple[Tensor, ...], Tensor]


def batches(
    rng: np.random.Generator, size: int, branch: str, places: int | None = None
) -> Iterator[Batch]:
    """Inputs of ``branch``, one row, and the truth (1, B, 1, Q), without end.

    Q are ``places`` of the grid's points, or all.
    """
    low, high = np.log(MODE_TAU if branch == "modes" else POINT_TAU)
    kinds = list(Boundary)
    drawers = list(FAMILIES.values())
    while True:
        boundary = kinds[rng.integers(len(kinds))]
        x = np.linspace(0, 1, int(rng.choice(RESOLUTIONS)))
        tau = math.exp(rng.uniform(low, high))
        u = np.stack([drawers[rng.integers(len(drawers))](rng, x) for _ in range(size)])
        u /= np.abs(u).max(axis=1, keepdims=True) + 1e-300
        target = truth(u, boundary, np.full(size, tau))
        seen = np.arange(len(x))
        if places is not None and places < len(x):
            seen = np.sort(rng.choice(len(x), places, replace=False))
        inputs = _inputs(branch, u, x, boundary, tau, x[seen])
        yield branch, inputs, torch.from_numpy(target[:, seen])[None, :, None]


def _inputs(
    branch: str, u: Array, x: Array, boundary: Boundary, tau: float, query: Array
) -> tuple[Tensor, ...]:
    times = np.array([tau])
    if branch == "modes":
        modes = encode_modes(u, x, boundary, tau)
        arrays = (modes.coefficients, modes.frequency, modes.phase, times, query)
    else:
        points = encode_points(u, x, boundary, tau)
        arrays = (points.strength, points.position, points.mass, times, query)
    return tuple(torch.from_numpy(np.ascontiguousarray(a))[None] for a in arrays)


def loss(branch: ModeBranch | PointBranch, batch: Batch) -> Tensor:
    """Mean squared relative L2 error; a solution decayed below 1e-3 counts by absolute error."""
    _, inputs, target = batch
    error = (branch(*inputs) - target).square().mean(dim=-1)
    size = target.square().mean(dim=-1)
    mean: Tensor = (error / (size + 1e-6)).mean()
    return mean


def train(
    config: KernelConfig,
    training: KernelTraining,
    folder: Path,
    *,
    progress: bool = True,
) -> KernelModel:
    """A trained model. ``folder`` gets ``curve.csv`` and a checkpoint a branch to resume from."""
    torch.manual_seed(training.seed)
    torch.set_num_threads(1)
    model = KernelModel(config).double()
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, int, float, float]] = []
    branches: dict[str, ModeBranch | PointBranch] = {"modes": model.modes, "points": model.points}
    for name, branch in branches.items():
        checkpoint = folder / f"{name}.pt"
        if checkpoint.exists():
            state = torch.load(checkpoint, weights_only=True)
            branch.load_state_dict(state["branch"])
            rows += state["rows"]
            continue
        rng = np.random.default_rng([training.seed, len(name)])
        places = training.places if name == "points" else None
        source = batches(rng, training.batch, name, places)
        here = _fit(branch, source, training, progress, name)
        torch.save({"branch": branch.state_dict(), "rows": here}, checkpoint)
        rows += here
    with (folder / "curve.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["branch", "step", "seconds", "relative_l2"])
        writer.writerows(rows)
    return model


def _fit(
    branch: ModeBranch | PointBranch,
    source: Iterator[Batch],
    training: KernelTraining,
    progress: bool,
    name: str,
) -> list[tuple[str, int, float, float]]:
    start = time.monotonic()
    rows = []
    adam = torch.optim.Adam(branch.parameters(), lr=training.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, training.rate, training.steps)
    bar = tqdm(range(training.steps), desc=f"{name}: Adam", disable=not progress)
    mean = 1.0
    for step in bar:
        value = loss(branch, next(source))
        adam.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        torch.nn.utils.clip_grad_norm_(branch.parameters(), 1.0)
        adam.step()
        schedule.step()
        mean += 0.02 * (value.item() - mean)
        if step % 25 == 0:
            rows.append((name, step, time.monotonic() - start, math.sqrt(mean)))
            bar.set_postfix(relative_l2=f"{math.sqrt(mean):.2e}")
    pool = [next(source) for _ in range(training.pool)]
    closure, lbfgs = _refinement(branch, pool)
    bar = tqdm(range(training.refine), desc=f"{name}: L-BFGS", disable=not progress)
    for step in bar:
        value = lbfgs.step(closure)  # type: ignore[no-untyped-call]  # as above
        error = math.sqrt(max(value.item(), 0.0))
        rows.append((name, training.steps + step, time.monotonic() - start, error))
        bar.set_postfix(relative_l2=f"{error:.2e}")
    return rows


def _refinement(
    branch: ModeBranch | PointBranch, pool: list[Batch]
) -> tuple[Callable[[], Tensor], torch.optim.LBFGS]:
    lbfgs = torch.optim.LBFGS(
        branch.parameters(),
        max_iter=5,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        lbfgs.zero_grad()
        value = torch.stack([loss(branch, batch) for batch in pool]).mean()
        value.backward()  # type: ignore[no-untyped-call]  # torch leaves it unannotated
        return value

    return closure, lbfgs
