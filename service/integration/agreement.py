"""Whether F' = f in numbers: fast on many points, then to 30 digits on a few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray

from service.integration import probes
from service.integration.domain import (
    GRID,
    ComplexArray,
    FloatArray,
    is_real,
    on_axis,
    parameter_values,
    stretches,
)
from service.integration.evaluate import BallField, CannotEvaluate, Evaluator, FloatField
from service.integration.singular import guards, zeros
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
    of the longest stretches where f is real. ``unreal``: f has values, and none that was
    found is real. ``real``: F is real wherever f was found real. ``positive``: parameters
    for which they agree only while all of them are positive.
    """

    status: Literal["agrees", "differs", "unreal", "unknown"]
    real: bool
    positive: tuple[str, ...] = ()


def compare(
    integrand: Tree, antiderivative: Tree, variable: str, *, over_reals: bool = True
) -> Agreement:
    """Compare the derivative of ``antiderivative`` with ``integrand`` on the real axis.

    ``over_reals`` wants them equal where the integrand is real, unless its formula has the
    imaginary unit in it; else they are to be equal where it has any value.
    """
    rng = np.random.default_rng(_SEED)
    names = sorted({*integrand.symbols(), *antiderivative.symbols()} - {variable})
    over_reals &= not any(n.head == "constant" and n.value == "I" for n in integrand.preorder())
    real, unreal = True, False
    agreed = 0
    #: points at which the integrand looked real in floating point and is not
    seeming = 0
    try:
        for attempt in range(4):
            # positive parameters first, then of any sign
            parameters = parameter_values(names, rng, positive=attempt < 2)
            points, its_real = _points(
                integrand, antiderivative, variable, parameters, over_reals=over_reals
            )
            real = real and (its_real or attempt >= 2)
            if points is None:
                unreal = True
                continue
            for point in points:
                at = {**parameters, variable: float(point)}
                match _same(integrand, antiderivative, variable, at, over_reals=over_reals):
                    case "same":
                        agreed += 1
                    case "unreal":
                        seeming += 1
                    case "differs":
                        return Agreement("differs", real)
            if agreed >= POINTS and (not names or attempt >= 1):
                if not names or attempt >= 2:
                    return Agreement("agrees", real)
                return _of_any_sign(integrand, antiderivative, variable, names, real, over_reals)
    except (CannotEvaluate, OverflowError):
        return Agreement("unknown", real)
    return Agreement("unreal" if (unreal or seeming) and not agreed else "unknown", real)


#: How far from the usual size parameters are tried, too.
_SCALES: Final = (1.0, 13.0)


def _of_any_sign(
    integrand: Tree,
    antiderivative: Tree,
    variable: str,
    names: list[str],
    real: bool,
    over_reals: bool,
) -> Agreement:
    """What becomes of an agreement for positive parameters where they are not, or are larger."""
    rng = np.random.default_rng(_SEED + 1)

    def differs(negative: tuple[str, ...], scale: float) -> bool:
        values = {
            name: value * scale * (-1 if name in negative else 1)
            for name, value in parameter_values(names, rng).items()
        }
        points, _ = _points(integrand, antiderivative, variable, values, over_reals=over_reals)
        return points is not None and any(
            _same(
                integrand,
                antiderivative,
                variable,
                {**values, variable: float(point)},
                over_reals=over_reals,
            )
            == "differs"
            for point in points
        )

    if differs((), _SCALES[1]):
        return Agreement("differs", real)
    needed = tuple(name for name in names if any(differs((name,), s) for s in _SCALES))
    rest = tuple(name for name in names if name not in needed)
    if len(rest) > 1 and differs(rest, 1.0):
        needed = tuple(names)
    return Agreement("agrees", real, needed)


#: Stretches where f counts that get points of their own, and of those where it is zero.
_STRETCHES: Final = 6
_ZERO_STRETCHES: Final = 3
#: Most points that are added because floating point has doubts there.
_DOUBTS: Final = 4
#: As many off the grid.
_PROBES: Final = 16


def imaginary_parts_cancel(terms: Sequence[Tree], variable: str) -> bool:
    """Whether the sum of ``terms`` is real somewhere on the axis where they are not.

    True, too, where they cannot be evaluated. What is real where each term is real need not
    be so there.
    """
    rng = np.random.default_rng(_SEED)
    names = sorted({name for term in terms for name in term.symbols()} - {variable})
    for positive in (True, False):
        parameters = parameter_values(names, rng, positive=positive)
        try:
            values = np.array([on_axis(term, variable, GRID, parameters) for term in terms])
        except CannotEvaluate:
            return True
        with np.errstate(all="ignore"):
            size = np.abs(values.imag).sum(axis=0)
            # above what rounding leaves of a large real part
            complex_terms = np.isfinite(values).all(axis=0) & (
                size > 1e-12 * np.abs(values).sum(axis=0)
            )
            cancelled = np.abs(values.imag.sum(axis=0)) <= 1e-6 * size
        if bool((complex_terms & cancelled).any()):
            return True
    return False


def _points(
    integrand: Tree,
    antiderivative: Tree,
    variable: str,
    parameters: dict[str, float],
    *,
    over_reals: bool,
) -> tuple[FloatArray | None, bool]:
    """Points spread over the stretches where f counts, and whether F is real at all of them.

    None where f has values, and none that counts.
    """
    counting = _counting(integrand, variable, parameters, over_reals)
    if counting is None:
        values = np.isfinite(on_axis(integrand, variable, GRID, parameters))
        return (None if values.any() else np.array([])), True
    grid, f, usable = counting
    at = grid.astype(np.complex128)
    evaluator = Evaluator(FloatField(), {**parameters, variable: at}, variable)
    with np.errstate(all="ignore"):
        big, slope = (
            np.broadcast_to(np.asarray(part, dtype=complex), at.shape)
            for part in evaluator.dual(antiderivative)
        )
        shown = usable & np.isfinite(big)
        is_complex = np.abs(big.imag) > 1e-7 * (1 + np.abs(big.real))
        doubt = np.where(usable & np.isfinite(slope), np.abs(slope - f) / np.abs(f), 0.0)
    chosen: list[float] = []
    # what is zero, or only looks it, must not crowd out the rest
    for part, most in ((usable & (f != 0), _STRETCHES), (usable & (f == 0), _ZERO_STRETCHES)):
        for first, last in stretches(part)[:most]:
            share = max(2, round(16 * (last - first + 1) / part.sum()))
            places = np.linspace(first, last, share + 2).astype(int)[1:-1]
            chosen += [float(v) for v in grid[places]]
    worst = np.argsort(np.nan_to_num(doubt, posinf=0.0))[-_DOUBTS:]
    chosen += [float(grid[i]) for i in worst if doubt[i] > 1e-6]
    chosen += _probes(integrand, antiderivative, variable, parameters, over_reals)
    return np.unique(np.array(chosen)), not (over_reals and bool(np.any(shown & is_complex)))


def _counting(
    integrand: Tree, variable: str, parameters: dict[str, float], over_reals: bool
) -> tuple[FloatArray, ComplexArray, NDArray[np.bool_]] | None:
    """A grid on which f counts somewhere, f on it, and where it counts; None when there is none.

    One on which it is not zero if possible: a zero may be a number too small for floating
    point, and then need not be real.
    """
    zero = None
    for grid in (GRID, *_finer_grids(integrand, variable)) if over_reals else (GRID,):
        f = on_axis(integrand, variable, grid, parameters)
        usable = is_real(f) if over_reals else np.isfinite(f)
        if (usable & (f != 0)).any():
            return grid, f, usable
        if zero is None and usable.any():
            zero = grid, f, usable
    return zero


def _probes(
    integrand: Tree,
    antiderivative: Tree,
    variable: str,
    parameters: dict[str, float],
    over_reals: bool,
) -> list[float]:
    """Points off the grid where f counts and a difference may hide."""
    beside = np.array(probes.near(integrand, variable), dtype=float)
    away = probes.far((integrand, antiderivative), variable, parameters)
    places = np.concatenate([beside, away])
    if not places.size:
        return []
    evaluator = Evaluator(
        FloatField(), {**parameters, variable: places.astype(np.complex128)}, variable
    )
    with np.errstate(all="ignore"):
        f, slope = (
            np.broadcast_to(np.asarray(part, dtype=complex), places.shape)
            for part in (evaluator.dual(integrand)[0], evaluator.dual(antiderivative)[1])
        )
        counts = is_real(f) if over_reals else np.isfinite(f)
        same = np.abs(slope - f) <= 1e-9 * np.abs(f)
    return [float(x) for x in places[counts & ~same]][:_PROBES]


def unreal(integrand: Tree, variable: str) -> bool:
    """Whether ``integrand`` has values on the real axis, and none that was found is real."""
    rng = np.random.default_rng(_SEED)
    names = sorted({*integrand.symbols()} - {variable})
    try:
        if any(n.head == "constant" and n.value == "I" for n in integrand.preorder()):
            return False
        for attempt in range(4 if names else 1):
            parameters = parameter_values(names, rng, positive=attempt < 2)
            points, _ = _points(integrand, integrand, variable, parameters, over_reals=True)
            if points is None:
                continue
            # floating point takes what is too small for it for a real zero
            verdicts = {
                _same(integrand, integrand, variable, {**parameters, variable: x}, over_reals=True)
                for x in map(float, points)
            }
            if "unreal" not in verdicts or verdicts & {"same", "differs"}:
                return False
    except (CannotEvaluate, OverflowError):
        return False
    return True


def _finer_grids(integrand: Tree, variable: str) -> Iterator[FloatArray]:
    """More places where an integrand may be real that is not on the usual grid.

    First finer, smaller and larger ones, then beside the places where the real part of
    what branches changes its sign.
    """
    far = np.geomspace(1e3, 1e15, 400)
    near = np.geomspace(1e-15, 1e-5, 100)
    fine = np.linspace(-12, 12, 20_000) + 1e-4 / 3
    yield np.unique(np.concatenate([far, -far, near, -near, fine]))
    ends: list[float] = []
    for guard in guards(integrand):
        if guard.contains(variable) and set(guard.symbols()) == {variable}:
            for low, high in ((-12.0, 12.0), (-np.inf, np.inf)):
                ends += zeros(guard, variable, low, high)[:20]
    if ends:
        steps = np.geomspace(1e-9, 1e-1, 40)
        beside = [end + side * steps * (1 + abs(end)) for end in ends[:60] for side in (-1, 1)]
        yield np.unique(np.concatenate(beside))


def _same(
    integrand: Tree,
    antiderivative: Tree,
    variable: str,
    at: Mapping[str, float],
    *,
    over_reals: bool,
) -> Literal["same", "differs", "unreal", "unknown"]:
    """Whether F' = f to :data:`DIGITS` digits.

    ``at`` has a value for every symbol. ``unreal`` where f only looked real because its
    imaginary part was too small for floating point.
    """
    saved = ctx.prec
    try:
        for bits in _BITS:
            ctx.prec = bits
            values = {name: acb(value) for name, value in at.items()}
            evaluator = Evaluator(BallField(), values, variable)
            try:
                f = evaluator.dual(integrand)[0]
                slope = evaluator.dual(antiderivative)[1]
            except (ZeroDivisionError, ValueError, OverflowError):
                return "unknown"
            difference = acb(slope) - acb(f)
            if not difference.is_finite():
                continue
            if over_reals and not acb(f).imag.contains(0):
                return "unreal"
            # of a ball, "is exactly 0" and "is not 0" may both be false
            surely_real = bool(acb(f).imag == 0)
            if over_reals and acb(f).contains(0) and not surely_real:
                # too small to be told from zero, such as exp(-exp(700) + I): real or not?
                continue
            if not difference.contains(0):
                return "differs"
            # where f is exactly zero, its derivative must vanish to as many digits
            size = abs(acb(f)).lower() if f != 0 else 1
            if abs(difference).upper() <= size * arb(10) ** -DIGITS:
                return "same"
        return "unknown"
    finally:
        ctx.prec = saved
