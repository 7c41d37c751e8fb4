"""Expressions as rational functions of kernels, with exact differentiation and zero test.

A *kernel* is a generator of a differential field over Q: the variable, parameters,
constants such as pi, exponentials, tangents of arguments (all trigonometric
functions are rational in them), logarithms and other functions, and radicals and
signs, which obey an algebraic relation. Arithmetic is FLINT's multivariate
rational functions. Each relation used is a true identity, so an expression that
reduces to zero is zero wherever it is defined; one that does not may still be
zero when kernels depend on each other in a way not known here.

The differentiation follows the structure theorem's setting (Bronstein, Symbolic
Integration I, ch. 3): D is determined by its values on the generators.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from functools import reduce
from math import gcd, lcm
from typing import Any, Final

import numpy as np
import sympy
from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx
from numpy.typing import NDArray
from sympy import S
from sympy.functions.elementary.hyperbolic import (
    HyperbolicFunction,
    InverseHyperbolicFunction,
)
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from service.integration.domain import GRID, FloatArray
from service.integration.pieces import as_signs

#: Largest power of a kernel that is multiplied out.
MAX_POWER: Final = 400
#: Largest number of terms of a numerator or denominator.
MAX_TERMS: Final = 20_000
#: Largest degree of a polynomial whose real roots are looked at.
MAX_DEGREE: Final = 40

RealTest = Callable[[FloatArray], NDArray[np.bool_]]

_SPARE: Final = 8
#: Constant between jumps, but no constants.
_STEPS: Final = (sympy.sign, sympy.floor, sympy.ceiling)


class Unsupported(ValueError):
    """An expression outside of what kernels can express."""


class OutOfTime(TimeoutError):
    """The deadline passed in the middle of exact arithmetic."""


class Element:
    """A quotient of two polynomials in the kernels of one field, in lowest terms."""

    __slots__ = ("denominator", "field", "numerator")

    def __init__(self, field: KernelField, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> None:
        if not denominator.is_constant():
            common = numerator.gcd(denominator)
            if not common.is_one():
                numerator, denominator = numerator / common, denominator / common
        lead = denominator.leading_coefficient()
        if lead != 1:
            numerator, denominator = numerator / lead, denominator / lead
        self.field = field
        self.numerator = numerator
        self.denominator = denominator
        field.check(len(numerator) + len(denominator))

    def __add__(self, other: Element) -> Element:
        if self.denominator == other.denominator:
            return Element(self.field, self.numerator + other.numerator, self.denominator)
        return Element(
            self.field,
            self.numerator * other.denominator + other.numerator * self.denominator,
            self.denominator * other.denominator,
        )

    def __sub__(self, other: Element) -> Element:
        return self + Element(other.field, -other.numerator, other.denominator)

    def __mul__(self, other: Element) -> Element:
        return Element(
            self.field,
            self.numerator * other.numerator,
            self.denominator * other.denominator,
        )

    def __truediv__(self, other: Element) -> Element:
        if other.field.vanishes(other.numerator):
            raise Unsupported("a division by zero")
        return Element(
            self.field,
            self.numerator * other.denominator,
            self.denominator * other.numerator,
        )

    def __pow__(self, exponent: int) -> Element:
        if abs(exponent) > MAX_POWER and not (
            len(self.numerator) == 1 and self.denominator.is_one()
        ):
            raise Unsupported(f"a power of more than {MAX_POWER}")
        if exponent >= 0:
            return Element(self.field, self.numerator**exponent, self.denominator**exponent)
        return self.field.one / self**-exponent

    @property
    def is_null(self) -> bool:
        """Whether it is zero as a rational function, relations left aside."""
        return self.numerator.is_zero()

    @property
    def is_zero(self) -> bool:
        """Whether the relations between kernels make it zero."""
        return self.field.vanishes(self.numerator)

    @property
    def key(self) -> tuple[str, str]:
        """The same for equal elements (as rational functions)."""
        return str(self.numerator), str(self.denominator)


class KernelField:
    """The field that a list of expressions generates.

    ``deadline`` is a reading of ``time.monotonic``; :class:`OutOfTime` is raised
    past it. ``tags`` reserves as many extra generators for linear algebra.
    ``is_real`` tells at which points of the real axis an identity is claimed; with
    it, radicals whose arguments have one sign there are taken apart.
    """

    def __init__(
        self,
        expressions: Iterable[sympy.Expr],
        variable: sympy.Symbol,
        *,
        deadline: float,
        tags: int = 0,
        is_real: RealTest | None = None,
    ) -> None:
        expressions = list(expressions)
        self.variable = variable
        self.deadline = deadline
        self.is_real = is_real
        self._units: dict[tuple[str, sympy.Expr], fmpq] = {}
        self._signs: dict[tuple[str, str], int] = {}
        self._roots = 1
        count = self._survey(expressions)
        names = tuple(f"k{i}" for i in range(count)) + tuple(f"z{i}" for i in range(tags))
        self.context = fmpq_mpoly_ctx.get(names, "lex")
        self._generators = self.context.gens()
        self.tags = self._generators[count:]
        self._free = list(reversed(range(count)))
        self._keys: dict[Any, Element] = {}
        self.expressions: dict[int, sympy.Expr] = {}
        self.derivatives: dict[int, Element] = {}
        #: index -> (degree, numerator, denominator): kernel**degree = numerator/denominator
        self.relations: dict[int, tuple[int, fmpq_mpoly, fmpq_mpoly]] = {}
        self.zero = self.number(S.Zero)
        self.one = self.number(S.One)
        self._converted: dict[sympy.Expr, Element] = {}
        self.symbol(variable)

    # --- bookkeeping -----------------------------------------------------

    def check(self, terms: int) -> None:
        """Raise when an intermediate result is too large or the deadline has passed."""
        if terms > MAX_TERMS:
            raise Unsupported("an intermediate result with too many terms")
        if time.monotonic() > self.deadline:
            raise OutOfTime

    def _survey(self, expressions: list[sympy.Expr]) -> int:
        """Fix the units of exponents and angles; an upper bound of the number of kernels."""
        exponents: dict[tuple[str, sympy.Expr], list[sympy.Rational]] = {}
        roots, count = [2], 2
        seen: set[sympy.Basic] = set()
        stack: list[sympy.Basic] = list(expressions)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            stack.extend(node.args)
            if node is S.Exp1:
                _collect(exponents, "exp", S.One, S.One)
            elif node.is_Symbol or node.is_NumberSymbol or node is S.ImaginaryUnit:
                count += 1
            elif isinstance(node, sympy.exp):
                _collect(exponents, "exp", node.args[0], S.One)
            elif node.is_Pow and node.exp.is_Rational:
                if not node.exp.is_Integer:
                    roots.append(int(node.exp.q))
                    count += 4 + (len(sympy.factorint(node.base.p)) if node.base.is_Rational else 0)
                    count += len(sympy.factorint(node.base.q)) if node.base.is_Rational else 0
            elif node.is_Pow:
                logarithm = sympy.log(node.base)
                stack.append(logarithm)
                _collect(exponents, "exp", node.exp * logarithm, S.One)
            elif isinstance(node, HyperbolicFunction):
                _collect(exponents, "exp", node.args[0], S.One)
            elif isinstance(node, TrigonometricFunction):
                half = S.One if isinstance(node, sympy.tan | sympy.cot) else S.Half
                _collect(exponents, "tan", node.args[0], half)
            elif isinstance(node, sympy.log) and node.args[0].is_Rational:
                count += len(sympy.factorint(node.args[0].p)) + len(sympy.factorint(node.args[0].q))
            elif node.is_Function:
                count += 3
                # differentiation brings in these exponents and angles
                with contextlib.suppress(Unsupported):
                    stack.append(_slope_formula(node))
        for (kind, base), values in exponents.items():
            above = reduce(gcd, (int(v.p) for v in values))
            below = reduce(lcm, (int(v.q) for v in values))
            self._units[kind, base] = fmpq(above, below)
            # the base may hold symbols and kernels that occur nowhere by themselves
            count += 2 + len(base.atoms(sympy.Function, sympy.Symbol))
        self._roots = reduce(lcm, roots)
        return count + _SPARE

    def _allocate(self, expression: sympy.Expr) -> tuple[int, Element]:
        if not self._free:
            raise Unsupported("too many kernels")
        index = self._free.pop()
        self.expressions[index] = expression
        return index, Element(self, self._generators[index], self.context.constant(1))

    # --- leaves ----------------------------------------------------------

    def number(self, value: sympy.Rational) -> Element:
        """A rational number."""
        constant = self.context.constant(fmpq(int(value.p), int(value.q)))
        return Element(self, constant, self.context.constant(1))

    def symbol(self, symbol: sympy.Expr) -> Element:
        """A symbol or a named constant."""
        if symbol not in self._keys:
            index, kernel = self._allocate(symbol)
            self._keys[symbol] = kernel
            self.derivatives[index] = self.one if symbol == self.variable else self.zero
        return self._keys[symbol]

    def _imaginary_unit(self) -> Element:
        if S.ImaginaryUnit not in self._keys:
            index, kernel = self._allocate(S.ImaginaryUnit)
            self._keys[S.ImaginaryUnit] = kernel
            self.derivatives[index] = self.zero
            self.relations[index] = (2, self.context.constant(-1), self.context.constant(1))
        return self._keys[S.ImaginaryUnit]

    # --- conversion ------------------------------------------------------

    def convert(self, expression: sympy.Expr) -> Element:
        """The element that ``expression`` is. Raises :class:`Unsupported`, :class:`OutOfTime`."""
        found = self._converted.get(expression)
        if found is None:
            found = self._converted[expression] = self._convert(expression)
        return found

    def _convert(self, e: sympy.Expr) -> Element:
        if e.is_Rational:
            return self.number(e)
        if e.is_Symbol or e is S.Pi or e is S.EulerGamma or e is S.Catalan:
            return self.symbol(e)
        if e is S.Exp1:
            return self._exponential(S.One)
        if e is S.ImaginaryUnit:
            return self._imaginary_unit()
        if e.is_Add:
            return reduce(Element.__add__, map(self.convert, e.args))
        if e.is_Mul:
            return reduce(Element.__mul__, map(self.convert, e.args))
        if e.is_Pow:
            return self._power(e)
        if isinstance(e, sympy.exp):
            return self._exponential(e.args[0])
        if isinstance(e, TrigonometricFunction):
            return self._trigonometric(e)
        if isinstance(e, HyperbolicFunction):
            return self._hyperbolic(e)
        if isinstance(e, sympy.log):
            return self._logarithm(e.args[0])
        if isinstance(e, sympy.Abs):
            u = self._real(e.args[0])
            return self._sign(u) * u
        if isinstance(e, sympy.sign):
            return self._sign(self._real(e.args[0]))
        if isinstance(e, sympy.Heaviside):
            sign = self._sign(self._real(e.args[0]))
            return (self.one + sign) * self.number(S.Half)
        if isinstance(e, sympy.floor | sympy.ceiling):
            return self._kernel(type(e).__name__, self._real(e.args[0]), e, self.zero)
        if isinstance(e, sympy.Max | sympy.Min | sympy.Piecewise):
            signs = as_signs(e)
            if signs.has(sympy.Piecewise):
                raise Unsupported("cases that are no comparisons")
            return self.convert(signs)
        if e.is_Function:
            return self._function(e)
        raise Unsupported(f"no kernel for {type(e).__name__}")

    def _real(self, e: sympy.Expr) -> Element:
        # SymPy cannot tell that sqrt(x - 1) is real where the integrand is; what is
        # claimed about Abs and sign is claimed where their arguments are real
        if e.is_extended_real is False or e.has(S.ImaginaryUnit):
            raise Unsupported("the absolute value of something complex")
        return self.convert(e)

    def _sign(self, u: Element) -> Element:
        """sign(u) for real u, as a product over the factors of u."""
        constant, factors = _factors(u)
        value = self.one if constant > 0 else self.zero - self.one
        for polynomial, power in factors:
            if power % 2 == 0:
                continue
            orientation = self._orientation(polynomial)
            if orientation:
                value = value * self.number(sympy.Integer(orientation))
                continue
            whole = self._whole(polynomial)
            key = ("sign", whole.key)
            if key not in self._keys:
                index, kernel = self._allocate(sympy.sign(self.to_sympy(whole)))
                self._keys[key] = kernel
                self.derivatives[index] = self.zero
                self.relations[index] = (2, self.context.constant(1), self.context.constant(1))
            value = value * self._keys[key]
        return value

    def _power(self, e: sympy.Expr) -> Element:
        base, exponent = e.base, e.exp
        if exponent.is_Integer:
            return self.convert(base) ** int(exponent)
        if exponent.is_Rational:
            return self._radical(base, int(exponent.p), int(exponent.q))
        return self._exponential(exponent * sympy.log(base))

    def _radical(self, base: sympy.Expr, p: int, q: int) -> Element:
        """base**(p/q), principal."""
        if base.is_Rational and base.is_positive:
            value = self.one
            factors = {**sympy.factorint(base.p)}
            for prime, power in sympy.factorint(base.q).items():
                factors[prime] = factors.get(prime, 0) - power
            for prime, power in factors.items():
                kernel = self._root_kernel(self.number(sympy.Integer(prime)))
                value = value * kernel ** (power * p * (self._roots // q))
            return value
        if base is S.NegativeOne and q == 2:
            return self._imaginary_unit() ** p
        u = self.convert(base)
        return self._root(u, base) ** (p * (self._roots // q))

    def _root(self, u: Element, base: sympy.Expr) -> Element:
        """The principal root of u of the order that all radicals of the field share.

        Factors that are positive on the real domain are taken out, which is exact:
        (p*w)**(1/q) = p**(1/q) * w**(1/q) for p > 0.
        """
        key = ("root", u.key)
        if key not in self._keys:
            self._keys[key] = self._split_root(u, base)
        return self._keys[key]

    def _split_root(self, u: Element, base: sympy.Expr) -> Element:
        constant, factors = _factors(u)
        value = self._radical(sympy.Rational(int(abs(constant.p)), int(constant.q)), 1, self._roots)
        negative = constant < 0
        above, below = self.context.constant(1), self.context.constant(1)
        for polynomial, power in factors:
            orientation = self._orientation(polynomial)
            if orientation:
                negative ^= orientation < 0 and power % 2 == 1
                value = value * self._root_kernel(self._whole(polynomial * orientation)) ** power
            elif self._roots == 2 and power % 2 == 0:
                size = self._whole(polynomial)
                value = value * (self._sign(size) * size) ** (power // 2)
            elif self._roots == 2:
                # sqrt(p**(2*k + 1)) = |p|**k * sqrt(p) for real p
                size = self._whole(polynomial)
                value = value * (self._sign(size) * size) ** (power // 2)
                above = above * polynomial
            elif power > 0:
                above = above * polynomial**power
            else:
                below = below * polynomial**-power
        rest = Element(self, -above if negative else above, below)
        if rest.numerator.is_one() and rest.denominator.is_one():
            return value
        if (-rest.numerator).is_one() and rest.denominator.is_one() and self._roots == 2:
            return value * self._imaginary_unit()
        return value * self._root_kernel(rest)

    def _root_kernel(self, u: Element) -> Element:
        key = ("kernel", u.key)
        if key not in self._keys:
            order = self._roots
            index, kernel = self._allocate(sympy.Pow(self.to_sympy(u), sympy.Rational(1, order)))
            self._keys[key] = kernel
            self.relations[index] = (order, u.numerator, u.denominator)
            slope = self.derivative(u)
            if not slope.is_null:
                slope = slope / u * self.number(sympy.Rational(1, order)) * kernel
            self.derivatives[index] = slope
        return self._keys[key]

    def _whole(self, polynomial: fmpq_mpoly) -> Element:
        return Element(self, polynomial, self.context.constant(1))

    def _orientation(self, polynomial: fmpq_mpoly) -> int:
        """The sign of ``polynomial`` on the real domain; 0 when it varies or is not known."""
        key = ("orientation", str(polynomial))
        if key not in self._signs:
            self._signs[key] = self._find_orientation(polynomial)
        return self._signs[key]

    def _find_orientation(self, polynomial: fmpq_mpoly) -> int:
        table: dict[int, float] = {}
        for exponents, value in polynomial.to_dict().items():
            size = float(int(value.p)) / float(int(value.q))
            for index, power in enumerate(exponents[1:], start=1):
                if power:
                    number = self._value_of(index)
                    if number is None:
                        return 0
                    size *= number ** int(power)
            degree = int(exponents[0])
            table[degree] = table.get(degree, 0.0) + size
        highest = max(table)
        coefficients = [table.get(k, 0.0) for k in range(highest, -1, -1)]
        if highest > MAX_DEGREE or not np.isfinite(coefficients).all():
            return 0
        roots = np.roots(coefficients)
        # a double root would look like a pair that is almost real
        near = np.abs(roots.imag) < 1e-6 * (1 + np.abs(roots))
        axis = np.unique(roots.real[near])
        gaps = (axis[1:] + axis[:-1]) / 2
        points = [np.array([0.0]), axis - 1, axis + 1, gaps]
        for distance in (1e-2, 1e-4):
            points += [axis - distance * (1 + abs(axis)), axis + distance * (1 + abs(axis))]
        points.append(GRID)
        at = np.unique(np.concatenate(points))
        if axis.size:
            at = at[np.abs(at[:, None] - axis[None, :]).min(axis=1) > 1e-7]
            if self.is_real is None:
                return 0
            at = at[self.is_real(at)]
            if not at.size:
                return 0
        signs = np.sign(np.polyval(coefficients, at))
        return int(signs[0]) if np.all(signs == signs[0]) else 0

    def _value_of(self, index: int) -> float | None:
        """The value of a kernel that is a real number."""
        expression = self.expressions.get(index)
        if expression is None or expression.free_symbols:
            return None
        try:
            return float(expression)
        except TypeError:
            return None

    def _exponential(self, exponent: sympy.Expr) -> Element:
        value = self.one
        for coefficient, base in _linear(exponent):
            if isinstance(base, InverseHyperbolicFunction):
                value = value * self._exponential(coefficient * _as_logarithm(base))
                continue
            if isinstance(base, sympy.log):
                if coefficient.is_Integer:
                    value = value * self.convert(base.args[0]) ** int(coefficient)
                elif self._roots % int(coefficient.q) == 0:
                    value = value * self._radical(
                        base.args[0], int(coefficient.p), int(coefficient.q)
                    )
                else:
                    raise Unsupported("a root of an order that was not foreseen")
                continue
            unit, kernel = self._unit("exp", base, coefficient, sympy.exp)
            value = value * kernel**unit
        return value

    def _unit(self, kind: str, base: sympy.Expr, coefficient: sympy.Rational, make: Any) -> Any:
        """How many units ``coefficient * base`` is, and the kernel of one unit."""
        unit = self._units.get((kind, base))
        if unit is None:
            unit = self._units[kind, base] = fmpq(int(coefficient.p), int(coefficient.q))
        multiple = fmpq(int(coefficient.p), int(coefficient.q)) / unit
        if multiple.q != 1:
            raise Unsupported("an exponent or angle that was not foreseen")
        key = (kind, base)
        if key not in self._keys:
            rate = sympy.Rational(int(unit.p), int(unit.q))
            index, kernel = self._allocate(make(rate * base))
            self._keys[key] = kernel
            inner = self.derivative(self.convert(base)) * self.number(rate)
            slope = kernel if kind == "exp" else self.one + kernel * kernel
            self.derivatives[index] = inner * slope
        return int(multiple.p), self._keys[key]

    def _tangent(self, angle: sympy.Expr) -> Element:
        """The tangent of a sum of angles, by the addition theorem."""
        total = self.zero
        for coefficient, base in _linear(angle):
            if base is S.Pi:
                constant = sympy.tan(coefficient * S.Pi)
                if constant.has(sympy.tan, sympy.zoo):
                    raise Unsupported("an angle whose tangent is no radical")
                part = self.convert(constant)
            else:
                multiple, kernel = self._unit("tan", base, coefficient, sympy.tan)
                part = self._multiple_angle(kernel, multiple)
            total = (total + part) / (self.one - total * part)
        return total

    def _multiple_angle(self, t: Element, n: int) -> Element:
        """tan(n*a) from t = tan(a): imaginary over real part of (1 + i*t)**n."""
        if abs(n) > MAX_POWER:
            raise Unsupported(f"more than the {MAX_POWER}-fold of an angle")
        real, imaginary = self.one, self.zero
        for _ in range(abs(n)):
            real, imaginary = real - imaginary * t, imaginary + real * t
        value = imaginary / real
        return value if n >= 0 else self.zero - value

    def _trigonometric(self, e: sympy.Expr) -> Element:
        angle = e.args[0]
        if isinstance(e, sympy.tan | sympy.cot):
            t = self._tangent(angle)
            return t if isinstance(e, sympy.tan) else self.one / t
        if angle.is_Rational is False and angle.is_number and angle.is_Mul and angle.has(S.Pi):
            value = e.rewrite(sympy.sqrt) if hasattr(e, "_eval_rewrite_as_sqrt") else e
            if value != e:
                return self.convert(value)
        t = self._tangent(angle / 2)
        square = t * t
        if isinstance(e, sympy.sin | sympy.csc):
            value = (t + t) / (self.one + square)
        else:
            value = (self.one - square) / (self.one + square)
        return value if isinstance(e, sympy.sin | sympy.cos) else self.one / value

    def _hyperbolic(self, e: sympy.Expr) -> Element:
        up = self._exponential(e.args[0])
        down = self.one / up
        half = self.number(S.Half)
        sine, cosine = (up - down) * half, (up + down) * half
        match type(e).__name__:
            case "sinh":
                return sine
            case "cosh":
                return cosine
            case "tanh":
                return sine / cosine
            case "coth":
                return cosine / sine
            case "sech":
                return self.one / cosine
            case "csch":
                return self.one / sine
        raise Unsupported(f"no kernel for {type(e).__name__}")

    def _logarithm(self, argument: sympy.Expr) -> Element:
        if argument.is_Rational and argument.is_positive:
            value = self.zero
            for number, sign in ((int(argument.p), 1), (int(argument.q), -1)):
                for prime, power in sympy.factorint(number).items():
                    value = value + self._prime_logarithm(prime) * self.number(
                        sympy.Integer(sign * power)
                    )
            return value
        u = self.convert(argument)
        content = _content(u.numerator)
        value = self.zero
        if content != 1:
            # log(c*u) = log(c) + log(u) for c > 0
            number = sympy.Rational(int(content.p), int(content.q))
            value = self._logarithm(number)
            argument = sympy.expand(argument / number)
            u = Element(self, u.numerator / content, u.denominator)
        return value + self._kernel("log", u, sympy.log(argument), self.derivative(u) / u)

    def _prime_logarithm(self, prime: int) -> Element:
        expression = sympy.log(sympy.Integer(prime))
        return self.symbol(expression)

    def _kernel(self, name: str, u: Element, e: sympy.Expr, slope: Element) -> Element:
        key = (name, u.key)
        if key not in self._keys:
            index, kernel = self._allocate(e)
            self._keys[key] = kernel
            self.derivatives[index] = slope
        return self._keys[key]

    def _function(self, e: sympy.Expr) -> Element:
        """A function that stays a kernel; its derivative is a formula in the argument."""
        u = self.convert(e.args[-1])
        extra = [self.convert(arg) for arg in e.args[:-1]]
        if any(not self.derivative(a).is_null for a in extra):
            raise Unsupported("a function of several arguments that vary")
        name = type(e).__name__ + "".join(str(a.key) for a in extra)
        key = (name, u.key)
        if key in self._keys:
            return self._keys[key]
        slope = self.derivative(u)
        if slope.is_null:
            return self._kernel(name, u, e, self.zero)
        slope = slope * self.convert(_slope_formula(e))
        return self._kernel(name, u, e, slope)

    # --- differentiation and normal forms ---------------------------------

    def derivative(self, element: Element) -> Element:
        """D(element)."""
        n, d = element.numerator, element.denominator
        if d.is_constant():
            return self._polynomial_derivative(n)
        top = self._polynomial_derivative(n)
        bottom = self._polynomial_derivative(d)
        if bottom.is_null:
            return top / Element(self, d, self.context.constant(1))
        whole = Element(self, d, self.context.constant(1))
        return (top - element * bottom) / whole

    def _polynomial_derivative(self, polynomial: fmpq_mpoly) -> Element:
        total = self.zero
        for index, degree in enumerate(polynomial.degrees()):
            if degree and index in self.derivatives:
                slope = self.derivatives[index]
                if not slope.is_null:
                    partial = polynomial.derivative(index)
                    total = total + slope * Element(self, partial, self.context.constant(1))
        return total

    def reduce(self, polynomial: fmpq_mpoly) -> fmpq_mpoly:
        """``polynomial`` times a non-zero factor, with algebraic kernels at low degree."""
        if polynomial.is_constant():
            return polynomial
        degrees = polynomial.degrees()
        for index in sorted(self.relations, reverse=True):
            if degrees[index] >= self.relations[index][0]:
                polynomial = self._reduce_by(polynomial, index, degrees[index])
                # a relation may bring in kernels of earlier ones
                degrees = polynomial.degrees()
        return polynomial

    def _reduce_by(self, polynomial: fmpq_mpoly, index: int, highest: int) -> fmpq_mpoly:
        order, above, below = self.relations[index]
        rounds = highest // order
        total = self.context.constant(0)
        for power, part in self._by_power(polynomial, index).items():
            self.check(len(part))
            whole, rest = divmod(power, order)
            kept = part * self._generators[index] ** rest if rest else part
            total = total + kept * above**whole * below ** (rounds - whole)
        self.check(len(total))
        return total

    def _by_power(self, polynomial: fmpq_mpoly, index: int) -> dict[int, fmpq_mpoly]:
        """The coefficients of ``polynomial`` as one in kernel ``index``, by its powers."""
        parts: dict[int, dict[tuple[int, ...], fmpq]] = {}
        for exponents, value in polynomial.to_dict().items():
            rest = (*exponents[:index], 0, *exponents[index + 1 :])
            parts.setdefault(int(exponents[index]), {})[rest] = value
        return {power: self.context.from_dict(terms) for power, terms in parts.items()}

    def rationalised(self, element: Element) -> Element:
        """``element`` with no square root in its denominator, by conjugates.

        Denominators that differ in roots alone then have factors in common. Unchanged
        where a conjugate is zero, and where roots are of another order.
        """
        for index in sorted(self.relations, reverse=True):
            order, above, below = self.relations[index]
            if order != 2 or not element.denominator.degrees()[index]:
                continue
            free, held = self._apart(element.denominator, index)
            root = self._whole(self._generators[index])
            conjugate = free - held * root
            norm = free * free - held * held * Element(self, above, below)
            if norm.is_zero:
                return element
            over = element.numerator * conjugate.numerator
            top = self._apart(over, index)
            element = (top[0] + top[1] * root) / (norm * self._whole(conjugate.denominator))
        return element

    def _apart(self, polynomial: fmpq_mpoly, index: int) -> tuple[Element, Element]:
        """(a, b) with ``polynomial`` = a + b*kernel, for a kernel that is a square root."""
        _, above, below = self.relations[index]
        square = Element(self, above, below)
        apart = [self.zero, self.zero]
        for power, part in self._by_power(polynomial, index).items():
            apart[power % 2] += self._whole(part) * square ** (power // 2)
        return apart[0], apart[1]

    def vanishes(self, polynomial: fmpq_mpoly) -> bool:
        """Whether the relations make ``polynomial`` zero."""
        return self.reduce(polynomial).is_zero()

    # --- back to SymPy -----------------------------------------------------

    def to_sympy(self, element: Element) -> sympy.Expr:
        """The element as an expression."""
        return self._polynomial(element.numerator) / self._polynomial(element.denominator)

    def _polynomial(self, polynomial: fmpq_mpoly) -> sympy.Expr:
        terms = []
        for exponents, value in polynomial.to_dict().items():
            factors = [sympy.Rational(int(value.p), int(value.q))]
            factors += [
                self.expressions[i] ** int(power) for i, power in enumerate(exponents) if power
            ]
            terms.append(sympy.Mul(*factors))
        return sympy.Add(*terms)

    def is_constant_kernel(self, index: int) -> bool:
        """Whether kernel ``index`` is a constant that a coefficient may contain."""
        return (
            index in self.derivatives
            and self.derivatives[index].is_null
            and not isinstance(self.expressions[index], _STEPS)
        )


def _slope_formula(e: sympy.Expr) -> sympy.Expr:
    """g'(u) for e = g(u) (the last argument of several). Raises :class:`Unsupported`."""
    mark = sympy.Dummy("u", real=e.args[-1].is_extended_real)
    try:
        formula = e.func(*e.args[:-1], mark).diff(mark)
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        raise Unsupported(f"no derivative of {type(e).__name__}") from None
    if formula.has(sympy.Derivative, sympy.Subs, sympy.DiracDelta):
        raise Unsupported(f"no derivative of {type(e).__name__}")
    return formula.xreplace({mark: e.args[-1]})


def _collect(
    table: dict[tuple[str, sympy.Expr], list[sympy.Rational]],
    kind: str,
    argument: sympy.Expr,
    weight: sympy.Rational,
) -> None:
    for coefficient, base in _linear(argument):
        table.setdefault((kind, base), []).append(coefficient * weight)


def _as_logarithm(e: sympy.Expr) -> sympy.Expr:
    """An inverse hyperbolic function by its definition, principal values included."""
    u = e.args[0]
    if isinstance(e, sympy.acoth | sympy.acsch | sympy.asech):
        u = 1 / u
    if isinstance(e, sympy.atanh | sympy.acoth):
        return sympy.log(1 + u) / 2 - sympy.log(1 - u) / 2
    if isinstance(e, sympy.asinh | sympy.acsch):
        return sympy.log(u + sympy.sqrt(u**2 + 1))
    return sympy.log(u + sympy.sqrt(u - 1) * sympy.sqrt(u + 1))


def _linear(expression: sympy.Expr) -> list[tuple[sympy.Rational, sympy.Expr]]:
    """``expression`` as rational multiples of terms."""
    pairs = []
    for term in sympy.Add.make_args(sympy.expand(expression)):
        coefficient, rest = term.as_coeff_Mul(rational=True)
        if coefficient != 0:
            pairs.append((coefficient, rest))
    return pairs


def _factors(u: Element) -> tuple[fmpq, list[tuple[fmpq_mpoly, int]]]:
    """Constant and irreducible factors with exponents, negative for the denominator."""
    above, top = u.numerator.factor()
    below, bottom = u.denominator.factor()
    factors = [(p, int(e)) for p, e in top] + [(p, -int(e)) for p, e in bottom]
    return fmpq(above) / fmpq(below), factors


def _content(polynomial: fmpq_mpoly) -> fmpq:
    """The positive gcd of the coefficients."""
    above, below = 0, 1
    for value in polynomial.coeffs():
        above = gcd(above, int(value.p))
        below = lcm(below, int(value.q))
    return fmpq(above or 1, below)
