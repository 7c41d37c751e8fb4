"""Hyperbolic functions: the trigonometric shapes with other names, and powers of 1 + tanh."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families import trigonometric
from models.integrate.families.sines_cosines import EXPONENTS
from models.integrate.families.trigonometric_roots import root_of_square
from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, plus_one, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer

_NAMES = {head: head + "h" for head in EXPONENTS}


def sample(rng: random.Random) -> Problem:
    """One integrand with hyperbolic functions."""
    if rng.random() < 0.6:
        while True:
            problem = trigonometric.sample(rng)
            if not any(_is_root_of_sine(node) for node in problem.integrand.preorder()):
                break
        return Problem(
            hyperbolic(problem.integrand),
            tuple(Term(hyperbolic(t.factor), t.degree) for t in problem.terms),
        )
    kinds = (
        _one_plus_tanh, _over_one_plus, _roots_of_one_plus, _roots_of_tanh, _sums, _root_of_square,
    )  # fmt: skip
    return rng.choices(kinds, (20, 30, 30, 8, 12, 10))[0](Writer(rng))


def hyperbolic(tree: Tree) -> Tree:
    """``tree`` with hyperbolic for trigonometric functions; log(sec + tan) becomes atan(sinh)."""
    if not tree.args:
        return tree
    if tree.head == "log" and tree.args[0].head == "add" and tree.args[0].args[0].head == "sec":
        return call("atan", call("sinh", hyperbolic(tree.args[0].args[0].args[0])))
    head = _NAMES.get(tree.head, tree.head)
    return Tree(head, tuple(hyperbolic(arg) for arg in tree.args), tree.value)


def _is_root_of_sine(tree: Tree) -> bool:
    root = tree.head == "sqrt" or (tree.head == "pow" and tree.args[1].head == "div")
    return root and tree.args[0].head in ("add", "sub")


def _tanh(w: Writer) -> tuple[Tree, Tree, Tree]:
    """(tanh u, log cosh u, u), or the same of coth."""
    u = w.argument(0.8)
    if w.chance(0.5):
        return call("tanh", u), call("log", call("cosh", u)), u
    return call("coth", u), call("log", call("sinh", u)), u


def _base(w: Writer, t: Tree) -> Tree:
    """1 ± t mostly; a + b*t."""
    if w.chance(0.6):
        return call("add" if w.chance(0.75) else "sub", ONE, t)
    return w.linear(t, unit=0.6)


def _one_plus_tanh(w: Writer) -> Problem:
    t, log, _ = _tanh(w)
    n = w.rng.choice((2, 3, 4, 5))
    return Problem(raised(_base(w, t), n), (Term(X), Term(powers_of(t, n - 1)), Term(log)))


def _over_one_plus(w: Writer) -> Problem:
    """tanh**m, coth**m, sech**m, … over a power of 1 + tanh."""
    t, _, u = _tanh(w)
    base = call("add" if w.chance(0.75) else "sub", ONE, t)
    heads = ("sinh", "cosh", "tanh", "coth", "sech", "csch")
    n = w.rng.choice((1, 1, 1, 1, 2, 3, 4))
    if n > 1 or w.chance(0.25):
        base = base if w.chance(0.6) else w.linear(t, unit=0.5)
        below = raised(base, n)
        m = w.rng.choice((0, 0, 1, 2)) if n == 1 else 0
        terms = [Term(X), Term(call("log", base)), Term(call("div", powers_of(t, n), below))]
        terms.append(Term(call("log", call("cosh" if t.head == "tanh" else "sinh", u))))
        if m:
            terms.append(Term(powers_of(t, m)))
        return Problem(call("div", raised(t, m), below), tuple(terms))
    head = w.rng.choice(heads)
    m = w.rng.choice((1, 1, 2, 2, 3, 4, 5, 6) if head in ("sech", "csch") else (1, 1, 2, 2, 3, 4))
    f = call(head, u)
    tree = call("div", raised(f, m), base)
    sinh, cosh = call("sinh", u), call("cosh", u)
    # 1/(1 + tanh) = (1 + exp(-2u))/2 and tanh, coth, … are of degree 0 in the exponentials
    terms = [Term(X)]
    match head:
        case "sinh" | "cosh":
            terms = [Term(X), Term(raised(plus_one(sinh, cosh), m + 2))]
        case "tanh" | "coth":
            other = call("cosh" if head == "tanh" else "sinh", u)
            terms += [Term(call("div", ONE, base)), Term(call("log", other)), Term(powers_of(f, m))]
        case _:
            co = call("tanh" if head == "sech" else "coth", u)
            if m % 2:
                lead = call("atan", sinh) if head == "sech" else call("log", call("add", f, co))
                terms = [
                    Term(lead),
                    Term(raised(plus_one(sinh, cosh), 1)),
                    Term(product([f, powers_of(co, m)])),
                    Term(call("div", f, base)),
                ]
            else:
                terms = [
                    Term(X),
                    Term(call("log", base)),
                    Term(call("log", co)),
                    Term(powers_of(co, m)),
                ]
    return Problem(tree, tuple(terms))


def _roots_of_one_plus(w: Writer) -> Problem:
    """tanh**m (1 + tanh)**(p/2)."""
    t, _, _ = _tanh(w)
    base = call("add" if w.chance(0.7) else "sub", ONE, t)
    p = w.rng.choice((1, 1, 3, 5, 7, -1, -1, -3, -5))
    m = w.rng.choice((0, 0, 1, 1, 2))
    power = w.power(base, Fraction(abs(p), 2))
    f = raised(t, m)
    factors = [f, power] if w.chance(0.6) else [power, f]
    tree = product(factors) if p > 0 else call("div", f, power)
    root = call("sqrt", base)
    count = (abs(p) - 1) // 2 + m
    slot = powers_of(t, count)
    term = product([slot, root]) if p > 0 else call("div", powers_of(t, count + 1), power)
    # 1 - tanh**2 = (1 + tanh)*(1 - tanh): in y = sqrt(1 + tanh) the pole is y**2 = 2
    pole = call("sub" if base.head == "add" else "add", ONE, t)
    return Problem(tree, (Term(term), Term(call("log", call("div", root, pole)))))


def _roots_of_tanh(w: Writer) -> Problem:
    """tanh**(p/2), tan**(p/2)."""
    head = w.rng.choice(("tanh", "coth", "tan", "cot"))
    t = call(head, X)
    p = w.rng.choice((1, 1, 3, 5, -1, -3))
    root = call("sqrt", t)
    power = w.power(t, Fraction(abs(p), 2))
    tree = power if p > 0 else call("div", ONE, power)
    below = call("add" if head in ("tan", "cot") else "sub", ONE, raised(t, 2))
    terms = [Term(call("log", call("div", root, below)))]
    if p > 1:
        terms.append(Term(product([powers_of(t, (p - 1) // 2), root])))
    elif p < -1:
        terms.append(Term(call("div", powers_of(t, (1 - p) // 2), power)))
    return Problem(tree, tuple(terms))


def _root_of_square(w: Writer) -> Problem:
    """tanh**m (a + b tanh**2)**(p/2)."""
    t, _, _ = _tanh(w)
    return root_of_square(w, t, call("sub", ONE, raised(t, 2)))


def _sums(w: Writer) -> Problem:
    """(x + sinh)**n, sinh(a x) cosh(b x), (a + b cosh)**n, x**k sinh."""
    n = w.rng.choice((2, 2, 3))
    draw = w.rng.random()
    if draw < 0.35:
        sinh, cosh = call("sinh", X), call("cosh", X)
        base = w.sum([(1, X), (w.rng.choice((1, -1)), w.rng.choice((sinh, cosh)))])
        terms = [Term(ONE, n + 1), Term(raised(plus_one(sinh, cosh), n), n - 1)]
        return Problem(raised(base, n), tuple(terms))
    if draw < 0.7:
        a, b = w.rng.sample((1, 2, 3, 4, 5), 2)
        u, v = (X if k == 1 else call("mul", integer(k), X) for k in (a, b))
        tree = product(
            [call(w.rng.choice(("sinh", "cosh")), u), call(w.rng.choice(("sinh", "cosh")), v)]
        )
        slot = product([plus_one(call("sinh", s), call("cosh", s)) for s in (u, v)])
        return Problem(tree, (Term(slot),))
    k = w.rng.choice((1, 2, 3, 4, 5, 6))
    u = w.argument(0.6)
    sinh, cosh = call("sinh", u), call("cosh", u)
    f = w.rng.choice((sinh, cosh))
    x = raised(X, k) if w.chance(0.7) else w.any_polynomial(k)
    return Problem(product([x, f]), (Term(sinh, k), Term(cosh, k)))
