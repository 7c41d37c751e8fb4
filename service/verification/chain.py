"""A derivative proved formally: both sides as elements of one differential field.

Each function application and each power with an exponent that is no integer becomes a
generator of the field; the derivative of a generator is known from SymPy's rule for its
head and the chain rule. Two elements are compared at random values of the generators
modulo a random large prime (Schwartz, 1980; Zippel, 1979): equal values of different
elements have a chance below size/2^120. Nothing is simplified and nothing multiplied
out, so the cost is that of one walk over both Trees.

Circular functions of one argument u are written in tan(u/2), hyperbolic ones in exp(u),
powers of one base are related by integer steps of the exponent; other relations between
generators are not used. So a "no" says nothing, and a "yes" is a proof, with the
reservation that ``Abs`` and ``sign`` take real arguments.
"""

from __future__ import annotations

import random
from functools import cache, lru_cache
from typing import Final

import sympy

from service.verification.convert import ConversionError, from_sympy
from tokenizer.tree import Tree

#: Steps between exponents of one base that are looked for.
STEPS: Final = 12
_PLACE: Final = "_u"

_CIRCULAR: Final = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
_HYPERBOLIC: Final = frozenset({"sinh", "cosh", "tanh", "coth", "sech", "csch"})


class Unsupported(Exception):
    """A head that has no rule here, or a division by zero at these values."""


@cache
def slope_of(head: str) -> Tree:
    """f'(u) as a Tree in the symbol ``_u``, from SymPy's rule for the function f."""
    u = sympy.Symbol(_PLACE, real=True)
    if head == "Abs":
        return Tree("sign", (Tree("symbol", (), _PLACE),))
    function = getattr(sympy, head, None)
    if not (isinstance(function, type) and issubclass(function, sympy.Function)):
        raise Unsupported(head)
    try:
        return from_sympy(function(u).diff(u))
    except ConversionError as error:
        raise Unsupported(head) from error


@lru_cache(maxsize=8)
def _prime(above: int) -> int:
    return int(sympy.nextprime(above))


class DifferentialField:
    """Random values of the generators that two Trees have in common."""

    def __init__(self, variable: str, seed: int) -> None:
        self.variable = variable
        self.rng = random.Random(seed)  # noqa: S311 - chances are counted, secrets not needed
        self.prime = _prime(self.rng.getrandbits(126) | 1 << 126)
        self.generators: dict[tuple[str, int], int] = {}
        self.powers: dict[int, list[tuple[int, int]]] = {}
        self.known: dict[Tree, int] = {}

    def value(self, tree: Tree, place: int | None = None) -> int:
        """The element as a residue; ``place`` is the value of ``_u``."""
        if place is not None:
            return self._value(tree, place)
        if tree not in self.known:
            self.known[tree] = self._value(tree, None)
        return self.known[tree]

    def _value(self, tree: Tree, place: int | None) -> int:
        p, head = self.prime, tree.head
        if head == "integer":
            return int(tree.value or 0) % p
        if head in ("symbol", "constant"):
            if tree.value == _PLACE and place is not None:
                return place
            return self._generator(f"{head} {tree.value}", 0)
        if head == "pow":
            base, exponent = tree.args
            return self._power(self.value(base, place), exponent, place)
        args = [self.value(arg, place) for arg in tree.args]
        match head:
            case "add":
                return (args[0] + args[1]) % p
            case "sub":
                return (args[0] - args[1]) % p
            case "mul":
                return args[0] * args[1] % p
            case "div":
                return args[0] * self._inverse(args[1]) % p
            case "neg":
                return -args[0] % p
            case "sqrt":
                return self._step(args[0], self._inverse(2))
        if head in _CIRCULAR:
            return self._circular(head, args[0])
        if head in _HYPERBOLIC or head == "exp":
            return self._exponential(head, args[0])
        if len(args) == 1:
            return self._generator(head, args[0])
        raise Unsupported(head)

    def slope(self, tree: Tree) -> int:
        """The derivative by the variable as a residue."""
        p, head = self.prime, tree.head
        if not tree.contains(self.variable):
            return 0
        if head == "symbol":
            return 1
        args = tree.args
        slopes = [self.slope(arg) for arg in args]
        values = [self.value(arg) for arg in args]
        match head:
            case "add":
                return (slopes[0] + slopes[1]) % p
            case "sub":
                return (slopes[0] - slopes[1]) % p
            case "neg":
                return -slopes[0] % p
            case "mul":
                return (slopes[0] * values[1] + values[0] * slopes[1]) % p
            case "div":
                below = self._inverse(values[1])
                return (slopes[0] - values[0] * below % p * slopes[1]) * below % p
            case "pow":
                whole = self.value(tree)
                inner = values[1] * slopes[0] % p * self._inverse(values[0]) % p
                if args[1].contains(self.variable):
                    inner += slopes[1] * self._generator("log", values[0])
                return whole * inner % p
            case "sqrt":
                return slopes[0] * self._inverse(2 * self.value(tree)) % p
            case "sign":
                return 0
        if len(args) != 1:
            raise Unsupported(head)
        return self.value(slope_of(head), values[0]) * slopes[0] % p

    def _inverse(self, value: int) -> int:
        if value % self.prime == 0:
            raise Unsupported("division by zero")
        return pow(value, -1, self.prime)

    def _generator(self, name: str, argument: int) -> int:
        key = (name, argument)
        if key not in self.generators:
            self.generators[key] = self.rng.randrange(1, self.prime)
        return self.generators[key]

    def _power(self, base: int, exponent: Tree, place: int | None) -> int:
        literal = _integer(exponent)
        if literal is not None:
            if base == 0:
                raise Unsupported("a power of zero")
            return pow(base, literal, self.prime)
        return self._step(base, self.value(exponent, place))

    def _step(self, base: int, exponent: int) -> int:
        """base^exponent, an integer step away from a power that has been met, or a new one."""
        if base == 0:
            raise Unsupported("a power of zero")
        met = self.powers.setdefault(base, [(0, 1)])
        for other, value in met:
            step = (exponent - other) % self.prime
            step = step if step <= STEPS else step - self.prime
            if abs(step) <= STEPS:
                return value * pow(base, step, self.prime) % self.prime
        value = self.rng.randrange(1, self.prime)
        met.append((exponent, value))
        return value

    def _circular(self, head: str, argument: int) -> int:
        p, t = self.prime, self._generator("tan of half", argument)
        square = t * t % p
        unit = self._inverse(1 + square)
        sin, cos = 2 * t * unit % p, (1 - square) * unit % p
        return self._ratio(head, sin, cos)

    def _exponential(self, head: str, argument: int) -> int:
        p, e = self.prime, self._generator("exp", argument)
        if head == "exp":
            return e
        half, below = self._inverse(2), self._inverse(e)
        sinh, cosh = (e - below) * half % p, (e + below) * half % p
        return self._ratio(head.removesuffix("h"), sinh, cosh)

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


def _integer(tree: Tree) -> int | None:
    """The integer that an exponent such as 3 - 1 is."""
    if tree.head == "integer":
        return int(tree.value or 0)
    values = [_integer(arg) for arg in tree.args]
    match tree.head, values:
        case "neg", [int(a)]:
            return -a
        case "sub", [int(a), int(b)]:
            return a - b
    return None


class Derivation:
    """The derivative of ``expression`` by the rules alone, to hold hypotheses against."""

    def __init__(self, expression: Tree, variable: str) -> None:
        self._slopes: list[tuple[DifferentialField, int]] | None = []
        try:
            for seed in (1, 2):
                field = DifferentialField(variable, seed)
                self._slopes.append((field, field.slope(expression)))
        except (Unsupported, RecursionError):
            self._slopes = None

    def proves(self, hypothesis: Tree) -> bool:
        """Whether ``hypothesis`` is the derivative; False when that is unknown.

        Needs its arguments of ``Abs`` and ``sign`` to be real, which it does not check.
        """
        if self._slopes is None:
            return False
        try:
            return all(field.value(hypothesis) == slope for field, slope in self._slopes)
        except (Unsupported, RecursionError):
            return False


def follows(expression: Tree, variable: str, hypothesis: Tree) -> bool:
    """Whether ``hypothesis`` is the derivative by the rules alone; see :class:`Derivation`."""
    return Derivation(expression, variable).proves(hypothesis)


def identical(lhs: Tree, rhs: Tree) -> bool:
    """Whether both are the same element of a field; False when that is unknown."""
    try:
        for seed in (1, 2):
            field = DifferentialField("", seed)
            if field.value(lhs) != field.value(rhs):
                return False
    except (Unsupported, RecursionError):
        return False
    return True
