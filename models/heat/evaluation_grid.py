"""The plain and the article's Transformers beside the kernel model, and the article's claims."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import torch

from models.heat.boundary import Boundary
from models.heat.evaluation import Kernel, Predict, Progress, Setting, evaluate_families, semigroup
from models.heat.families import FAMILIES, PATHOLOGICAL, truth
from models.heat.grid_artifact import GridPredictor
from models.heat.train_grid import ORDINARY, STRETCH, TAU, residual

#: What the source article says of its own model, as quoted in the project's issue.
CLAIMS: Final = {
    "mean_squared": 0.0012,
    "residual": 0.021,
    "step_without_pathological": 0.15,
    "step_with_pathological": 0.012,
    "better_than_plain": 0.42,
}


def grid_settings(family: str, samples: int, *, points: int = 33) -> Iterator[Setting]:
    """Batches on the grid those models know: Dirichlet, zero ends, τ from 1e-5 to 1."""
    rng = np.random.default_rng([4202, list(FAMILIES).index(family)])
    x = np.linspace(0, 1, points)
    for _ in range(math.ceil(samples / 10)):
        u0 = np.stack([FAMILIES[family](rng, x) for _ in range(10)])
        u0[:, [0, -1]] = 0
        u0 /= np.abs(u0).max(axis=1, keepdims=True) + 1e-12
        tau = math.exp(rng.uniform(math.log(TAU[0]), math.log(TAU[1])))
        yield Setting(family, Boundary.DIRICHLET, tau, x, u0)


def predictor(model: GridPredictor) -> Predict:
    """A grid model as a function of a setting."""
    return lambda setting: model(setting.u0, np.full(len(setting.u0), setting.tau))


def grid_semigroup(model: GridPredictor, setting: Setting) -> float:
    """max |S(τ/2)S(τ/2)u₀ - S(τ)u₀| / max |u₀| of the worst sample, by the model alone."""
    tau = np.full(len(setting.u0), setting.tau)
    twice = model(model(setting.u0, tau / 2), tau / 2)
    once = model(setting.u0, tau)
    return float((np.abs(twice - once).max(axis=1) / np.abs(setting.u0).max(axis=1)).max())


def compare(
    models: dict[str, tuple[GridPredictor, dict[str, Any]]],
    kernel: Kernel,
    samples: int,
    progress: Progress,
) -> dict[str, Any]:
    """Rows by model and family, and our figures beside the article's claims."""
    predict = {name: predictor(model) for name, (model, _) in models.items()}
    rows = evaluate_families(
        {**predict, "kernel": kernel},
        samples,
        progress,
        source=grid_settings,
        semigroup_of={
            **{name: partial(grid_semigroup, model) for name, (model, _) in models.items()},
            "kernel": partial(semigroup, kernel),
        },
    )
    figures = {name: _figures(model, rows[name]) for name, (model, _) in models.items()}
    return {
        "training": {
            name: {"minutes": round(facts["seconds"] / 60, 2), "steps": facts["step"]}
            | {"parameters": facts["parameters"]}
            for name, (_, facts) in models.items()
        },
        "families": rows,
        "claims": CLAIMS,
        "figures": figures,
        "better_than_plain": {
            size: 1 - figures[name]["mean_squared"] / figures[f"plain-{size}"]["mean_squared"]
            for name, size in ((name, name.removeprefix("article-")) for name in figures)
            if name != size and f"plain-{size}" in figures
        },
    }


def _figures(model: GridPredictor, rows: dict[str, Any]) -> dict[str, float]:
    """The article's kinds of figure: nine ordinary samples to one pathological."""

    def mean(families: tuple[str, ...]) -> float:
        return float(np.mean([rows[family]["mean_squared"]["mean"] for family in families]))

    return {
        "mean_squared": 0.9 * mean(ORDINARY) + 0.1 * mean(PATHOLOGICAL),
        "step_mean_squared": rows["step"]["mean_squared"]["mean"],
        "step_relative_l2": rows["step"]["relative_l2"]["median"],
        "residual": _residual(model),
    }


def _residual(model: GridPredictor) -> float:
    """Mean square of τ u_τ - τ u_xx over ordinary samples, less what the differences cost.

    The exact solution has a residual of its own on a coarse grid; what is reported is
    the residual of the model's error, which is zero for a perfect model.
    """
    values = []
    for family in ORDINARY:
        for setting in grid_settings(family, 100):
            tau = np.full(len(setting.u0), setting.tau)
            early, late = (
                torch.from_numpy(
                    model(setting.u0, times) - truth(setting.u0, Boundary.DIRICHLET, times)
                ).float()
                for times in (tau, STRETCH * tau)
            )
            values.append(float(residual(early, late, torch.from_numpy(tau).float())))
    return float(np.mean(values))
