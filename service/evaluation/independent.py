"""An independent judge of answers: mpmath alone, nothing of the service's own mathematics.

Formulas are read by the tokenizer and evaluated here, node by node, in mpmath. An
antiderivative is differentiated numerically at many points to more than 30 digits, a
definite integral is compared with mpmath's own quadrature. As a script it reads JSON
lines with ``integrand``, ``variable`` and ``answer`` (and ``lower``, ``upper`` for a
definite integral) and counts what it finds::

    python -m service.evaluation.independent answers.jsonl
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import mpmath
from mpmath import mp

from tokenizer.limits import DEFAULT_LIMITS
from tokenizer.parse import parse
from tokenizer.tree import Tree

Verdict = Literal["right", "wrong", "unknown"]

DIGITS = 90
STEP = -22
#: Relative difference at which a derivative counts as another one.
WRONG = mpmath.mpf(10) ** -18
#: Our own answers may be longer than what a client may send.
ANSWER_LIMITS = replace(DEFAULT_LIMITS, characters=100_000, nodes=20_000)
#: Points that must agree.
POINTS = 8


def _pick(kind: str, values: list[Any]) -> Any:
    key = [mp.re(v) for v in values]
    return values[key.index(max(key) if kind == "Max" else min(key))]


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "neg": lambda u: -u,
    "sqrt": mp.sqrt, "exp": mp.exp, "log": mp.log, "Abs": abs, "sign": mp.sign, "erf": mp.erf,
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "cot": mp.cot, "sec": mp.sec, "csc": mp.csc,
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
    "acot": mp.acot, "asec": mp.asec, "acsc": mp.acsc,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh,
    "coth": mp.coth, "sech": mp.sech, "csch": mp.csch,
    "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "acoth": mp.acoth, "asech": mp.asech, "acsch": mp.acsch,
    "erfc": mp.erfc, "erfi": mp.erfi, "gamma": mp.gamma, "loggamma": mp.loggamma,
    "digamma": mp.digamma, "factorial": mp.factorial, "floor": mp.floor, "ceiling": mp.ceil,
    "Si": mp.si, "Ci": mp.ci, "Shi": mp.shi, "Chi": mp.chi, "Ei": mp.ei, "li": mp.li,
    "fresnels": mp.fresnels, "fresnelc": mp.fresnelc, "LambertW": mp.lambertw,
    "polylog": mp.polylog, "beta": mp.beta, "binomial": mp.binomial, "atan2": mp.atan2,
    "Heaviside": lambda u: (1 + mp.sign(u)) / 2,
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "pow": mp.power,
    "Lt": lambda a, b: mp.re(a) < mp.re(b), "Le": lambda a, b: mp.re(a) <= mp.re(b),
    "Gt": lambda a, b: mp.re(a) > mp.re(b), "Ge": lambda a, b: mp.re(a) >= mp.re(b),
    "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b,
    "And": lambda *c: all(c), "Or": lambda *c: any(c),
}  # fmt: skip

#: Binary exponents beyond which mpmath may take for ever: it reduces an argument to as
#: many digits as that has, and adds the squares of both parts of a number exactly.
ARGUMENT_BITS: Final = 2**12
VALUE_BITS: Final = 2**20
#: Functions that cost no more for a larger argument.
_SCALE_FREE: Final = frozenset(
    {"neg", "sqrt", "log", "Abs", "sign", "atan", "acot", "asinh", "add", "sub", "mul", "div",
     "Lt", "Le", "Gt", "Ge", "Eq", "Ne", "And", "Or"}
)  # fmt: skip


def evaluate(tree: Tree, values: dict[str, Any], *, vanishing: bool = False) -> Any:
    """``tree`` in mpmath at the working precision.

    Raises ``OverflowError`` where a number on the way is too large or too small to go on with;
    with ``vanishing`` one that is too small is zero, as a quadrature needs it.
    """
    if tree.head == "integer":
        return mp.mpf(int(tree.value or 0))
    if tree.head == "symbol":
        return values[str(tree.value)]
    if tree.head == "constant":
        constants = {"pi": mp.pi, "E": mp.e, "I": mp.mpc(0, 1), "oo": mp.inf}
        return +constants[str(tree.value)]
    if tree.head == "boolean":
        return tree.value == "True"
    if tree.head == "Piecewise":
        for piece, condition in zip(tree.args[::2], tree.args[1::2], strict=True):
            if evaluate(condition, values, vanishing=vanishing):
                return evaluate(piece, values, vanishing=vanishing)
        return mp.nan
    arguments = [evaluate(arg, values, vanishing=vanishing) for arg in tree.args]
    if tree.head in ("Max", "Min"):
        return _pick(tree.head, arguments)
    large = [_bits(a) > ARGUMENT_BITS for a in arguments]
    if vanishing and tree.head == "exp" and large[0] and mp.re(arguments[0]) < 0:
        return mp.mpf(0)
    if tree.head == "pow":
        large = large[1:]  # a power of a large number takes no longer
    if tree.head not in _SCALE_FREE and any(large):
        raise OverflowError(f"the argument of {tree.head}")
    value = _FUNCTIONS[tree.head](*arguments)
    if vanishing and _bits(value) < -VALUE_BITS:
        return mp.mpf(0)
    if abs(_bits(value)) > VALUE_BITS:
        raise OverflowError(f"the value of {tree.head}")
    return value


def _bits(value: Any) -> int:
    """The binary exponent of a finite number, 0 for anything else."""
    if isinstance(value, bool) or not value or not mp.isfinite(value):
        return 0
    return int(mp.mag(value))


def check_antiderivative(integrand: str, answer: str, variable: str, *, seed: int = 1) -> Verdict:
    """Whether the derivative of ``answer`` is ``integrand`` wherever the latter is real.

    Parameters take random values. Wrong if one point says so; right after
    :data:`POINTS` points that agree. An answer for an integrand that has values, and
    real ones nowhere, is wrong too, unless its formula has the imaginary unit in it.
    """
    f = parse(integrand, variables=(variable,))
    big = parse(answer, variables=(variable,), limits=ANSWER_LIMITS)
    names = sorted({*f.symbols(), *big.symbols()} - {variable})
    draw = random.Random(seed)  # noqa: S311 - reproducible points, no secret
    complex_valued = any(n.head == "constant" and n.value == "I" for n in f.preorder())
    agreed, valued = 0, False
    for _ in range(DRAWS if names else 1):
        values = {n: mp.mpf(draw.randint(80, 300)) / 128 for n in names}
        with mp.workdps(SEARCH_DIGITS):
            found = _Search(f, values, variable, draw, complex_valued=complex_valued)
            points = found.points(ASKED if not names else POINTS // 2)
        valued = valued or found.valued
        with mp.workdps(DIGITS):
            for x in points:
                match _agrees(f, big, values, variable, x):
                    case False:
                        return "wrong"
                    case True:
                        agreed += 1
        if agreed >= POINTS:
            return "right"
    return "wrong" if valued and not agreed else "unknown"


#: Real points that are asked for when there are no parameters, and values tried for these.
ASKED: Final = 20
DRAWS: Final = 12
#: Digits with which the real domain is looked for, and those that make a value real.
SEARCH_DIGITS: Final = 45
REAL: Final = mpmath.mpf(10) ** -38


class _Search:
    """Looks for points of the axis at which ``f`` is real, at many scales and then nearer.

    ``valued`` tells afterwards whether there is evidence against a real domain: many finite
    values, and none of them real.
    """

    def __init__(
        self,
        f: Tree,
        values: dict[str, Any],
        variable: str,
        draw: random.Random,
        *,
        complex_valued: bool,
    ) -> None:
        self.f, self.values, self.variable = f, values, variable
        self.draw, self.complex_valued = draw, complex_valued
        self.finite = 0
        self.real: list[Any] = []
        #: (point, size of the imaginary part to that of the whole, that of the whole)
        self.unreal: list[tuple[Any, Any, Any]] = []

    @property
    def valued(self) -> bool:
        return not self.real and self.finite >= 40

    def points(self, count: int) -> list[Any]:
        """At most ``count`` points, drawn from all that were found."""
        for x in self._spread():
            self._try(x)
            if len(self.real) >= 3 * count:
                break
        for turn in range(3):
            if self.real:
                break
            # a real stretch begins at a zero, at a pole, or where the argument turns
            by_ratio = sorted(self.unreal, key=lambda found: found[1])
            by_size = sorted(self.unreal, key=lambda found: found[2])
            near = [*by_ratio[:3], *by_size[:3], *by_size[-2:]]
            self._dense([found[0] for found in near], 2 * turn)
        if 0 < len(self.real) < count:
            self._dense(self.real[:4], 1)
            self._dense(self.real[:4], 5)
        self.draw.shuffle(self.real)
        return self.real[:count]

    def _spread(self) -> list[Any]:
        """Points of every size between 1e-6 and 1e6, most of them near the origin."""
        chosen = [self._dyadic(size) for size in (0.3, 1, 1, 2, 4, 9) for _ in range(20)]
        self.draw.shuffle(chosen)
        for power in range(-6, 7):
            for sign in (-1, 1) * 8:
                # anywhere in its decade: a stretch such as [-80, -48] is easily missed
                chosen.append(sign * (1 + abs(self._dyadic(9))) * mp.mpf(10) ** power)
        beside = [mp.mpf(k) + self._dyadic(0.05) for k in range(-6, 7)]
        fine = [mp.mpf(k) / 32 + self._dyadic(0.01) for k in range(-80, 81)]
        self.draw.shuffle(fine)
        return [*chosen, *beside, *fine]

    def _dense(self, around: list[Any], power: int) -> None:
        for centre in around:
            for scale in range(power + 1, power + 5):
                for _ in range(6):
                    self._try(centre + self._dyadic(1) * (1 + abs(centre)) / mp.mpf(4) ** scale)

    def _dyadic(self, size: float) -> Any:
        return mp.mpf(self.draw.randint(-(2**20), 2**20)) / 2**20 * size

    def _try(self, x: Any) -> None:
        try:
            value = mp.mpmathify(evaluate(self.f, {**self.values, self.variable: x}))
        except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
            return
        if not mp.isfinite(value):
            return
        self.finite += 1
        if self.complex_valued or abs(mp.im(value)) <= abs(value) * REAL:
            self.real.append(x)
        else:
            self.unreal.append((x, abs(mp.im(value)) / abs(value), abs(value)))


def _agrees(f: Tree, big: Tree, values: dict[str, Any], variable: str, x: Any) -> bool | None:
    """Whether the slope of ``big`` at ``x`` is ``f``; None when that cannot be told."""
    h = mp.mpf(10) ** STEP * (min(1, abs(x)) or 1)
    try:
        wanted = mp.mpmathify(evaluate(f, {**values, variable: x}))
        sides = [evaluate(big, {**values, variable: x + k * h}) for k in (-2, -1, 1, 2)]
    except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
        return None
    # five-point formula: the error is h**4 times a fifth derivative
    slope = (sides[0] - 8 * sides[1] + 8 * sides[2] - sides[3]) / (12 * h)
    if not mp.isfinite(slope) or not mp.isfinite(wanted):
        return None
    bound = WRONG * max(abs(wanted), mp.mpf(10) ** -30) + mp.mpf(10) ** -25
    if abs(slope - wanted) <= bound:
        return True
    # close to a singular point the formula itself may fail, as in fast oscillation: move
    # nearer, and believe it once it stands still
    nearer, nearest = (_slope(big, values, variable, x, h * h / k) for k in (1, 8))
    if nearer is None or nearest is None:
        return None
    if abs(nearest - nearer) > WRONG * abs(nearest) + mp.mpf(10) ** -25:
        return None
    return bool(abs(nearest - wanted) <= bound)


def _slope(big: Tree, values: dict[str, Any], variable: str, x: Any, h: Any) -> Any:
    with mp.workdps(2 * DIGITS):
        try:
            sides = [evaluate(big, {**values, variable: x + k * h}) for k in (-1, 1)]
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        return (sides[1] - sides[0]) / (2 * h)


def check_definite(
    integrand: str,
    variable: str,
    lower: str,
    upper: str,
    answer: str,
    points: tuple[float, ...] = (),
) -> Verdict:
    """Whether ``answer`` is the integral, by mpmath's quadrature split at ``points``."""
    f = parse(integrand, variables=(variable,))
    with mp.workdps(30):
        bounds = [evaluate(parse(b), {}) for b in (lower, upper)]
        value = evaluate(parse(answer), {})
        grid = [bounds[0], *map(mp.mpf, points), bounds[1]]
        result, error = mp.quad(
            lambda x: evaluate(f, {variable: x}, vanishing=True), grid, error=True
        )
        if error > mp.mpf(10) ** -9 * max(1, abs(result)):
            return "unknown"
        close = abs(result - value) <= 100 * error + mp.mpf(10) ** -12 * max(1, abs(value))
        return "right" if close else "wrong"


def main(path: Path) -> int:
    """Count verdicts over a file of JSON lines; 1 when something is wrong."""
    counts: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row.get("lower") is not None:
            verdict = check_definite(
                row["integrand"], row["variable"], row["lower"], row["upper"], row["answer"]
            )
        else:
            verdict = check_antiderivative(row["integrand"], row["answer"], row["variable"])
        counts[verdict] += 1
        if verdict != "right":
            print(verdict, row["integrand"], "->", row["answer"])
    print(dict(counts))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
