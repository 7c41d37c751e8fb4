"""The kernel model against SciPy's sine transform and Crank–Nicolson, in one run.

    OMP_NUM_THREADS=1 python -m benchmarks.heat            # writes models/heat/speed.md as well

256 initial conditions on 128 intervals (a size that suits the transform), Dirichlet.
All answer the same question, the heat flow of the straight lines between the samples;
errors are the worst of the batch, as a share of ‖u₀‖. The transform is exact for
trigonometric sums and so differs from straight lines by the sampling. Crank–Nicolson
is refined until it is as accurate as its row says, or gives up.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.fft import dst, idst
from scipy.linalg import cho_solve_banded, cholesky_banded

import models
from models.heat.boundary import Array, Boundary
from models.heat.families import FAMILIES, truth
from models.heat.report import as_markdown
from service.heat.sessions import HeatModel
from service.settings import Settings

BATCH, POINTS = 256, 129
REPEATS = 100
PAGE = Path(models.__file__).parent / "heat" / "speed.md"
#: Crank–Nicolson: refinements of space tried, and most seconds for one batch.
REFINEMENTS = (1, 2, 4, 8, 16, 32)
PATIENCE_S = 20.0


def initial_conditions() -> Array:
    """A batch from all families, zero at the ends, largest value 1."""
    rng = np.random.default_rng(7)
    x = np.linspace(0, 1, POINTS)
    drawers = list(FAMILIES.values())
    u0 = np.stack([drawers[b % len(drawers)](rng, x) for b in range(BATCH)])
    u0[:, [0, -1]] = 0
    scaled: Array = u0 / np.abs(u0).max(axis=1, keepdims=True)
    return scaled


def by_transform(u0: Array, tau: float) -> Array:
    """Sine transform, decay, sine transform."""
    k = np.arange(1, POINTS - 1)
    coefficients = dst(u0[:, 1:-1], type=1, axis=1) * np.exp(-((math.pi * k) ** 2) * tau)
    out = np.zeros_like(u0)
    out[:, 1:-1] = idst(coefficients, type=1, axis=1)
    return out


def by_model(model: HeatModel, u0: Array, tau: float) -> Array:
    """Tokens and graph, everything counted."""
    return model.predictor.on_grid(
        u0, np.linspace(0, 1, POINTS), Boundary.DIRICHLET, tau, model.manifest.threshold
    )


def crank_nicolson(u0: Array, tau: float, refinement: int, steps: int) -> Array:
    """On a grid ``refinement`` times finer; two backward Euler half-steps first (Rannacher)."""
    cells = (POINTS - 1) * refinement
    fine = np.linspace(0, 1, cells + 1)
    x = np.linspace(0, 1, POINTS)
    u = np.stack([np.interp(fine, x, row) for row in u0], axis=1)[1:-1]  # (cells - 1, B)
    step = tau / steps
    r = step * cells**2
    # the half step of backward Euler and the step of Crank–Nicolson share their matrix
    band = np.stack([np.full(cells - 1, -r / 2), np.full(cells - 1, 1 + r)])
    factor = cholesky_banded(band)
    for _ in range(2):
        u = cho_solve_banded((factor, False), u, check_finite=False)
    for _ in range(steps - 1):
        right = (1 - r) * u
        right[1:] += r / 2 * u[:-1]
        right[:-1] += r / 2 * u[1:]
        u = cho_solve_banded((factor, False), right, check_finite=False)
    out = np.zeros_like(u0)
    out[:, 1:-1] = u[refinement - 1 :: refinement].T
    return out


def crank_nicolson_to(
    u0: Array, tau: float, exact: Array, wanted: float
) -> tuple[str, float, float]:
    """The cheapest tried that is within ``wanted``: its grid and steps, seconds, error."""
    best = ("not reached", math.nan, math.inf)
    for refinement in REFINEMENTS:
        steps, before = 4, math.inf
        while True:
            started = time.perf_counter()
            found = crank_nicolson(u0, tau, refinement, steps)
            seconds = time.perf_counter() - started
            error = worst(found, exact, u0)
            name = f"{refinement}× grid, {steps} steps"
            if error <= wanted:
                return name, seconds, error
            if error < best[2]:
                best = (f"{name} (not reached)", seconds, error)
            if error > 0.7 * before or seconds > PATIENCE_S:
                break
            before, steps = error, 2 * steps
        if seconds > PATIENCE_S:
            break
    return best


def worst(found: Array, exact: Array, u0: Array) -> float:
    """Worst ‖error‖ / ‖u₀‖ of the batch."""
    error = np.linalg.norm(found - exact, axis=1)
    return float((error / np.linalg.norm(u0, axis=1)).max())


def clock(run: Callable[..., Array], *arguments: Any) -> float:
    """Seconds of the fastest of many calls, which other processes disturb least."""
    run(*arguments)
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run(*arguments)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Print one table."""
    u0 = initial_conditions()
    root = Settings().artifacts
    precisions = {
        "float64": HeatModel(root, device="cpu", threads=1),
        "float32": HeatModel(root, device="cpu", threads=1, precision="float32"),
    }
    table = Table(title=f"{BATCH} initial conditions on {POINTS - 1} intervals")
    for name in ("αt/L²", "method", "ms a batch", "of the transform", "worst error"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for tau in (3e-5, 1e-4, 1e-3, 1e-2, 1e-1):
        exact = truth(u0, Boundary.DIRICHLET, np.full(BATCH, tau))
        transform = clock(by_transform, u0, tau)
        rows = [("SciPy DST", transform, worst(by_transform(u0, tau), exact, u0))]
        for name, model in precisions.items():
            seconds = clock(by_model, model, u0, tau)
            rows.append(
                (f"kernel model, {name}", seconds, worst(by_model(model, u0, tau), exact, u0))
            )
        for wanted in (1e-3, 1e-4):
            how, seconds, error = crank_nicolson_to(u0, tau, exact, wanted)
            rows.append((f"Crank–Nicolson to {wanted:g}: {how}", seconds, error))
        for name, seconds, error in rows:
            table.add_row(
                f"{tau:g}",
                name,
                f"{1000 * seconds:.2f}",
                f"{seconds / transform:.1f}×",
                f"{error:.1e}",
            )
        table.add_section()
    table.caption = f"{platform.machine()}, one thread, load {os.getloadavg()[0]:.1f} at the end"
    Console(width=120).print(table)
    PAGE.write_text(
        "# Speed of the kernel model\n\nWritten by `python -m benchmarks.heat`, which says what is "
        "measured.\n\n" + as_markdown(table)
    )


if __name__ == "__main__":
    main()
