"""The form of an antiderivative without its numbers: an *ansatz*.

An antiderivative is written as a sum of terms; each term is stripped of its
constant coefficient, and a polynomial in the variable that multiplies it becomes
a *slot* of a degree: ``(3*x**2 - 1)*exp(x)/7`` is ``Term(exp(x), 2)``. The
coefficients are found again by linear algebra, so a model need not know them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from tokenizer.tree import Tree, call, integer, rational

#: A product of sums is multiplied out to at most this many terms.
MAX_EXPANSION = 64

#: Polynomial multiples of one factor merge into one slot up to this degree.
MAX_SLOT = 12

#: (numerator, denominator) of an exponent, in lowest terms, denominator > 0.
Exponent = tuple[int, int]
#: base -> exponent; a base occurs once.
Factors = dict[Tree, Exponent]


@dataclass(frozen=True, slots=True)
class Term:
    """``(c0 + c1*x + … + cd*x**d) * factor`` with unknown coefficients, d = ``degree``."""

    factor: Tree
    degree: int = 0


def ansatz_of(antiderivative: Tree, variable: str) -> list[Term]:
    """The terms of ``antiderivative``, each once, in order of first appearance.

    Sums are multiplied out, constants dropped, integer and rational powers of one
    polynomial gathered over their common power: ``(1+x)**(3/2)`` beside
    ``sqrt(1+x)`` is ``Term(sqrt(1+x), 1)``. ``log(Abs(u))`` is ``log(u)``.
    The span of the terms contains the antiderivative up to an additive constant.
    """
    groups: dict[frozenset[tuple[Tree, Exponent]], list[_Group]] = {}
    for degree, factors in _expand(_drop_log_abs(antiderivative), variable):
        group = _Group.of(degree, factors, variable)
        alike = groups.setdefault(group.key, [])
        if not any(found.merge(group, variable) for found in alike):
            alike.append(group)
    terms = [group.term() for alike in groups.values() for group in alike]
    return [t for t in dict.fromkeys(terms) if t.degree or t.factor.contains(variable)]


def polynomial_degree(tree: Tree, variable: str) -> int | None:
    """Upper bound of the degree in ``variable``; None when it is no polynomial."""
    if not tree.contains(variable):
        return 0
    if tree.head == "symbol":
        return 1
    degrees = [polynomial_degree(arg, variable) for arg in tree.args]
    if None in degrees:
        return None
    known = [d for d in degrees if d is not None]
    match tree.head:
        case "add" | "sub":
            return max(known)
        case "neg":
            return known[0]
        case "mul":
            return sum(known)
        case "div" if not tree.args[1].contains(variable):
            return known[0]
        case "pow" if tree.args[1].head == "integer":
            return known[0] * int(tree.args[1].value or 0)
    return None


def rational_value(tree: Tree) -> Exponent | None:
    """(numerator, denominator) of a literal rational number, else None."""
    match tree.head:
        case "integer":
            return int(tree.value or 0), 1
        case "neg":
            inner = rational_value(tree.args[0])
            return inner and (-inner[0], inner[1])
        case "div":
            above, below = map(rational_value, tree.args)
            if above and below and below[0]:
                return _reduced(above[0] * below[1], above[1] * below[0])
    return None


def _reduced(numerator: int, denominator: int) -> Exponent:
    divisor = gcd(numerator, denominator) * (1 if denominator > 0 else -1)
    return numerator // divisor, denominator // divisor


def _plus(a: Exponent, b: Exponent) -> Exponent:
    return _reduced(a[0] * b[1] + b[0] * a[1], a[1] * b[1])


def _drop_log_abs(tree: Tree) -> Tree:
    if not tree.args:
        return tree
    args = tuple(_drop_log_abs(arg) for arg in tree.args)
    if tree.head == "log" and args[0].head == "Abs":
        return call("log", args[0].args[0])
    return Tree(tree.head, args, tree.value)


def _expand(tree: Tree, variable: str) -> list[tuple[int, Factors]]:
    """``tree`` as a sum of products: (degree of the polynomial part, other factors)."""
    degree = polynomial_degree(tree, variable)
    if degree is not None and degree <= MAX_SLOT:
        return [(degree, {})]
    match tree.head:
        case "add" | "sub":
            return [part for arg in tree.args for part in _expand(arg, variable)]
        case "neg":
            return _expand(tree.args[0], variable)
        case "mul":
            left, right = (_expand(arg, variable) for arg in tree.args)
            if len(left) * len(right) <= MAX_EXPANSION:
                return [_product(a, b) for a in left for b in right]
        case "div":
            above = _expand(tree.args[0], variable)
            below = _inverse(_single(tree.args[1], variable), variable)
            return [_product(a, below) for a in above]
        case "pow":
            exponent = rational_value(tree.args[1])
            if degree is None and exponent and exponent[1] == 1 and exponent[0] > 1:
                inner = _expand(tree.args[0], variable)
                if len(inner) ** exponent[0] <= MAX_EXPANSION:
                    parts: list[tuple[int, Factors]] = [(0, {})]
                    for _ in range(exponent[0]):
                        parts = [_product(a, b) for a in parts for b in inner]
                    return parts
    return [_single(tree, variable)]


def _single(tree: Tree, variable: str) -> tuple[int, Factors]:
    """``tree`` as one product, sums inside it left as they are."""
    if not tree.contains(variable):
        return 0, {}
    match tree.head:
        case "neg":
            return _single(tree.args[0], variable)
        case "mul":
            return _product(_single(tree.args[0], variable), _single(tree.args[1], variable))
        case "div":
            below = _inverse(_single(tree.args[1], variable), variable)
            return _product(_single(tree.args[0], variable), below)
        case "sqrt":
            return 0, _power(tree.args[0], (1, 2), variable)
        case "pow":
            exponent = rational_value(tree.args[1])
            if exponent is not None:
                return 0, _power(tree.args[0], exponent, variable)
    return 0, {tree: (1, 1)}


def _power(base: Tree, exponent: Exponent, variable: str) -> Factors:
    # (a*b)**(1/2) is left alone: it equals sqrt(a)*sqrt(b) up to a sign only
    if exponent[1] != 1:
        return {base: exponent}
    _, factors = _single(base, variable)
    return {b: _reduced(e[0] * exponent[0], e[1]) for b, e in factors.items()}


def _product(a: tuple[int, Factors], b: tuple[int, Factors]) -> tuple[int, Factors]:
    factors = dict(a[1])
    for base, exponent in b[1].items():
        total = _plus(factors.pop(base), exponent) if base in factors else exponent
        if total[0]:
            factors[base] = total
    return a[0] + b[0], factors


def _inverse(product: tuple[int, Factors], variable: str) -> tuple[int, Factors]:
    # _single never gathers a degree, so all of the product is in its factors
    return 0, {base: (-e[0], e[1]) for base, e in product[1].items()}


@dataclass(slots=True)
class _Group:
    """Terms that differ by a polynomial: kernels times powers of polynomials.

    ``kernels`` are the factors that are no polynomial powers; ``powers`` maps a
    polynomial base to its exponent; ``key`` identifies the group: kernels and
    the fractional parts of the powers.
    """

    degree: int
    kernels: Factors
    powers: Factors
    key: frozenset[tuple[Tree, Exponent]]

    @classmethod
    def of(cls, degree: int, factors: Factors, variable: str) -> _Group:
        kernels: Factors = {}
        powers: Factors = {}
        for base, (n, d) in factors.items():
            if polynomial_degree(base, variable) is None:
                kernels[base] = (n, d)
            else:
                powers[base] = (n, d)
        fractions = {base: (n % d, d) for base, (n, d) in powers.items() if d != 1}
        key = frozenset([*kernels.items(), *fractions.items()])
        group = cls(degree, kernels, powers, key)
        group._lower({b: e for b, e in powers.items() if e[0] > 0 and e[0] >= e[1]}, variable)
        return group

    def _lower(self, bases: Iterable[Tree], variable: str) -> None:
        """Move whole positive powers of ``bases`` into the polynomial slot."""
        for base in list(bases):
            n, d = self.powers[base]
            whole = n // d
            gain = whole * (polynomial_degree(base, variable) or 0)
            if self.degree + gain > MAX_SLOT:
                continue
            self.degree += gain
            if n % d:
                self.powers[base] = (n % d, d)
            else:
                del self.powers[base]

    def merge(self, other: _Group, variable: str) -> bool:
        """Take in ``other`` over the common lowest powers; False if the slot would be too long."""
        common: Factors = {}
        degrees = [self.degree, other.degree]
        for base in self.powers.keys() | other.powers.keys():
            fraction = next(
                (e for e in (self.powers.get(base), other.powers.get(base)) if e), (0, 1)
            )
            zero = (fraction[0] % fraction[1], fraction[1])
            mine, theirs = self.powers.get(base, zero), other.powers.get(base, zero)
            low = min(mine[0], theirs[0])
            size = polynomial_degree(base, variable) or 0
            for i, power in enumerate((mine, theirs)):
                degrees[i] += size * (power[0] - low) // power[1]
            if low:
                common[base] = (low, mine[1])
        if max(degrees) > MAX_SLOT:
            return False
        order = [*self.powers, *other.powers]
        self.powers = {base: common[base] for base in dict.fromkeys(order) if base in common}
        self.degree = max(degrees)
        return True

    def term(self) -> Term:
        above: list[Tree] = []
        below: list[Tree] = []
        for base, (n, d) in [*self.powers.items(), *self.kernels.items()]:
            (above if n > 0 else below).append(_raised(base, abs(n), d))
        product = _times(above) if above else integer(1)
        if below:
            product = call("div", product, _times(below))
        return Term(product, self.degree)


def _raised(base: Tree, numerator: int, denominator: int) -> Tree:
    if (numerator, denominator) == (1, 1):
        return base
    if (numerator, denominator) == (1, 2):
        return call("sqrt", base)
    return call("pow", base, rational(numerator, denominator))


def _times(factors: list[Tree]) -> Tree:
    product = factors[0]
    for factor in factors[1:]:
        product = call("mul", product, factor)
    return product
