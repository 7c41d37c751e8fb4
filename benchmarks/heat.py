"""The kernel model against SciPy's sine transform and Crank–Nicolson, in one run.

    OMP_NUM_THREADS=1 python -m benchmarks.heat            # writes models/heat/speed.md as well

256 initial conditions on 128 intervals (a size that suits the transform), Dirichlet.
All answer the same question, the heat flow of the straight lines between the samples;
errors are the worst of the batch, as a share of ‖u₀‖. The transform is exact for
trigonometric sums and so differs from straight lines by the sampling. Crank–Nicolson,
with Richardson's extrapolation, runs in every setting of up to two seconds a run;
the cheapest that is as accurate as its row says is shown. Where none is, the row says what
it got to, and a time marked ≈ is expected, not measured: from how the error fell.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.fft import dst, idst

import models
from benchmarks.crank_nicolson import Trials
from models.heat.boundary import Array, Boundary
from models.heat.families import FAMILIES, truth
from models.heat.report import as_markdown
from service.heat.sessions import HeatModel
from service.settings import Settings

BATCH, POINTS = 256, 129
REPEATS = 100
PAGE = Path(models.__file__).parent / "heat" / "speed.md"
#: Accuracies asked of Crank–Nicolson beside that of the float32 model: a plot's, the target
#: of the project and, about, that of the float64 model over all its evaluation.
ACCURACIES = (1e-3, 1e-6, 1e-10)


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


def worst(found: Array, *, exact: Array, u0: Array) -> float:
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


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: seconds a batch takes, worst error of the batch."""

    method: str
    seconds: float
    error: float


def by_crank_nicolson(trials: Trials, wanted: float, name: str) -> Row:
    """The cheapest setting within ``wanted``, or the best there is and what that lets expect."""
    reached = trials.cheapest(wanted)
    method = f"Crank–Nicolson to {name}: {reached.setting}"
    if reached.expected is not None:
        method += f"; not reached, ≈ {1000 * reached.expected:.0f} ms expected"
    return Row(method, reached.seconds, reached.error)


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
        error = partial(worst, exact=exact, u0=u0)
        transform = Row("SciPy DST", clock(by_transform, u0, tau), error(by_transform(u0, tau)))
        by_graph = [
            Row(
                f"kernel model, {name}",
                clock(by_model, model, u0, tau),
                error(by_model(model, u0, tau)),
            )
            for name, model in precisions.items()
        ]
        trials = Trials(u0, tau, error)
        single = by_graph[-1].error
        wanted = [(accuracy, f"{accuracy:g}") for accuracy in ACCURACIES]
        wanted.append((single, f"{single:.1e}, the float32 model's"))
        stepped = [by_crank_nicolson(trials, *each) for each in sorted(wanted, reverse=True)]
        for row in (transform, *by_graph, *stepped):
            table.add_row(
                f"{tau:g}",
                row.method,
                f"{1000 * row.seconds:.2f}",
                f"{row.seconds / transform.seconds:.1f}×",
                f"{row.error:.1e}",
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
