"""Logarithms: powers of log with powers of x, log of polynomials, functions of log x over x."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, powers_of, product, raised
from tokenizer.ansatz import Term, polynomial_degree
from tokenizer.tree import Tree, call, integer


def sample(rng: random.Random) -> Problem:
    """One integrand with a logarithm."""
    kinds = (
        _powers,
        _of_polynomial,
        _over_x,
        _beside_rational,
        _oscillating,
        _of_function,
        _of_root,
        _beside_root,
    )
    return rng.choices(kinds, (30, 25, 15, 9, 6, 7, 4, 4))[0](Writer(rng))


def _log(w: Writer) -> Tree:
    """log(x), log(k*x), log(x)**… of a simple argument."""
    draw = w.rng.random()
    if draw < 0.75:
        return call("log", X)
    if draw < 0.9:
        return call("log", call("mul", w.letter() if w.chance(0.25) else integer(w.small(2, 9)), X))
    return call("log", call("div", X, integer(w.small(2, 5))))


def _powers(w: Writer) -> Problem:
    """x**r log(x)**m, P(x) log(x)**m."""
    log = _log(w)
    m = w.rng.choice((1, 1, 1, 1, 2, 2, 3, 4))
    f = raised(log, m)
    draw = w.rng.random()
    if draw < 0.2:
        return Problem(w.scaled(f, 0.1), (Term(powers_of(log, m), 1),))
    if draw < 0.5:
        k = w.rng.choice((1, 1, 2, 2, 3, 4, 5, 6))
        tree = product([raised(X, k), f] if w.chance(0.7) else [f, raised(X, k)])
        return Problem(
            w.scaled(tree, 0.08), (Term(product([raised(X, k + 1), powers_of(log, m)])),)
        )
    if draw < 0.6:
        k = w.rng.choice((1, 2, 2, 3))
        tree = product([w.any_polynomial(k), f])
        return Problem(tree, (Term(powers_of(log, m), k + 1),))
    if draw < 0.8:
        k = w.rng.choice((2, 2, 2, 3, 3, 4, 5))
        tree = call("div", f, raised(X, k))
        return Problem(tree, (Term(call("div", powers_of(log, m), raised(X, k - 1))),))
    if draw < 0.9:
        tree = call("div", f, X)
        return Problem(tree, (Term(raised(log, m + 1)),))
    r = Fraction(w.rng.choice((1, 1, 1, 3, 5, -1, -1, -3)), w.rng.choice((2, 2, 3)))
    power = w.power(X, abs(r)) if r.denominator > 1 else raised(X, abs(r.numerator))
    tree = product([power, f]) if r > 0 else call("div", f, power)
    up = r + 1
    if up == 0:
        return Problem(tree, (Term(raised(log, m + 1)),))
    top = product([X, power]) if r > 0 else w.power(X, up) if up > 0 else None
    slot = powers_of(log, m)
    term = product([top, slot]) if top else call("div", slot, w.power(X, -up))
    return Problem(tree, (Term(term),))


def _of_polynomial(w: Writer) -> Problem:
    """x**k log(P(x)), k of any sign, P linear, quadratic or a + b x**n."""
    draw = w.rng.random()
    if draw < 0.55:
        base = w.linear(unit=0.6)
    elif draw < 0.85:
        base = w.quadratic()
    else:
        base = w.pure(w.rng.choice((3, 4)))
    if base.head == "neg":
        base = base.args[0]
    n = polynomial_degree(base, "x") or 1
    log = call("log", base)
    k = w.rng.choice((0, 0, 0, 0, 1, 1, 1, 2, 2, 3, -2, -2, -3))
    m = 2 if n == 1 and k >= 0 and w.chance(0.12) else 1
    f = raised(log, m)
    if k < 0:
        x = raised(X, -k)
        up = raised(X, -k - 1)
        terms = [Term(call("div", log, up)), Term(log)]
        if -k > 2:
            terms.append(Term(call("div", ONE, raised(X, -k - 2)), 1 if n > 1 and -k > 3 else 0))
        # for even polynomials the logarithm of x appears every other time
        terms.append(Term(call("log", X)))
        return Problem(call("div", f, x), tuple(terms))
    x = raised(X, k) if w.chance(0.85) or k == 0 else w.any_polynomial(k)
    tree = product([x, f] if w.chance(0.75) else [f, x])
    if m > 1:
        return Problem(tree, (Term(powers_of(log, m), k + 1),))
    return Problem(
        w.scaled(tree, 0.07), (Term(log, k + 1), Term(ONE, k + 1), Term(call("log", base)))
    )


def _over_x(w: Writer) -> Problem:
    """f(log(x))/x for a rational or algebraic f."""
    log = _log(w)
    base = log if w.chance(0.4) else w.linear(log, unit=0.8) if w.chance(0.6) else w.quadratic(log)
    e = w.rng.choice((-1, -1, -1, -2, -3, 2, 3, Fraction(1, 2), Fraction(-1, 2), Fraction(3, 2)))
    quadratic = base.size > 7 or any(node.head == "pow" for node in base.preorder())
    if quadratic:
        e = w.rng.choice((-1, -1, -1, Fraction(-1, 2), 2))
    e = Fraction(e)
    power = w.power(base, abs(e))
    tree = call("div", power, X) if e > 0 else call("div", ONE, product([X, power]))
    terms: list[Term]
    if e.denominator == 1 and e > 0:
        terms = [Term(powers_of(log, int(e) * (2 if quadratic else 1) + 1))]
    elif e == -1:
        terms = [Term(call("log", base))]
    elif quadratic:
        terms = [Term(call("log", call("add", log, call("sqrt", base))))]
    elif e < -1:
        up = w.power(base, -e - 1)
        terms = [Term(call("div", ONE, up))]
    else:
        terms = [Term(product([base, w.power(base, abs(e))]) if e > 0 else w.power(base, e + 1))]
    if e == -1 and w.chance(0.25):
        k = w.rng.choice((1, 2))
        tree = call("div", raised(log, k), product([X, power]))
        terms = [Term(call("log", base)), Term(powers_of(log, k))]
    return Problem(tree, tuple(terms))


def _beside_rational(w: Writer) -> Problem:
    """log(x)/(a + b x)**2 and its like, P(x)/Q(x) log where no dilogarithm appears."""
    base = w.linear(unit=0.7)
    log = call("log", X) if w.chance(0.6) else call("log", base)
    n = w.rng.choice((2, 2, 2, 3))
    below = raised(base, n)
    tree = call("div", log, below)
    up = raised(base, n - 1)
    if log.args[0] == base:
        return Problem(tree, (Term(call("div", powers_of(log, 1), up)),))
    terms = [Term(call("div", log, up), n - 1), Term(call("log", base)), Term(log)]
    if n > 2:
        terms.append(Term(call("div", ONE, raised(base, n - 2))))
    return Problem(tree, tuple(terms))


def _oscillating(w: Writer) -> Problem:
    """x**k sin(a log(x)), cos(log x)/x."""
    log = call("log", X)
    u = log if w.chance(0.7) else call("mul", integer(w.small(2, 5)), log)
    f = call(w.rng.choice(("sin", "cos")), u)
    k = w.rng.choice((0, 0, 0, 1, 2, -1, -2))
    sin, cos = call("sin", u), call("cos", u)
    if k < 0:
        up = raised(X, -k - 1)
        tree = call("div", f, raised(X, -k))
        terms = [call("div", t, up) if up != ONE else t for t in (sin, cos)]
    else:
        tree = product([raised(X, k), f])
        terms = [product([raised(X, k + 1), t]) for t in (sin, cos)]
    return Problem(tree, tuple(map(Term, terms)))


def _of_function(w: Writer) -> Problem:
    """g'(x) log(g(x)), g'/(g log g) for g a trigonometric or exponential function."""
    pairs = {
        "sin": "cos",
        "cos": "sin",
        "tan": "sec2",
        "exp": "exp",
        "sinh": "cosh",
        "cosh": "sinh",
    }
    head = w.rng.choice(("sin", "sin", "cos", "cos", "tan", "sinh", "cosh"))
    g = call(head, X)
    slope = raised(call("sec", X), 2) if head == "tan" else call(pairs[head], X)
    log = call("log", g)
    draw = w.rng.random()
    if draw < 0.5:
        factors = [slope, log] if w.chance(0.7) else [log, slope]
        return Problem(product(factors), (Term(product([g, log])), Term(g)))
    ratio = {"sin": "cot", "cos": "tan", "sinh": "coth", "cosh": "tanh"}.get(head)
    if head == "tan":
        below = product(
            [call("sin", X), call("cos", X)] if w.chance(0.5) else [call("cos", X), call("sin", X)]
        )
        return Problem(call("div", log, below), (Term(raised(log, 2)),))
    r = call(ratio or "cot", X) if w.chance(0.7) else call("div", slope, g)
    n = w.rng.choice((1, 1, 2))
    if w.chance(0.3):
        return Problem(call("div", r, log), (Term(call("log", log)),))
    return Problem(product([r, raised(log, n)]), (Term(raised(log, n + 1)),))


def _of_root(w: Writer) -> Problem:
    """x**k log(sqrt(x)), log(1 + sqrt(x)), log(x + sqrt(x**2 + a))."""
    draw = w.rng.random()
    root = w.power(X, Fraction(1, 2))
    if draw < 0.5:
        base = w.linear(root, unit=0.8)
        log = call("log", base)
        k = w.rng.choice((0, 0, 1))
        tree = product([raised(X, k), log])
        return Problem(tree, (Term(log, k + 1), Term(powers_of(root, 2 * k + 2))))
    inner = w.pure(2)
    y = call("sqrt", inner)
    log = call("log", call("add", X, y) if w.chance(0.7) else call("add", y, X))
    if not any(node == X for node in inner.args) and inner.head == "add":
        inner = call("add", raised(X, 2), w.number(0.7))
        y = call("sqrt", inner)
        log = call("log", call("add", X, y))
    k = w.rng.choice((0, 0, 0, 1))
    tree = product([raised(X, k), log])
    return Problem(tree, (Term(log, k + 1), Term(y, k)))


def _beside_root(w: Writer) -> Problem:
    """x**k (a + b x**2)**(m/2) log(x), k odd; log(x) times a power of a linear function."""
    log = call("log", X)
    if w.chance(0.5):
        base = w.linear(unit=0.6)
        m = w.rng.choice((1, -1, 3, -3))
    else:
        base = w.pure(2)
        m = w.rng.choice((1, -1, 3, -3))
    root = call("sqrt", base)
    k = w.rng.choice((0, 1)) if polynomial_degree(base, "x") == 1 else w.rng.choice((1, 1, 3))
    power = w.power(base, Fraction(abs(m), 2))
    factors = [raised(X, k), log]
    tree = product([*factors, power]) if m > 0 else call("div", product(factors), power)
    degree = k + 1 + (abs(m) - 1) // 2 * (polynomial_degree(base, "x") or 1)
    y = root if m > 0 else call("div", ONE, power)
    if m < 0:
        degree = k + 1 + (polynomial_degree(base, "x") or 1)
    terms = [Term(product([y, log]) if m > 0 else call("div", log, power), degree), Term(y, degree)]
    return Problem(tree, (*terms, Term(call("log", call("div", root, X)))))


def _of_power(w: Writer) -> Problem:
    """x**k log(c x**r)."""
    r = w.rng.choice((2, 2, 3, Fraction(1, 2), Fraction(1, 2)))
    inside = w.power(X, Fraction(r))
    if w.chance(0.2):
        inside = call("mul", integer(w.small(2, 7)), inside)
    log = call("log", inside)
    k = w.rng.choice((0, 0, 1, 1, 2, -2, -3, -1))
    if k == -1:
        return Problem(call("div", log, X), (Term(raised(log, 2)),))
    if k < 0:
        return Problem(
            call("div", log, raised(X, -k)),
            (Term(call("div", powers_of(log, 1), raised(X, -k - 1))),),
        )
    tree = product([raised(X, k), log])
    return Problem(tree, (Term(product([raised(X, k + 1), powers_of(log, 1)])),))


def _laurent(w: Writer) -> Problem:
    """(x + 1/x) log(x), (1 + log(x))**2/x, (a + b log(x))*x**k."""
    log = call("log", X)
    draw = w.rng.random()
    if draw < 0.45:
        k, j = w.rng.choice((0, 1, 1, 2)), w.rng.choice((1, 1, 2))
        pieces = [raised(X, k), call("div", ONE, raised(X, j))]
        w.rng.shuffle(pieces)
        tree = product([call(w.rng.choice(("add", "sub")), *pieces), log])
        last = (
            Term(raised(log, 2))
            if j == 1
            else Term(call("div", powers_of(log, 1), raised(X, j - 1)))
        )
        return Problem(tree, (Term(product([raised(X, k + 1), powers_of(log, 1)])), last))
    base = w.linear(log, unit=0.7)
    n = w.rng.choice((1, 1, 2, 3))
    k = w.rng.choice((0, 1, 2, 3))
    tree = product(
        [raised(X, k), raised(base, n)] if w.chance(0.6) else [raised(base, n), raised(X, k)]
    )
    return Problem(tree, (Term(product([raised(X, k + 1), powers_of(log, n)])),))
