"""Powers and products of trigonometric functions, rational functions of them, times x^k."""

from __future__ import annotations

import random

from models.integrate.families import trigonometric_roots
from models.integrate.families.sines_cosines import EXPONENTS, sin_cos
from models.integrate.problem import Problem
from models.integrate.writing import (
    ONE,
    Writer,
    X,
    function,
    plus_one,
    powers_of,
    product,
    raised,
)  # fmt: skip
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer


def sample(rng: random.Random) -> Problem:
    """One trigonometric integrand."""
    kinds = (
        _powers, _angles, _with_x, _rational, _of_tangent, _square, _sums_below, _sums_above,
        trigonometric_roots.draw,
    )  # fmt: skip
    return rng.choices(kinds, (30, 9, 16, 18, 7, 4, 4, 4, 12))[0](Writer(rng))


def _powers(w: Writer) -> Problem:
    """Products of powers of one or two functions of one angle, or a quotient of them."""
    u = w.argument(0.65)
    heads = w.rng.sample(("sin", "cos", "tan", "sec", "cot", "csc"), w.rng.choice((1, 2, 2, 2)))
    if len(heads) == 2 and w.chance(0.45):
        heads = ["sin", "cos"]
        w.rng.shuffle(heads)
    m = n = 0
    above: list[Tree] = []
    below: list[Tree] = []
    for head in heads:
        k = w.rng.choice(
            (1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8) if len(heads) == 1 else (1, 1, 1, 2, 2, 3, 3, 4, 5)
        )
        down = head in ("sin", "cos", "tan") and w.chance(0.22)
        (below if down else above).append(function(head, u, k))
        k = -k if down else k
        m, n = m + k * EXPONENTS[head][0], n + k * EXPONENTS[head][1]
    tree = product(above)
    if below:
        tree = call("div", tree, product(below))
    if (m, n) == (0, 0):
        return _powers(w)
    return Problem(w.scaled(tree, 0.08), tuple(sin_cos(m, n, u)))


def _angles(w: Writer) -> Problem:
    """sin(a x)**m * cos(b x)**n, sums squared."""
    factors: list[Tree] = []
    slots: list[Tree] = []
    total = 0
    for _ in range(w.rng.choice((2, 2, 2, 3))):
        a = w.rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6))
        u = X if a == 1 else call("mul", w.letter() if w.chance(0.08) else integer(a), X)
        k = w.rng.choice((1, 1, 1, 1, 2, 3))
        if total + k > 4:
            continue
        total += k
        factors.append(function(w.rng.choice(("sin", "cos")), u, k))
        slots.append(raised(plus_one(call("sin", u), call("cos", u)), k))
    terms = [Term(product(slots)), Term(X)]
    return Problem(product(factors), tuple(terms))


def _with_x(w: Writer) -> Problem:
    """x^k (or a polynomial) times powers of one function."""
    u = w.argument(0.55)
    k = w.rng.choice((1, 1, 1, 2, 2, 3, 4, 5))
    factor = raised(X, k) if w.chance(0.75) else w.any_polynomial(k)
    sin, cos = call("sin", u), call("cos", u)
    draw = w.rng.random()
    if draw < 0.6:
        other = w.rng.choice((sin, cos))
        terms = [Term(sin, k), Term(cos, k)]
    elif draw < 0.8:
        n = w.rng.choice((2, 2, 2, 3))
        if w.chance(0.25):
            other = product([sin, cos])
            n = 2
        else:
            other = raised(w.rng.choice((sin, cos)), n)
        terms = [Term(raised(plus_one(sin, cos), n), k)]
        if n == 2:
            terms.append(Term(ONE, k + 1))
    else:
        k = 1
        factor = X
        tan, sec = call("tan", u), call("sec", u)
        cot, csc = call("cot", u), call("csc", u)
        kind = w.rng.randrange(6)
        if kind == 0:
            other, terms = raised(sec, 2), [Term(tan, 1), Term(call("log", cos))]
        elif kind == 1:
            other, terms = raised(tan, 2), [Term(tan, 1), Term(ONE, 2), Term(call("log", cos))]
        elif kind == 2:
            other, terms = raised(csc, 2), [Term(cot, 1), Term(call("log", sin))]
        elif kind == 3:
            other, terms = raised(cot, 2), [Term(cot, 1), Term(ONE, 2), Term(call("log", sin))]
        elif kind == 4:
            other = product([sec, tan])
            terms = [Term(sec, 1), Term(call("log", call("add", sec, tan)))]
        else:
            # sin/cos**n, cos/sin**n
            n = w.rng.choice((2, 3))
            above, below = (sin, cos) if w.chance(0.5) else (cos, sin)
            tree = call("div", product([X, above]), raised(below, n))
            rest = (
                call(
                    "log",
                    call("add", call("sec", u), tan) if below is cos else call("add", csc, cot),
                )
                if n == 2
                else (tan if below is cos else cot)
            )
            return Problem(tree, (Term(call("div", ONE, raised(below, n - 1)), 1), Term(rest)))
    factors = [factor, other] if w.chance(0.8) else [other, factor]
    return Problem(w.scaled(product(factors), 0.08), tuple(terms))


def _rational(w: Writer) -> Problem:
    """A polynomial in sin, cos over a sum of them."""
    u = w.argument(0.75)
    sin, cos = call("sin", u), call("cos", u)
    one, other = (sin, cos) if w.chance(0.5) else (cos, sin)
    draw = w.rng.random()
    squares = False
    if draw < 0.4:
        below = w.linear(one, unit=0.45)
    elif draw < 0.55:
        below = w.sum([(1, _times(w, sin)), (w.rng.choice((1, 1, -1)), _times(w, cos))])
    elif draw < 0.65:
        below = w.sum(
            [
                (1, w.number(0.5)),
                (w.rng.choice((1, -1)), _times(w, sin)),
                (w.rng.choice((1, -1)), _times(w, cos)),
            ]
        )
    elif draw < 0.8:
        squares = True
        below = w.sum([(1, _times(w, raised(sin, 2))), (1, _times(w, raised(cos, 2)))])
        if w.chance(0.5):
            below = w.linear(raised(one, 2), unit=0.5)
    else:
        below = w.quadratic(one)
    n = w.rng.choice((1, 1, 1, 2, 3)) if draw < 0.4 else 1
    top: list[Tree] = []
    k = 0
    if draw >= 0.8:
        top, k = [other], 1
    elif w.chance(0.5):
        for head in w.rng.sample((sin, cos), w.rng.choice((1, 1, 2))):
            e = w.rng.choice((1, 1, 1, 2, 3)) if not squares else w.rng.choice((1, 2))
            top.append(raised(head, e))
            k += e
    under = raised(below, n)
    tree = call("div", product(top), under)
    if w.chance(0.06) and len(top) == 1:
        tree = call("div", w.linear(top[0]), under)
    terms = [Term(X), Term(call("log", below))]
    if squares:
        terms.append(Term(call("tan", u)))
    if n > 1:
        terms.append(Term(call("div", raised(plus_one(sin, cos), n), under)))
    elif draw < 0.4:
        # 1/(1 + cos) is algebraic in sine and cosine
        terms.append(Term(call("div", other, below)))
    if k:
        terms.append(Term(raised(plus_one(sin, cos), min(k, 3))))
    return Problem(tree, tuple(terms))


def _times(w: Writer, u: Tree) -> Tree:
    c = w.number(0.4)
    return u if c == ONE else call("mul", c, u)


def _of_tangent(w: Writer) -> Problem:
    """(a + b tan)**n, 1/(a + b tan), tan**m/(a + b tan**2)."""
    u = w.argument(0.75)
    head, partner = w.rng.choice((("tan", "cos"), ("cot", "sin"), ("sec", "cos"), ("csc", "sin")))
    if w.chance(0.6):
        head, partner = "tan", "cos"
    t, log = call(head, u), Term(call("log", call(partner, u)))
    if head in ("sec", "csc"):
        co = call("tan" if head == "sec" else "cot", u)
        n = w.rng.choice((1, 2, 2, 3))
        tree = raised(w.linear(t), n)
        if w.chance(0.4):
            tree = call("div", ONE, w.linear(t))
            return Problem(
                tree,
                (Term(X), Term(call("log", tree.args[1])), Term(call("div", co, tree.args[1]))),
            )
        terms = [Term(X), Term(call("log", call("add", t, co)))]
        if n > 1:
            terms.append(Term(product([powers_of(t, n - 2), co])))
        return Problem(tree, tuple(terms))
    if w.chance(0.45):
        n = w.rng.choice((2, 2, 3, 4))
        tree = raised(w.linear(t), n)
        return Problem(tree, (Term(X), log, Term(powers_of(t, n - 1))))
    base = w.linear(t) if w.chance(0.6) else w.quadratic(t)
    n = w.rng.choice((1, 1, 1, 2)) if base.size < 8 else 1
    top = raised(t, w.rng.choice((0, 0, 1, 2, 3)))
    tree = call("div", top, raised(base, n))
    terms = [Term(X), log, Term(call("log", base))]
    terms.append(Term(call("div", powers_of(t, 2 * n - 1), raised(base, n))))
    if top != ONE:
        terms.append(Term(powers_of(t, 2)))
    return Problem(tree, tuple(terms))


def _square(w: Writer) -> Problem:
    """(a + b sin)**n, (sin + cos)**n, (x + sin x)**2."""
    u = w.argument(0.7)
    sin, cos = call("sin", u), call("cos", u)
    n = w.rng.choice((2, 2, 2, 3))
    draw = w.rng.random()
    if draw < 0.4:
        return Problem(
            raised(w.linear(w.rng.choice((sin, cos))), n),
            (Term(X), Term(raised(plus_one(sin, cos), n))),
        )
    if draw < 0.7:
        base = w.sum([(1, _times(w, sin)), (w.rng.choice((1, -1)), _times(w, cos))])
        return Problem(raised(base, n), (Term(X), Term(raised(plus_one(sin, cos), n))))
    sin, cos = (call(h, X) for h in ("sin", "cos"))
    base = w.sum([(1, X), (w.rng.choice((1, -1)), w.rng.choice((sin, cos)))])
    return Problem(raised(base, n), (Term(ONE, n + 1), Term(raised(plus_one(sin, cos), n), n - 1)))


def _sums_below(w: Writer) -> Problem:
    """f/(sec ± tan), f/(csc ± cot), f/(1 ± sin) with any f: by t = tan(u/2)."""
    u = w.argument(0.85)
    sin, cos = call("sin", u), call("cos", u)
    one = sin if w.chance(0.5) else cos
    draw = w.rng.random()
    if draw < 0.45:
        pair = ("sec", "tan") if one is sin else ("csc", "cot")
        pieces = [(1, call(pair[0], u)), (w.rng.choice((1, 1, -1)), call(pair[1], u))]
        w.rng.shuffle(pieces)
        if pieces[0][0] < 0:
            pieces.reverse()
    elif draw < 0.75:
        pieces = [(1, ONE), (w.rng.choice((1, -1)), one)]
    else:
        pieces = [
            (1, call("sin", u)),
            (w.rng.choice((1, -1)), call(w.rng.choice(("tan", "cot", "csc", "sec")), u)),
        ]
    below = w.sum(pieces)
    head = w.rng.choice(tuple(EXPONENTS))
    k = w.rng.choice((1, 1, 1, 1, 2)) if head in ("sin", "cos") else 1
    top = function(head, u, k)
    if w.chance(0.15):
        top = ONE
    poles = product([call("add", ONE, one), call("sub", ONE, one)])
    terms = [
        Term(X),
        Term(raised(plus_one(sin, cos), k)),
        Term(call("log", product([below, sin, cos]))),
        Term(call("div", raised(plus_one(sin, cos), 2), poles)),
    ]
    return Problem(call("div", top, below), tuple(terms))


def _sums_above(w: Writer) -> Problem:
    """(1 - sin)/cos, (1 - tan**2)/sec**2, sin(x)*(sec(x) + tan(x)), (sin + cos)/…"""
    u = w.argument(0.85)
    head, other = w.rng.sample(tuple(EXPONENTS), 2)
    k, j = w.rng.choice((1, 1, 1, 2)), w.rng.choice((1, 1, 2))
    first = ONE if w.chance(0.5) else function(w.rng.choice(tuple(EXPONENTS)), u, 1)
    f = function(head, u, k)
    if first == f:
        return _sums_above(w)
    sign = w.rng.choice(("add", "sub"))
    top = call(sign, first, f) if w.chance(0.7) else call(sign, f, first)
    g = function(other, u, j)
    over = w.chance(0.6)
    tree = call("div", top, g) if over else product([g, top] if w.chance(0.6) else [top, g])
    found: dict[Term, None] = {}
    a, b = EXPONENTS[other]
    for part, power in ((first, 1), (f, k)):
        m, n = (-a * j, -b * j) if over else (a * j, b * j)
        if part != ONE:
            name = part.args[0].head if part.head == "pow" else part.head
            m, n = m + EXPONENTS[name][0] * power, n + EXPONENTS[name][1] * power
        terms = sin_cos(m, n, u) if (m, n) != (0, 0) else [Term(X)]
        found.update(dict.fromkeys(terms))
    return Problem(tree, tuple(found))
