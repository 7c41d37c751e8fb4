from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest
import sympy
from sympy import Abs, Heaviside, I, Piecewise, Rational, acosh, asin, atan2, exp, log, sin, sqrt

from service.verification.convert import to_sympy
from service.verification.numerics import Pair, guards
from service.verification.precision import OutOfReachError, UndefinedError, evaluator, settle
from service.verification.screening import (
    NotRealError,
    complex_values,
    real_values,
    sample,
)
from service.verification.timing import OutOfTime, time_limit
from tokenizer.heads import ARITY, ELEMENTARY, SPECIAL
from tokenizer.tree import call, symbol

x, y = sympy.symbols("x y", real=True)


@pytest.mark.parametrize("head", [*ELEMENTARY, *SPECIAL])
def test_doubles_and_digits_agree(head: str) -> None:
    """Each function has the same values in double precision as in 40 digits."""
    names = ("u", "v")[: ARITY[head]]
    expr = to_sympy(call(head, *map(symbol, names)))
    symbols = [sympy.Symbol(name, real=True) for name in names]
    points = sample(names, 64)
    values = real_values(expr, points.columns(symbols))
    compared = 0
    for index in np.flatnonzero(np.isfinite(values))[:12]:
        at = dict(zip(symbols, points.point(int(index)), strict=True))
        try:
            exact = evaluator(40).value(expr, at)
        except UndefinedError:
            continue
        assert abs(exact - values[index]) <= 1e-9 * abs(exact) + 1e-200
        compared += 1
    assert compared >= 3


def test_samples_repeat_and_cover() -> None:
    """A sample is the same each time, exact, of both signs and of several magnitudes."""
    points = sample(("x", "y"))
    assert np.array_equal(points.coordinates, sample.__wrapped__(("x", "y")).coordinates)
    first = points.coordinates[:, 0]
    assert (np.abs(first) < 0.2).any()
    assert (np.abs(first) > 100).any()
    assert ((points.coordinates > 0).all(axis=1)).sum() > 60
    assert (first < 0).sum() > 60
    assert [float(c) for c in points.point(7)] == list(points.coordinates[7])


def test_real_means_every_part_is_real() -> None:
    """Where a part is not real the value is missing, though the whole would be real."""
    at = {x: np.array([-2.0, 2.0])}
    values = real_values(sqrt(x - 1) * sqrt(x + 1), at)
    assert np.isnan(values[0])
    assert values[1] == pytest.approx(np.sqrt(3))
    whole = complex_values(sqrt(x - 1) * sqrt(x + 1), at)
    assert whole[0] == pytest.approx(-np.sqrt(3))
    assert whole[0].imag == 0
    with pytest.raises(NotRealError):
        real_values(x * I, at)


def test_principal_values_on_cuts() -> None:
    """On the negative axis both evaluations take the upper side, whatever zero's sign."""
    at = {x: np.array([2.0])}
    assert complex_values(log(-x), at)[0].imag == pytest.approx(np.pi)
    assert float(evaluator(30).value(log(-x), {x: sympy.Integer(2)}).imag) == pytest.approx(np.pi)


@pytest.mark.parametrize(
    ("lhs", "rhs", "agree"),
    [
        (sin(x) ** 2 + sympy.cos(x) ** 2 - 1, sympy.Integer(0), True),
        (Rational(1, 2**99) + 0 * x, sympy.Integer(0), False),
        (exp(-1000) + 0 * x, sympy.Integer(0), False),
        (exp(x) * exp(-x) - 1 + exp(-60), exp(-60), True),
        (sin(x) + Rational(1, 10**20), sin(x), False),
        (log(x), log(-x), False),
    ],
)
def test_settle(lhs: sympy.Expr, rhs: sympy.Expr, agree: bool) -> None:
    """Noise that shrinks is zero, small numbers that stay are not."""
    assert settle(lhs, rhs, {x: Rational(7, 3)}).agree is agree


def test_undefined_and_out_of_reach_are_different() -> None:
    """A pole has no value; a tower of exponentials has one that nobody computes."""
    with pytest.raises(UndefinedError):
        evaluator(30).value(1 / x, {x: sympy.Integer(0)})
    with pytest.raises(OutOfReachError):
        evaluator(30).value(exp(exp(exp(x))), {x: sympy.Integer(50)})


def test_narrow_domains_are_found() -> None:
    """Points are found in domains that a general sample misses."""
    left = Pair(asin(20 * x - 300) + acosh(x), x).left
    assert left is not None
    assert np.isfinite(left).sum() >= 3


def test_guards() -> None:
    """Branch points are the arguments at whose zeros a function turns."""
    expr = Abs(x - 1) + sqrt(y) + Heaviside(x + 3) + atan2(y, x)
    expr += Piecewise((1, x < 5), (2, True)) + log(3)
    assert {x - 1, y, x + 3, x, x - 5} <= set(guards(expr))
    assert all(guard.free_symbols for guard in guards(expr))


def test_points_beside_every_branch_point() -> None:
    """After refinement some point lies on each side of a far and of a narrow branch."""
    pair = Pair(Piecewise((1, Abs(x - 3) > Rational(1, 10**5)), (2, x > 10**8), (3, True)), x)
    pair.refine()
    coordinates = pair.sample.coordinates[:, 0]
    assert (coordinates > 10**8).any()
    assert (np.abs(coordinates - 3) < 1e-5).any()


def overrun(limits: list[float]) -> None:
    """Sleep under nested limits, each level swallowing what interrupts the one inside."""
    with time_limit(limits[0]):
        if len(limits) > 1:
            with contextlib.suppress(OutOfTime):
                overrun(limits[1:])
        time.sleep(5)


@pytest.mark.parametrize("limits", [[0.05], [0.2, 0.05], [0.05, 5.0], [0.3, 0.2, 0.1]])
def test_time_limits_nest(limits: list[float]) -> None:
    """An inner limit ends its own block only; the outer one still holds afterwards."""
    start = time.monotonic()
    with pytest.raises(OutOfTime):
        overrun(limits)
    assert time.monotonic() - start < 4.5
    time.sleep(0.1)  # a limit that was left behind would strike here
