"""Worker side: the solution as a formula, and SymPy's proof that it is one.

With homogeneous end conditions (after the lift) a finite sum of eigenmodes evolves
mode by mode; products and powers of sines and cosines are turned into such sums
first. Anything else gives the leading terms of its series.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.simplify.fu import TR8

from models.heat.boundary import Array, Boundary, Modes
from service.heat.evaluate import evaluate
from service.heat.initial import initial_panels, split_deltas
from service.heat.particular import homogeneous, lift
from service.heat.question import Question
from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.equivalence import prove_equal
from tokenizer.render import to_text
from tokenizer.tree import Tree
from tokenizer.typeset import to_latex

#: Modes written out when the series does not end.
TERMS = 8
#: Modes looked through for those that are not zero.
_LOOKED_AT = 64
#: A sum with more modes than this is not written out as exact.
_MOST_MODES = 32
_PROOF_S = 1.5

_X = sympy.Symbol("x", real=True)
_T = sympy.Symbol("t", real=True)

#: ("sin" or "cos", frequency) -> coefficient
Spectrum = dict[tuple[str, sympy.Expr], sympy.Expr]


@dataclass(frozen=True, slots=True)
class Formula:
    """``text``, ``latex``; ``exact`` or the leading ``terms``; ``checks`` by condition;
    ``values`` (M, Q) of the formula at the times and points asked."""

    text: str
    latex: str
    exact: bool
    terms: int
    checks: dict[str, str]
    values: Array


def closed_form(question: Question) -> Formula | None:
    """The formula, or None where there is none to write (a source that depends on t)."""
    if question.source is not None and question.source.contains("t"):
        return None
    try:
        exact = _finite(question)
    except ConversionError:
        exact = None
    if exact is not None:
        return exact
    return _series(question) if question.source is None else None


def _finite(question: Question) -> Formula | None:
    if question.initial is None:
        return None
    initial = to_sympy(question.initial)
    if not isinstance(initial, sympy.Expr) or initial.has(sympy.DiracDelta):
        return None
    alpha, length = to_sympy(question.alpha_tree), to_sympy(question.length_tree)
    frame = _lift(question, alpha, length)
    start = _spectrum(initial - frame.subs(_T, 0))
    source = sympy.S.Zero if question.source is None else to_sympy(question.source)
    driven = _spectrum(source)
    if start is None or driven is None or len(start) + len(driven) > _MOST_MODES:
        return None
    kind = question.conditions.kind
    if not all(_allowed(kind, shape, w, length) for shape, w in {**start, **driven}):
        return None
    total = frame
    for (shape, w), c in start.items():
        total += c * sympy.exp(-alpha * w**2 * _T) * _wave(shape, w)
    for (shape, w), c in driven.items():
        rate = alpha * w**2
        growth = _T if rate == 0 else (1 - sympy.exp(-rate * _T)) / rate
        total += c * growth * _wave(shape, w)
    checks = _checks(total, question, alpha, length, initial, source)
    tree = from_sympy(total)
    return Formula(
        to_text(tree),
        to_latex(tree),
        True,
        len(start),
        checks,
        _values(tree, question),
    )


def _lift(question: Question, alpha: sympy.Expr, length: sympy.Expr) -> sympy.Expr:
    """The lift of :mod:`service.heat.particular`, exactly."""
    a = to_sympy(question.conditions.left_tree)
    b = to_sympy(question.conditions.right_tree)
    match question.conditions.kind:
        case Boundary.DIRICHLET:
            return a + (b - a) * _X / length
        case Boundary.NEUMANN:
            bend = (b - a) / length
            return a * _X + bend * _X**2 / 2 + bend * alpha * _T
        case Boundary.DIRICHLET_NEUMANN:
            return a + b * _X
        case Boundary.NEUMANN_DIRICHLET:
            return b + a * (_X - length)
        case _:
            return sympy.S.Zero


def _wave(shape: str, frequency: sympy.Expr) -> sympy.Expr:
    return sympy.sin(frequency * _X) if shape == "sin" else sympy.cos(frequency * _X)


def _spectrum(expr: sympy.Expr) -> Spectrum | None:
    """The expression as a sum of sines and cosines of multiples of x, or None."""
    if expr.has(sympy.Piecewise, sympy.Abs, sympy.Heaviside, sympy.sign, sympy.exp):
        return None
    linear = sympy.expand(expr)
    # each round halves a power of a sine or cosine
    while (further := sympy.expand(TR8(linear))) != linear:
        linear = further
    spectrum: Spectrum = {}

    def put(shape: str, frequency: sympy.Expr, coefficient: sympy.Expr) -> None:
        if frequency.is_negative:
            frequency = -frequency
            coefficient = -coefficient if shape == "sin" else coefficient
        if not (frequency == 0 and shape == "sin"):
            key = (shape, frequency)
            spectrum[key] = spectrum.get(key, sympy.S.Zero) + coefficient

    for term in sympy.Add.make_args(linear):
        if term == 0:
            continue
        coefficient, rest = term.as_independent(_X, as_Add=False)
        if rest == 1:
            put("cos", sympy.S.Zero, coefficient)
            continue
        if not isinstance(rest, (sympy.sin, sympy.cos)):
            return None
        slope, shift = _line(rest.args[0])
        if slope is None:
            return None
        if isinstance(rest, sympy.sin):
            put("sin", slope, coefficient * sympy.cos(shift))
            put("cos", slope, coefficient * sympy.sin(shift))
        else:
            put("cos", slope, coefficient * sympy.cos(shift))
            put("sin", slope, -coefficient * sympy.sin(shift))
    return {key: c for key, value in spectrum.items() if (c := sympy.simplify(value)) != 0}


def _line(argument: sympy.Expr) -> tuple[sympy.Expr | None, sympy.Expr]:
    """(s, c) of an argument s·x + c; s is None when it is not that."""
    polynomial = argument.as_poly(_X)
    if polynomial is None or polynomial.degree() != 1:
        return None, sympy.S.Zero
    slope, shift = polynomial.all_coeffs()
    return slope, shift


def _allowed(kind: Boundary, shape: str, w: sympy.Expr, length: sympy.Expr) -> bool:
    """Whether the wave is an eigenmode of the kind."""
    turns = sympy.simplify(w * length / sympy.pi)
    left, right = kind.value
    if left == "wrap":
        return bool((turns / 2).is_integer)
    if shape != ("sin" if left == "u" else "cos"):
        return False
    return bool((turns if left == right else turns - sympy.Rational(1, 2)).is_integer)


def _checks(
    u: sympy.Expr,
    question: Question,
    alpha: sympy.Expr,
    length: sympy.Expr,
    initial: sympy.Expr | None,
    source: sympy.Expr,
) -> dict[str, str]:
    """Equation, boundary and initial value, each ``proved``, ``numeric`` or ``refuted``."""

    def holds(left: sympy.Expr, right: sympy.Expr) -> str:
        if sympy.expand(left - right) == 0:
            return "proved"
        return prove_equal(left, right, deadline_s=_PROOF_S).status

    checks = {
        "equation": holds(sympy.diff(u, _T), alpha * sympy.diff(u, _X, 2) + source),
        "boundary": _worst([holds(*pair) for pair in _ends(u, question, length)]),
    }
    checks["initial_value"] = "truncated" if initial is None else holds(u.subs(_T, 0), initial)
    return checks


def _ends(
    u: sympy.Expr, question: Question, length: sympy.Expr
) -> list[tuple[sympy.Expr, sympy.Expr]]:
    slope = sympy.diff(u, _X)
    at = {
        ("u", "left"): u.subs(_X, 0),
        ("u", "right"): u.subs(_X, length),
        ("u_x", "left"): slope.subs(_X, 0),
        ("u_x", "right"): slope.subs(_X, length),
    }
    left, right = question.conditions.kind.value
    if left == "wrap":
        return [
            (at["u", "left"], at["u", "right"]),
            (at["u_x", "left"], at["u_x", "right"]),
        ]
    return [
        (at[left, "left"], to_sympy(question.conditions.left_tree)),
        (at[right, "right"], to_sympy(question.conditions.right_tree)),
    ]


def _worst(statuses: list[str]) -> str:
    order = ["refuted", "undecided", "numeric", "proved"]
    return min(statuses, key=order.index)


def _values(tree: Tree, question: Question) -> Array:
    points = {"x": question.x[None, :], "t": question.times[:, None]}
    return np.array(evaluate(tree, points))


def _series(question: Question) -> Formula | None:
    """The leading modes of a series that does not end."""
    kind = question.conditions.kind
    panels = homogeneous(question, initial_panels(question))
    modes = kind.modes(_LOOKED_AT)
    numbers = panels.project(modes)
    alive = np.flatnonzero(np.abs(numbers) > 1e-13 * panels.scale())[:TERMS]
    if not len(alive):
        return None
    alpha, length = to_sympy(question.alpha_tree), to_sympy(question.length_tree)
    pieces = _polynomial_pieces(question, alpha, length)
    shown = proved = _lift(question, alpha, length)
    for k in alive:
        shape, w = _exact_mode(kind, int(k), length)
        coefficient = None
        if pieces is not None:
            coefficient = _exact_coefficient(pieces, shape, w, length)
            if abs(complex(coefficient) - numbers[k]) > 1e-9 * panels.scale():
                coefficient = None
        if coefficient is None:
            coefficient = sympy.Float(float(numbers[k]), 15)
        mode = sympy.exp(-alpha * w**2 * _T) * _wave(shape, w)
        shown += coefficient * mode
        # what is checked holds whatever the coefficient is
        proved += sympy.Symbol(f"c{k}", real=True) * mode
    checks = _checks(proved, question, alpha, length, None, sympy.S.Zero)
    text, latex = _written(shown)
    values = lift(question.conditions, question.length, question.tau, question.place)
    values = values + _partial_sum(modes, numbers, alive, question)
    return Formula(text, latex, False, len(alive), checks, values)


def _written(expr: sympy.Expr) -> tuple[str, str]:
    if expr.has(sympy.Float):  # a Tree has no decimals
        return str(expr), sympy.latex(expr)
    tree = from_sympy(expr)
    return to_text(tree), to_latex(tree)


def _partial_sum(
    modes: Modes, numbers: Array, alive: NDArray[np.intp], question: Question
) -> Array:
    some = Modes(modes.frequency[alive], modes.phase[alive], modes.norm[alive])
    decay = np.exp(-np.square(some.frequency) * question.tau[:, None])
    return np.asarray((decay * numbers[alive]) @ some.evaluate(question.place))


def _exact_mode(kind: Boundary, k: int, length: sympy.Expr) -> tuple[str, sympy.Expr]:
    left, right = kind.value
    if left == "wrap":
        return ("cos" if k % 2 == 0 else "sin"), 2 * sympy.pi * ((k + 1) // 2) / length
    if left != right:
        turns = sympy.Rational(2 * k + 1, 2)
    else:
        turns = sympy.Integer(k + 1 if left == "u" else k)
    return ("sin" if left == "u" else "cos"), turns * sympy.pi / length


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Polynomials on intervals (p, from, to), and point masses (weight, place)."""

    polynomials: list[tuple[sympy.Poly, sympy.Expr, sympy.Expr]]
    masses: list[tuple[sympy.Expr, sympy.Expr]]


def _polynomial_pieces(question: Question, alpha: sympy.Expr, length: sympy.Expr) -> _Pieces | None:
    """u₀ - lift as polynomials, exactly, or None when it is not made of them."""
    if question.initial is None:
        return None
    try:
        regular, deltas = split_deltas(question.initial, "initial_condition")
        expr = to_sympy(regular) - _lift(question, alpha, length).subs(_T, 0)
        masses = []
        for coefficient, argument in deltas:
            slope, shift = _line(to_sympy(argument))
            if slope is None:
                return None
            place = -shift / slope
            masses.append((to_sympy(coefficient).subs(_X, place) / abs(slope), place))
    except ConversionError:
        return None
    whole = sympy.Interval(0, length)
    for head in (sympy.Heaviside, sympy.Abs, sympy.sign, sympy.Max, sympy.Min):
        if expr.has(head):
            expr = expr.replace(head, lambda *args, h=head: h(*args).rewrite(sympy.Piecewise))
    pairs = [(expr, whole)]
    if expr.has(sympy.Piecewise):
        folded = sympy.piecewise_fold(expr)
        if not isinstance(folded, sympy.Piecewise):
            return None
        try:
            pairs = folded.as_expr_set_pairs(whole)
        except (NotImplementedError, ValueError, TypeError):
            return None
    polynomials = []
    for value, where in pairs:
        polynomial = value.as_poly(_X)
        if polynomial is None or polynomial.degree() > 20:
            return None
        for part in where.args if isinstance(where, sympy.Union) else [where]:
            if isinstance(part, sympy.Interval):
                polynomials.append((polynomial, part.start, part.end))
            elif not isinstance(part, (sympy.FiniteSet, sympy.sets.sets.EmptySet)):
                return None
    return _Pieces(polynomials, masses)


def _exact_coefficient(
    pieces: _Pieces, shape: str, w: sympy.Expr, length: sympy.Expr
) -> sympy.Expr:
    """norm/L ∫ p φ by repeated parts: ∫ p sin(wx) = Σ p^(j) (…)/w^(j+1)."""
    total = sympy.S.Zero
    for polynomial, low, high in pieces.polynomials:
        if w == 0:
            antiderivative = polynomial.integrate().as_expr()
        else:
            antiderivative = sympy.S.Zero
            # successive antiderivatives of the wave, with alternating sign
            angle = w * _X
            cycle = {
                "sin": [-sympy.cos(angle), -sympy.sin(angle), sympy.cos(angle), sympy.sin(angle)],
                "cos": [sympy.sin(angle), -sympy.cos(angle), -sympy.sin(angle), sympy.cos(angle)],
            }[shape]
            derivative, j = polynomial, 0
            while not derivative.is_zero:
                sign = -1 if j % 2 else 1
                antiderivative += sign * derivative.as_expr() * cycle[j % 4] / w ** (j + 1)
                derivative, j = derivative.diff(), j + 1
        total += antiderivative.subs(_X, high) - antiderivative.subs(_X, low)
    for weight, place in pieces.masses:
        total += weight * _wave(shape, w).subs(_X, place)
    norm = 1 if w == 0 else 2
    return sympy.factor_terms(sympy.expand(norm * total / length))
