"""Expressions of the kinds that textbooks ask to differentiate.

    tree = textbook(random.Random(0), depth=6)

Products, quotients, sums and chains of elementary functions, with constants and
exponents that are numbers of any size or letters. ``depth`` bounds the nesting
of functions; actual depths are drawn below it, short problems being the rule.
"""

from __future__ import annotations

import random

from models.random_trees import magnitude
from tokenizer.tree import Tree, call, constant, integer, rational, symbol

_COMMON = "sin cos exp log sqrt tan".split()
_LESS_COMMON = (
    "asin acos atan sinh cosh tanh sec csc cot asinh acosh atanh acot asec acsc "
    "coth sech csch acoth asech acsch Abs erf sign"
).split()
_LARGE = 0.3


def textbook(rng: random.Random, depth: int = 6) -> Tree:
    """One problem; functions nest at most ``depth`` deep."""
    # short problems keep their natural frequency: half of what people ask is depth 1 or 2
    depth = min(depth, rng.choices((1, 2, 3, 4, 5, 6), (25, 25, 18, 14, 10, 8))[0])
    draw = rng.random()
    if draw < 0.35:
        return chain(rng, depth)
    if draw < 0.55:
        return call("mul", factor(rng, depth), factor(rng, max(1, depth - 1)))
    if draw < 0.7:
        return call("div", factor(rng, depth), factor(rng, max(1, depth - 1)))
    if draw < 0.9:
        return linear_sum(rng, depth)
    if draw < 0.95:
        return call("pow", chain(rng, depth - 1), chain(rng, min(depth - 1, 2)))
    return call("div", linear_sum(rng, depth), linear_sum(rng, max(1, depth - 1)))


def chain(rng: random.Random, depth: int) -> Tree:
    """A composition of ``depth`` functions or powers, with a coefficient now and then."""
    if depth <= 0:
        return inner(rng)
    draw = rng.random()
    if draw < 0.2:
        tree = call("pow", chain(rng, depth - 1), exponent(rng))
    elif draw < 0.26:
        tree = call("pow", number(rng), chain(rng, depth - 1))
    elif draw < 0.34 and depth > 1:
        op = rng.choice(("mul", "add", "sub", "div"))
        tree = call(op, chain(rng, depth - 1), chain(rng, rng.randrange(2)))
    elif draw < 0.38:
        tree = call("div", coefficient(rng), chain(rng, depth - 1))
    else:
        heads = _COMMON if rng.random() < 0.6 else _LESS_COMMON
        tree = call(rng.choice(heads), chain(rng, depth - 1))
    return scaled(rng, tree, 0.15)


def factor(rng: random.Random, depth: int) -> Tree:
    """Something that stands in a product: a power of x, a polynomial or a chain."""
    if rng.random() < 0.3:
        return power(rng) if rng.random() < 0.6 else polynomial(rng)
    return chain(rng, rng.randint(1, depth))


def linear_sum(rng: random.Random, depth: int) -> Tree:
    """Two to four terms with coefficients."""
    tree = scaled(rng, factor(rng, depth), 0.5)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        tree = call(
            rng.choice(("add", "add", "sub")), tree, scaled(rng, factor(rng, min(depth, 2)), 0.5)
        )
    return call("neg", tree) if rng.random() < 0.03 else tree


def inner(rng: random.Random) -> Tree:
    """What stands innermost: x, k·x, a·x + b, a power, a polynomial, rarely a constant."""
    x = symbol("x")
    draw = rng.random()
    if draw < 0.38:
        return x
    if draw < 0.56:
        return call("mul", coefficient(rng), x)
    if draw < 0.62:
        return call("div", x, coefficient(rng))
    if draw < 0.76:
        return power(rng)
    if draw < 0.94:
        return polynomial(rng)
    return coefficient(rng)


def power(rng: random.Random) -> Tree:
    """x to a constant power."""
    return call("pow", symbol("x"), exponent(rng))


def polynomial(rng: random.Random) -> Tree:
    """Two or three terms of falling degree, the constant last: x**2 - 3*x + 1."""
    degree = rng.choice((1, 1, 2, 2, 2, 3, 4))
    tree: Tree | None = None
    for k in range(degree, -1, -1):
        if tree is not None and k not in (0, degree) and rng.random() < 0.6:
            continue
        x = symbol("x")
        monomial = x if k == 1 else call("pow", x, integer(k))
        if k == 0:
            monomial = coefficient(rng)
        elif rng.random() < 0.6:
            monomial = call("mul", coefficient(rng), monomial)
        if tree is None:
            tree = monomial
        elif rng.random() < 0.15:
            tree = call(rng.choice(("add", "sub")), monomial, tree)
        else:
            tree = call(rng.choice(("add", "add", "sub")), tree, monomial)
    assert tree is not None  # degree >= 1: the loop has run
    return tree


def scaled(rng: random.Random, tree: Tree, chance: float) -> Tree:
    """``tree``, with the given chance times, over or minus something constant."""
    if rng.random() >= chance:
        return tree
    draw = rng.random()
    if draw < 0.65:
        return call("mul", coefficient(rng), tree)
    if draw < 0.8:
        return call("div", tree, coefficient(rng))
    if draw < 0.9:
        return call("neg", tree)
    return call("mul", tree, coefficient(rng))


def exponent(rng: random.Random) -> Tree:
    """An integer, a fraction or a letter (n, n + 1, -n, 1/n)."""
    draw = rng.random()
    if draw < 0.5:
        value = rng.choice((2, 2, 3, 4, 5, magnitude(rng, 0.7)))
        return integer(-value if rng.random() < 0.25 else value)
    if draw < 0.78:
        top, bottom = magnitude(rng, 0.15), magnitude(rng, 0.25) + 1
        return rational(-top if rng.random() < 0.25 else top, bottom)
    letter = parameter(rng)
    if draw < 0.92:
        return letter
    if draw < 0.95:
        return call(rng.choice(("add", "sub")), letter, integer(magnitude(rng, 0.1)))
    return call("neg", letter) if draw < 0.97 else call("div", integer(1), letter)


def coefficient(rng: random.Random) -> Tree:
    """Something constant: mostly a number, else a letter, pi or a small expression of them."""
    draw = rng.random()
    if draw < 0.68:
        return number(rng)
    if draw < 0.88:
        return parameter(rng)
    if draw < 0.92:
        return constant(rng.choice(("pi", "pi", "E")))
    if draw < 0.95:
        return call("sqrt", rng.choice((integer(magnitude(rng, _LARGE)), parameter(rng))))
    op = rng.choice(("mul", "div", "add", "sub"))
    return call(op, parameter(rng), rng.choice((number(rng), parameter(rng), constant("pi"))))


def number(rng: random.Random) -> Tree:
    """A positive integer or fraction, sometimes negative, sometimes large."""
    value = magnitude(rng, _LARGE)
    if rng.random() < 0.15:
        return rational(value, magnitude(rng, _LARGE) + 1)
    return integer(-value if rng.random() < 0.12 else value)


def parameter(rng: random.Random) -> Tree:
    """A letter that is not the variable."""
    return symbol(f"p{rng.choice((0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7))}")
