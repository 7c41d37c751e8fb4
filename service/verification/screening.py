"""Values of an expression at many real points at once, in double precision.

A screen, not a judge: it costs microseconds and finds the points at which
two expressions seem to differ; :mod:`service.verification.precision` decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from scipy import special
from sympy import S

Values = NDArray[np.float64]

#: Points are multiples of 1/GRAIN: short fractions are quicker to work with.
GRAIN: Final = 1024

#: Magnitudes that sample points are spread over, and how often each is drawn.
SCALES: Final = ((0.06, 1), (0.3, 3), (0.8, 4), (1.5, 4), (3.0, 3), (8.0, 2), (30.0, 1), (120.0, 1))


class NotRealError(ValueError):
    """The expression has no real rule here (it holds I, or a function without one)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Points; a double is an exact rational number. ``coordinates``: shape (points, names)."""

    coordinates: Values

    def __len__(self) -> int:
        return len(self.coordinates)

    def point(self, index: int) -> tuple[sympy.Rational, ...]:
        """The exact coordinates of one point."""
        return tuple(sympy.Rational(*float(c).as_integer_ratio()) for c in self.coordinates[index])

    def positive(self, columns: Sequence[int]) -> Sample:
        """The same points with positive coordinates in these columns."""
        coordinates = self.coordinates.copy()
        coordinates[:, columns] = np.abs(coordinates[:, columns])
        return Sample(coordinates)

    def joined(self, points: Sequence[Sequence[float]] | Values) -> Sample:
        """These points after the present ones."""
        return Sample(np.concatenate([self.coordinates, np.array(points, dtype=np.float64)]))

    def columns(self, symbols: Sequence[sympy.Symbol]) -> dict[sympy.Symbol, Values]:
        """The coordinates of the points as one array a symbol."""
        return {symbol: self.coordinates[:, k] for k, symbol in enumerate(symbols)}


@lru_cache(maxsize=64)
def sample(names: tuple[str, ...], count: int = 256) -> Sample:
    """``count`` points, one coordinate per name: a quarter positive, the rest of any sign.

    The same names always give the same points, so that a verdict can be repeated.
    """
    draw = random.Random(f"calcert {' '.join(names)}")  # noqa: S311 - repeatable, not secret
    scales, weights = zip(*SCALES, strict=True)
    points = []
    for _ in range(count):
        point = []
        positive = draw.random() < 0.25
        for magnitude in draw.choices(scales, weights, k=len(names)):
            # odd multiples of 1/GRAIN keep clear of whole numbers, halves, …, where formulas
            # that are right have their isolated gaps
            size = round(magnitude * draw.uniform(0.5, 2.0) * GRAIN) | 1
            negative = not positive and draw.random() < 0.6
            point.append(-size if negative else size)
        points.append(point)
    return Sample(np.array(points, dtype=np.float64).reshape(count, len(names)) / GRAIN)


@lru_cache(maxsize=64)
def dense_sample(names: tuple[str, ...]) -> Sample:
    """Many points, for expressions that are real on a small set only."""
    if len(names) != 1:
        return sample(names, 4096)
    near = range(-24 * GRAIN + 1, 24 * GRAIN, GRAIN // 32)
    far = [s * (round(GRAIN * 24 * 1.02**k) | 1) for k in range(400) for s in (1, -1)]
    close = [s * k for k in range(1, 65, 2) for s in (1, -1)]
    grid = [*near, *far, *close]
    random.Random("calcert dense").shuffle(grid)  # noqa: S311 - repeatable, not secret
    return Sample(np.array(grid, dtype=np.float64)[:, None] / GRAIN)


def real_values(
    expr: sympy.Basic,
    at: Mapping[sympy.Symbol, Values],
    memo: dict[sympy.Basic, Values] | None = None,
) -> Values:
    """Values of ``expr``, shape (points,); NaN where some part of it is not a real number.

    Raises :class:`NotRealError` when a part has no real meaning anywhere.
    ``memo`` may be shared between expressions evaluated at the same points.
    """
    seen = {} if memo is None else memo
    seen.update(at)
    count = len(next(iter(at.values()))) if at else 1

    def value(node: sympy.Basic) -> Any:
        found = seen.get(node)
        if found is None:
            found = seen[node] = compute(node)
        return found

    def compute(node: sympy.Basic) -> Any:
        if node.is_Number or node.is_NumberSymbol:
            return _number(node)
        if node.is_Add:
            return sum(value(arg) for arg in node.args[1:]) + value(node.args[0])
        if node.is_Mul:
            product = value(node.args[0])
            for arg in node.args[1:]:
                product = product * value(arg)
            return product
        if node.is_Pow:
            return _power(value(node.base), node.exp, value)
        if isinstance(node, sympy.Piecewise):
            return _piecewise(node, value)
        rule = RULES.get(type(node))
        if rule is None:
            raise NotRealError(type(node).__name__)
        return rule(*(value(arg) for arg in node.args))

    with np.errstate(all="ignore"):
        result = np.broadcast_to(np.asarray(value(expr), dtype=np.float64), (count,))
    return np.where(np.isfinite(result), result, np.nan)


def complex_values(expr: sympy.Basic, at: Mapping[sympy.Symbol, Values]) -> NDArray[np.complex128]:
    """Principal values of ``expr``, shape (points,); NaN where there is none or no rule.

    Real wherever the imaginary part is rounding noise. On the cuts of asin and
    its kin the side may differ from SymPy's.
    """
    memo: dict[sympy.Basic, Any] = {
        symbol: column.astype(np.complex128) for symbol, column in at.items()
    }

    def value(node: sympy.Basic) -> Any:
        found = memo.get(node)
        if found is None:
            z: Any = np.asarray(compute(node), dtype=np.complex128)
            noise = np.abs(z.imag) <= 1e-13 * np.abs(z.real)
            # + 0.0 turns -0.0 into 0.0: the upper side of a cut is the principal one
            z = np.where(noise, z.real + 0.0j, z) + 0.0
            found = memo[node] = z
        return found

    def compute(node: sympy.Basic) -> Any:
        if node is S.ImaginaryUnit:
            return 1j
        if node.is_Number or node.is_NumberSymbol:
            return _number(node)
        if node.is_Add:
            return sum(value(arg) for arg in node.args)
        if node.is_Mul:
            product = value(node.args[0])
            for arg in node.args[1:]:
                product = product * value(arg)
            return product
        if node.is_Pow:
            return np.power(value(node.base), value(node.exp))
        if type(node) in _ANALYTIC:
            return RULES[type(node)](*(value(arg) for arg in node.args))
        if isinstance(node, sympy.sign):
            z = value(node.args[0])
            return z / np.abs(z)
        parts = [value(arg) for arg in node.args if not arg.is_Boolean]
        if type(node) not in RULES or len(parts) != len(node.args):
            return np.nan
        real = RULES[type(node)](*(z.real for z in parts))
        on_axis = np.broadcast_arrays(*(z.imag == 0 for z in parts))
        return np.where(np.logical_and.reduce(on_axis), real, np.nan)

    with np.errstate(all="ignore"):
        count = len(next(iter(at.values())))
        return np.broadcast_to(value(expr), (count,))


def _number(node: sympy.Expr) -> float:
    if node is S.ComplexInfinity or node is S.NaN:
        return np.nan
    try:
        return float(node)
    except OverflowError:
        return np.nan


def _power(base: Any, exponent: sympy.Expr, value: Callable[[sympy.Basic], Any]) -> Any:
    if exponent == S.Half:
        return np.sqrt(base)
    if exponent is S.NegativeOne:
        return np.float64(1.0) / base
    return np.power(np.asarray(base, dtype=np.float64), value(exponent))


def _piecewise(node: sympy.Piecewise, value: Callable[[sympy.Basic], Any]) -> Any:
    result: Any = np.nan
    for branch, condition in reversed(node.args):
        result = np.where(_truth(condition, value), value(branch), result)
    return result


def _truth(condition: sympy.Basic, value: Callable[[sympy.Basic], Any]) -> Any:
    if condition is S.true or condition is S.false:
        return bool(condition)
    if isinstance(condition, sympy.And):
        return np.logical_and.reduce(
            np.broadcast_arrays(*(_truth(c, value) for c in condition.args))
        )
    if isinstance(condition, sympy.Or):
        return np.logical_or.reduce(
            np.broadcast_arrays(*(_truth(c, value) for c in condition.args))
        )
    compare = _COMPARISONS.get(type(condition))
    if compare is None:
        raise NotRealError(type(condition).__name__)
    return compare(value(condition.args[0]), value(condition.args[1]))


def _polygamma(order: Any, x: Any) -> Any:
    return special.psi(x) if np.all(order == 0) else special.polygamma(order, x)


def _lambert(x: Any) -> Any:
    return np.where(np.asarray(x) >= -np.exp(-1.0), special.lambertw(x).real, np.nan)


def _polylog(order: Any, x: Any) -> Any:
    if np.all(order == 2):
        return np.where(np.asarray(x) <= 1, special.spence(1.0 - np.asarray(x)), np.nan)
    return np.vectorize(_slow_polylog, otypes=[np.float64])(order, x)


def _slow_polylog(order: float, x: float) -> float:
    if not abs(x) < 1:  # the series is quick inside the unit disc only
        return np.nan
    try:
        return float(mpmath.fp.polylog(order, x).real)
    except ArithmeticError:
        return np.nan


def _positive_only(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.where(np.asarray(x) > 0, function(x), np.nan)


def _reciprocal(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(np.float64(1.0) / x)


def _over(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.float64(1.0) / function(x)


_COMPARISONS: Final[dict[Any, Callable[[Any, Any], Any]]] = {
    sympy.StrictLessThan: np.less,
    sympy.LessThan: np.less_equal,
    sympy.StrictGreaterThan: np.greater,
    sympy.GreaterThan: np.greater_equal,
    sympy.Equality: np.equal,
    sympy.Unequality: np.not_equal,
}

RULES: Final[dict[Any, Callable[..., Any]]] = {
    sympy.exp: np.exp, sympy.log: np.log, sympy.Abs: np.abs, sympy.sign: np.sign,
    sympy.sin: np.sin, sympy.cos: np.cos, sympy.tan: np.tan,
    sympy.cot: _over(np.tan), sympy.sec: _over(np.cos), sympy.csc: _over(np.sin),
    sympy.asin: np.arcsin, sympy.acos: np.arccos, sympy.atan: np.arctan,
    sympy.acot: _reciprocal(np.arctan), sympy.asec: _reciprocal(np.arccos),
    sympy.acsc: _reciprocal(np.arcsin),
    sympy.sinh: np.sinh, sympy.cosh: np.cosh, sympy.tanh: np.tanh,
    sympy.coth: _over(np.tanh), sympy.sech: _over(np.cosh), sympy.csch: _over(np.sinh),
    sympy.asinh: np.arcsinh, sympy.acosh: np.arccosh, sympy.atanh: np.arctanh,
    sympy.acoth: _reciprocal(np.arctanh), sympy.asech: _reciprocal(np.arccosh),
    sympy.acsch: _reciprocal(np.arcsinh),
    sympy.erf: special.erf, sympy.erfc: special.erfc, sympy.erfi: special.erfi,
    sympy.gamma: special.gamma, sympy.loggamma: _positive_only(special.gammaln),
    sympy.polygamma: _polygamma, sympy.factorial: lambda x: special.gamma(x + 1),
    sympy.binomial: special.binom, sympy.beta: special.beta,
    sympy.floor: np.floor, sympy.ceiling: np.ceil, sympy.Mod: np.mod,
    sympy.Heaviside: np.heaviside,
    sympy.DiracDelta: lambda x, order=0: np.where(np.asarray(x) == 0, np.nan, 0.0),
    sympy.Si: lambda x: special.sici(x)[0],
    sympy.Ci: _positive_only(lambda x: special.sici(x)[1]),
    sympy.Shi: lambda x: special.shichi(x)[0],
    sympy.Chi: _positive_only(lambda x: special.shichi(x)[1]),
    sympy.Ei: special.expi,
    sympy.li: _positive_only(lambda x: special.expi(np.log(x))),
    sympy.fresnels: lambda x: special.fresnel(x)[0],
    sympy.fresnelc: lambda x: special.fresnel(x)[1],
    sympy.LambertW: _lambert, sympy.polylog: _polylog,
    sympy.atan2: np.arctan2,
    sympy.Max: lambda *xs: np.maximum.reduce(np.broadcast_arrays(*xs)),
    sympy.Min: lambda *xs: np.minimum.reduce(np.broadcast_arrays(*xs)),
}  # fmt: skip

#: Functions whose rule serves complex numbers as well.
_ANALYTIC: Final = frozenset({
    sympy.exp, sympy.log, sympy.Abs, sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec,
    sympy.csc, sympy.asin, sympy.acos, sympy.atan, sympy.acot, sympy.asec, sympy.acsc,
    sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch, sympy.asinh,
    sympy.acosh, sympy.atanh, sympy.acoth, sympy.asech, sympy.acsch, sympy.erf, sympy.gamma,
})  # fmt: skip
