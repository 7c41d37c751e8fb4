"""Exponentials: beside polynomials and other functions, in rational functions and under roots."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.families import constant_base
from models.integrate.problem import Problem
from models.integrate.writing import (
    ONE,
    Writer,
    X,
    plus_one,
    powers_of,
    product,
    raised,
)  # fmt: skip
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer, negated


def sample(rng: random.Random) -> Problem:
    """One integrand with an exponential."""
    kinds = (
        _polynomial, _power_inside, _trigonometric, _hyperbolic, _rational, _roots,
        constant_base.draw, _exact_quotient, _of_root, _sums, _exact_inside, _beside_sum, _split,
    )  # fmt: skip
    return rng.choices(kinds, (18, 8, 14, 8, 16, 7, 8, 5, 6, 5, 4, 3, 5))[0](Writer(rng))


def _argument(w: Writer) -> Tree:
    u = w.argument(0.5)
    return negated(u) if w.chance(0.25) and u.head in ("symbol", "mul", "div") else u


def _polynomial(w: Writer) -> Problem:
    """P(x) exp(a x + b), also over exp."""
    u = _argument(w)
    k = w.rng.choice((0, 1, 1, 1, 2, 2, 3, 4, 5))
    factor = raised(X, k) if w.chance(0.6) else w.any_polynomial(k)
    e = call("exp", u)
    if w.chance(0.12):
        return Problem(w.scaled(call("div", factor, e), 0.1), (Term(call("div", ONE, e), k),))
    if w.chance(0.08):
        e = raised(e, 2)
    tree = product([factor, e] if w.chance(0.7) else [e, factor])
    return Problem(w.scaled(tree, 0.1), (Term(e, k),))


def _power_inside(w: Writer) -> Problem:
    """x**(j n + n - 1) exp(c x**n)."""
    n = w.rng.choice((2, 2, 2, 3, 3, 4, 5))
    j = w.rng.choice((0, 0, 0, 1, 1, 2))
    u = raised(X, n)
    draw = w.rng.random()
    if draw < 0.35:
        u = negated(u)
    elif draw < 0.55:
        u = call("mul", integer(w.small(2, 6)), u)
    elif draw < 0.65:
        u = w.linear(u)
    elif draw < 0.72:
        u = call("div", u, integer(w.small(2, 6)))
    e = call("exp", u)
    x = raised(X, j * n + n - 1)
    if w.chance(0.15):
        return Problem(call("div", x, e), (Term(call("div", ONE, e), j * n),))
    tree = product([x, e] if w.chance(0.65) else [e, x])
    return Problem(w.scaled(tree, 0.12), (Term(e, j * n),))


def _trigonometric(w: Writer) -> Problem:
    """exp(a x) times sin, cos of b x, perhaps squared, perhaps with x**k."""
    e = call("exp", _argument(w))
    v = w.argument(0.5)
    sin, cos = call("sin", v), call("cos", v)
    k = w.rng.choice((0, 0, 0, 0, 1, 1, 2))
    n = w.rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 4))
    if k and n > 1:
        k = 1
    f = raised(w.rng.choice((sin, cos)), n)
    if n == 2 and w.chance(0.3):
        f = product([sin, cos])
    factors = [raised(X, k), e, f]
    if w.chance(0.5):
        w.rng.shuffle(factors)
    over = w.chance(0.08)
    tree = product(factors)
    shape = e
    if over:
        shape = call("div", ONE, e)
        tree = call("div", product([raised(X, k), f]), e)
    if n == 1:
        terms = [Term(product([shape, sin]), k), Term(product([shape, cos]), k)]
        if over:
            terms = [Term(call("div", sin, e), k), Term(call("div", cos, e), k)]
    else:
        slot = raised(plus_one(sin, cos), n)
        terms = [Term(call("div", slot, e) if over else product([e, slot]), k)]
    return Problem(w.scaled(tree, 0.06), tuple(terms))


def _hyperbolic(w: Writer) -> Problem:
    """exp(a x) times powers of hyperbolic functions of b x."""
    u = X if w.chance(0.6) else call("mul", integer(w.small(2, 5)), X)
    v = X if w.chance(0.4) else call("mul", integer(w.small(2, 3)), X)
    e = call("exp", u)
    n = w.rng.choice((1, 1, 1, 2, 2, 3))
    sinh, cosh = call("sinh", v), call("cosh", v)
    draw = w.rng.random()
    if draw < 0.6:
        f = raised(w.rng.choice((sinh, cosh)), n)
        tree = product([e, f] if w.chance(0.6) else [f, e])
        return Problem(tree, (Term(X), Term(product([e, raised(plus_one(sinh, cosh), n)]))))
    head = w.rng.choice(("tanh", "coth", "sech", "csch"))
    n = w.rng.choice((1, 1, 1, 2))
    f = raised(call(head, v), n)
    tree = product([e, f] if w.chance(0.6) else [f, e])
    # everything is rational in the smaller exponential
    square = call("exp", call("mul", integer(2), v))
    below = call("add" if head in ("tanh", "sech") else "sub", square, ONE)
    # with the factor exp(x) in it the argument is read as a polynomial in exp(x)
    small = e if u == v else call("exp", X)
    terms = [Term(X), Term(e), Term(call("log", product([small, below])))]
    if n > 1:
        slot = e if u == v else powers_of(call("exp", X), 6)
        terms.append(Term(call("div", slot, below)))
    if u != v:
        terms.append(Term(call("exp", v)))
        terms.append(Term(powers_of(call("exp", X), 6)))
    return Problem(tree, tuple(terms))


def _rational(w: Writer) -> Problem:
    """Rational functions of exp(u)."""
    u = _argument(w) if w.chance(0.35) else X
    e = call("exp", u)
    double = call("exp", call("mul", integer(2), u)) if u == X and w.chance(0.7) else raised(e, 2)
    draw = w.rng.random()
    if draw < 0.45:
        below = w.linear(e, unit=0.5)
    elif draw < 0.6:
        c = w.number(0.6)
        below = w.sum([(1, c), (w.rng.choice((1, -1)), double)])
    elif draw < 0.75:
        minus = call("exp", negated(u)) if w.chance(0.8) else call("div", ONE, e)
        scaled = [e if (c := w.number(0.7)) == ONE else call("mul", c, e), minus]
        if w.chance(0.3):
            scaled.reverse()
        below = call(w.rng.choice(("add", "add", "sub")), *scaled)
    else:
        a, b = w.small(1, 6), w.rng.choice((1, -1)) * w.small(1, 6)
        pieces = [
            (1, integer(a)),
            (1 if b > 0 else -1, e if abs(b) == 1 else call("mul", integer(abs(b)), e)),
            (1, double),
        ]
        if not w.ascending:
            pieces.reverse()
        below = w.sum(pieces)
    n = w.rng.choice((1, 1, 1, 1, 2, 3)) if draw < 0.6 else w.rng.choice((1, 1, 1, 1, 2))
    top: Tree = ONE
    k = w.rng.choice((0, 0, 1, 1, 1, 2, 3))
    if k == 1:
        top = e if w.chance(0.75) else w.linear(e)
    elif k == 2:
        top = double
    elif k == 3:
        top = call("exp", call("mul", integer(3), u)) if u == X else raised(e, 3)
    under = raised(below, n)
    tree = call("div", top, under)
    in_squares = 0.45 <= draw < 0.6
    terms = [Term(X), Term(call("log", product([e, below]) if in_squares else below))]
    if k > 1:
        terms.append(Term(powers_of(e, k - 1)))
    quadratic = draw >= 0.45
    if n > 1 or draw >= 0.75:
        terms.append(Term(call("div", powers_of(e, 2 * n if quadratic else n), under)))
    return Problem(w.scaled(tree, 0.05), tuple(terms))


def _roots(w: Writer) -> Problem:
    """Square roots of a + b exp(u), of 1 - exp(2 x)."""
    u = w.argument(0.8)
    e = call("exp", u)
    draw = w.rng.random()
    if draw < 0.65:
        base = w.linear(e, unit=0.6)
        k = w.rng.choice((0, 0, 1, 1, 2))
        m = w.rng.choice((1, 1, 1, 3, -1, -1, -3))
        quotient = w.quotient([(base, Fraction(m, 2))], [_multiple(e, u, k)] if k else [])
        shape = quotient.over(call("sqrt", base) if m > 0 else ONE)
        terms = [Term(_times_slot(shape, e, k + abs(m) // 2 + 1))]
        if k == 0:
            terms.append(Term(call("log", call("div", call("sqrt", base), e))))
        return Problem(quotient.tree, tuple(terms))
    double = call("exp", call("mul", integer(2), u)) if u == X else raised(e, 2)
    c = w.number(0.7)
    base = (
        w.sum([(1, c), (w.rng.choice((1, -1)), double)])
        if w.chance(0.6)
        else call("sub", double, c)
    )
    root = call("sqrt", base)
    k = w.rng.choice((1, 1, 1, 2, 3, 3, 4))
    above = _multiple(e, u, k)
    over = w.chance(0.6)
    tree = call("div", above, root) if over else product([above, root])
    # in y = e: y**(k - 1) over the root, dy
    terms = [Term(product([powers_of(e, k - 2 if over else k), root]))] if not over or k > 1 else []
    if k % 2:
        terms.append(Term(call("log", call("add", e, root))))
    return Problem(tree, tuple(terms))


def _times_slot(tree: Tree, e: Tree, n: int) -> Tree:
    slot = powers_of(e, n)
    if tree.head == "div" and tree.args[0] == ONE:
        return call("div", slot, tree.args[1])
    return call("mul", slot, tree)


def _multiple(e: Tree, u: Tree, k: int) -> Tree:
    if k == 1:
        return e
    return call("exp", call("mul", integer(k), u)) if u == X else raised(e, k)


def _exact_quotient(w: Writer) -> Problem:
    """(P'Q + aPQ - PQ')/Q**2 * exp(a x), multiplied out: x exp(x)/(1 + x)**2 and its like."""
    a = w.rng.choice((1, 1, 1, -1, 2))
    q = [w.rng.choice((0, 1, 1, 2, 3, -1)), 1] if w.chance(0.75) else [w.rng.choice((1, 2)), 0, 1]
    p = [w.rng.choice((1, 1, 2, -1, 3))] + ([w.rng.choice((1, -1, 2))] if w.chance(0.35) else [])
    n = w.rng.choice((1, 1, 1, 2))
    # d(p/q**n exp) = (p' q + a p q - n p q')/q**(n+1) exp
    top = _plus(
        _times(_slope(p), q), _plus(_times([a], _times(p, q)), _times([-n], _times(p, _slope(q))))
    )
    if not any(top):
        return _exact_quotient(w)
    e = call("exp", X if a == 1 else negated(X) if a == -1 else call("mul", integer(a), X))
    base = w.polynomial(q)
    below = raised(base, n + 1)
    above = [w.polynomial(top), e] if any(top[1:]) or abs(top[0]) != 1 else [e]
    if w.chance(0.4):
        above.reverse()
    return Problem(
        call("div", product(above), below), (Term(call("div", e, raised(base, n)), len(p) - 1),)
    )


def _slope(p: list[int]) -> list[int]:
    return [k * c for k, c in enumerate(p)][1:] or [0]


def _times(p: list[int], q: list[int]) -> list[int]:
    out = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def _plus(p: list[int], q: list[int]) -> list[int]:
    size = max(len(p), len(q))
    return [(p[i] if i < len(p) else 0) + (q[i] if i < len(q) else 0) for i in range(size)]


def _of_root(w: Writer) -> Problem:
    """x**(k/n) g(x**(1/n)), g exp, sin, cos, sinh, cosh."""
    n = w.rng.choice((2, 2, 2, 3))
    root = w.power(X, Fraction(1, n))
    inner = root if w.chance(0.75) else w.linear(root)
    if w.chance(0.2):
        return _of_linear_root(w, n)
    k = w.rng.choice((0, 0, 1 - n, 1 - n, n, 1))
    head = w.rng.choice(("exp", "exp", "sin", "cos", "sinh", "cosh"))
    f = call(head, inner)
    x = Fraction(k, n)
    tree = call("div", f, w.power(X, -x)) if x < 0 else product([w.power(X, x) if x else ONE, f])
    count = k + n - 1
    slot = powers_of(root, count)
    partner = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}.get(head)
    terms = [Term(product([slot, f]))]
    if partner:
        terms.append(Term(product([slot, call(partner, inner)])))
    return Problem(tree, tuple(terms))


def _sums(w: Writer) -> Problem:
    """(a + b exp)**n, (exp(x) + exp(-x))**n, (x + exp(x))**2."""
    u = w.argument(0.8)
    e = call("exp", u)
    n = w.rng.choice((2, 2, 3, 4))
    draw = w.rng.random()
    if draw < 0.4:
        base = w.linear(e)
        if w.chance(0.4):
            tree = product([e, raised(base, n)])
            return Problem(tree, (Term(powers_of(e, n + 1)),))
        return Problem(raised(base, n), (Term(X), Term(powers_of(e, n))))
    if draw < 0.7:
        minus = call("exp", negated(u)) if u.head in ("symbol", "mul") else call("div", ONE, e)
        base = call(w.rng.choice(("add", "sub")), e, minus)
        return Problem(raised(base, n), (Term(X), Term(raised(plus_one(e, minus), n))))
    n = min(n, 3)
    base = w.sum([(1, X), (w.rng.choice((1, -1)), call("exp", X))])
    return Problem(raised(base, n), (Term(ONE, n + 1), Term(powers_of(call("exp", X), n), n - 1)))


def _of_linear_root(w: Writer, n: int) -> Problem:
    """exp(sqrt(a + b x)), also over the root."""
    root = w.power(w.linear(unit=0.5), Fraction(1, n))
    head = w.rng.choice(("exp", "exp", "sin", "cos"))
    f = call(head, root)
    over = w.chance(0.4)
    below = root if n == 2 else w.power(root.args[0], Fraction(n - 1, n))
    tree = call("div", f, below) if over else f
    slot = powers_of(root, 0 if over else n - 1)
    partner = {"sin": "cos", "cos": "sin"}.get(head)
    terms = [Term(product([slot, f]))]
    if partner:
        terms.append(Term(product([slot, call(partner, root)])))
    return Problem(tree, tuple(terms))


def _exact_inside(w: Writer) -> Problem:
    """(p' + p u') exp(u), u a power of x: (1 + 2*x**2)*exp(x**2) and its like."""
    n = w.rng.choice((2, 2, 2, 3, -1))
    c = w.rng.choice((1, 1, -1, 2))
    if n == -1:
        square = w.chance(0.3)
        u = call("div", integer(abs(c)), X)
        if c < 0:
            u = negated(u)
        # (p' - c p/x**2) exp(c/x) with p = x or x**2
        top = [(1, X if square else ONE)]
        if square:
            top = [(1, call("mul", integer(2), X)), (-1 if c > 0 else 1, integer(abs(c)))]
        else:
            top.append((-1 if c > 0 else 1, call("div", integer(abs(c)), X)))
        e = call("exp", u)
        return Problem(product([w.sum(top), e]), (Term(e, 2),))
    p = [w.rng.choice((0, 1, 1, 2, -1)), w.rng.choice((0, 1, 1, 2))] + (
        [1] if w.chance(0.3) else []
    )
    slope = [0] * (n - 1) + [n * c]
    numerator = _plus(_slope(p), _times(p, slope))
    if not any(numerator):
        return _exact_inside(w)
    u = raised(X, n)
    if c != 1:
        u = negated(u) if c == -1 else call("mul", integer(c), u)
    e = call("exp", u)
    above = w.polynomial(numerator)
    if above == ONE:
        return _exact_inside(w)
    factors = [above, e] if w.chance(0.6) else [e, above]
    return Problem(product(factors), (Term(e, len(p) - 1),))


def _beside_sum(w: Writer) -> Problem:
    """(1 + exp(x))*(x + exp(x))**r, (1 + 1/x)/(x + log(x))**r: a sum and its derivative."""
    head = w.rng.choice(("exp", "exp", "exp", "log", "sin"))
    f = call(head, X)
    slope = {"exp": f, "log": call("div", ONE, X), "sin": call("cos", X)}[head]
    g = call("add", X, f) if w.chance(0.6) else call("add", f, X)
    top = call("add", ONE, slope)
    r = (
        Fraction(w.rng.choice((-1, -2, 2, 3)), 1)
        if w.chance(0.4)
        else Fraction(w.rng.choice((-1, 1, -3, 3, -2)), w.rng.choice((2, 2, 3)))
    )
    if r == 0 or (r.denominator == 1 and r == -1 and w.chance(0.5)):
        r = Fraction(-1, 2)
    power = w.power(g, abs(r))
    tree = product([top, power]) if r > 0 else call("div", top, power)
    if r == -1:
        return Problem(tree, (Term(call("log", g)),))
    up = r + 1
    return Problem(tree, (Term(w.power(g, up) if up > 0 else call("div", ONE, w.power(g, -up))),))


def _split(w: Writer) -> Problem:
    """(P(x) + exp(x))/exp(x), (a + b exp(x))**n * x: sums to be multiplied out."""
    e = call("exp", X if w.chance(0.75) else call("mul", integer(w.small(2, 4)), X))
    draw = w.rng.random()
    k = w.rng.choice((1, 1, 2))
    if draw < 0.35:
        top = call("add", e, raised(X, k)) if w.chance(0.5) else call("add", raised(X, k), e)
        return Problem(call("div", top, e), (Term(ONE, 1), Term(call("div", ONE, e), k)))
    n = w.rng.choice((1, 2, 2, 3))
    base = w.linear(e)
    if draw < 0.7:
        tree = product(
            [raised(base, n), raised(X, k)] if w.chance(0.5) else [raised(X, k), raised(base, n)]
        )
        return Problem(tree, (Term(ONE, k + 1), Term(powers_of(e, n), k)))
    minus = call("exp", negated(e.args[0])) if w.chance(0.5) else call("div", ONE, e)
    pair = [e, minus]
    w.rng.shuffle(pair)
    tree = product(
        [raised(X, k) if w.chance(0.5) else e, raised(call(w.rng.choice(("add", "sub")), *pair), n)]
    )
    return Problem(tree, (Term(ONE, k + 1), Term(raised(plus_one(e, minus), n + 1), k)))
