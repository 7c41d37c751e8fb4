"""Rows of the kernel model's graphs, and how rows of many questions share one run.

A row is one initial value, or several on the same tokens, at some times and places.
Rows of different sizes are padded to the largest: with tokens of no weight, and with
times and places that are cut off again. Padding changes no value beyond rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from models.heat.boundary import Array

Branch = Literal["modes", "points"]

#: Names of the graphs' inputs, in the order of :class:`Row`'s fields.
INPUTS: Final[dict[Branch, tuple[str, ...]]] = {
    "modes": ("coefficients", "frequency", "phase", "tau", "x"),
    "points": ("strength", "position", "mass", "tau", "x"),
}

#: Tokens × times × places that one run computes at most, padding included.
MOST: Final = 2**20
#: A run is at least this full.
_FULL: Final = 0.5
#: Initial values on the same tokens cost a product each, a sixteenth of a wave or a score.
_SHARED: Final = 16

#: From rows to values (C, M, Q) each.
Graph = Callable[[Sequence["Row"]], list[Array]]


@dataclass(frozen=True, slots=True)
class Row:
    """``amount`` (C, T), ``place`` and ``share`` (T,) of the tokens, ``tau`` (M,), ``x`` (Q,).

    Coefficients, frequency and phase of modes; strength, position and mass of points.
    """

    amount: Array
    place: Array
    share: Array
    tau: Array
    x: Array

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """C, T, M, Q."""
        return (*self.amount.shape, len(self.tau), len(self.x))


def cost(shape: Sequence[int]) -> float:
    """What a row of shape (C, T, M, Q) takes, in waves or scores."""
    channels, tokens, times, places = shape
    return tokens * times * places * max(1.0, channels / _SHARED)


def together(rows: Iterable[Row]) -> list[Row]:
    """The first of ``rows``, as many as are alike enough for one run; at least one."""
    taken: list[Row] = []
    largest, own = (0, 0, 0, 0), 0.0
    for row in rows:
        shape = row.shape
        grown = tuple(map(max, largest, shape))
        padded, real = (len(taken) + 1) * cost(grown), own + cost(shape)
        if taken and (padded > MOST or real < _FULL * padded):
            break
        taken.append(row)
        largest, own = shape if len(taken) == 1 else grown, real  # type: ignore[assignment]  # of four
    return taken


def stack(rows: Sequence[Row], branch: Branch) -> dict[str, Array]:
    """The graph's inputs for one run, (R, …) each."""
    channels, tokens, times, places = np.max([row.shape for row in rows], axis=0)
    amount = np.zeros((len(rows), channels, tokens))
    place, share = np.empty((len(rows), tokens)), np.zeros((len(rows), tokens))
    tau, x = np.empty((len(rows), times)), np.empty((len(rows), places))
    for r, row in enumerate(rows):
        c, t, m, q = row.shape
        amount[r, :c, :t], share[r, :t] = row.amount, row.share
        for into, values, size in ((place, row.place, t), (tau, row.tau, m), (x, row.x, q)):
            into[r, :size], into[r, size:] = values, values[-1]
    return dict(zip(INPUTS[branch], (amount, place, share, tau, x), strict=True))


def unstack(values: Array, rows: Sequence[Row]) -> list[Array]:
    """Each row's own values (C, M, Q) of a run's (R, C, M, Q)."""
    return [
        value[: row.shape[0], : row.shape[2], : row.shape[3]]
        for value, row in zip(values, rows, strict=True)
    ]


def in_runs(run: Callable[[Mapping[str, Array]], Array], branch: Branch) -> Graph:
    """``run`` on as few batches as :func:`together` makes of the rows."""

    def values(rows: Sequence[Row]) -> list[Array]:
        found: list[Array] = []
        while len(found) < len(rows):
            taken = together(rows[len(found) :])
            found += unstack(run(stack(taken, branch)), taken)
        return found

    return values
