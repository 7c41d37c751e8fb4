"""The initial condition and the source as piecewise polynomials on [0, 1]."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from models.heat.boundary import Boundary
from models.heat.panels import (
    Contract,
    IrregularFunctionError,
    PiecewisePolynomial,
    from_function,
    from_samples,
)
from service.heat.evaluate import Array, NotEvaluableError, breakpoints, evaluate
from service.heat.question import FieldError, Question
from tokenizer.tree import Tree, call, integer

#: A function larger than this is scaled before panels judge what is infinite.
_HUGE = 1e100


def initial_panels(question: Question) -> PiecewisePolynomial:
    """u(x, 0) over x/L. Raises :class:`FieldError`."""
    if question.samples is not None:
        grid, values = question.samples
        return from_samples(np.clip(grid / question.length, 0, 1), values, question.contract)
    assert question.initial is not None
    return expression_panels(
        question.initial,
        "initial_condition",
        question.length,
        periodic=question.conditions.kind is Boundary.PERIODIC,
    )


def initial_values(question: Question, panels: PiecewisePolynomial) -> Array:
    """u(x, 0) at the points asked for, (Q,): the expression's own values.

    Where the expression has no value but a limit (sin(x)/x at 0), the limit.
    """
    if question.initial is None:
        return panels(question.place)
    if len(panels.masses):
        raise FieldError("times", "a DiracDelta has no values at t = 0; ask for times > 0")
    # masses outside the interval are nothing here
    regular, _ = split_deltas(question.initial, "initial_condition")
    values = evaluate(regular, {"x": question.x}).copy()
    missing = ~np.isfinite(values)
    values[missing] = panels(question.place[missing])
    return values


def expression_panels(
    tree: Tree,
    field: str,
    length: float,
    *,
    time: float | None = None,
    periodic: bool = False,
    start: int = 128,
) -> PiecewisePolynomial:
    """The tree as a function of x/L (at one time, for a source). Raises :class:`FieldError`."""
    regular, masses = split_deltas(tree, field)

    def at(points: Array) -> Mapping[str, Array | float]:
        values: dict[str, Array | float] = {"x": points * length}
        if time is not None:
            values["t"] = time
        return values

    try:
        panels = _regular_panels(regular, at, start)
        places, weights = _point_masses(masses, at, length, field, periodic)
    except NotEvaluableError as error:
        raise FieldError(field, str(error)) from None
    except IrregularFunctionError as error:
        message = str(error).replace(f"x = {error.x:.6g}", f"x = {error.x * length:.6g}")
        raise FieldError(field, message) from None
    return PiecewisePolynomial(panels.edges, panels.coefficients, places, weights, panels.error)


def _regular_panels(
    tree: Tree, at: Callable[[Array], Mapping[str, Array | float]], start: int
) -> PiecewisePolynomial:
    bends = breakpoints(tree, at)
    ends = np.array([0.0, 1.0, *bends])
    values = evaluate(tree, at(ends))
    if np.isinf(values).any():
        where = float(ends[np.isinf(values)][0])
        raise IrregularFunctionError(f"is infinite at x = {where:.6g}", where)
    sample = np.abs(evaluate(tree, at(np.linspace(1e-3, 1 - 1e-3, 513))))
    scale = float(np.nanmax(sample, initial=0.0))
    scale = scale if _HUGE < scale < np.inf else 1.0
    panels = from_function(lambda y: evaluate(tree, at(y)) / scale, bends, start=start)
    return panels.scaled(scale)


def split_deltas(tree: Tree, field: str) -> tuple[Tree, list[tuple[Tree, Tree]]]:
    """The tree without its ``DiracDelta`` terms, and those as (coefficient, argument).

    Raises :class:`FieldError` where a ``DiracDelta`` is not simply multiplied or added.
    """
    if not any(node.head == "DiracDelta" for node in tree.preorder()):
        return tree, []
    zero = integer(0)
    if tree.head == "DiracDelta":
        return zero, [(integer(1), tree.args[0])]
    parts = [split_deltas(arg, field) for arg in tree.args]
    if tree.head in ("add", "sub", "neg"):
        regular = call(tree.head, *(part[0] for part in parts))
        masses = list(parts[0][1])
        for coefficient, argument in parts[1][1] if len(parts) > 1 else []:
            signed = call("neg", coefficient) if tree.head == "sub" else coefficient
            masses.append((signed, argument))
        if tree.head == "neg":
            masses = [(call("neg", coefficient), argument) for coefficient, argument in masses]
        return regular, masses
    if tree.head in ("mul", "div") and sum(bool(part[1]) for part in parts) == 1:
        with_delta = 0 if parts[0][1] else 1
        if tree.head == "mul" or with_delta == 0:
            other = tree.args[1 - with_delta]
            return (
                call(tree.head, parts[with_delta][0], other),
                [(call(tree.head, c, other), argument) for c, argument in parts[with_delta][1]],
            )
    raise FieldError(field, "a DiracDelta may be added or multiplied, nothing else")


def _point_masses(
    masses: list[tuple[Tree, Tree]],
    at: Callable[[Array], Mapping[str, Array | float]],
    length: float,
    field: str,
    periodic: bool,
) -> tuple[Array, Array]:
    """Places in (0, 1) and weights; δ(s(x - a)) weighs 1/|s|, and 1/L in units of L."""
    places, weights = [], []
    for coefficient, argument in masses:
        low, middle, high = evaluate(argument, at(np.array([0.0, 0.5, 1.0])))
        slope = high - low
        if not np.isfinite(slope) or slope == 0 or abs(low + high - 2 * middle) > 1e-9 * abs(slope):
            raise FieldError(field, "the argument of DiracDelta must be linear in x")
        place = float(-low / slope)
        if periodic and place in (0.0, 1.0):
            place = 0.0
        elif place in (0.0, 1.0):
            raise FieldError(field, "a DiracDelta must lie inside the interval, not at an end")
        if not 0 <= place <= 1:
            continue
        weight = float(evaluate(coefficient, at(np.array([place])))[0]) / abs(slope)
        if not np.isfinite(weight):
            raise FieldError(field, "the weight of a DiracDelta must be finite")
        places.append(place)
        weights.append(weight)
    return np.array(places), np.array(weights)


def sampling_error(question: Question) -> float | None:
    """What samples may hide, absolute, judged by the samples themselves; None without any.

    Straight lines: h²/8 max|u''| from second differences. Cell averages: half the
    largest step between cells. Diffusion never enlarges either (maximum principle).
    """
    if question.samples is None:
        return None
    x, u = question.samples
    contract: Contract = question.contract
    if contract == "cell_average":
        return float(np.abs(np.diff(u)).max() / 2)
    if len(x) < 3:
        return 0.0
    h = np.diff(x)
    bend = 2 * np.diff(np.diff(u) / h) / (h[1:] + h[:-1])
    return float((np.maximum(h[1:], h[:-1]) ** 2 * np.abs(bend)).max() / 8)
