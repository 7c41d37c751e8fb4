"""Powers of a constant: beside polynomials and sines, and rational functions of them."""

from __future__ import annotations

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer


def draw(w: Writer) -> Problem:
    """Powers of a constant base: x**k b**x, b**x/(1 + b**x), a**x b**x."""
    base = integer(w.small(2, 11)) if w.chance(0.6) else w.letter()
    p = call("pow", base, w.argument(0.75))
    draw = w.rng.random()
    if draw < 0.45:
        k = w.rng.choice((0, 0, 1, 1, 2, 3))
        return Problem(w.scaled(product([raised(X, k), p]), 0.1), (Term(p, k),))
    if draw < 0.6:
        below = w.linear(p, unit=0.8)
        tree = call("div", p if w.chance(0.6) else ONE, below)
        return Problem(tree, (Term(X), Term(call("log", below))))
    if draw < 0.68:
        return _powers_of_base(w)
    if draw < 0.78:
        n = w.rng.choice((2, 2, 3))
        inner = call("pow", base, raised(X, n))
        return Problem(product([raised(X, n - 1), inner]), (Term(inner),))
    if draw < 0.85:
        other = call("exp", X) if w.chance(0.6) else call("pow", integer(w.small(2, 7)), X)
        tree = product([p, other])
        return Problem(tree, (Term(tree),))
    f = call(w.rng.choice(("sin", "cos")), X)
    return Problem(
        product([p, f]), (Term(product([p, call("sin", X)])), Term(product([p, call("cos", X)])))
    )


def _powers_of_base(w: Writer) -> Problem:
    """(1 + 4**x)/(1 + 2**x), 8**x/(3 - 2**x): rational functions of one p = b**x."""
    b = w.rng.choice((2, 2, 2, 3, 5))
    k = 2 if b > 2 else w.rng.choice((2, 2, 3))
    p = call("pow", integer(b), X)
    power = call("pow", integer(b**k), X)
    above = power if w.chance(0.35) else w.linear(power, unit=0.8)
    below = w.linear(p, unit=0.8)
    if w.chance(0.25):
        above, below = p if w.chance(0.5) else w.linear(p, unit=0.8), w.linear(power, unit=0.8)
        in_p = product([p, _replaced(below, power, raised(p, k))])
        return Problem(call("div", above, below), (Term(X), Term(call("log", in_p))))
    terms = (Term(X), Term(powers_of(p, k - 1)), Term(call("log", below)))
    return Problem(call("div", above, below), terms)


def _replaced(tree: Tree, old: Tree, new: Tree) -> Tree:
    if tree == old:
        return new
    return Tree(tree.head, tuple(_replaced(arg, old, new) for arg in tree.args), tree.value)
