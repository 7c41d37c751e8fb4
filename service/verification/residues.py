"""Residues of expressions in a prime field, with a random element for every kernel.

The evaluation behind the zero test of :mod:`service.verification.kernels`,
which says what it proves. Only identities of complex principal values are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import sympy
from sympy import S

from service.verification.field import Field, draw

#: Exponents c of exp(c*m) are whole multiples of 1/SPLIT for a kernel exp(m/SPLIT).
SPLIT: Final = 720_720  # lcm of 1 … 16

#: Largest numerator or denominator when two arguments are compared for proportion.
RATIO_BOUND: Final = 2**20


class NoValueError(ArithmeticError):
    """A division by zero in the field, or a form that has no rule."""


class Evaluation:
    """One evaluation: a field, random kernels, a choice for every root met on the way.

    ``choices`` is read first and extended by zeros for roots beyond its end.
    ``draws`` holds the random values of the kernels; evaluations that share it
    are at the same point, where they differ by their choices only.
    """

    def __init__(
        self,
        modulus: Field,
        symbol_degrees: dict[sympy.Symbol, int],
        choices: Sequence[int],
        draws: dict[Any, int],
    ) -> None:
        self.field = modulus
        self.p = modulus.p
        self.choices = list(choices)
        #: Whether any kernel other than the symbols took part.
        self.transcendental = False
        self._met = 0
        self._symbol_degrees = symbol_degrees
        self._symbol_roots: dict[sympy.Symbol, int] = {}
        self._memo: dict[sympy.Basic, int] = {}
        self._draws = draws
        self._angles: set[tuple[str, int]] = set()
        self._roots: dict[int, int] = {}
        self._exponentials: list[tuple[int, int]] = []
        self._special: list[tuple[int, Callable[[int, int], int | None]]] = []
        self._shifted: dict[str, list[tuple[int, int]]] = {}
        self._logarithms: list[tuple[int, int]] = []
        self._pi = self._draw("pi")
        self._special.append((modulus.i * self._pi % self.p, self._root_of_unity))

    def _draw(self, key: Any) -> int:
        found = self._draws.get(key)
        if found is None:
            found = self._draws[key] = draw(self.p)
        return found

    def value(self, node: sympy.Basic) -> int:
        """The residue of an expression."""
        found = self._memo.get(node)
        if found is None:
            found = self._memo[node] = self._compute(node) % self.p
        return found

    def _inverse(self, residue: int) -> int:
        if residue % self.p == 0:
            raise NoValueError("division by zero")
        return pow(residue, -1, self.p)

    def _fraction(self, numerator: int, denominator: int) -> int:
        return int(numerator) * self._inverse(int(denominator)) % self.p

    def _compute(self, node: sympy.Basic) -> int:
        p = self.p
        if node.is_Symbol:
            degree = self._symbol_degrees.get(node)
            if degree is None:
                return self._draw(node)
            root = self._symbol_roots[node] = self._draw(node)
            return pow(root, degree, p)
        if node.is_Rational:
            return self._fraction(node.p, node.q) if node.q != 1 else int(node.p)
        if node.is_Add:
            return sum(self.value(arg) for arg in node.args)
        if node.is_Mul:
            product = 1
            for arg in node.args:
                product = product * self.value(arg) % p
            return product
        if node.is_Pow:
            return self._power(node.base, node.exp)
        if node is S.ImaginaryUnit:
            return self.field.i
        if node is S.Pi:
            self.transcendental = True
            return self._pi
        if node is S.Exp1:
            return self._exp([1])
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, *node.args)
        return self._kernel(node)

    def _kernel(self, node: sympy.Basic) -> int:
        """An opaque function of its arguments' values (conditions: of their text)."""
        if node in (S.NaN, S.ComplexInfinity, S.Infinity, S.NegativeInfinity):
            raise NoValueError("not a finite number")
        key: list[Any] = [type(node).__name__]
        if isinstance(node, sympy.Piecewise):
            for branch, condition in node.args:
                key += [self.value(branch), sympy.srepr(condition)]
        elif node.args:
            key += [self.value(arg) for arg in node.args]
        else:
            key.append(str(node))
        return self._named(*key)

    def _named(self, *key: Any) -> int:
        self.transcendental = True
        return self._draw(key)

    # powers and roots

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> int:
        p = self.p
        if exponent.is_Integer:
            residue = self.value(base)
            if exponent < 0:
                return pow(self._inverse(residue), -int(exponent), p)
            return pow(residue, int(exponent), p)
        if exponent.is_Rational:
            return self._rational_power(base, int(exponent.p), int(exponent.q))
        whole = 1
        terms = []
        for term in _terms(exponent):
            if term.is_Rational:
                whole = whole * self._power(base, term) % p
            else:
                terms.append(self.value(term))
        logarithms = self._logarithm_terms(base)
        return whole * self._exp([t * log % p for t in terms for log in logarithms]) % p

    def _rational_power(self, base: sympy.Expr, numerator: int, denominator: int) -> int:
        p = self.p
        if base.is_Symbol and self._symbol_degrees.get(base, 1) % denominator == 0:
            self.value(base)
            exponent = numerator * (self._symbol_degrees[base] // denominator)
            root = self._symbol_roots[base]
            return pow(root if exponent > 0 else self._inverse(root), abs(exponent), p)
        if base is S.NegativeOne:
            return self._exp([self.field.i * self._pi * self._fraction(numerator, denominator) % p])
        return self._residue_power(self.value(base), numerator, denominator)

    def _residue_power(self, b: int, numerator: int, denominator: int) -> int:
        p, order = self.p, self.field.order
        self.transcendental = True
        whole, rest = divmod(numerator, denominator)
        if b == 0:
            if numerator < 0:
                raise NoValueError("division by zero")
            return 0
        integral = pow(b if whole > 0 else self._inverse(b), abs(whole), p)
        if order % denominator:
            return integral * pow(self._named("root", b, denominator), rest, p) % p
        return integral * pow(self._root(b), rest * (order // denominator), p) % p

    def _root(self, b: int) -> int:
        """The root of degree ``field.order`` of b, one of them, the same each time."""
        p = self.p
        found = self._roots.get(b)
        if found is not None:
            return found
        small = self.field.rational(b, 2**30)
        if small is not None and small[0] > 0:
            # positive numbers: roots of primes, of which the others are products
            root = 1
            for number, sign in ((small[0], 1), (small[1], -1)):
                for prime, exponent in sympy.factorint(number, limit=10_000).items():
                    factor = self._chosen_root(prime)
                    root = root * pow(factor, sign * exponent, p) % p
            self._roots[b] = root
            return root
        for known, root in list(self._roots.items()):
            if self.field.rational(known, 2**30) is not None:
                continue
            ratio = self.field.rational(b * pow(known, -1, p) % p, RATIO_BOUND)
            if ratio is not None and ratio[0] > 0:
                scale = self._root(self._fraction(*ratio))
                found = self._roots[b] = root * scale % p
                return found
        return self._chosen_root(b)

    def _chosen_root(self, b: int) -> int:
        found = self._roots.get(b)
        if found is None:
            if b == 1:
                return 1
            root = self.field.root(b)
            if self._met == len(self.choices):
                self.choices.append(0)
            root = root * pow(self.field.unity, self.choices[self._met], self.p) % self.p
            self._met += 1
            found = self._roots[b] = root
        return found

    def _sqrt(self, b: int) -> int:
        return self._residue_power(b % self.p, 1, 2)

    # exponentials and logarithms

    def _exp(self, terms: Iterable[int]) -> int:
        """exp of a sum of residues; proportional terms share a kernel."""
        product = 1
        for term in terms:
            product = product * self._exp_term(term % self.p) % self.p
        return product

    def _exp_term(self, term: int) -> int:
        p = self.p
        if term == 0:
            return 1
        self.transcendental = True
        for known, value_of in self._special:
            ratio = self.field.rational(term * pow(known, -1, p) % p, RATIO_BOUND)
            if ratio is not None:
                special = value_of(*ratio)
                if special is not None:
                    return special
        for known, base in self._exponentials:
            ratio = self.field.rational(term * pow(known, -1, p) % p, RATIO_BOUND)
            if ratio is not None and SPLIT % ratio[1] == 0:
                return pow(base, ratio[0] * (SPLIT // ratio[1]), p)
        base = self._draw(("exp", term))
        self._exponentials.append((term, base))
        return pow(base, SPLIT, p)

    def _root_of_unity(self, numerator: int, denominator: int) -> int | None:
        """exp(I*pi*n/d) where it is known in radicals."""
        if denominator > 60:
            return None
        angle = S.Pi * sympy.Rational(numerator, denominator)
        point = sympy.cos(angle) + S.ImaginaryUnit * sympy.sin(angle)
        if point.has(sympy.cos, sympy.sin):
            return None
        return self.value(point)

    def exponential(self, argument: sympy.Expr, factor: int = 1) -> int:
        """exp(factor*argument)."""
        return self._exp([factor * self.value(term) for term in _terms(argument)])

    def _logarithm_terms(self, argument: sympy.Expr) -> list[int]:
        """log(argument) as a list of terms."""
        if argument is S.Exp1:
            return [1]
        if argument.is_Rational and argument > 0 and max(argument.p, argument.q) < 2**64:
            factors = sympy.factorrat(argument, limit=10_000)
            return [e * self._logarithm(int(prime)) % self.p for prime, e in factors.items()]
        return [self._logarithm(self.value(argument))]

    def _logarithm(self, u: int) -> int:
        p = self.p
        self.transcendental = True
        if u == 0:
            raise NoValueError("log(0)")
        if u == 1:
            return 0
        for known, log in self._logarithms:
            if known == u:
                return log
        for known, log in self._logarithms:
            ratio = self.field.rational(u * pow(known, -1, p) % p, RATIO_BOUND)
            if ratio is not None and ratio[0] > 0 and self.field.rational(known, 2**30) is None:
                scale = sympy.Rational(*ratio)
                return (log + sum(self._logarithm_terms(scale))) % p
        log = self._draw(("log", u))
        self._logarithms.append((u, log))
        # exp(c*log(u)) = u**c
        self._special.append((log, lambda n, d: self._residue_power(u, n, d)))
        return log

    # functions by their definitions

    def log(self, argument: sympy.Expr) -> int:
        return sum(self._logarithm_terms(argument)) % self.p

    def cis(self, argument: sympy.Expr) -> tuple[int, int]:
        """exp(I*u) and exp(-I*u)."""
        z = self.exponential(argument, self.field.i)
        return z, self._inverse(z)

    def pair(self, argument: sympy.Expr) -> tuple[int, int]:
        """exp(u) and exp(-u)."""
        e = self.exponential(argument)
        return e, self._inverse(e)

    def sin(self, u: sympy.Expr) -> int:
        z, w = self.cis(u)
        return (z - w) * self._inverse(2 * self.field.i)

    def cos(self, u: sympy.Expr) -> int:
        z, w = self.cis(u)
        return (z + w) * self._inverse(2)

    def tan(self, u: sympy.Expr) -> int:
        z, w = self.cis(u)
        return (z - w) * self._inverse(self.field.i * (z + w))

    def sinh(self, u: sympy.Expr) -> int:
        e, f = self.pair(u)
        return (e - f) * self._inverse(2)

    def cosh(self, u: sympy.Expr) -> int:
        e, f = self.pair(u)
        return (e + f) * self._inverse(2)

    def tanh(self, u: sympy.Expr) -> int:
        e, f = self.pair(u)
        return (e - f) * self._inverse(e + f)

    def over(self, residue: int) -> int:
        return self._inverse(residue)

    def _inverse_function(self, name: str, u: int, exponential: Callable[[], int]) -> int:
        """An angle kernel; exp(I*angle) is known, so is that of its multiples."""
        p = self.p
        key = (name, u)
        angle = self._named(*key)
        if key not in self._angles:
            self._angles.add(key)

            def power(n: int, d: int) -> int | None:
                if d != 1:
                    return None
                base = exponential() % p
                return pow(base if n > 0 else self._inverse(base), abs(n), p)

            self._special.append((self.field.i * angle % p, power))
        return angle

    def atan(self, u: int) -> int:
        u %= self.p
        i = self.field.i
        if u == 0:
            return 0
        return self._inverse_function(
            "atan", u, lambda: (1 + i * u) * self._inverse(self._sqrt(1 + u * u))
        )

    def asin(self, u: int) -> int:
        u %= self.p
        i = self.field.i
        return self._inverse_function("asin", u, lambda: i * u + self._sqrt(1 - u * u))

    def acos(self, u: int) -> int:
        return (self._pi * self._inverse(2) - self.asin(u)) % self.p

    def asinh(self, u: int) -> int:
        return self._logarithm((u + self._sqrt(u * u + 1)) % self.p)

    def acosh(self, u: int) -> int:
        return self._logarithm((u + self._sqrt(u - 1) * self._sqrt(u + 1)) % self.p)

    def atanh(self, u: int) -> int:
        difference = self._logarithm((1 + u) % self.p) - self._logarithm((1 - u) % self.p)
        return difference * self._inverse(2) % self.p

    def absolute(self, argument: sympy.Expr) -> int:
        u = self.value(argument)
        if argument.is_extended_real:
            return self._sqrt(u * u)
        return self._named("Abs", u)

    def sign(self, argument: sympy.Expr) -> int:
        return self.value(argument) * self._inverse(self.absolute(argument)) % self.p

    def heaviside(self, argument: sympy.Expr) -> int:
        return (1 + self.sign(argument)) * self._inverse(2)

    def extremum(self, sign: int, *args: sympy.Expr) -> int:
        """Max (sign 1) or Min (sign -1) of real arguments: (a + b ± |a - b|)/2, folded."""
        half = self._inverse(2)
        result = self.value(args[0])
        for arg in args[1:]:
            other = self.value(arg)
            gap = self._sqrt((result - other) ** 2)
            result = (result + other + sign * gap) * half % self.p
        return result

    def _shift(self, name: str, u: int, bound: int = 60) -> tuple[int, int]:
        """A kernel argument v and an integer n with u = v + n."""
        known = self._shifted.setdefault(name, [])
        for v, _ in known:
            n = (u - v) % self.p
            n = n - self.p if n > self.p // 2 else n
            if abs(n) <= bound:
                return v, n
        known.append((u, 0))
        return u, 0

    def floor(self, u: int) -> int:
        v, n = self._shift("floor", u % self.p)
        return self._named("floor", v) + n

    def gamma(self, u: int) -> int:
        v, n = self._shift("gamma", u % self.p)
        product = self._named("gamma", v)
        for k in range(n):
            product = product * (v + k) % self.p
        for k in range(n, 0):
            product = product * self._inverse(v + k) % self.p
        return product

    def polygamma(self, order: sympy.Expr, argument: sympy.Expr) -> int:
        u = self.value(argument)
        if not order.is_zero:
            return self._named("polygamma", self.value(order), u)
        v, n = self._shift("digamma", u)
        total = self._named("digamma", v)
        for k in range(n):
            total += self._inverse(v + k)
        for k in range(n, 0):
            total -= self._inverse(v + k)
        return total

    def beta(self, a: int, b: int) -> int:
        return self.gamma(a) * self.gamma(b) * self._inverse(self.gamma(a + b))

    def binomial(self, n: int, k: int) -> int:
        below = self.gamma(k + 1) * self.gamma(n - k + 1)
        return self.gamma(n + 1) * self._inverse(below)

    def modulo(self, a: int, b: int) -> int:
        return a - b * self.floor(a * self._inverse(b))


def _terms(expr: sympy.Expr) -> Sequence[sympy.Expr]:
    """The terms of a sum, multiplied out where that is cheap."""
    if expr.is_Add or expr.is_Mul or expr.is_Pow:
        if any(_unexpanded(part) for part in sympy.Add.make_args(expr)):
            expr = sympy.expand(expr, deep=False)
        terms: Sequence[sympy.Expr] = sympy.Add.make_args(expr)
        return terms
    return (expr,)


def _unexpanded(term: sympy.Expr) -> bool:
    for factor in sympy.Mul.make_args(term):
        if factor.is_Add:
            return True
        if factor.is_Pow and factor.base.is_Add and factor.exp.is_Integer and 1 < factor.exp < 8:
            return True
    return False


def _of_values(function: Callable[..., int]) -> Callable[..., int]:
    return lambda e, *args: function(e, *(e.value(arg) for arg in args))


_E: Final = Evaluation
_RULES: Final[dict[Any, Callable[..., int]]] = {
    sympy.exp: _E.exponential, sympy.log: _E.log,
    sympy.sin: _E.sin, sympy.cos: _E.cos, sympy.tan: _E.tan,
    sympy.csc: lambda e, u: e.over(e.sin(u)), sympy.sec: lambda e, u: e.over(e.cos(u)),
    sympy.cot: lambda e, u: e.over(e.tan(u)),
    sympy.sinh: _E.sinh, sympy.cosh: _E.cosh, sympy.tanh: _E.tanh,
    sympy.csch: lambda e, u: e.over(e.sinh(u)), sympy.sech: lambda e, u: e.over(e.cosh(u)),
    sympy.coth: lambda e, u: e.over(e.tanh(u)),
    sympy.asin: _of_values(_E.asin), sympy.acos: _of_values(_E.acos),
    sympy.atan: _of_values(_E.atan),
    sympy.acsc: _of_values(lambda e, u: e.asin(e.over(u))),
    sympy.asec: _of_values(lambda e, u: e.acos(e.over(u))),
    sympy.acot: _of_values(lambda e, u: e.atan(e.over(u))),
    sympy.asinh: _of_values(_E.asinh), sympy.acosh: _of_values(_E.acosh),
    sympy.atanh: _of_values(_E.atanh),
    sympy.acsch: _of_values(lambda e, u: e.asinh(e.over(u))),
    sympy.asech: _of_values(lambda e, u: e.acosh(e.over(u))),
    sympy.acoth: _of_values(lambda e, u: e.atanh(e.over(u))),
    sympy.Abs: _E.absolute, sympy.sign: _E.sign,
    sympy.Heaviside: lambda e, u, half: e.heaviside(u),
    sympy.Max: lambda e, *args: e.extremum(1, *args),
    sympy.Min: lambda e, *args: e.extremum(-1, *args),
    sympy.erfc: lambda e, u: 1 - e.value(sympy.erf(u, evaluate=False)),
    sympy.floor: _of_values(_E.floor), sympy.ceiling: _of_values(lambda e, u: -e.floor(-u)),
    sympy.Mod: _of_values(_E.modulo),
    sympy.gamma: _of_values(_E.gamma), sympy.factorial: _of_values(lambda e, u: e.gamma(u + 1)),
    sympy.polygamma: _E.polygamma, sympy.beta: _of_values(_E.beta),
    sympy.binomial: _of_values(_E.binomial),
}  # fmt: skip
