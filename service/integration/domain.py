"""Where an integrand is real, and points to test identities at.

An identity between antiderivatives is meant where the integrand is real. Points
are therefore taken from a strip around a stretch of the real axis on which it is
real and of moderate size: there principal branches agree with the real functions,
while the imaginary parts make the test sharp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from service.integration.evaluate import CannotEvaluate, Evaluator, FloatField
from tokenizer.tree import Tree

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

#: Sizes of an integrand outside of these are left to other points.
TINY: Final = 1e-25
HUGE: Final = 1e25
_REAL: Final = 1e-9
#: Heads by which a function is put together from cases.
_CASES: Final = frozenset(
    {"Abs", "sign", "Heaviside", "Max", "Min", "Piecewise", "floor", "ceiling"}
)
#: Points are taken from |x| < _NEAR where _ENOUGH of the grid lies there.
_NEAR: Final = 12
_ENOUGH: Final = 12

_FIELD: Final = FloatField()


def _grid() -> FloatArray:
    """Test points on the axis: linear to ±12, logarithmic from 1e-5 to 1e3, close to ±1.

    Off special values; the ones close to ±1 are for powers so high that they are of
    moderate size nowhere else.
    """
    rng = np.random.default_rng(20)
    linear = np.linspace(-12, 12, 385)
    geometric = np.geomspace(1e-5, 1e3, 130)
    points = np.concatenate([linear, geometric, -geometric])
    points = points * (1 + 1e-3 * rng.random(points.size)) + 1e-4 * rng.random()
    offsets = np.geomspace(1e-6, 0.2, 30)
    ones = np.concatenate([1 + offsets, 1 - offsets])
    return np.unique(np.concatenate([points, ones, -ones]))


GRID: Final[FloatArray] = _grid()


@dataclass(frozen=True, slots=True)
class Samples:
    """``points``: complex, shape (n,). ``real``: the real stretch they surround.

    ``parameters`` maps the other symbols to the values they had.
    """

    points: ComplexArray
    stretch: tuple[float, float]
    parameters: Mapping[str, float]

    def evaluator(self, variable: str) -> Evaluator:
        """Values at all points at once."""
        return Evaluator(_FIELD, {**self.parameters, variable: self.points}, variable)


def parameter_values(
    names: Sequence[str], rng: np.random.Generator, *, positive: bool = True
) -> dict[str, float]:
    """A generic dyadic value for each name, of size between 0.6 and 2.4."""
    values = {name: int(rng.integers(154, 614)) / 256 for name in names}
    if not positive:
        values = {name: value * float(rng.choice([-1, 1])) for name, value in values.items()}
    return values


def on_axis(
    tree: Tree, variable: str, points: FloatArray, parameters: Mapping[str, float]
) -> ComplexArray:
    """Values of ``tree`` at real ``points``; nan where it cannot be evaluated."""
    at = points.astype(np.complex128)
    with np.errstate(all="ignore"):
        value, _ = Evaluator(_FIELD, {**parameters, variable: at}, variable).dual(tree)
    return np.broadcast_to(np.asarray(value, dtype=np.complex128), at.shape)


def is_real(values: ComplexArray) -> NDArray[np.bool_]:
    """Which values are finite and real to rounding."""
    with np.errstate(all="ignore"):
        return np.isfinite(values) & (np.abs(values.imag) <= _REAL * np.abs(values.real))


def stretches(usable: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of True as (first, last) indices, the longest first."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], usable.astype(np.int8), [0]])))
    runs = [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return sorted(runs, key=lambda run: run[0] - run[1])


def real_points(
    integrand: Tree, variable: str, parameters: Mapping[str, float]
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The grid, and where on it the integrand is real and of moderate size."""
    values = on_axis(integrand, variable, GRID, parameters)
    size = np.abs(values)
    with np.errstate(all="ignore"):
        moderate = (size > TINY) & (size < HUGE)
    return GRID, is_real(values) & moderate


def real_test(integrand: Tree, variable: str) -> Callable[[FloatArray], NDArray[np.bool_]] | None:
    """Tells where on the axis ``integrand`` is real; None when it has parameters or no values."""
    if any(name != variable for name in integrand.symbols()):
        return None

    def is_real_at(points: FloatArray) -> NDArray[np.bool_]:
        try:
            return is_real(on_axis(integrand, variable, points, {}))
        except CannotEvaluate:
            return np.ones(points.shape, dtype=np.bool_)

    return is_real_at


def _over_all_cases(
    integrand: Tree,
    variable: str,
    count: int,
    rng: np.random.Generator,
    parameters: Mapping[str, float],
) -> Samples | None:
    points = rng.normal(scale=2.5, size=6 * count)
    values = on_axis(integrand, variable, points, parameters)
    with np.errstate(all="ignore"):
        good = is_real(values) & (np.abs(values) < HUGE)
    if good.sum() < count:
        return None
    chosen = points[good][:count]
    return Samples(chosen.astype(np.complex128), (-np.inf, np.inf), parameters)


def frequency(tree: Tree, variable: str) -> float:
    """The largest number that the variable is multiplied with, at least 1."""
    largest = 1.0
    for node in tree.preorder():
        if node.head == "mul" and node.contains(variable):
            for arg in node.args:
                if arg.head == "integer":
                    largest = max(largest, float(arg.value or 0))
    return largest


def sample(
    integrand: Tree,
    variable: str,
    count: int,
    rng: np.random.Generator,
    *,
    rank: int = 0,
) -> Samples | None:
    """``count`` points around the ``rank``-th longest real stretch of the integrand.

    Where it is real nowhere, points are spread over the complex plane. None when
    there are too few points at which the integrand has a moderate size.
    """
    names = [name for name in integrand.symbols() if name != variable]
    parameters = parameter_values(names, rng)
    try:
        grid, usable = real_points(integrand, variable, parameters)
    except CannotEvaluate:
        return None
    runs = [run for run in stretches(usable) if run[1] - run[0] >= 3]
    if rank and rank >= len(runs):
        return None
    if any(node.head in _CASES for node in integrand.preorder()):
        # each case must have its say: all of the real axis, zeros included
        return _over_all_cases(integrand, variable, count, rng, parameters) if not rank else None
    if runs:
        first, last = runs[rank]
        near = np.flatnonzero(np.abs(grid[first : last + 1]) < _NEAR)
        if near.size >= _ENOUGH:
            first, last = first + int(near[0]), first + int(near[-1])
        low, high = float(grid[first]), float(grid[last])
        index = first + rng.random(4 * count) * (last - first)
        t = np.interp(index, np.arange(grid.size), grid)
        width = min(0.6, (high - low) / 2)
    else:
        low, high = -np.inf, np.inf
        t = rng.normal(scale=1.7, size=4 * count)
        width = 1.7
    # tan(1000*i) is i to the last digit: stay as near the axis as the fastest factor asks
    width = min(width, 2 / frequency(integrand, variable))
    offset = rng.uniform(-1, 1, size=t.size)
    with np.errstate(all="ignore"):
        for _ in range(40):
            points = t + 1j * width * offset
            try:
                value, slope = Evaluator(_FIELD, {**parameters, variable: points}, variable).dual(
                    integrand
                )
            except CannotEvaluate:
                return None
            value = np.broadcast_to(np.asarray(value, dtype=np.complex128), points.shape)
            good = np.isfinite(value) & (np.abs(value) > TINY) & (np.abs(value) < HUGE)
            good &= np.isfinite(np.broadcast_to(slope, points.shape))
            if good.sum() >= 3 * count:
                return Samples(points[good][:count], (low, high), parameters)
            width /= 4
    return None
