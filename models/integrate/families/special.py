"""Antiderivatives that only have names: erf, Si, Ci, Shi, Chi, Ei, li, Fresnel, dilogarithm."""

from __future__ import annotations

import random

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, constant, integer, negated


def sample(rng: random.Random) -> Problem:
    """One integrand that has no elementary antiderivative, but a named one."""
    w = Writer(rng)
    kinds = (_gauss, _over_x, _over_log, _fresnel, _dilogarithm)
    problem = rng.choices(kinds, (25, 35, 15, 15, 10))[0](w)
    return Problem(w.scaled(problem.integrand, 0.12), problem.terms)


def _gauss(w: Writer) -> Problem:
    """x**(2 k) exp(-a x**2), exp(x**2)."""
    a = 1 if w.chance(0.6) else w.small(2, 6)
    square = raised(X, 2)
    u = square if a == 1 else call("mul", integer(a), square)
    root = X if a == 1 else product([call("sqrt", integer(a)), X])
    if w.chance(0.15):
        u, root = call("div", square, integer(2)), call("div", X, call("sqrt", integer(2)))
    falls = w.chance(0.75)
    e = call("exp", negated(u) if falls else u)
    k = w.rng.choice((0, 0, 0, 1, 2))
    tree = product([raised(X, 2 * k), e])
    special = Term(call("erf" if falls else "erfi", root))
    return Problem(tree, (special, *((Term(e, 2 * k - 1),) if k else ())))


def _over_x(w: Writer) -> Problem:
    """exp(a x)/x**n, sin(a x)/x, …"""
    head = w.rng.choice(("exp", "exp", "sin", "sin", "cos", "sinh", "cosh"))
    u = w.argument(0.6)
    if u.head in ("add", "sub"):
        u = X
    if head == "exp" and w.chance(0.3):
        u = negated(u)
    if w.chance(0.12):
        n = w.rng.choice((2, 3))
        u = raised(X, n)
    f = call(head, u)
    special = {"exp": "Ei", "sin": "Si", "cos": "Ci", "sinh": "Shi", "cosh": "Chi"}
    partner = {"exp": "exp", "sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}
    n = w.rng.choice((1, 1, 1, 2, 3)) if u.head != "pow" else 1
    tree = call("div", f, raised(X, n))
    if n == 1:
        return Problem(tree, (Term(call(special[head], u)),))
    g = call(partner[head], u)
    over = raised(X, n - 1)
    terms = [Term(call("div", f, over), n - 2)]
    if g != f:
        if n > 2:
            terms.append(Term(call("div", g, raised(X, n - 2))))
        terms.append(Term(call(special[head] if n % 2 else special[partner[head]], u)))
    else:
        terms.append(Term(call("Ei", u)))
    return Problem(tree, tuple(terms))


def _over_log(w: Writer) -> Problem:
    """x**k/log(x)**n."""
    log = call("log", X)
    k = w.rng.choice((0, 0, 0, 1, 2))
    n = w.rng.choice((1, 1, 1, 2))
    tree = call("div", raised(X, k), raised(log, n))
    special = call("li", X) if k == 0 else call("Ei", product([integer(k + 1), log]))
    terms = [Term(special)]
    if n > 1:
        terms.append(Term(call("div", raised(X, k + 1), log)))
    return Problem(tree, tuple(terms))


def _fresnel(w: Writer) -> Problem:
    """sin(a x**2), cos(a x**2), also sin(x)/sqrt(x)."""
    head = w.rng.choice(("sin", "cos"))
    special = "fresnels" if head == "sin" else "fresnelc"
    a = 1 if w.chance(0.7) else w.small(2, 5)
    two_a = integer(2) if a == 1 else product([integer(2), integer(a)])
    if w.chance(0.7):
        square = raised(X, 2)
        u = square if a == 1 else call("mul", integer(a), square)
        root = call("sqrt", call("div", two_a, constant("pi")))
        return Problem(call(head, u), (Term(call(special, product([root, X]))),))
    u = X if a == 1 else call("mul", integer(a), X)
    tree = call("div", call(head, u), call("sqrt", X))
    inside = call("sqrt", call("div", product([two_a, X]), constant("pi")))
    return Problem(tree, (Term(call(special, inside)),))


def _dilogarithm(w: Writer) -> Problem:
    """log(1 - a x)/x, log(x)/(1 - x), x/(exp(x) - 1)."""
    draw = w.rng.random()
    two = integer(2)
    if draw < 0.45:
        a = 1 if w.chance(0.6) else w.small(2, 5)
        u: Tree = X if a == 1 else call("mul", integer(a), X)
        if w.chance(0.3):
            u = raised(X, 2)
        sign = w.chance(0.5)
        tree = call("div", call("log", call("add" if sign else "sub", ONE, u)), X)
        return Problem(tree, (Term(call("polylog", two, negated(u) if sign else u)),))
    if draw < 0.75:
        sign = w.chance(0.5)
        base = call("add" if sign else "sub", ONE, X)
        log = call("log", X)
        terms = [
            Term(product([log, call("log", base)])),
            Term(call("polylog", two, negated(X) if sign else X)),
        ]
        return Problem(call("div", log, base), tuple(terms))
    operation = w.rng.choice(("add", "sub"))
    e = call("exp", X)
    below = call(operation, e, ONE) if w.chance(0.5) else call("add", ONE, e)
    inner = e if below.head == "sub" else negated(e)
    log = call("log", call("sub" if below.head == "sub" else "add", ONE, e))
    terms = [Term(ONE, 2), Term(log, 1), Term(call("polylog", two, inner))]
    return Problem(call("div", X, below), tuple(terms))
