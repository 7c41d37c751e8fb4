"""A heat problem, understood: trees parsed, numbers read, every field checked.

Nothing here computes more than a constant; what needs arithmetic on arrays is done
in a worker. Raises :class:`FieldError` that names the offending field.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from models.heat.boundary import Boundary
from models.heat.panels import Contract
from service.heat.evaluate import Array, NotEvaluableError, constant
from service.heat.schema import LIMITS, BoundaryRequest, End, HeatRequest, Samples
from service.problems import Problem
from service.schemas import Format
from tokenizer.errors import ParseError
from tokenizer.limits import DEFAULT_LIMITS
from tokenizer.parse import parse
from tokenizer.tree import Tree, integer, rational

#: Numbers up to the largest double, 1.8e308, may be written out.
_LIMITS: Final = replace(DEFAULT_LIMITS, digits=310)


class FieldError(ValueError):
    """One field of the request is wrong; ``args`` are the field and what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def problem(self) -> Problem:
        """The 422 that a client is told."""
        return Problem(
            "invalid-request",
            f"{self.field}: {self.message}",
            errors=[{"field": self.field, "message": self.message}],
        )


@dataclass(frozen=True, slots=True)
class Conditions:
    """Boundary conditions: their kind, and the constant value or slope at each end."""

    kind: Boundary
    left: float = 0.0
    right: float = 0.0
    left_tree: Tree = field(default_factory=lambda: integer(0))
    right_tree: Tree = field(default_factory=lambda: integer(0))

    @property
    def homogeneous(self) -> bool:
        return self.left == 0 and self.right == 0


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that decides the answer; picklable.

    ``initial`` is a Tree in x, or samples: ``samples`` (grid, values) in the units of
    the request. ``times`` (M,), ``x`` (Q,) are in the order asked.
    """

    initial: Tree | None
    samples: tuple[Array, Array] | None
    contract: Contract
    alpha: float
    alpha_tree: Tree
    length: float
    length_tree: Tree
    conditions: Conditions
    source: Tree | None
    times: Array
    x: Array
    notes: tuple[str, ...]

    @property
    def tau(self) -> Array:
        """αt/L², dimensionless time, (M,)."""
        return np.asarray(self.alpha * self.times / self.length / self.length)

    @property
    def place(self) -> Array:
        """x/L, clipped to [0, 1] against rounding, (Q,)."""
        return np.clip(self.x / self.length, 0.0, 1.0)


def understand(request: HeatRequest) -> Question:
    """Raises :class:`FieldError`, or :class:`Problem` for what cannot be parsed."""
    syntax = request.format
    length, length_tree = _quantity("length", request.length, syntax)
    if length <= 0:
        raise FieldError("length", f"must be greater than 0, not {length:g}")
    alpha, alpha_tree = _quantity("alpha", request.alpha, syntax)
    if alpha < 0:
        raise FieldError(
            "alpha", f"must be at least 0, not {alpha:g}: backwards in time heat is ill-posed"
        )
    times = _times(request, syntax)
    x = _points(request, length)
    if len(times) * len(x) > LIMITS["heat_values"]:
        raise FieldError(
            "points",
            f"{len(times)} times and {len(x)} points are {len(times) * len(x)} values; "
            f"at most {LIMITS['heat_values']}",
        )
    notes: list[str] = []
    initial, samples = _initial(request, length, syntax, notes)
    source = _expression("source_term", request.source_term, syntax, ("x", "t"))
    conditions = _conditions(request.boundary, syntax)
    with np.errstate(over="ignore"):
        if not np.isfinite(alpha * times / length / length).all():
            raise FieldError("times", "alpha*t/length^2 is too large for a number")
    return Question(
        initial,
        samples,
        request.contract,
        alpha,
        alpha_tree,
        length,
        length_tree,
        conditions,
        None if source == integer(0) else source,
        times,
        x,
        tuple(notes),
    )


def _quantity(field: str, value: float | int | str, syntax: Format) -> tuple[float, Tree]:
    """A finite number and its exact Tree."""
    if isinstance(value, str):
        if value.strip().lstrip("+-").lower() in {"nan", "inf", "infinity", "oo", "\\infty"}:
            raise FieldError(field, "must be finite")
        tree = _parse(field, value, syntax)
        if tree.symbols():
            raise FieldError(field, f"must be a number; it has the symbol {tree.symbols()[0]}")
        try:
            number = constant(tree)
        except NotEvaluableError as error:
            raise FieldError(field, str(error)) from None
        if not math.isfinite(number):
            raise FieldError(field, "must be finite and real")
        return number, tree
    try:
        number = float(value)
    except OverflowError:
        raise FieldError(field, "is too large") from None
    if not math.isfinite(number):
        raise FieldError(field, "must be finite")
    # 0.1 means one tenth: the shortest decimal that reads back as this double
    numerator, denominator = _decimal(number)
    return number, rational(numerator, denominator)


def _decimal(number: float) -> tuple[int, int]:
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, digits = mantissa.partition(".")
    power = int(exponent or 0) - len(digits)
    value = int(whole + digits)
    numerator, denominator = (value * 10**power, 1) if power >= 0 else (value, 10**-power)
    shared = math.gcd(numerator, denominator)
    return numerator // shared, denominator // shared


def _parse(field: str, source: str, syntax: Format, variables: tuple[str, ...] = ()) -> Tree:
    try:
        tree = parse(source, syntax=syntax, variables=variables, limits=_LIMITS)
    except ParseError as error:
        problem = Problem.from_parse_error(error)
        problem.extra["errors"] = [{"field": field, "message": error.message}]
        problem.detail = f"{field}: {error.message}"
        raise problem from None
    if tree.head in ("integral", "derivative"):
        raise FieldError(field, f"must be an expression, not an {tree.head}")
    return tree


def _expression(
    field: str, value: str | float | int, syntax: Format, allowed: tuple[str, ...]
) -> Tree:
    if not isinstance(value, str):
        return _quantity(field, value, syntax)[1]
    tree = _parse(field, value, syntax, allowed)
    strangers = [name for name in tree.symbols() if name not in allowed]
    if strangers:
        raise FieldError(
            field,
            f"may use {' and '.join(allowed)} only, not {', '.join(strangers[:5])}",
        )
    return tree


def _times(request: HeatRequest, syntax: Format) -> Array:
    values = request.times if isinstance(request.times, list) else [request.times]
    if not values:
        raise FieldError("times", "must have at least one time")
    times = np.array([_quantity("times", value, syntax)[0] for value in values])
    if (times < 0).any():
        raise FieldError("times", f"must be at least 0, not {times.min():g}")
    return times


def _points(request: HeatRequest, length: float) -> Array:
    if request.x is None:
        return np.asarray(np.linspace(0, length, request.points))
    x = _finite("x", request.x)
    if len(np.unique(x)) < 2:
        raise FieldError("x", "must have at least two distinct points")
    outside = x[(x < 0) | (x > length * (1 + 1e-12))]
    if len(outside):
        raise FieldError("x", f"the point {outside[0]:g} lies outside [0, {length:g}]")
    return x


def _finite(field: str, values: list[float | int]) -> Array:
    try:
        array = np.array([float(value) for value in values])
    except OverflowError:
        raise FieldError(field, "has a number that is too large") from None
    if not np.isfinite(array).all():
        raise FieldError(field, "must be finite")
    return array


def _initial(
    request: HeatRequest, length: float, syntax: Format, notes: list[str]
) -> tuple[Tree | None, tuple[Array, Array] | None]:
    name, value = "initial_condition", request.initial_condition
    if isinstance(value, list):
        u = _finite(name, value)
        if len(u) < 2:
            raise FieldError(name, "must have at least two samples")
        notes.append(f"{len(u)} samples on a uniform grid from 0 to length, both included")
        return None, (np.linspace(0, length, len(u)), u)
    if isinstance(value, Samples):
        x, u = _finite(f"{name}.x", value.x), _finite(f"{name}.u", value.u)
        if len(x) != len(u):
            raise FieldError(f"{name}.u", f"has {len(u)} values for {len(x)} points x")
        if len(x) < 2:
            raise FieldError(f"{name}.x", "must have at least two points")
        if (np.diff(x) <= 0).any():
            raise FieldError(f"{name}.x", "must increase from point to point")
        if x[0] < 0 or x[-1] > length * (1 + 1e-12):
            raise FieldError(f"{name}.x", f"must lie within [0, {length:g}]")
        if (np.diff(x / length) < 1e-13).any():
            raise FieldError(f"{name}.x", "has points too close to tell apart")
        if x[0] > 0 or x[-1] < length * (1 - 1e-12):
            notes.append("samples end inside the interval: the outermost values are continued")
        return None, (x, u)
    return _expression(name, value, syntax, ("x",)), None


_MIXED: Final = re.compile(r"\s*(u|u_x|u_\{x\}|u')\s*=\s*(.+)", re.DOTALL)


def _conditions(request: BoundaryRequest, syntax: Format) -> Conditions:
    if request.kind == "periodic":
        for name in ("left", "right"):
            if getattr(request, name) not in (None, 0):
                raise FieldError(f"boundary.{name}", "a periodic problem has no end values")
        return Conditions(Boundary.PERIODIC)
    wanted: dict[str, tuple[str, float, Tree]] = {}
    for name in ("left", "right"):
        path = f"boundary.{name}"
        value = getattr(request, name)
        if request.kind == "mixed":
            kind, quantity = _mixed_end(path, value, "u" if name == "left" else "u_x")
        else:
            kind = "u" if request.kind == "dirichlet" else "u_x"
            quantity = _plain_end(path, value, kind)
        number, tree = _quantity(path, quantity, syntax)
        wanted[name] = (kind, number, tree)
    (left, a, a_tree), (right, b, b_tree) = wanted["left"], wanted["right"]
    return Conditions(Boundary((left, right)), a, b, a_tree, b_tree)


def _plain_end(path: str, value: float | int | str | End | None, kind: str) -> float | int | str:
    if value is None:
        return 0
    if isinstance(value, End):
        given = value.model_dump(exclude_none=True)
        if set(given) != {kind}:
            raise FieldError(path, f"must give {kind} and nothing else for this kind")
        quantity: float | int | str = given[kind]
        return quantity
    matched = _MIXED.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        return value
    if ("u" if matched[1] == "u" else "u_x") != kind:
        raise FieldError(path, f"must give {kind} for this kind")
    return matched[2]


def _mixed_end(
    path: str, value: float | int | str | End | None, default: str
) -> tuple[str, float | int | str]:
    if value is None:
        return default, 0
    if isinstance(value, End):
        given = value.model_dump(exclude_none=True)
        if len(given) != 1:
            raise FieldError(path, "must give either u or u_x")
        return next(iter(given.items()))
    matched = _MIXED.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        raise FieldError(path, 'must say what is given: "u=0" or "u_x=0", or {"u": 0}')
    return ("u" if matched[1] == "u" else "u_x"), matched[2]
