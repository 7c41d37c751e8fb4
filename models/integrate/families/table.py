"""The tables' first pages: powers, elementary functions of a + b x, with numbers of any size."""

from __future__ import annotations

import random

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, product
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, constant, integer, negated, rational

#: f(u) -> factors of antiderivatives; U is u, f stands for f(u), other words are functions of u.
PRIMITIVES = {
    "exp": "exp",
    "sin": "cos",
    "cos": "sin",
    "sinh": "cosh",
    "cosh": "sinh",
    "tan": "log-cos",
    "cot": "log-sin",
    "tanh": "log-cosh",
    "coth": "log-sinh",
    "sec": "log-sec+tan",
    "csc": "log-csc+cot",
    "sech": "atan-sinh",
    "csch": "log-tanh/2",
}


def primitive(head: str, u: Tree) -> Tree:
    """An antiderivative of head(u) in u, without its constant."""
    match PRIMITIVES[head].split("-"):
        case [function]:
            return call(function, u)
        case [outer, "sec+tan"]:
            return call(outer, call("add", call("sec", u), call("tan", u)))
        case [outer, "csc+cot"]:
            return call(outer, call("add", call("csc", u), call("cot", u)))
        case [outer, "tanh/2"]:
            return call(outer, call("tanh", call("div", u, integer(2))))
        case [outer, inner]:
            return call(outer, call(inner, u))
    raise AssertionError(head)


def size(w: Writer) -> int:
    """A positive number of any size, uniform in the logarithm half of the time."""
    return w.small(1, 12) if w.chance(0.5) else int(10 ** w.rng.uniform(0.3, 4.5))


def constant_factor(w: Writer) -> Tree:
    """A number, a fraction, a letter, pi."""
    draw = w.rng.random()
    if draw < 0.72:
        return integer(size(w) + 1)
    if draw < 0.84:
        return rational(size(w), size(w) + 1)
    if draw < 0.96:
        return w.letter()
    return constant("pi") if draw < 0.98 else call("sqrt", integer(size(w)))


def inside(w: Writer) -> Tree:
    """x, k*x, x/k, k*x + m."""
    draw = w.rng.random()
    if draw < 0.3:
        return X
    if draw < 0.7:
        return call("mul", constant_factor(w), X)
    if draw < 0.8:
        return call("div", X, constant_factor(w))
    if draw < 0.85:
        return negated(X)
    shift = constant_factor(w)
    scaled = X if w.chance(0.3) else call("mul", constant_factor(w), X)
    pair = (scaled, shift) if w.chance(0.5) else (shift, scaled)
    return call("add" if w.chance(0.6) else "sub", *pair)


def sample(rng: random.Random) -> Problem:
    """k1 * g(k2*x + k3), k * x**n or a constant."""
    w = Writer(rng)
    problem = rng.choices((_function, _power, _logarithm, _exponential), (50, 30, 10, 10))[0](w)
    tree = problem.integrand
    draw = rng.random()
    if draw < 0.3:
        tree = call("mul", constant_factor(w), tree)
    elif draw < 0.36:
        tree = call("div", tree, constant_factor(w))
    elif draw < 0.42:
        tree = negated(tree)
    elif draw < 0.45:
        tree = call("mul", tree, constant_factor(w))
    return Problem(tree, problem.terms)


def _function(w: Writer) -> Problem:
    head = w.rng.choice(("sin", "cos", "exp", "tan", *PRIMITIVES))
    u = inside(w)
    return Problem(call(head, u), (Term(primitive(head, u)),))


def _logarithm(w: Writer) -> Problem:
    u = inside(w)
    integrand = call("log", u)
    return Problem(integrand, (Term(integrand, 1), Term(ONE, 1)))


def _exponential(w: Writer) -> Problem:
    base = integer(size(w) + 1) if w.chance(0.6) else w.letter()
    tree = call("pow", base, inside(w))
    return Problem(tree, (Term(tree),))


def _power(w: Writer) -> Problem:
    """u**n for n an integer, a fraction or a letter, u = x or a + b*x."""
    u = X if w.chance(0.65) else inside(w)
    draw = w.rng.random()
    if draw < 0.15 and u == X:
        # a constant, x, a*x
        tree = constant_factor(w) if w.chance(0.4) else X
        return Problem(tree, (Term(ONE, 2),) if tree == X else (Term(X),))
    if draw < 0.3:
        n = integer(-1)
        tree = call("div", ONE, u) if w.chance(0.85) else call("pow", u, n)
        return Problem(tree, (Term(call("log", u)),))
    if draw < 0.55:
        n = integer(size(w) + 1)
    elif draw < 0.65:
        n = integer(size(w) + 1)
        # an antiderivative is u times the integrand, whatever the exponent
        tree = call("div", ONE, call("pow", u, n))
        return Problem(tree, (Term(tree, 1),))
    elif draw < 0.72:
        n = integer(-size(w) - 1)
    elif draw < 0.78:
        tree = call("sqrt", u)
        if w.chance(0.4):
            tree = call("div", ONE, tree)
        return Problem(tree, (Term(tree, 1),))
    elif draw < 0.9:
        n = rational(w.rng.choice((1, 1, -1, size(w), -size(w))), size(w) + 1)
    else:
        n = w.letter()
        if w.chance(0.3):
            n = call(w.rng.choice(("add", "sub")), n, integer(w.small()))
    tree = call("pow", u, n)
    if u == X:
        return Problem(tree, (Term(product([X, tree])),))
    return Problem(tree, (Term(tree, 1),))
