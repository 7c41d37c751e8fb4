"""How far a prediction is from the truth, sample by sample, and what that says of a family."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.fft import dct

from models.heat.boundary import Array, Boundary

#: A solution that has decayed to nothing passes by absolute error, as a share of max |u₀|.
NOTHING = 1e-12

BANDS = ("low", "middle", "high")


@dataclass(frozen=True, slots=True)
class Errors:
    """One entry a sample (S,), all relative to the sample's own size.

    ``relative_l2``: ‖error‖/‖truth‖, and 0 where max |error| ≤ 1e-12 max |u₀|.
    ``maximum``, ``boundary`` and ``overshoot`` (beyond the range of u₀ that the maximum
    principle allows) are shares of max |u₀|. ``bands`` (S, 3): ‖error‖/‖truth‖ with the
    error cut to a third of the grid's cosine spectrum. ``squared``: mean squared error
    for max |u₀| = 1.
    """

    relative_l2: Array
    maximum: Array
    boundary: Array
    overshoot: Array
    bands: Array
    squared: Array

    @classmethod
    def join(cls, parts: list[Errors]) -> Errors:
        """All samples of several batches."""
        names = ("relative_l2", "maximum", "boundary", "overshoot", "bands", "squared")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def measure(u0: Array, truth: Array, found: Array, boundary: Boundary) -> Errors:
    """Errors of ``found`` (B, n) against ``truth`` (B, n), from ``u0`` (B, n)."""
    error = found - truth
    size = np.abs(u0).max(axis=1) + 1e-300
    norm = np.linalg.norm(truth, axis=1)
    passing = np.abs(error).max(axis=1) <= NOTHING * size
    over = np.where(passing, np.inf, norm + 1e-300)
    low, high = u0.min(axis=1), u0.max(axis=1)
    if boundary.fixes_value:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    beyond = np.maximum(found.max(axis=1) - high, low - found.min(axis=1))
    spectrum = dct(error, type=2, norm="ortho", axis=1)
    thirds = np.array_split(spectrum, len(BANDS), axis=1)
    return Errors(
        np.linalg.norm(error, axis=1) / over,
        np.abs(error).max(axis=1) / size,
        np.maximum(np.abs(error[:, 0]), np.abs(error[:, -1])) / size,
        np.maximum(beyond, 0) / np.maximum(high - low, 1e-300),
        np.stack([np.linalg.norm(third, axis=1) / over for third in thirds], axis=1),
        np.square(error / size[:, None]).mean(axis=1),
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% bootstrap interval."""

    mean: float
    low: float
    high: float


def bootstrap(values: Array, *, draws: int = 1000, seed: int = 0) -> Interval:
    """Percentile bootstrap of the mean."""
    rng = np.random.default_rng(seed)
    means = np.array(
        [values[rng.integers(len(values), size=len(values))].mean() for _ in range(draws)]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))


def summary(errors: Errors, semigroup: Array, facts: list[dict[str, Any]]) -> dict[str, Any]:
    """A family's row: never only the mean. ``facts`` say which sample each one was."""
    worst = int(errors.relative_l2.argmax())
    return {
        "samples": len(errors.relative_l2),
        "relative_l2": {
            **asdict(bootstrap(errors.relative_l2)),
            "median": float(np.median(errors.relative_l2)),
            "worst": float(errors.relative_l2[worst]),
            "worst_sample": facts[worst],
        },
        "mean_squared": asdict(bootstrap(errors.squared)),
        "maximum": float(errors.maximum.max()),
        "boundary": float(errors.boundary.max()),
        "bands": dict(zip(BANDS, errors.bands.max(axis=0).tolist(), strict=True)),
        "overshoot": float(errors.overshoot.max()),
        "violations": int((errors.overshoot > 1e-9).sum()),
        "semigroup": float(semigroup.max()) if len(semigroup) else None,
    }
