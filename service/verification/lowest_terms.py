"""Rational functions of one variable in lowest terms, factored over the rationals (FLINT)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final

from flint import fmpq, fmpq_poly, fmpz_poly

from tokenizer.tree import Tree, call, integer, rational, symbol

#: Higher powers are not multiplied out; nor are quotients of polynomials of a higher degree.
MAX_EXPONENT: Final = 12
MAX_DEGREE: Final = 24

_ARITHMETIC: Final = frozenset({"add", "sub", "mul", "div", "neg", "pow"})


class NotRational(Exception):
    """A part is no rational function of the variable, or one of too high a degree."""


def is_rational(tree: Tree) -> bool:
    """Whether it is made of numbers, symbols, arithmetic and powers that are numbers."""
    return all(
        node.head in ("integer", "symbol")
        or (node.head in _ARITHMETIC and (node.head != "pow" or not node.args[1].symbols()))
        for node in tree.preorder()
    )


def in_lowest_terms(tree: Tree, variable: str) -> Tree:
    """The factored quotient without common factors. Raises :class:`NotRational`."""
    above, below = _quotient(tree, variable)
    shared = above.gcd(below)
    above, below = above / shared, below / shared
    # content() of a polynomial over the rationals is not there: numerators and denominators
    scale, numerator = above.numer().factor()
    unscale, denominator = below.numer().factor()
    content = fmpq(scale, int(above.denom())) / fmpq(unscale, int(below.denom()))
    number = rational(int(content.p), int(content.q))
    top = _product(numerator, variable)
    bottom = _product(denominator, variable)
    result = number if top is None else call("mul", number, top)
    return result if bottom is None else call("div", result, bottom)


def _quotient(tree: Tree, variable: str) -> tuple[fmpq_poly, fmpq_poly]:
    one = fmpq_poly([1])
    if tree.head == "integer":
        return fmpq_poly([int(tree.value or 0)]), one
    if tree.head == "symbol" and tree.value == variable:
        return fmpq_poly([0, 1]), one
    if tree.head not in _ARITHMETIC:
        raise NotRational(tree.head)
    (a, b), *rest = (_quotient(arg, variable) for arg in tree.args)
    if tree.head == "neg":
        return -a, b
    ((c, d),) = rest
    match tree.head:
        case "add":
            result = (a + c, b) if b == d else (a * d + c * b, b * d)
        case "sub":
            result = (a - c, b) if b == d else (a * d - c * b, b * d)
        case "mul":
            result = a * c, b * d
        case "div":
            result = a * d, b * c
        case _:
            result = _power(a, b, c, d)
    if result[1].degree() < 0 or max(part.degree() for part in result) > MAX_DEGREE:
        raise NotRational("division by zero or a high degree")
    return result


def _power(a: fmpq_poly, b: fmpq_poly, c: fmpq_poly, d: fmpq_poly) -> tuple[fmpq_poly, fmpq_poly]:
    exponent = c / d if c.degree() <= 0 and d.degree() == 0 else None
    if exponent is None or exponent[0].q != 1 or abs(exponent[0]) > MAX_EXPONENT:
        raise NotRational("a power")
    times = int(exponent[0].p)
    return (a**times, b**times) if times >= 0 else (b**-times, a**-times)


def _product(factors: Iterable[tuple[fmpz_poly, int]], variable: str) -> Tree | None:
    powers = [
        _sum(factor, variable)
        if power == 1
        else call("pow", _sum(factor, variable), integer(power))
        for factor, power in factors
    ]
    return reduce(lambda a, b: call("mul", a, b), powers) if powers else None


def _sum(polynomial: fmpz_poly, variable: str) -> Tree:
    terms = [
        call("mul", integer(int(coefficient)), call("pow", symbol(variable), integer(degree)))
        for degree, coefficient in enumerate(polynomial.coeffs())
        if coefficient
    ]
    return reduce(lambda a, b: call("add", a, b), reversed(terms))
