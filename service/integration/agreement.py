"""Whether F' = f in numbers: fast on many points, then to 30 digits on a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from flint import acb, arb, ctx

from service.integration.domain import (
    GRID,
    FloatArray,
    is_real,
    parameter_values,
    stretches,
)
from service.integration.evaluate import BallField, CannotEvaluate, Evaluator, FloatField
from tokenizer.tree import Tree

#: Agreement to this many decimal digits at :data:`POINTS` points counts as numeric evidence.
DIGITS: Final = 30
POINTS: Final = 12

_SEED: Final = 11
_BITS: Final = (160, 400, 1200)


@dataclass(frozen=True, slots=True)
class Agreement:
    """``status`` of F' = f in numbers.

    ``agrees``: to :data:`DIGITS` digits at :data:`POINTS` points, some of them in each
    of the longest stretches where f is real. ``real``: F is real wherever f was found real.
    """

    status: Literal["agrees", "differs", "unknown"]
    real: bool


def compare(integrand: Tree, antiderivative: Tree, variable: str) -> Agreement:
    """Compare the derivative of ``antiderivative`` with ``integrand``."""
    rng = np.random.default_rng(_SEED)
    names = sorted({*integrand.symbols(), *antiderivative.symbols()} - {variable})
    real = True
    agreed = 0
    try:
        for attempt in range(4):
            # positive parameters first, then of any sign
            parameters = parameter_values(names, rng, positive=attempt < 2)
            points, its_real = _real_points(integrand, antiderivative, variable, parameters)
            real = real and (its_real or attempt >= 2)
            if not len(points):
                # real nowhere: it is the derivative along the axis that counts
                points = np.round(rng.normal(size=10) * 1024) / 512
            for point in points:
                match _same(integrand, antiderivative, variable, parameters, complex(point)):
                    case True:
                        agreed += 1
                    case False:
                        return Agreement("differs", real)
            if agreed >= POINTS and (not names or attempt >= 1):
                return Agreement("agrees", real)
    except (CannotEvaluate, OverflowError):
        return Agreement("unknown", real)
    return Agreement("unknown", real)


def _real_points(
    integrand: Tree, antiderivative: Tree, variable: str, parameters: dict[str, float]
) -> tuple[FloatArray, bool]:
    """Points spread over the real stretches of f, and whether F is real at all of them."""
    at = GRID.astype(np.complex128)
    evaluator = Evaluator(FloatField(), {**parameters, variable: at}, variable)
    with np.errstate(all="ignore"):
        f = np.broadcast_to(np.asarray(evaluator.dual(integrand)[0], dtype=complex), at.shape)
        big = np.broadcast_to(
            np.asarray(evaluator.dual(antiderivative)[0], dtype=complex), at.shape
        )
        usable = is_real(f)
        shown = usable & np.isfinite(big)
        is_complex = np.abs(big.imag) > 1e-7 * (1 + np.abs(big.real))
    runs = stretches(usable)[:6]
    chosen: list[float] = []
    for first, last in runs:
        share = max(2, round(16 * (last - first + 1) / max(1, usable.sum())))
        chosen += [float(v) for v in GRID[np.linspace(first, last, share + 2).astype(int)[1:-1]]]
    return np.unique(np.array(chosen)), not bool(np.any(shown & is_complex))


def _same(
    integrand: Tree,
    antiderivative: Tree,
    variable: str,
    parameters: dict[str, float],
    point: complex,
) -> bool | None:
    """F'(point) = f(point) to :data:`DIGITS` digits; None when that cannot be told."""
    saved = ctx.prec
    try:
        for bits in _BITS:
            ctx.prec = bits
            values = {name: acb(value) for name, value in parameters.items()}
            evaluator = Evaluator(BallField(), {**values, variable: acb(point)}, variable)
            try:
                f = evaluator.dual(integrand)[0]
                slope = evaluator.dual(antiderivative)[1]
            except (ZeroDivisionError, ValueError, OverflowError):
                return None
            difference = acb(slope) - acb(f)
            if not difference.is_finite():
                continue
            if not difference.contains(0):
                return False
            # where f is exactly zero, its derivative must vanish to as many digits
            size = abs(acb(f)).lower() if f != 0 else 1
            if abs(difference).upper() <= size * arb(10) ** -DIGITS:
                return True
        return None
    finally:
        ctx.prec = saved
