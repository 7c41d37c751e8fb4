"""A derivative proved formally: both sides as elements of one differential field.

Each function application and each power with an exponent that is no integer becomes a
generator of the field; the derivative of a generator is known from SymPy's rule for its
head and the chain rule. Two elements are compared at random values of the generators
modulo a random large prime (Schwartz, 1980; Zippel, 1979): equal values of different
elements have a chance below size/2^210. Nothing is simplified and nothing multiplied
out, so the cost is that of one walk over both Trees.

Circular functions of one argument u are written in tan(u/2), hyperbolic ones in exp(u).
Powers of one base multiply by adding exponents, as exponentials do, roots of roots are roots,
and positive rational factors are taken out of roots: what holds for principal values
everywhere. Other relations between generators are not used. So a "no" says nothing, and a
"yes" is a proof, with the reservation that ``Abs`` and ``sign`` take real arguments.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final

import sympy
from flint import fmpz_mod_ctx

from service.verification.compositions import CIRCULAR, HYPERBOLIC, PLACE, composed, filled
from service.verification.convert import ConversionError, from_sympy
from service.verification.products import HALF, Rational
from tokenizer.tree import Tree, call, integer

#: Steps between exponents of one base that are looked for.
STEPS: Final = 12
ZERO: Final = integer(0)
ONE: Final = integer(1)
TWO: Final = integer(2)

#: Primes of a positive rational number with their exponents.
Primes = tuple[tuple[int, int], ...]

#: Bases of roots are compared up to fractions of numbers that are not larger. That two residues
#: have such a ratio by chance is below 2^49/2^254 for each pair.
SMALL: Final = 2**24

#: Symbols have roots of orders that divide this; roots of anything else of these orders are powers
#: of one generator.
LEAF: Final = 60

#: Exponentials of u are powers of exp(u/PARTS), for fractions of u of which this is a denominator
#: and which are not larger than SMALL.
PARTS: Final = 2520

#: Heads that are products of powers.
_PRODUCTS: Final = frozenset({"mul", "div", "pow", "sqrt"})


class Unsupported(Exception):
    """A head that has no rule here, or a division by zero at these values."""


@cache
def slope_of(head: str) -> Tree:
    """f'(u) as a Tree in the symbol ``_u``, from SymPy's rule for the function f."""
    u = sympy.Symbol(PLACE, real=True)
    if head == "Abs":
        return Tree("sign", (Tree("symbol", (), PLACE),))
    function = getattr(sympy, head, None)
    if not (isinstance(function, type) and issubclass(function, sympy.Function)):
        raise Unsupported(head)
    try:
        return from_sympy(function(u).diff(u))
    except ConversionError as error:
        raise Unsupported(head) from error


@lru_cache(maxsize=8)
def _residues(above: int) -> fmpz_mod_ctx:
    """The prime field beyond a number."""
    return fmpz_mod_ctx(int(sympy.nextprime(above)))


class DifferentialField:
    """Random values of the generators that two Trees have in common."""

    def __init__(self, residues: fmpz_mod_ctx | None = None, seed: int = 1) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - chances are counted, secrets not needed
        self._residues = residues or _residues(self.rng.getrandbits(254) | 1 << 254)
        self.prime = int(self._residues.modulus())
        self.generators: dict[tuple[str, int], int] = {}
        self.powers: dict[int, list[tuple[int, int]]] = {}
        #: Bases of roots, each with another that it is a rational multiple of.
        self.radicands: dict[int, tuple[int, Primes]] = {}
        #: Value of u -> exp(u).
        self.exponentials: dict[int, int] = {}
        #: Value of a symbol -> its LEAF-th root.
        self.leaves: dict[int, int] = {}
        self.known: dict[Tree, int] = {}
        #: Whether there is a root of anything but a symbol.
        self.rooted = False

    def value(self, tree: Tree) -> int:
        """The element as a residue."""
        found = self.known.get(tree)
        if found is None:
            found = self.known[tree] = self._value(tree)
        return found

    def _value(self, tree: Tree) -> int:
        p, head = self.prime, tree.head
        if head == "integer":
            return int(tree.value or 0) % p
        if head in ("symbol", "constant"):
            return self._leaf(f"{head} {tree.value}")
        if head in _PRODUCTS:
            factors: dict[int, Rational] = {}
            result = self._factors(tree, 1, factors)
            for base, exponent in self._related(factors).items():
                result = result * self._power(base, exponent) % p
            return result % p
        args = [self.value(arg) for arg in tree.args]
        match head:
            case "add":
                return (args[0] + args[1]) % p
            case "sub":
                return (args[0] - args[1]) % p
            case "neg":
                return -args[0] % p
        simpler = composed(tree)
        if simpler is not None:
            return self.value(simpler)
        if head in CIRCULAR:
            return self._circular(head, args[0])
        if head in HYPERBOLIC or head == "exp":
            return self._exponential(head, tree.args[0])
        if len(args) == 1:
            return self._generator(head, args[0])
        raise Unsupported(head)

    def _inverse(self, value: int) -> int:
        if value % self.prime == 0:
            raise Unsupported("division by zero")
        return int(self._residues(value).inverse())  # a fifth of the time of pow(value, -1, p)

    def _raised(self, value: int, exponent: int) -> int:
        return value if exponent == 1 else int(self._residues(value) ** exponent)

    def _leaf(self, name: str) -> int:
        """A symbol: a power of a generator, so that it has roots."""
        root = self._generator(name, 0)
        value = self._raised(root, LEAF)
        self.leaves[value] = root
        return value

    def _generator(self, name: str, argument: int) -> int:
        key = (name, argument)
        if key not in self.generators:
            self.generators[key] = self.rng.randrange(1, self.prime)
        return self.generators[key]

    def _factors(self, tree: Tree, exponent: Rational, into: dict[int, Rational]) -> int:
        """Multiply tree^exponent into ``into`` (base -> exponent); what is left is returned."""
        tree = composed(tree) or tree
        head, args = tree.head, tree.args
        whole = exponent.denominator == 1
        if whole and head == "neg":
            rest = self._factors(args[0], exponent, into)
            return -rest if exponent.numerator % 2 else rest
        if whole and head in ("mul", "div"):
            other = exponent if head == "mul" else -exponent
            left = self._factors(args[0], exponent, into)
            return left * self._factors(args[1], other, into) % self.prime
        if head in ("sqrt", "pow"):
            inner = HALF if head == "sqrt" else _rational(args[1])
            # (u^r)^e = u^(r e): for a whole e, or where the argument of u^r is that of u times r
            if inner is not None and (whole or abs(inner.numerator) < inner.denominator):
                return self._factors(args[0], inner * exponent, into)
        number, radicand = _multiple(tree)
        if radicand is not tree and number > 0:  # (c u)^e = c^e u^e for c > 0
            for part, power in ((number.numerator, exponent), (number.denominator, -exponent)):
                into[part % self.prime] = into.get(part % self.prime, 0) + power
            return self._factors(radicand, exponent, into)
        if head == "pow" and inner is None:
            base = self._step(self.value(args[0]), self.value(args[1]))
        else:
            base = self.value(tree)
        into[base] = into.get(base, 0) + exponent
        return 1

    def _related(self, factors: Mapping[int, Rational]) -> Mapping[int, Rational]:
        """The factors with roots of rational multiples of a radicand written as roots of that."""
        if all(exponent.denominator == 1 for exponent in factors.values()):
            return factors
        related: dict[int, Rational] = {}
        for base, exponent in factors.items():
            other = base
            ratio: Primes = ()
            if base and exponent.denominator != 1 and base not in self.leaves:
                if base not in self.radicands:
                    self.radicands[base] = self._relation(base)
                other, ratio = self.radicands[base]
            for radicand, power in ((other, 1), *ratio):
                related[radicand] = related.get(radicand, 0) + power * exponent
        return related

    def _relation(self, base: int) -> tuple[int, Primes]:
        """A radicand that was met before or ``base``, and the primes of the ratio to it."""
        for other in (1, *self.leaves, *self.radicands):
            ratio = small_ratio(base * self._inverse(other) % self.prime, self.prime)
            if ratio is not None:
                return other, factored(*ratio)
        return base, ()

    def _power(self, base: int, exponent: Rational) -> int:
        """A power with a rational exponent: a whole one, times one of a generator."""
        if base == 0:
            if exponent > 0:
                return 0
            raise Unsupported("a power of zero")
        if exponent.denominator == 1:
            return self._raised(base, int(exponent))
        if base in self.leaves and LEAF % exponent.denominator == 0:
            return self._raised(self.leaves[base], int(LEAF * exponent))
        whole, part = divmod(exponent, 1)
        result = self._raised(base, int(whole))
        return result if base == 1 else result * self._root(base, part) % self.prime

    def _root(self, base: int, exponent: Rational) -> int:
        """A power between 0 and 1."""
        order = LEAF if LEAF % exponent.denominator == 0 else exponent.denominator
        self.rooted = True
        root = self._generator(f"root {order}", base)
        return self._raised(root, int(exponent * order))

    def _step(self, base: int, exponent: int) -> int:
        """base^exponent, an integer step away from a power that has been met, or a new one."""
        if base == 0:
            raise Unsupported("a power of zero")
        met = self.powers.setdefault(base, [(0, 1)])
        for other, value in met:
            step = (exponent - other) % self.prime
            step = step if step <= STEPS else step - self.prime
            if abs(step) <= STEPS:
                return value * self._raised(base, step) % self.prime
        value = self.rng.randrange(1, self.prime)
        met.append((exponent, value))
        return value

    def _circular(self, head: str, argument: int) -> int:
        p, t = self.prime, self._generator("tan of half", argument)
        square = t * t % p
        unit = self._inverse(1 + square)
        sin, cos = 2 * t * unit % p, (1 - square) * unit % p
        return self._ratio(head, sin, cos)

    def _exponential(self, head: str, argument: Tree) -> int:
        p, value = self.prime, self.value(argument)
        e = self.exponentials.get(value)
        if e is None:
            e = self.exponentials[value] = self._product_of_exponentials(argument)
        if head == "exp":
            return e
        half, below = self._inverse(2), self._inverse(e)
        sinh, cosh = (e - below) * half % p, (e + below) * half % p
        return self._ratio(head.removesuffix("h"), sinh, cosh)

    def _product_of_exponentials(self, argument: Tree) -> int:
        terms: dict[int, Rational] = {}
        self._linear(argument, 1, terms)
        p, product = self.prime, 1
        for term, multiple in terms.items():
            power = multiple * PARTS
            if power.denominator == 1 and abs(power.numerator) <= SMALL * PARTS:
                part = self._generator("exp of a part", term)
                product = product * self._raised(part, int(power)) % p
            else:
                of = term * multiple.numerator * self._inverse(multiple.denominator) % p
                product = product * self._generator("exp", of) % p
        return product

    def _linear(self, tree: Tree, times: Rational, into: dict[int, Rational]) -> None:
        """Add ``times`` the terms of a sum to ``into``: term without its content -> multiple."""
        head, args = tree.head, tree.args
        if head in ("add", "sub"):
            self._linear(args[0], times, into)
            self._linear(args[1], times if head == "add" else -times, into)
            return
        if head == "neg":
            self._linear(args[0], -times, into)
            return
        number, rest = _multiple(tree)
        if rest is not tree:
            self._linear(rest, times * number, into)
            return
        value, content = self.value(tree), _content(tree)
        if content != 1:
            value = value * content.denominator * self._inverse(content.numerator) % self.prime
        if value > self.prime // 2:
            value, content = self.prime - value, -content
        if value:
            into[value] = into.get(value, 0) + times * content

    def _ratio(self, head: str, sin: int, cos: int) -> int:
        match head:
            case "sin":
                return sin
            case "cos":
                return cos
            case "tan":
                return sin * self._inverse(cos) % self.prime
            case "cot":
                return cos * self._inverse(sin) % self.prime
            case "sec":
                return self._inverse(cos)
        return self._inverse(sin)


def slope(tree: Tree, variable: str, seen: dict[Tree, Tree | None]) -> Tree | None:
    """The derivative as the rules write it, None where it is zero. Raises :class:`Unsupported`."""
    if tree not in seen:
        seen[tree] = _slope(tree, variable, seen)
    return seen[tree]


def _slope(tree: Tree, variable: str, seen: dict[Tree, Tree | None]) -> Tree | None:
    head, args = tree.head, tree.args
    if not args:
        return ONE if head == "symbol" and tree.value == variable else None
    slopes = [slope(arg, variable, seen) for arg in args]
    if not any(slopes):
        return None
    first = slopes[0]
    second = slopes[1] if len(args) == 2 else None
    match head:
        case "add":
            return call("add", first, second) if first and second else first or second
        case "sub":
            if first and second:
                return call("sub", first, second)
            return first or call("neg", second or ONE)
        case "mul":
            parts = [
                call("mul", of, by)
                for of, by in ((first, args[1]), (second, args[0]))
                if of is not None
            ]
            return parts[0] if len(parts) == 1 else call("add", *parts)
        case "div":
            left = call("div", first, args[1]) if first else None
            if second is None:
                return left
            right = call("div", call("mul", args[0], second), call("pow", args[1], TWO))
            return call("sub", left, right) if left else call("neg", right)
        case "neg":
            return call("neg", first or ONE)
        case "pow":
            left = None
            if first:
                lower = call("pow", args[0], call("sub", args[1], ONE))
                left = call("mul", call("mul", args[1], lower), first)
            if second is None:
                return left
            right = call("mul", call("mul", tree, call("log", args[0])), second)
            return call("add", left, right) if left else right
        case "sqrt":
            return call("div", first or ONE, call("mul", TWO, tree))
        case "sign":
            return None
    if len(args) != 1 or first is None:
        raise Unsupported(head)
    return call("mul", filled(slope_of(head), args[0]), first)


def _rational(tree: Tree) -> Rational | None:
    """The rational number that an exponent such as 3 - 1 or 1/2 is."""
    match tree.head:
        case "integer":
            return int(tree.value or 0)
        case "neg":
            value = _rational(tree.args[0])
            return None if value is None else -value
        case "add" | "sub" | "div":
            left, right = map(_rational, tree.args)
            if left is None or right is None:
                return None
            if tree.head == "add":
                return left + right
            if tree.head == "sub":
                return left - right
            return Fraction(left) / right if right else None
    return None


def _multiple(tree: Tree) -> tuple[Rational, Tree]:
    """(c, u) of a product that is c u for a rational c other than zero; (1, ``tree``) of others."""
    if tree.head in ("mul", "div"):
        left, right = tree.args
        number = _rational(right)
        if number:
            return (number if tree.head == "mul" else Fraction(1) / number), left
        number = _rational(left) if tree.head == "mul" else None
        if number:
            return number, right
    return 1, tree


def _content(tree: Tree) -> Rational:
    """A rational factor that is plain to see in a product or a sum; not zero, and not large."""
    content: Rational = 1
    match tree.head:
        case "integer":
            content = int(tree.value or 1)
        case "neg":
            content = -_content(tree.args[0])
        case "mul":
            content = _content(tree.args[0]) * _content(tree.args[1])
        case "div":
            content = Fraction(_content(tree.args[0])) / _content(tree.args[1])
        case "add" | "sub":
            left, right = map(_content, tree.args)
            above = math.gcd(left.numerator, right.numerator)
            content = Fraction(above, math.lcm(left.denominator, right.denominator))
        case "pow":
            base, exponent = _content(tree.args[0]), _rational(tree.args[1])
            if base != 1 and isinstance(exponent, int) and abs(exponent) <= STEPS:
                content = Fraction(base) ** exponent
    return content if max(abs(content.numerator), content.denominator) <= SMALL else 1


def small_ratio(value: int, prime: int) -> tuple[int, int] | None:
    """(n, d) with n/d = value modulo ``prime`` and 0 < n, d <= SMALL, if there is one.

    Euclid's algorithm (Wang, 1981); at most one such fraction exists, since SMALL^2 is far
    below the prime.
    """
    before, after = (prime, 0), (value, 1)
    while after[0] > SMALL:
        factor = before[0] // after[0]
        before, after = after, (before[0] - factor * after[0], before[1] - factor * after[1])
    n, d = after
    return (n, d) if n > 0 and 0 < d <= SMALL else None


@lru_cache(maxsize=256)
def factored(numerator: int, denominator: int) -> Primes:
    """The primes of a fraction with their exponents."""
    fraction = sympy.factorrat(sympy.Rational(numerator, denominator))
    return tuple((int(prime), int(power)) for prime, power in fraction.items())
