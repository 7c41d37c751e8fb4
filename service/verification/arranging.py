"""An answer arranged for reading, without a computer algebra system.

A Tree is read into products of powers of *bases* (symbols, functions, sums) and sums of
such products, like ones collected; every sum takes the shortest of a few forms (common
factors taken out, a common denominator) and is written as a Tree again. Nothing is multiplied
out and no polynomial is factored. What comes out is a proposal: callers prove it
(:func:`service.verification.proofs.identical`).

Elementary functions of variables are known here. What SymPy would simplify by knowing more
(functions of numbers, of negative arguments, moduli hidden in roots) is :class:`Outside`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from service.verification.compositions import DIRECT, INVERSE, composed, is_composed
from service.verification.products import (
    HALF,
    ONE,
    ZERO,
    Base,
    Product,
    Rational,
    is_below,
    plain,
    quotient,
    sum_weight,
)
from service.verification.writing import Writer
from tokenizer.tree import Tree

#: Bits of the largest number that a power may make.
MAX_BITS: Final = 400

#: Nodes that a fraction in a fraction counts for.
NESTED: Final = 3

#: Primes whose squares (and higher powers) are taken out of roots.
_PRIMES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)

#: Functions of one argument that nothing else is known about here.
_FUNCTIONS: Final = (DIRECT | INVERSE | {"erf"}) - {"exp"}


class Outside(Exception):
    """An expression with parts that this module does not know."""


def arranged(tree: Tree) -> Tree:
    """``tree`` in its shorter form. Raises :class:`Outside`."""
    reader = _Reader()
    return Writer(reader).product(reader.read(tree))


class _Reader:
    """Products out of Trees; equal bases are one object within one reader."""

    def __init__(self) -> None:
        self._bases: dict[tuple[object, ...], Base] = {}
        self._read: dict[Tree, Product] = {}

    def read(self, tree: Tree) -> Product:
        found = self._read.get(tree)
        if found is None:
            found = self._read[tree] = self._compute(tree)
        return found

    def _compute(self, tree: Tree) -> Product:
        args = tree.args
        simpler = composed(tree)
        if simpler is not None:
            return self.read(simpler)
        match tree.head:
            case "integer":
                return Product(int(tree.value or 0), {})
            case "symbol":
                return Product(1, {self._base("leaf", str(tree.value)): 1})
            case "constant":
                if tree.value != "pi":
                    raise Outside(tree.value)
                return Product(1, {self._base("leaf", "pi"): 1})
            case "add" | "sub":
                return self.gathered(self._terms(tree))
            case "neg":
                return self.read(args[0]).times(-1)
            case "mul":
                return self._times(self.read(args[0]), self.read(args[1]))
            case "div":
                return self._times(self.read(args[0]), self._power(self.read(args[1]), -1))
            case "sqrt":
                return self._power(self.read(args[0]), HALF)
            case "pow":
                base, exponent = self.read(args[0]), self.read(args[1])
                if exponent.powers:
                    raise Outside("a variable exponent")
                return self._power(base, exponent.coefficient)
            case "exp":
                return self.exponential(self.read(args[0]))
        if tree.head in _FUNCTIONS:
            return self.call(tree.head, self.read(args[0]))
        raise Outside(tree.head)

    def _base(self, kind: str, head: str, part: Product | None = None, number: int = 0) -> Base:
        key = (kind, head, number) if part is None else (kind, head, part.key, part.coefficient)
        found = self._bases.get(key)
        if found is None:
            parts = () if part is None else (part,)
            found = self._bases[key] = Base(kind, head, parts, number, len(self._bases))
        return found

    # sums

    def _terms(self, tree: Tree) -> list[Product]:
        terms: list[Product] = []
        while tree.head in ("add", "sub"):  # a long sum leans to the left
            left, right = tree.args
            term = self.read(right)
            terms.append(term.times(-1) if tree.head == "sub" else term)
            tree = left
        terms.append(self.read(tree))
        terms.reverse()
        return terms

    @staticmethod
    def _collected(terms: Iterable[Product]) -> list[Product]:
        """The terms of the sum, sums among them taken apart and like terms added."""
        total: dict[frozenset[tuple[Base, Rational]], Product] = {}
        for term in terms:
            base = term.alone
            inner: Iterable[Product] = (term,)
            if base is not None and base.kind == "sum":
                inner = [part.times(term.coefficient) for part in base.parts]
            for part in inner:
                like = total.get(part.key)
                both = part.coefficient + (like.coefficient if like else 0)
                total[part.key] = Product(plain(both), part.powers) if like else part
        return [term for term in total.values() if term.coefficient]

    def _sum(self, terms: Sequence[Product]) -> Product:
        """The sum with whole coefficients, times what that takes.

        A common factor of the coefficients is taken out where that is shorter.
        """
        if len(terms) < 2:
            return terms[0] if terms else ZERO
        below = math.lcm(*(term.coefficient.denominator for term in terms))
        sign = -1 if all(term.coefficient < 0 for term in terms) else 1
        whole = [term.times(sign * below) for term in terms]
        shared = math.gcd(*(int(term.coefficient) for term in whole))
        if shared != 1:
            coprime = [term.with_coefficient(int(term.coefficient) // shared) for term in whole]
            if sum_weight(coprime) + 2 < sum_weight(whole) or self._known(coprime):
                whole, sign = coprime, sign * shared
        base, turned = self._known(whole) or (None, 1)
        if base is None:
            base = Base("sum", "", tuple(whole), 0, len(self._bases))
            self._bases["sum", frozenset((term.key, term.coefficient) for term in whole)] = base
        return Product(quotient(sign * turned, below), {base: 1})

    def _known(self, terms: Sequence[Product]) -> tuple[Base, int] | None:
        """The sum of these terms, or of their opposites and -1."""
        for sign in (1, -1):
            key = frozenset((term.key, sign * term.coefficient) for term in terms)
            found = self._bases.get(("sum", key))
            if found is not None:
                return found, sign
        return None

    def gathered(self, terms: Iterable[Product]) -> Product:
        """The shortest form of a sum."""
        terms = self._collected(terms)
        if len(terms) < 2:
            return terms[0] if terms else ZERO
        every = [term.powers for term in terms]
        shared = set.intersection(*(set(powers) for powers in every))
        divided = {b for powers in every for b, exponent in powers.items() if is_below(b, exponent)}
        least = {base: _least(every, base) for base in shared | divided}
        divisors: list[dict[Base, Rational]] = [] if divided <= shared else [least]
        if divided & shared:
            divisors.append({base: least[base] for base in shared})
        nearest = {base: _nearest(every, base) for base in shared}
        # of equally long forms the one with a common denominator, then the sum as it is
        forms = [self._without(terms, common) for common in divisors]
        forms.append(self._sum(terms))
        if any(nearest.values()):
            forms.append(self._without(terms, nearest))
        return min(forms, key=_cost) if len(forms) > 1 else forms[0]

    def _without(self, terms: Sequence[Product], common: Mapping[Base, Rational]) -> Product:
        """The sum with the powers ``common`` taken out; a base that is not there has power 0."""
        out = Product(1, {base: -exponent for base, exponent in common.items() if exponent})
        inner = self._sum(self._collected([self._times(term, out) for term in terms]))
        return self._times(inner, Product(1, {b: e for b, e in common.items() if e}))

    # products and powers

    def _times(self, a: Product, b: Product) -> Product:
        powers = dict(a.powers)
        coefficient = a.coefficient * b.coefficient
        whole: list[tuple[Base, Rational]] = []
        for base, exponent in b.powers.items():
            total = plain(powers.get(base, 0) + exponent)
            if base.kind in ("number", "product") and base in powers:
                del powers[base]
                whole.append((base, total))
            elif total:
                powers[base] = total
            else:
                del powers[base]
        result = Product(plain(coefficient), powers if coefficient else {})
        for base, exponent in whole:
            result = self._times(result, self._of_root(base, exponent))
        for root in [base for base in result.powers if base.kind == "product"]:
            result = self._into_root(result, root)
        return result

    def _into_root(self, product: Product, root: Base) -> Product:
        """x/sqrt(c x) as sqrt(c x)/c, and sqrt(x) sqrt(c x) as sqrt(c) x for a positive c."""
        (inner,) = root.parts
        base = next(iter(inner.powers))
        exponent, degree = product.powers.get(base, 0), product.powers[root]
        if len(inner.powers) > 1 or inner.powers[base] != 1:
            return product
        powers = dict(product.powers)
        if exponent.denominator != 1:
            if inner.coefficient < 0 or degree.denominator != HALF.denominator:
                return product
            del powers[root]
            powers[base] = plain(exponent + degree)
            if not powers[base]:
                del powers[base]
            number = self._root_of_number(inner.coefficient, Fraction(degree))
            return self._times(Product(product.coefficient, powers), number)
        if exponent * degree >= 0:
            return product
        powers[root] = plain(degree + powers.pop(base))
        scale = _raised(inner.coefficient, -int(exponent))
        return Product(plain(product.coefficient * scale), powers)

    def _of_root(self, base: Base, exponent: Rational) -> Product:
        """A power of what only stands under roots: its whole part is taken out."""
        if base.kind == "product" and exponent.denominator == 1:
            return self._power(base.parts[0], exponent)
        if base.kind == "product":
            return Product(1, {base: exponent})
        whole = math.floor(exponent)
        powers: dict[Base, Rational] = {base: exponent - whole} if exponent != whole else {}
        return Product(_raised(base.number, whole), powers)

    def _power(self, of: Product, exponent: Rational) -> Product:
        if exponent.denominator != 1:
            return self._root(of, Fraction(exponent))
        if not of.coefficient:
            raise Outside("a power of zero")
        result = Product(_raised(of.coefficient, int(exponent)), {})
        for base, inner in of.powers.items():
            raised = plain(inner * exponent)
            if base.kind in ("number", "product"):
                result = self._times(result, self._of_root(base, raised))
            elif raised:
                result.powers[base] = raised
        return result

    def _root(self, of: Product, exponent: Fraction) -> Product:
        """A power with a fraction as exponent. No root of a product is taken apart."""
        outer, inner = _perfect(of.coefficient, exponent)
        if not of.powers:
            return self._times(Product(outer, {}), self._root_of_number(inner, exponent))
        if inner == 1 and len(of.powers) == 1:
            ((base, power),) = of.powers.items()
            # (u^(1/2))^(1/2) = u^(1/4): the argument of the inner one is in the right half-plane
            if base.kind != "exp" and 0 < power <= 1:
                return Product(outer, {base: plain(power * exponent)})
        if any(b.kind == "exp" or power % 2 == 0 for b, power in of.powers.items()):
            raise Outside("a modulus")  # of a real variable
        return Product(outer, {self._base("product", "", Product(inner, of.powers)): exponent})

    def _root_of_number(self, number: Rational, exponent: Fraction) -> Product:
        if number == 1:
            return ONE
        if number <= 0 or exponent.denominator != 2:
            raise Outside("a root of a number")
        radicand = number.numerator * number.denominator
        root = self._of_root(self._base("number", "", number=radicand), exponent)
        # (p/q)^(n/2) = (p q)^(n/2) / q^n
        return root.times(_raised(Fraction(1, number.denominator), exponent.numerator))

    # functions

    def exponential(self, of: Product) -> Product:
        """exp of a product."""
        variable = [base for base in of.powers if base.kind != "number" and base.head != "pi"]
        if not variable:
            raise Outside("exp of a number")
        if len(variable) == 1 and variable[0].head == "log" and of.powers[variable[0]] == 1:
            raise Outside("exp of a logarithm")
        inner = Product(1, of.powers)
        return Product(1, {self._base("exp", "exp", inner): of.coefficient})

    def call(self, head: str, of: Product) -> Product:
        """A function of a product."""
        alone = of.alone
        if not any(base.kind != "leaf" or base.head != "pi" for base in of.powers):
            raise Outside("a function of a number")
        if of.coefficient < 0 and (alone is None or alone.kind != "sum"):
            raise Outside("a function of a negative argument")
        if alone is not None and alone.kind == "sum":
            parts = alone.parts
            if any(not p.powers.keys() - {self._base("leaf", "pi")} and p.powers for p in parts):
                raise Outside("a period")
        if head == "log" and any(base.kind == "exp" for base in of.powers):
            raise Outside("a logarithm of an exponential")
        if alone is not None and is_composed(head, alone.head):
            raise Outside("a function of its inverse")
        return Product(1, {self._base("call", head, of): 1})


def _cost(form: Product) -> int:
    """The weight, and more for a fraction in a fraction, which is hard to read."""
    divided = any(is_below(base, exponent) for base, exponent in form.powers.items())
    nested = divided and any(
        is_below(base, exponent)
        for one, power in form.powers.items()
        if one.kind == "sum" and power == 1
        for term in one.parts
        for base, exponent in term.powers.items()
    )
    return form.weight + NESTED * nested


def _raised(number: Rational, exponent: int) -> Rational:
    if number == 1 or exponent == 1:
        return number
    size = max(abs(number.numerator), number.denominator).bit_length()
    if size * abs(exponent) > MAX_BITS and size > 1:
        raise Outside("a large number")
    return plain(Fraction(number) ** exponent)


def _perfect(number: Rational, exponent: Fraction) -> tuple[Rational, Rational]:
    """(a, b) with number^exponent = a b^exponent and b without a q-th power, exponent = p/q."""
    degree = exponent.denominator
    above, below = (_largest_root(n, degree) for n in (abs(number.numerator), number.denominator))
    rest = number * Fraction(below, above) ** degree
    return _raised(Fraction(above, below), exponent.numerator), plain(rest)


def _largest_root(number: int, degree: int) -> int:
    """The largest r that is made of small primes and has r^degree divide ``number``."""
    root = 1
    for prime in _PRIMES:
        power = prime**degree
        if power > number:
            break
        while number and number % power == 0:
            number //= power
            root *= prime
    return root


def _least(every: Sequence[Mapping[Base, Rational]], base: Base) -> Rational:
    return min(powers.get(base, 0) for powers in every)


def _nearest(every: Sequence[Mapping[Base, Rational]], base: Base) -> Rational:
    """The exponent nearest to zero that all terms have a share in."""
    exponents = [powers[base] for powers in every]
    low, high = min(exponents), max(exponents)
    return low if low > 0 else high if high < 0 else 0
