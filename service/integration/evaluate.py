"""Values and derivatives of Trees at points, in floating point or in ball arithmetic.

One table of rules serves both: a rule turns u into (g(u), g'(u)) with the
functions of a *field*, either NumPy's complex arrays (all points at once) or
FLINT's complex balls (one point, any precision). Derivatives are carried along
as dual numbers (forward-mode automatic differentiation), so nothing is ever
differentiated symbolically here.

Principal values throughout. On the real axis ``Abs`` and ``sign`` are those of complex
numbers, while ``Max``, ``Heaviside``, ``floor`` and comparisons have no value where their
arguments are not real. At points off the axis all of them choose their branch by the real
part: there they are the analytic continuation of what they are on the reals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from flint import acb, ctx, fmpq
from scipy import special

from tokenizer.ansatz import rational_value
from tokenizer.tree import Tree


class CannotEvaluate(ValueError):
    """A head that has no rule here."""


Dual = tuple[Any, Any]


class FloatField:
    """NumPy complex128 arrays; out-of-range values become nan or inf, never an error."""

    exp, sqrt, log = staticmethod(np.exp), staticmethod(np.sqrt), staticmethod(np.log)
    sin, cos, tan = staticmethod(np.sin), staticmethod(np.cos), staticmethod(np.tan)
    sinh, cosh, tanh = staticmethod(np.sinh), staticmethod(np.cosh), staticmethod(np.tanh)
    asin, acos, atan = staticmethod(np.arcsin), staticmethod(np.arccos), staticmethod(np.arctan)
    asinh, acosh = staticmethod(np.arcsinh), staticmethod(np.arccosh)
    atanh = staticmethod(np.arctanh)
    erf, gamma = staticmethod(special.erf), staticmethod(special.gamma)
    loggamma, digamma = staticmethod(special.loggamma), staticmethod(special.digamma)
    pi: Any = np.pi

    @staticmethod
    def number(numerator: int, denominator: int = 1) -> Any:
        try:
            return np.complex128(numerator / denominator)
        except OverflowError:
            return np.complex128(np.inf)

    @staticmethod
    def imaginary_unit() -> Any:
        return np.complex128(1j)

    @staticmethod
    def power(base: Any, numerator: int, denominator: int) -> Any:
        if denominator == 2 and abs(numerator) <= 9:
            return np.sqrt(base) ** numerator
        return base ** (numerator / denominator)

    @staticmethod
    def ei(u: Any) -> Any:
        # on the axis the mean of both sides, as for a real argument
        return np.where(np.imag(u) == 0, special.expi(np.real(u)), special.expi(u))

    @staticmethod
    def si(u: Any) -> Any:
        return special.sici(u)[0]

    @staticmethod
    def ci(u: Any) -> Any:
        return special.sici(u)[1]

    @staticmethod
    def shi(u: Any) -> Any:
        return special.shichi(u)[0]

    @staticmethod
    def chi(u: Any) -> Any:
        return special.shichi(u)[1]

    @staticmethod
    def dilog(u: Any) -> Any:
        return special.spence(1 - u)

    @staticmethod
    def fresnels(u: Any) -> Any:
        return special.fresnel(u)[0]

    @staticmethod
    def fresnelc(u: Any) -> Any:
        return special.fresnel(u)[1]

    @staticmethod
    def lambertw(u: Any) -> Any:
        return special.lambertw(u)

    @staticmethod
    def sign(u: Any) -> Any:
        return np.sign(np.real(u)).astype(complex)

    @staticmethod
    def floor(u: Any) -> Any:
        return np.floor(np.real(u)).astype(complex)

    @staticmethod
    def is_real(u: Any) -> Any:
        return ~(np.abs(np.imag(u)) > 1e-9 * np.abs(u))

    @staticmethod
    def size(u: Any) -> Any:
        return np.abs(u).astype(complex)

    @staticmethod
    def conjugate(u: Any) -> Any:
        return np.conjugate(u)

    @staticmethod
    def real_part(u: Any) -> Any:
        return np.real(u).astype(complex)

    @staticmethod
    def where(condition: Any, then: Any, otherwise: Any) -> Any:
        return np.where(condition, then, otherwise)

    @staticmethod
    def less(a: Any, b: Any, *, or_equal: bool) -> Any:
        return np.real(a) <= np.real(b) if or_equal else np.real(a) < np.real(b)


class BallField:
    """FLINT complex balls at the working precision of ``flint.ctx``."""

    @staticmethod
    def exp(u: acb) -> acb:
        return u.exp()

    @staticmethod
    def sqrt(u: acb) -> acb:
        return u.sqrt()

    @staticmethod
    def log(u: acb) -> acb:
        return u.log()

    sin, cos, tan = staticmethod(acb.sin), staticmethod(acb.cos), staticmethod(acb.tan)
    sinh, cosh, tanh = staticmethod(acb.sinh), staticmethod(acb.cosh), staticmethod(acb.tanh)
    asin, acos, atan = staticmethod(acb.asin), staticmethod(acb.acos), staticmethod(acb.atan)
    asinh, acosh = staticmethod(acb.asinh), staticmethod(acb.acosh)
    atanh = staticmethod(acb.atanh)
    erf, gamma = staticmethod(acb.erf), staticmethod(acb.gamma)
    loggamma, digamma = staticmethod(acb.lgamma), staticmethod(acb.digamma)
    si, ci = staticmethod(acb.si), staticmethod(acb.ci)
    shi, chi = staticmethod(acb.shi), staticmethod(acb.chi)
    lambertw = staticmethod(acb.lambertw)

    @property
    def pi(self) -> acb:
        return acb.pi()

    @staticmethod
    def number(numerator: int, denominator: int = 1) -> acb:
        return acb(fmpq(numerator, denominator))

    @staticmethod
    def imaginary_unit() -> acb:
        return acb(0, 1)

    @staticmethod
    def power(base: acb, numerator: int, denominator: int) -> acb:
        return base ** fmpq(numerator, denominator)

    @staticmethod
    def ei(u: acb) -> acb:
        # on the axis the mean of both sides, as for a real argument
        return acb(u.ei().real) if u.imag == 0 else u.ei()

    @staticmethod
    def dilog(u: acb) -> acb:
        return u.polylog(2)

    @staticmethod
    def fresnels(u: acb) -> acb:
        return u.fresnel_s()

    @staticmethod
    def fresnelc(u: acb) -> acb:
        return u.fresnel_c()

    @staticmethod
    def sign(u: acb) -> acb:
        return acb(u.real.sgn())

    @staticmethod
    def floor(u: acb) -> acb:
        return acb(u.real.floor())

    @staticmethod
    def is_real(u: acb) -> bool:
        return bool(u.imag.contains(0)) or not u.is_finite()

    @staticmethod
    def size(u: acb) -> acb:
        return acb(abs(u))

    @staticmethod
    def conjugate(u: acb) -> acb:
        return u.conjugate()

    @staticmethod
    def real_part(u: acb) -> acb:
        return acb(u.real)

    @staticmethod
    def where(condition: bool, then: acb, otherwise: acb) -> acb:
        return then if condition else otherwise

    @staticmethod
    def less(a: acb, b: acb, *, or_equal: bool) -> bool:
        return bool(a.real <= b.real) if or_equal else bool(a.real < b.real)


Rule = Callable[[Any, Any], Dual]


def _reciprocal(rule: Rule) -> Rule:
    """The rule of 1/g from that of g."""

    def apply(f: Any, u: Any) -> Dual:
        value, slope = rule(f, u)
        return 1 / value, -slope / (value * value)

    return apply


def _of_reciprocal(rule: Rule) -> Rule:
    """The rule of g(1/u) from that of g."""

    def apply(f: Any, u: Any) -> Dual:
        value, slope = rule(f, 1 / u)
        return value, -slope / (u * u)

    return apply


def _tan(f: Any, u: Any) -> Dual:
    value = f.tan(u)
    return value, 1 + value * value


def _tanh(f: Any, u: Any) -> Dual:
    value = f.tanh(u)
    return value, 1 - value * value


def _exp(f: Any, u: Any) -> Dual:
    value = f.exp(u)
    return value, value


def _sqrt(f: Any, u: Any) -> Dual:
    value = f.sqrt(u)
    return value, 1 / (2 * value)


def _abs(f: Any, u: Any) -> Dual:
    sign = f.sign(u)
    return sign * u, sign


def _gamma(f: Any, u: Any) -> Dual:
    value = f.gamma(u)
    return value, value * f.digamma(u)


def _lambertw(f: Any, u: Any) -> Dual:
    value = f.lambertw(u)
    return value, value / (u * (1 + value))


_RULES: Final[dict[str, Rule]] = {
    "exp": _exp,
    "log": lambda f, u: (f.log(u), 1 / u),
    "sqrt": _sqrt,
    "sin": lambda f, u: (f.sin(u), f.cos(u)),
    "cos": lambda f, u: (f.cos(u), -f.sin(u)),
    "tan": _tan,
    "cot": _reciprocal(_tan),
    "sec": _reciprocal(lambda f, u: (f.cos(u), -f.sin(u))),
    "csc": _reciprocal(lambda f, u: (f.sin(u), f.cos(u))),
    "asin": lambda f, u: (f.asin(u), 1 / f.sqrt(1 - u * u)),
    "acos": lambda f, u: (f.acos(u), -1 / f.sqrt(1 - u * u)),
    "atan": lambda f, u: (f.atan(u), 1 / (1 + u * u)),
    "acot": _of_reciprocal(lambda f, u: (f.atan(u), 1 / (1 + u * u))),
    "asec": _of_reciprocal(lambda f, u: (f.acos(u), -1 / f.sqrt(1 - u * u))),
    "acsc": _of_reciprocal(lambda f, u: (f.asin(u), 1 / f.sqrt(1 - u * u))),
    "sinh": lambda f, u: (f.sinh(u), f.cosh(u)),
    "cosh": lambda f, u: (f.cosh(u), f.sinh(u)),
    "tanh": _tanh,
    "coth": _reciprocal(_tanh),
    "sech": _reciprocal(lambda f, u: (f.cosh(u), f.sinh(u))),
    "csch": _reciprocal(lambda f, u: (f.sinh(u), f.cosh(u))),
    "asinh": lambda f, u: (f.asinh(u), 1 / f.sqrt(1 + u * u)),
    "acosh": lambda f, u: (f.acosh(u), 1 / (f.sqrt(u - 1) * f.sqrt(u + 1))),
    "atanh": lambda f, u: (f.atanh(u), 1 / (1 - u * u)),
    "acoth": _of_reciprocal(lambda f, u: (f.atanh(u), 1 / (1 - u * u))),
    "asech": _of_reciprocal(lambda f, u: (f.acosh(u), 1 / (f.sqrt(u - 1) * f.sqrt(u + 1)))),
    "acsch": _of_reciprocal(lambda f, u: (f.asinh(u), 1 / f.sqrt(1 + u * u))),
    "erf": lambda f, u: (f.erf(u), 2 * f.exp(-u * u) / f.sqrt(f.pi * f.number(1))),
    "erfc": lambda f, u: (1 - f.erf(u), -2 * f.exp(-u * u) / f.sqrt(f.pi * f.number(1))),
    "erfi": lambda f, u: (
        -f.imaginary_unit() * f.erf(f.imaginary_unit() * u),
        2 * f.exp(u * u) / f.sqrt(f.pi * f.number(1)),
    ),
    "Ei": lambda f, u: (f.ei(u), f.exp(u) / u),
    "Si": lambda f, u: (f.si(u), f.sin(u) / u),
    "Ci": lambda f, u: (f.ci(u), f.cos(u) / u),
    "Shi": lambda f, u: (f.shi(u), f.sinh(u) / u),
    "Chi": lambda f, u: (f.chi(u), f.cosh(u) / u),
    "li": lambda f, u: (f.ei(f.log(u)), 1 / f.log(u)),
    "fresnels": lambda f, u: (f.fresnels(u), f.sin(f.pi * u * u / 2)),
    "fresnelc": lambda f, u: (f.fresnelc(u), f.cos(f.pi * u * u / 2)),
    "gamma": _gamma,
    "loggamma": lambda f, u: (f.loggamma(u), f.digamma(u)),
    "LambertW": _lambertw,
    "Abs": _abs,
    "sign": lambda f, u: (f.sign(u), 0 * u),
    "Heaviside": lambda f, u: ((1 + f.sign(u)) / 2, 0 * u),
    "floor": lambda f, u: (f.floor(u), 0 * u),
    "ceiling": lambda f, u: (-f.floor(-u), 0 * u),
}


#: Functions of one argument that want a real one, off the axis by its real part.
_ORDERED: Final = frozenset({"Abs", "sign", "Heaviside", "floor", "ceiling"})


def _imaginary(value: Any) -> Any:
    return value.imag if isinstance(value, acb) else np.imag(value)


class Evaluator:
    """Evaluates Trees at fixed points; shared subtrees are computed once.

    ``field`` is a :class:`FloatField` or :class:`BallField`; ``values`` maps each
    symbol's name to its value (an array of complex128, shape (points,), or a
    scalar of the field). Derivatives are by ``variable``.
    """

    def __init__(
        self, field: FloatField | BallField, values: Mapping[str, Any], variable: str
    ) -> None:
        self.field: Any = field
        if isinstance(field, FloatField):
            # a real number would make sqrt(-1) nan
            values = {name: np.asarray(v, dtype=np.complex128)[()] for name, v in values.items()}
        self.values = values
        self.variable = variable
        #: Whether all points are on the real axis.
        self.on_axis = bool(np.all(_imaginary(values.get(variable, 0)) == 0))
        self.seen: dict[Tree, Dual] = {}

    def dual(self, tree: Tree) -> Dual:
        """(value, derivative). Raises :class:`CannotEvaluate` for a head without a rule."""
        found = self.seen.get(tree)
        if found is None:
            found = self.seen[tree] = self._compute(tree)
        return found

    def _compute(self, tree: Tree) -> Dual:
        f = self.field
        rational = rational_value(tree)
        if rational is not None:
            return f.number(*rational), f.number(0)
        head = tree.head
        if head == "symbol":
            try:
                value = self.values[str(tree.value)]
            except KeyError:
                raise CannotEvaluate(f"no value for {tree.value}") from None
            return value, f.number(1 if tree.value == self.variable else 0)
        if head == "constant":
            return self._constant(str(tree.value)), f.number(0)
        if head == "Piecewise":
            return self._piecewise(tree)
        duals = [self.dual(arg) for arg in tree.args]
        if len(duals) == 1:
            u, du = duals[0]
            if head == "neg":
                return -u, -du
            rule = _RULES.get(head)
            if rule is None:
                raise CannotEvaluate(f"no rule for {head}")
            if self.on_axis and head in _ORDERED:
                return self._of_complex(head, rule, u, du)
            value, slope = rule(f, u)
            return value, slope * du
        return self._binary(tree, duals)

    def _of_complex(self, head: str, rule: Rule, u: Any, du: Any) -> Dual:
        """A function of the order of the reals, at values that may not be real."""
        f = self.field
        real = f.is_real(u)
        if np.all(real):
            value, slope = rule(f, u)
            return value, slope * du
        nothing = self._nothing()
        value, slope = rule(f, f.where(real, u, f.number(1)))
        slope = slope * du
        size = f.size(u)
        if head == "Abs":
            along = f.real_part(f.conjugate(u) * du) / size
            return f.where(real, value, size), f.where(real, slope, along)
        other = u / size if head == "sign" else nothing
        return f.where(real, value, other), f.where(real, slope, nothing)

    def _nothing(self) -> Any:
        return acb("nan") if isinstance(self.field, BallField) else np.complex128(np.nan)

    def _binary(self, tree: Tree, duals: list[Dual]) -> Dual:
        f = self.field
        (u, du), (v, dv) = duals[0], duals[1]
        match tree.head:
            case "add":
                return u + v, du + dv
            case "sub":
                return u - v, du - dv
            case "mul":
                return u * v, u * dv + v * du
            case "div":
                value = u / v
                return value, (du - value * dv) / v
            case "pow":
                return self._power(tree.args[1], duals)
            case "Max" | "Min":
                best, slope = duals[0]
                for other, its_slope in duals[1:]:
                    smaller = f.less(other, best, or_equal=False)
                    keep = smaller if tree.head == "Max" else f.less(best, other, or_equal=True)
                    best, slope = f.where(keep, best, other), f.where(keep, slope, its_slope)
                return self._where_real([u for u, _ in duals], best, slope)
            case "polylog" if rational_value(tree.args[0]) == (2, 1):
                return f.dilog(v), -f.log(1 - v) / v * dv
        raise CannotEvaluate(f"no rule for {tree.head}")

    def _power(self, exponent: Tree, duals: list[Dual]) -> Dual:
        f = self.field
        (u, du), (v, dv) = duals
        rational = rational_value(exponent)
        if rational is not None and rational[1] == 1:
            n = rational[0]
            if n == 0:
                return 0 * u + 1, 0 * u
            lower = u ** (n - 1)
            return lower * u, n * lower * du
        if rational is not None:
            value = f.power(u, *rational)
            return value, f.number(*rational) * value / u * du
        logarithm = f.log(u)
        value = f.exp(v * logarithm)
        return value, value * (dv * logarithm + v * du / u)

    def _constant(self, name: str) -> Any:
        f = self.field
        match name:
            case "pi":
                return f.pi * f.number(1)
            case "E":
                return f.exp(f.number(1))
            case "I":
                return f.imaginary_unit()
        raise CannotEvaluate(f"no value for {name}")

    def _piecewise(self, tree: Tree) -> Dual:
        f = self.field
        value = slope = self._nothing()
        for piece, condition in reversed(list(zip(tree.args[::2], tree.args[1::2], strict=True))):
            holds = self._condition(condition)
            v, dv = self.dual(piece)
            value, slope = f.where(holds, v, value), f.where(holds, dv, slope)
        compared = [
            self.dual(side)[0]
            for condition in tree.args[1::2]
            for node in condition.preorder()
            if node.head in ("Lt", "Le", "Gt", "Ge")
            for side in node.args
        ]
        return self._where_real(compared, value, slope)

    def _where_real(self, compared: list[Any], value: Any, slope: Any) -> Dual:
        """(value, slope), and nothing where one of ``compared`` is not real."""
        if self.on_axis:
            nothing = self._nothing()
            for u in compared:
                real = self.field.is_real(u)
                if not np.all(real):
                    value = self.field.where(real, value, nothing)
                    slope = self.field.where(real, slope, nothing)
        return value, slope

    def _condition(self, tree: Tree) -> Any:
        f = self.field
        if tree.head == "boolean":
            return tree.value == "True"
        if tree.head in ("And", "Or"):
            result = self._condition(tree.args[0])
            for arg in tree.args[1:]:
                other = self._condition(arg)
                result = result & other if tree.head == "And" else result | other
            return result
        a, b = (self.dual(arg)[0] for arg in tree.args)
        match tree.head:
            case "Lt" | "Le":
                return f.less(a, b, or_equal=tree.head == "Le")
            case "Gt" | "Ge":
                return f.less(b, a, or_equal=tree.head == "Ge")
            case "Eq" | "Ne":
                equal = f.less(a, b, or_equal=True) & f.less(b, a, or_equal=True)
                return equal if tree.head == "Eq" else np.logical_not(equal)
        raise CannotEvaluate(f"no rule for {tree.head}")


_VALUES: Final[dict[str, Callable[[acb], acb]]] = {
    "exp": acb.exp,
    "log": acb.log,
    "sqrt": acb.sqrt,
    "sin": acb.sin,
    "cos": acb.cos,
    "tan": acb.tan,
    "cot": acb.cot,
    "sec": acb.sec,
    "csc": acb.csc,
    "asin": acb.asin,
    "acos": acb.acos,
    "atan": acb.atan,
    "sinh": acb.sinh,
    "cosh": acb.cosh,
    "tanh": acb.tanh,
    "coth": acb.coth,
    "asinh": acb.asinh,
    "acosh": acb.acosh,
    "atanh": acb.atanh,
    "erf": acb.erf,
    "neg": acb.__neg__,
}
_OPERATIONS: Final[dict[str, Callable[[acb, acb], acb]]] = {
    "add": acb.__add__,
    "sub": acb.__sub__,
    "mul": acb.__mul__,
    "div": acb.__truediv__,
}


def value_function(tree: Tree, variable: str) -> Callable[[acb], acb]:
    """``tree`` as a function of ``variable`` in ball arithmetic at the working precision.

    Compiled once, without derivatives: what quadrature calls thousands of times.
    """
    if not tree.contains(variable):
        known: dict[int, acb] = {}

        def constant_value(point: acb) -> acb:
            value = known.get(ctx.prec)
            if value is None:
                evaluator = Evaluator(BallField(), {variable: point}, variable)
                value = known[ctx.prec] = acb(evaluator.dual(tree)[0])
            return value

        return constant_value
    if tree.head == "symbol":
        return lambda point: point
    if tree.head in _VALUES:
        function = _VALUES[tree.head]
        inner = value_function(tree.args[0], variable)
        return lambda point: function(inner(point))
    if tree.head in _OPERATIONS:
        operation = _OPERATIONS[tree.head]
        left, right = (value_function(arg, variable) for arg in tree.args)
        return lambda point: operation(left(point), right(point))
    exponent = rational_value(tree.args[1]) if tree.head == "pow" else None
    if exponent is not None:
        base, power = value_function(tree.args[0], variable), fmpq(*exponent)
        return lambda point: base(point) ** power
    # everything else by its arguments' values, through the rules above
    return lambda point: acb(Evaluator(BallField(), {variable: point}, variable).dual(tree)[0])
