"""Values of an expression at one point, to any number of digits, over the complex numbers.

Principal values throughout, as SymPy defines them. A value counts as known
when it stays the same while the working precision is raised; see :func:`settle`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import mpmath
import sympy
from sympy import S

#: Binary exponent beyond which an argument of exp, sin, … is not worth the work.
MAX_MAGNITUDE: Final = 400

#: Bits of a sum or of an imaginary part that may be rounding noise.
NOISE_BITS: Final = 20

#: Working precisions in decimal digits, each tried when the one before did not settle.
DIGITS: Final = (40, 80, 160, 400)

#: A last one, where a sum cancelled completely at all of those: exp(-700) beside 1, or a true zero.
LAST_DIGITS: Final = 1600


class UndefinedError(ArithmeticError):
    """No finite value at this point."""


class OutOfReachError(UndefinedError):
    """A value that would take too long, or that there is no rule for: nothing is known about it."""


class Evaluator:
    """Evaluates expressions at one precision (``digits``, decimal)."""

    def __init__(self, digits: int) -> None:
        self.context = mpmath.MPContext()
        self.context.dps = digits
        self._rules = _rules(self.context)
        #: Whether a sum cancelled down to rounding noise in the latest evaluation.
        self.cancelled = False
        self._noise = self.context.ldexp(1, NOISE_BITS - self.context.prec)

    def value(self, expr: sympy.Basic, at: Mapping[sympy.Symbol, Any]) -> Any:
        """The value as ``mpf`` or ``mpc``. Raises :class:`UndefinedError`.

        ``at`` maps symbols to rationals, or to numbers of this context.
        """
        return self._values(expr, at)[0]

    def range(self, expr: sympy.Basic, at: Mapping[sympy.Symbol, Any]) -> int:
        """Decimal digits between the largest and the smallest value met on the way.

        A term that small beside one that large is invisible with fewer digits. What functions
        are short of their limits counts as met: 1 - tanh(100) is 1e-87.
        """
        _, memo = self._values(expr, at)
        mag = self.context.mag
        magnitudes = [mag(v) for v in memo.values() if v and self.context.isfinite(v)]
        for node in memo:
            if isinstance(node, sympy.tanh | sympy.coth | sympy.erf):
                u = abs(self.context.re(memo[node.args[0]]))
                short = u * u if isinstance(node, sympy.erf) else 2 * u
                magnitudes.append(-int(1.443 * short))
        return int(0.302 * (max(magnitudes, default=0) - min(magnitudes, default=0)))

    def _values(
        self, expr: sympy.Basic, at: Mapping[sympy.Symbol, Any]
    ) -> tuple[Any, dict[sympy.Basic, Any]]:
        self.cancelled = False
        memo: dict[sympy.Basic, Any] = {}
        for symbol, number in at.items():
            memo[symbol] = self._rational(number) if isinstance(number, sympy.Rational) else number
        try:
            result = self._visit(expr, memo)
        except UndefinedError:
            raise
        except (ArithmeticError, ValueError, TypeError, mpmath.libmp.NoConvergence) as error:
            raise UndefinedError(str(error)) from None
        if not self.context.isfinite(result):
            raise UndefinedError("not finite")
        return result, memo

    def _rational(self, number: sympy.Rational) -> Any:
        return self.context.mpf(int(number.p)) / int(number.q)

    def _visit(self, node: sympy.Basic, memo: dict[sympy.Basic, Any]) -> Any:
        found = memo.get(node)
        if found is None:
            found = memo[node] = self.real_if_close(self._compute(node, memo))
        return found

    def real_if_close(self, number: Any) -> Any:
        """The number without an imaginary part that is rounding noise."""
        if hasattr(number, "_mpc_"):
            if not self.context.isfinite(number):
                raise UndefinedError("not finite")
            if abs(number.imag) <= self._noise * abs(number.real):
                return number.real
        return number

    def _compute(self, node: sympy.Basic, memo: dict[sympy.Basic, Any]) -> Any:
        ctx = self.context
        if node.is_Rational:
            return self._rational(node)
        if node is S.ImaginaryUnit:
            return ctx.mpc(0, 1)
        if node.is_NumberSymbol:
            return ctx.make_mpf(node._as_mpf_val(ctx.prec))
        if node.is_Add:
            terms = [self._visit(arg, memo) for arg in node.args]
            total = ctx.fsum(terms)
            if abs(total) <= self._noise * max(map(abs, terms)):
                self.cancelled = True
                return ctx.zero
            return total
        if node.is_Mul:
            return ctx.fprod(self._visit(arg, memo) for arg in node.args)
        if node.is_Pow:
            return self._power(self._visit(node.base, memo), node.exp, memo)
        if isinstance(node, sympy.Piecewise):
            for branch, condition in node.args:
                if self._truth(condition, memo):
                    return self._visit(branch, memo)
            raise UndefinedError("no branch applies")
        rule = self._rules.get(type(node))
        if rule is None:
            raise OutOfReachError(f"no numeric rule for {type(node).__name__}")
        args = [self._visit(arg, memo) for arg in node.args]
        for arg in args:
            self._check_size(arg)
        return rule(*args)

    def _check_size(self, number: Any) -> None:
        if number and not self.context.isfinite(number):
            raise UndefinedError("not finite")
        if number and self.context.mag(number) > MAX_MAGNITUDE:
            raise OutOfReachError("an argument out of reach")

    def _power(self, base: Any, exponent: sympy.Expr, memo: dict[sympy.Basic, Any]) -> Any:
        ctx = self.context
        if exponent.is_Integer and abs(exponent) < 10**9:
            if exponent < 0 and not base:
                raise UndefinedError("division by zero")
            return base ** int(exponent)
        if exponent == S.Half:
            return ctx.sqrt(base)
        power = self._visit(exponent, memo)
        self._check_size(power)
        if not base:
            if ctx.re(power) > 0:
                return ctx.zero
            raise UndefinedError("zero to a power without positive real part")
        if abs(power) * abs(ctx.log(abs(base)) + 1) > ctx.ldexp(1, MAX_MAGNITUDE):
            raise OutOfReachError("a power out of reach")
        return ctx.power(base, power)

    def _truth(self, condition: sympy.Basic, memo: dict[sympy.Basic, Any]) -> bool:
        if condition is S.true or condition is S.false:
            return bool(condition)
        if isinstance(condition, sympy.And):
            return all(self._truth(part, memo) for part in condition.args)
        if isinstance(condition, sympy.Or):
            return any(self._truth(part, memo) for part in condition.args)
        compare = _COMPARISONS.get(type(condition))
        if compare is None:
            raise OutOfReachError(f"no numeric rule for {type(condition).__name__}")
        return compare(*(self._visit(arg, memo) for arg in condition.args))


_COMPARISONS: Final[dict[Any, Callable[[Any, Any], bool]]] = {
    sympy.StrictLessThan: lambda a, b: bool(a < b),
    sympy.LessThan: lambda a, b: bool(a <= b),
    sympy.StrictGreaterThan: lambda a, b: bool(a > b),
    sympy.GreaterThan: lambda a, b: bool(a >= b),
    sympy.Equality: lambda a, b: bool(a == b),
    sympy.Unequality: lambda a, b: bool(a != b),
}


def _rules(ctx: Any) -> dict[Any, Callable[..., Any]]:
    def real(x: Any) -> Any:
        if isinstance(x, ctx.mpc):
            raise UndefinedError("a complex number where a real one is needed")
        return x

    def sign(x: Any) -> Any:
        return x / abs(x) if x else ctx.zero

    def heaviside(x: Any, half: Any) -> Any:
        return ctx.one if real(x) > 0 else ctx.zero if x < 0 else half

    def modulo(a: Any, b: Any) -> Any:
        return real(a) - real(b) * ctx.floor(a / b)

    def delta(x: Any) -> Any:
        if not x:
            raise UndefinedError("a delta distribution at its point")
        return ctx.zero

    return {
        sympy.exp: ctx.exp, sympy.log: ctx.log, sympy.Abs: abs, sympy.sign: sign,
        sympy.sin: ctx.sin, sympy.cos: ctx.cos, sympy.tan: ctx.tan,
        sympy.cot: ctx.cot, sympy.sec: ctx.sec, sympy.csc: ctx.csc,
        sympy.asin: ctx.asin, sympy.acos: ctx.acos, sympy.atan: ctx.atan,
        sympy.acot: lambda x: ctx.atan(1 / x) if x else ctx.pi / 2,
        sympy.asec: lambda x: ctx.acos(1 / x), sympy.acsc: lambda x: ctx.asin(1 / x),
        sympy.sinh: ctx.sinh, sympy.cosh: ctx.cosh, sympy.tanh: ctx.tanh,
        sympy.coth: ctx.coth, sympy.sech: ctx.sech, sympy.csch: ctx.csch,
        sympy.asinh: ctx.asinh, sympy.acosh: ctx.acosh, sympy.atanh: ctx.atanh,
        sympy.acoth: lambda x: ctx.atanh(1 / x), sympy.asech: lambda x: ctx.acosh(1 / x),
        sympy.acsch: lambda x: ctx.asinh(1 / x),
        sympy.erf: ctx.erf, sympy.erfc: ctx.erfc, sympy.erfi: ctx.erfi,
        sympy.gamma: ctx.gamma, sympy.loggamma: ctx.loggamma, sympy.factorial: ctx.factorial,
        sympy.polygamma: lambda n, x: ctx.psi(int(n), x),
        sympy.binomial: ctx.binomial, sympy.beta: ctx.beta,
        sympy.floor: lambda x: ctx.floor(real(x)), sympy.ceiling: lambda x: ctx.ceil(real(x)),
        sympy.Mod: modulo, sympy.Heaviside: heaviside, sympy.DiracDelta: delta,
        sympy.Si: ctx.si, sympy.Ci: ctx.ci, sympy.Shi: ctx.shi, sympy.Chi: ctx.chi,
        sympy.Ei: ctx.ei, sympy.li: ctx.li,
        sympy.fresnels: ctx.fresnels, sympy.fresnelc: ctx.fresnelc,
        sympy.LambertW: ctx.lambertw, sympy.polylog: ctx.polylog,
        sympy.atan2: lambda y, x: ctx.atan2(real(y), real(x)),
        sympy.Max: lambda *xs: max(map(real, xs)), sympy.Min: lambda *xs: min(map(real, xs)),
        sympy.re: ctx.re, sympy.im: ctx.im, sympy.conjugate: ctx.conj, sympy.arg: ctx.arg,
    }  # fmt: skip


_EVALUATORS: dict[int, Evaluator] = {}


def evaluator(digits: int) -> Evaluator:
    """A shared evaluator of this precision."""
    found = _EVALUATORS.get(digits)
    if found is None:
        found = _EVALUATORS[digits] = Evaluator(digits)
    return found


@dataclass(frozen=True, slots=True)
class PointComparison:
    """Two values at a point. ``agree`` is None when neither could be established.

    ``right`` is None where the right-hand side has no value.
    """

    agree: bool | None
    left: Any
    right: Any


def settle(
    lhs: sympy.Basic,
    rhs: sympy.Basic,
    at: Mapping[sympy.Symbol, sympy.Rational],
    *,
    digits: Sequence[int] = DIGITS,
    agreement: int = 30,
) -> PointComparison:
    """Whether two expressions agree to ``agreement`` decimal digits at a point.

    They agree when their difference is below that part of their size at two
    precisions, or shrinks as fast as the rounding errors of a cancellation do;
    they differ when both values have settled and stay apart, or when only
    ``lhs`` has a value. Raises :class:`UndefinedError` when ``lhs`` has none.
    """
    before: tuple[Any, Any] | None = None
    left = right = None
    cancelled = False
    for precision in (*digits, LAST_DIGITS):
        last = precision == LAST_DIGITS
        if last and not cancelled:
            break
        evaluate = evaluator(precision)
        try:
            left = evaluate.value(lhs, at)
        except UndefinedError:
            if last or not evaluate.cancelled:
                raise
            before, cancelled = None, True
            continue
        cancelled = evaluate.cancelled
        try:
            right = evaluate.value(rhs, at)
        except OutOfReachError:
            return PointComparison(None, left, None)
        except UndefinedError:
            if last or not evaluate.cancelled:
                return PointComparison(False, left, None)
            before, cancelled = None, True
            continue
        cancelled = cancelled or evaluate.cancelled
        if before is not None:
            verdict = _judge(before, (left, right), precision, agreement)
            # what cancelled may be small instead of zero: more digits tell
            if verdict is not None and (verdict or last or not cancelled):
                return PointComparison(verdict, left, right)
        before = (left, right)
    return PointComparison(None, left, right)


def _judge(
    before: tuple[Any, Any], now: tuple[Any, Any], precision: int, agreement: int
) -> bool | None:
    left, right = now
    gap = abs(left - right)
    gap_before = abs(before[0] - before[1])
    size = max(abs(left), abs(right))
    known = abs(left - before[0]) + abs(right - before[1])
    if gap > 1000 * known and gap > size * mpmath.mpf(10) ** (10 - precision // 2):
        return False
    tolerance = mpmath.mpf(10) ** -agreement
    if max(gap, gap_before) <= size * tolerance:
        return True
    # zero against rounding noise: there is no size to compare with, but noise shrinks
    if gap <= gap_before * mpmath.mpf(10) ** (-precision // 4) and gap < tolerance:
        return True
    return None
