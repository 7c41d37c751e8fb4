"""How people write: orders of terms and factors, roots or powers, fractions or negative powers.

One :class:`Writer` serves one problem, so that a problem is written in one style.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tokenizer.tree import Tree, call, constant, integer, negated, rational, symbol

X: Final = symbol("x")
ONE: Final = integer(1)

#: A base and its exponent.
Power = tuple[Tree, Fraction]


@dataclass(frozen=True, slots=True)
class Quotient:
    """An integrand ``tree`` written as a quotient, and how to write 1/denominator again."""

    tree: Tree
    above: tuple[Tree, ...]
    below: tuple[Tree, ...]

    def over(self, factor: Tree = ONE) -> Tree:
        """``factor`` over the denominator of the integrand, in its own pieces."""
        tree = product([factor, *self.above])
        return call("div", tree, product(self.below)) if self.below else tree


class Writer:
    """Numbers, polynomials and products in one person's style."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        draw = rng.random
        self.ascending = draw() < 0.55
        self.root_as_power = draw() < 0.12
        self.negative_powers = draw() < 0.06
        self.shuffled = draw() < 0.5
        self.parameters = 0
        #: how numbers are drawn: small for most, of any size for some
        self.large = draw() < 0.04
        self.symbolic = draw() < 0.09

    def chance(self, share: float) -> bool:
        """True for ``share`` of the calls."""
        return self.rng.random() < share

    def small(self, low: int = 1, high: int = 9) -> int:
        """A positive number, the smaller the likelier."""
        if self.large and self.chance(0.5):
            return int(10 ** self.rng.uniform(1, 4.2))
        return min(low + int(self.rng.expovariate(0.45)), high)

    def number(self, unit: float = 0.5) -> Tree:
        """A positive constant: 1 for ``unit`` of the calls, else a number, rarely a letter."""
        if self.symbolic and self.chance(0.5):
            return self.letter()
        if self.chance(unit):
            return ONE
        if self.chance(0.03):
            return rational(self.small(), self.small(2))
        return integer(self.small(2, 12))

    def letter(self) -> Tree:
        """The next parameter, or one that occurs already."""
        if self.parameters and (self.parameters == 3 or self.chance(0.25)):
            return symbol(f"p{self.rng.randrange(self.parameters)}")
        self.parameters += 1
        return symbol(f"p{self.parameters - 1}")

    def sum(self, terms: Sequence[tuple[int, Tree]]) -> Tree:
        """Terms with signs, in the order given: ``-1 + 2*x - x**2``."""
        tree: Tree | None = None
        for sign, term in terms:
            if tree is None:
                tree = negated(term) if sign < 0 else term
            else:
                tree = call("sub" if sign < 0 else "add", tree, term)
        assert tree is not None, "a sum has terms"
        return tree

    def polynomial(self, coefficients: Sequence[int | Tree], u: Tree = X) -> Tree:
        """``coefficients[k]`` times u**k, zeros left out, in the order of the style."""
        terms: list[tuple[int, Tree]] = []
        for k, c in enumerate(coefficients):
            sign, size = (1, c) if isinstance(c, Tree) else (-1 if c < 0 else 1, integer(abs(c)))
            if size == integer(0):
                continue
            if k == 0:
                terms.append((sign, size))
            else:
                power = raised(u, k)
                terms.append((sign, power if size == ONE else call("mul", size, power)))
        if not self.ascending:
            terms.reverse()
        if terms[0][0] < 0 and self.chance(0.7):
            positive = next((i for i, t in enumerate(terms) if t[0] > 0), 0)
            terms[0], terms[positive] = terms[positive], terms[0]
        return self.sum(terms)

    def linear(self, u: Tree = X, *, unit: float = 0.55) -> Tree:
        """a + b*u in one of its shapes."""
        sign = 1 if self.chance(0.65) else -1
        a, b = self.number(unit), self.number(unit)
        if isinstance(a.value, int) and isinstance(b.value, int):
            low, high = a.value, b.value
            if self.chance(0.5):
                return self.polynomial([low, sign * high], u)
            return self.polynomial([sign * low, high], u)
        term = u if b == ONE else call("mul", b, u)
        if self.ascending:
            return call("add" if sign > 0 else "sub", a, term)
        return call("add" if sign > 0 else "sub", term, a)

    def pure(self, n: int, u: Tree = X) -> Tree:
        """a + b*u**n."""
        return self.linear(raised(u, n), unit=0.6)

    def quadratic(self, u: Tree = X) -> Tree:
        """a + b*u + c*u**2, often without its middle."""
        if self.chance(0.45):
            return self.pure(2, u)
        signs = [1 if self.chance(0.7) else -1 for _ in range(3)]
        a, b, c = self.small(), self.small(), 1 if self.chance(0.6) else self.small(2, 6)
        if self.chance(0.15):
            a = 0
        if self.symbolic and self.chance(0.6):
            return self.polynomial([self.letter(), self.letter(), self.letter()], u)
        return self.polynomial([signs[0] * a, signs[1] * b, signs[2] * c], u)

    def any_polynomial(self, degree: int, u: Tree = X, *, dense: float = 0.55) -> Tree:
        """A polynomial of ``degree`` with small coefficients, some of them zero."""
        signs = [1 if self.chance(0.65) else -1 for _ in range(degree + 1)]
        coefficients = [s * self.small() if self.chance(dense) else 0 for s in signs]
        if degree:
            coefficients[degree] = signs[degree] * (1 if self.chance(0.6) else self.small(2, 6))
            if not any(coefficients[:degree]):
                coefficients[self.rng.randrange(degree)] = self.small()
        else:
            coefficients[0] = self.small()
        return self.polynomial(coefficients, u)

    def power(self, base: Tree, exponent: Fraction) -> Tree:
        """base**exponent for a positive exponent, roots in the style of the writer."""
        if exponent == 1:
            return base
        if exponent.denominator == 1:
            return call("pow", base, integer(exponent.numerator))
        if exponent == Fraction(1, 2) and not self.root_as_power:
            return call("sqrt", base)
        return call("pow", base, rational(exponent.numerator, exponent.denominator))

    def quotient(self, factors: Sequence[Power], numerator: Sequence[Tree] = ()) -> Quotient:
        """Product of powers, negative ones below a fraction bar (or as negative powers)."""
        above = [*numerator, *(self.power(b, e) for b, e in factors if e > 0)]
        below = [self.power(b, -e) for b, e in factors if e < 0]
        if self.shuffled:
            self.rng.shuffle(above)
            self.rng.shuffle(below)
        if not below:
            return Quotient(product(above), (), ())
        if self.negative_powers:
            inverses = [_inverse(b, e, self) for b, e in factors if e < 0]
            return Quotient(product([*above, *inverses]), tuple(inverses), ())
        if not above and self.chance(0.05):
            # 1/a/b is rare but people do write it
            tree = ONE
            for base in below:
                tree = call("div", tree, base)
            return Quotient(tree, (), tuple(below))
        if above and self.chance(0.04):
            tree = product([*above[:-1], call("div", above[-1], product(below))])
            return Quotient(tree, (), tuple(below))
        return Quotient(call("div", product(above), product(below)), (), tuple(below))

    def scaled(self, tree: Tree, share: float = 0.1) -> Tree:
        """``tree`` times or over a constant for ``share`` of the calls."""
        if not self.chance(share):
            return tree
        draw = self.rng.random()
        if tree.head == "div" and tree.args[0] == ONE and draw < 0.6:
            return call("div", integer(self.small(2, 12)), tree.args[1])
        if draw < 0.55:
            return call("mul", self.coefficient(), tree)
        if draw < 0.7:
            return call("div", tree, integer(self.small(2, 12)))
        if draw < 0.85:
            return negated(tree)
        return call("mul", tree, self.coefficient())

    def with_factor(self, tree: Tree) -> Tree:
        """``tree``, a monomial, with a small integer for a coefficient more often than not."""
        c = integer(self.small()) if self.chance(0.6) else ONE
        if tree.head == "div" and tree.args[0] == ONE:
            return call("div", c, tree.args[1])
        return product([c, tree])

    def coefficient(self) -> Tree:
        """A constant factor."""
        draw = self.rng.random()
        if draw < 0.75:
            return integer(self.small(2, 12))
        if draw < 0.85:
            return rational(self.small(), self.small(2))
        if draw < 0.95:
            return self.letter()
        if draw < 0.97:
            return constant("pi")
        head = self.rng.choice(("sqrt", "sqrt", "exp", "log", "sin", "cos", "tan"))
        return call(head, integer(self.small(2, 7)))

    def argument(self, unit: float = 0.6) -> Tree:
        """What a function is applied to most often: x, k*x, a + b*x, x/k."""
        if self.chance(unit):
            return X
        draw = self.rng.random()
        if draw < 0.5:
            return call("mul", integer(self.small(2, 9)), X)
        if draw < 0.6:
            return call("div", X, integer(self.small(2, 5)))
        if draw < 0.82:
            return self.linear(unit=0.4)
        if draw < 0.94:
            return call("mul", self.letter(), X)
        if draw < 0.97:
            return call("mul", constant("pi"), X)
        return call("add", self.letter(), call("mul", self.letter(), X))


def _inverse(base: Tree, exponent: Fraction, writer: Writer) -> Tree:
    if exponent.denominator == 1:
        return call("pow", base, integer(exponent.numerator))
    if writer.chance(0.3):
        return call("div", ONE, writer.power(base, -exponent))
    return call("pow", base, rational(exponent.numerator, exponent.denominator))


def product(factors: Sequence[Tree]) -> Tree:
    """Left-associated product without ones; 1 if nothing is left."""
    tree: Tree | None = None
    for factor in factors:
        if factor != ONE:
            tree = factor if tree is None else call("mul", tree, factor)
    return tree or ONE


def raised(base: Tree, n: int) -> Tree:
    """base**n, n >= 0."""
    if n == 0:
        return ONE
    return base if n == 1 else call("pow", base, integer(n))


def plus_one(*kernels: Tree) -> Tree:
    """1 + u + v: the base of a sum slot."""
    tree = ONE
    for kernel in kernels:
        tree = call("add", tree, kernel)
    return tree


def function(head: str, argument: Tree, n: int = 1) -> Tree:
    """head(argument)**n, n >= 0."""
    return raised(call(head, argument), n)


def powers_of(kernel: Tree, n: int) -> Tree:
    """Sum slot for 1, u, …, u**n; just 1 for n = 0."""
    return raised(plus_one(kernel), n)
