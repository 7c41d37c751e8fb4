"""Fractional powers: rational functions of x^(1/n), roots of linear functions, nested roots."""

from __future__ import annotations

import random
from fractions import Fraction
from math import gcd, lcm

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer


def sample(rng: random.Random) -> Problem:
    """One integrand with fractional powers."""
    kinds = (
        _rational_in_root, _linear_root, _nested, _of_quotient, _mixed, _cube_roots,
        _fractional_sums, _root_over_binomial, _quotient_of_roots, _surds, _goursat,
    )  # fmt: skip
    return rng.choices(kinds, (20, 15, 12, 8, 8, 8, 10, 10, 3, 12, 6))[0](Writer(rng))


def _root(w: Writer, n: int, base: Tree = X) -> Tree:
    return w.power(base, Fraction(1, n))


def _rational_in_root(w: Writer) -> Problem:
    """x**r/(a + b x**s)**m, r and s fractions."""
    n = w.rng.choice((2, 2, 2, 2, 3, 3, 4))
    s = Fraction(w.rng.choice((1, 1, 1, 2)) if n > 2 else 1, n)
    r = Fraction(
        w.rng.choice((0, 0, 1, 1, -1, -1, 2, -2, 3)),
        w.rng.choice((n, n, n, 2, 3) if n < 4 else (n, 2)),
    )
    index = lcm(s.denominator, r.denominator)
    root = _root(w, index)
    base = w.linear(w.power(X, s), unit=0.7)
    if w.chance(0.25):
        # sqrt(x)/(1 + x)
        base = w.linear(unit=0.7)
        if r.denominator == 1:
            r = Fraction(w.rng.choice((1, -1)), n)
        index = r.denominator
        root = _root(w, index)
        m = 1
        quotient = w.quotient([(X, r), (base, Fraction(-m))])
        degree = max(int(r), 0)
        terms = [Term(call("log", call("div", root, base)))]
        terms.append(Term(powers_of(root, index - 1), degree))
        return Problem(quotient.tree, tuple(terms))
    m = w.rng.choice((1, 1, 1, 1, 2, 2, 3))
    quotient = w.quotient([(X, r), (base, Fraction(-m))] if r else [(base, Fraction(-m))])
    growth = r - s * m + 1
    # with the smallest root beside it the base is read as a polynomial in that root
    finer = index > s.denominator or s.numerator > 1
    terms = [Term(call("log", call("div", root, base) if finer else base))]
    if r <= -1:
        terms.append(Term(call("log", X)))
        count = max(int((-r - 1) * index), 0)
        if count:
            terms.append(Term(call("div", powers_of(root, count), w.power(X, -r - 1))))
        growth = Fraction(0)
    if growth > 0:
        terms.append(Term(powers_of(root, min(int(growth * index), 10))))
    if m > 1:
        terms.append(
            Term(
                call(
                    "div",
                    powers_of(root, min(int(s * index) * (m - 1), 10) or 1),
                    raised(base, m - 1),
                )
            )
        )
    return Problem(w.scaled(quotient.tree, 0.06), tuple(terms))


def _linear_root(w: Writer) -> Problem:
    """P(x) (a + b x)**(k/n) and over a linear function or x."""
    n = w.rng.choice((2, 2, 3, 3, 3, 4, 5))
    base = w.linear(unit=0.6)
    k = w.rng.choice((1, 1, 2, -1, -1, -2, 3, 4, 5))
    if k % n == 0:
        k += 1
    e = Fraction(k, n)
    factors: list[tuple[Tree, Fraction]] = [(base, e)]
    m = w.rng.choice((0, 1, 1, 2, 2, 3, -1, -1))
    other = X if w.chance(0.75) else w.linear(unit=0.6)
    if m and other != base:
        factors.append((other, Fraction(m)))
    else:
        m = 0
    quotient = w.quotient(factors)
    fraction = e - (e.numerator // e.denominator)
    root = w.power(base, fraction)
    up = max(int(e - fraction), -1) + 1
    terms = []
    if e > -1:
        terms.append(Term(root, max(m, 0) + up))
    else:
        terms.append(Term(call("div", ONE, w.power(base, -e)), max(m, 0) + 1 + int(-e)))
    if m < 0:
        terms.append(
            Term(
                call(
                    "log",
                    call(
                        "div",
                        _root(w, n, base) if n > 2 or w.root_as_power else call("sqrt", base),
                        other,
                    ),
                )
            )
        )
    return Problem(quotient.tree, tuple(terms))


def _nested(w: Writer) -> Problem:
    """x**r (a + b x**s)**(p/2), by v = x**s, or sqrt(a + b sqrt(x))."""
    n = w.rng.choice((2, 2, 2, 3, 4))
    v = _root(w, n)
    base = w.linear(v, unit=0.75)
    p = w.rng.choice((1, 1, 1, 3, -1, -1, -3, Fraction(2, 3), Fraction(4, 3)))
    e = Fraction(p, 2) if isinstance(p, int) else Fraction(p)
    j = w.rng.choice((0, 0, 0, 1, -1, 1 - n, 1 - n, n))
    r = Fraction(j, n)
    factors: list[tuple[Tree, Fraction]] = [(base, e)]
    if r:
        factors.append((X, r))
    quotient = w.quotient(factors)
    # in v: v**(j + n - 1) * base**e dv
    k = j + n - 1
    fraction = e - (e.numerator // e.denominator)
    root = w.power(base, fraction)
    if fraction == Fraction(1, 2):
        root = call("sqrt", base)
    up = max(int(e - fraction), 0) + 1
    if e > 0:
        term = product([powers_of(v, max(k, 0) + up), root])
    else:
        term = call("div", powers_of(v, max(k, 0) + 1 + int(-e) + 1), w.power(base, -e))
    terms = [Term(term)]
    if k < 0:
        terms.append(Term(call("log", call("div", root, v))))
    return Problem(quotient.tree, tuple(terms))


def _of_quotient(w: Writer) -> Problem:
    """x**k sqrt((1 + x)/(1 - x)) and its like."""
    c = w.rng.choice((1, 1, 1, 2, 3))
    one = integer(c)
    pairs = (
        (call("add", one, X), call("sub", one, X)),
        (call("sub", X, one), call("add", X, one)),
        (X, call("add", X, one)),
        (call("sub", X, one), X),
        (X, call("sub", one, X)),
    )
    above, below = w.rng.choice(pairs)
    if w.chance(0.5):
        above, below = below, above
    inside = call("div", above, below)
    r = w.power(inside, Fraction(1, 2))
    k = w.rng.choice((0, 0, 0, 1, 2))
    falls = any(line.head == "sub" and line.args[1] == X for line in (above, below))
    inverse = w.chance(0.15)
    tree = product([raised(X, k), r]) if not inverse else call("div", raised(X, k), r)
    terms = [Term(call("div", ONE, r) if inverse else r, k + 1)]
    terms.append(Term(call("atan" if falls else "atanh", r)))
    return Problem(tree, tuple(terms))


def _mixed(w: Writer) -> Problem:
    """1/(x + sqrt(a + x)), 1/(sqrt(x) + x**(1/3)), 1/(1 + sqrt(1 + x)) and their like."""
    draw = w.rng.random()
    if draw < 0.4:
        root = w.power(w.linear(unit=0.7), Fraction(1, 2))
        a, b = (X, root) if w.chance(0.6) else (root, X)
        below = call(w.rng.choice(("add", "sub")), a, b)
        top = w.rng.choice((ONE, ONE, X, root))
        terms = [Term(call("log", below))]
        terms.append(Term(powers_of(root, 1), 1))
        return Problem(call("div", top, below), tuple(terms[:1] if top == ONE else terms))
    if draw < 0.7:
        root = w.power(
            X if w.chance(0.3) else w.linear(unit=0.8), Fraction(1, w.rng.choice((2, 2, 3)))
        )
        below = w.linear(root, unit=0.8)
        top = w.rng.choice((ONE, ONE, root, w.linear(root)))
        terms = [Term(powers_of(root, 2), 1 if top != ONE else 0), Term(call("log", below))]
        if top != ONE:
            terms.append(Term(ONE, 1))
        return Problem(call("div", top, below), tuple(terms))
    p, q = w.rng.choice(((2, 3), (2, 4), (3, 6), (2, 6)))
    a, b = w.power(X, Fraction(1, p)), w.power(X, Fraction(1, q))
    if w.chance(0.4):
        a, b = b, a
    below = call(w.rng.choice(("add", "add", "sub")), a, b)
    top = w.rng.choice((ONE, ONE, a, b))
    u = w.power(X, Fraction(1, lcm(p, q)))
    terms = [Term(powers_of(u, 6)), Term(call("log", below))]
    return Problem(call("div", top, below), tuple(terms))


def _cube_roots(w: Writer) -> Problem:
    """x**m (a + b x**n)**(k/q) with an elementary antiderivative by v = a + b x**n."""
    q = w.rng.choice((3, 3, 4, 5))
    n = w.rng.choice((2, 3, 3, 4, 5))
    k = w.rng.choice((1, 2, -1, -2, 4))
    if k % q == 0:
        k = 1
    base = w.pure(n)
    j = w.rng.choice((1, 1, 1, 2, 2, 3, 0))
    m = j * n - 1
    e = Fraction(k, q)
    factors = [(base, e), (X, Fraction(m))] if m else [(base, e)]
    quotient = w.quotient(factors)
    fraction = e - (e.numerator // e.denominator)
    root = w.power(base, fraction)
    terms = []
    if j == 0:
        terms.append(Term(call("log", call("div", _root(w, q, base), X))))
        if e > 0:
            terms.append(Term(root, n if e > 1 else 0))
    else:
        terms.append(Term(root, n * (j - 1 + (int(e - fraction) if e > 0 else -1) + 1)))
    return Problem(quotient.tree, tuple(terms))


def _fractional_sums(w: Writer) -> Problem:
    """x**r/(x**p + c*x**q), (1 + x**p)/(x**q - 1), fractional exponents of any sign."""
    n = w.rng.choice((2, 2, 2, 3, 3, 4, 6))
    other = w.rng.choice((2, 3, 4)) if w.chance(0.3) else n
    exponents = [
        Fraction(w.rng.choice((0, 1, 1, 2, 3, -1, -1)), w.rng.choice((1, d, d))) for d in (n, other)
    ]
    p, q = exponents
    if p == q or max(p.denominator, q.denominator) == 1 or abs(p - q) > 2:
        return _fractional_sums(w)
    index = lcm(p.denominator, q.denominator)
    if abs(p - q) * index > 6:
        return _fractional_sums(w)
    below = call(w.rng.choice(("add", "add", "sub")), _monomial(w, p), _monomial(w, q))
    draw = w.rng.random()
    top: Tree = ONE
    r = Fraction(0)
    if draw < 0.25:
        r = w.rng.choice((p, q, Fraction(1, index)))
        top = _monomial(w, r)
    elif draw < 0.35:
        top = call("add" if below.head == "sub" else "sub", *below.args)
        r = max(p, q)
    u = w.power(X, Fraction(1, index))
    count = int((r - min(p, q) + 1) * index)
    terms = [Term(call("log", call("div", u, below)))]
    if count > 18:
        return _fractional_sums(w)
    terms.append(Term(powers_of(u, max(count, 1))))
    return Problem(call("div", top, below), tuple(terms))


def _monomial(w: Writer, e: Fraction) -> Tree:
    if e == 0:
        return ONE
    return w.power(X, e) if e > 0 else call("div", ONE, w.power(X, -e))


def _root_over_binomial(w: Writer) -> Problem:
    """x**m (a + b x**n)**(k/q) (c + d x**n)**-1: by v = x**n, or by x over the root when q = n."""
    q = w.rng.choice((3, 3, 3, 4, 4))
    second = w.chance(0.4)
    n = q if second else w.rng.choice((1, 2, 2, 3, 4))
    base = w.pure(n)
    k = (
        w.rng.choice((-1, -1, -2, 1))
        if not second
        else w.rng.choice((-1, -1, 1 - q, -2 if q == 3 else -1))
    )
    other = w.pure(n) if w.chance(0.75) else None
    j = w.rng.choice((1, 1, 2, 3, 0, -1))
    e = Fraction(k, q)
    root = _root(w, q, base)
    # x over the root is a good variable for x**(n*j - 1 - k) * base**(k/n)
    m = n * j - 1 - (k if second else 0)
    if abs(m) > 14 or other == base:
        return _root_over_binomial(w)
    factors = (
        [(base, e)] + ([(X, Fraction(m))] if m else []) + ([(other, Fraction(-1))] if other else [])
    )
    quotient = w.quotient(factors)
    up = w.power(base, e - (e.numerator // e.denominator))
    below = product([root, *([other] if other else [])])
    if second:
        terms = [Term(call("log", call("div", X, below)))]
    else:
        pole = product([*([other] if other else []), *([X] if m < 0 else [])])
        terms = [Term(call("log", call("div", root, pole)))] if pole != ONE else []
    if m > 0:
        terms.append(Term(up, max(m + 1 + k * n // q, 1)))
    elif m < -1:
        terms.append(Term(call("div", up, raised(X, -m - 1)), max(-m - 2, 0)))
    return Problem(quotient.tree, tuple(terms) or (Term(up, 1),))


def _quotient_of_roots(w: Writer) -> Problem:
    """x**m ((a + b x)/(c + d x))**(k/n), n = 3, 4, 6, also from exp(k/n*atanh(x))."""
    n = w.rng.choice((3, 4, 4, 6))
    a, b = (
        (call("add", ONE, X), call("sub", ONE, X))
        if w.chance(0.6)
        else (w.linear(unit=0.8), w.linear(unit=0.8))
    )
    if a == b:
        return _quotient_of_roots(w)
    if w.chance(0.5):
        a, b = b, a
    above, below = w.power(a, Fraction(1, n)), w.power(b, Fraction(1, n))
    m = w.rng.choice((0, 0, 1, -1))
    top = product([raised(X, m), above]) if m >= 0 else above
    under = product([X, below]) if m < 0 else below
    slot = call("log", call("div", above, product([below, X]) if m < 0 else below))
    whole = product([above, w.power(b, Fraction(n - 1, n))])
    terms = [Term(slot)]
    if m >= 0:
        terms.append(Term(whole, m))
    return Problem(call("div", top, under), tuple(terms))


def _surds(w: Writer) -> Problem:
    """1/(k*sqrt(x) + sqrt(1 + x))**n, x/(x + sqrt(1 + x**2)): by the conjugate."""
    w.symbolic = False  # with letters even the sign of the conjugate is open

    def part(base: Tree) -> Tree:
        root = w.power(base, Fraction(1, 2))
        return product([integer(w.small(2, 5)), root]) if w.chance(0.2) else root

    if w.chance(0.5):
        first = part(X if w.chance(0.4) else w.linear(unit=0.8))
        second = part(w.linear(unit=0.8))
    else:
        second = part(w.quadratic() if w.chance(0.4) else w.pure(2))
        draw = w.rng.random()
        first = X if draw < 0.4 else integer(w.small(1, 4)) if draw < 0.6 else w.linear(unit=0.7)
        if draw > 0.9:
            first = call("mul", integer(w.small(2, 5)), X)
    if first == second or first.head in ("neg", "add", "sub"):
        return _surds(w)
    if w.chance(0.4):
        first, second = second, first
    below = call(w.rng.choice(("add", "add", "sub")), first, second)
    n = w.rng.choice((1, 1, 1, 1, 2, 2, 3))
    draw = w.rng.random()
    top = ONE if draw < 0.55 else X if draw < 0.7 else w.rng.choice((first, second))
    under = raised(below, n)
    if w.chance(0.12):
        under = product([w.rng.choice((first, second)), under])
    term = Term(call("div", ONE, under), 1 if top == ONE or not top.contains("x") else 2)
    return Problem(call("div", top, under), (term, Term(call("log", below))))


def _goursat(w: Writer) -> Problem:
    """What looks elliptic and is not: see :mod:`service.integration.goursat`."""
    k, m = w.rng.choice((1, 1, 1, 2, 3)), w.rng.choice((1, 1, 1, -1, 2, -2))
    sign = w.rng.choice((1, 1, -1))
    kind = w.rng.choice(("quadratic", "linear", "linear", "cubic"))
    if kind == "quadratic":
        # (k + m x**2)**(1/3), c = 9 k/m or -3 k/m over d
        c, d = w.rng.choice(((9 * k, m), (-3 * k, m)))
        index, degree, other, power = 3, 2, 2, 0
    elif kind == "linear":
        # (a + b x**3)**(1/3), b c**3 = -a d**3 or 2 b c**3 = a d**3
        c, d = k, m
        k, m = w.rng.choice(((c**3, -(d**3)), (2 * c**3, d**3)))
        index, degree, other, power = 3, 3, 1, 0
    else:
        c, d = w.rng.choice(((4 * k, m), (-8 * k, m)))
        index, degree, other, power = 2, 3, 3, 1
    shared = gcd(c, d)
    base = w.polynomial([sign * k, *[0] * (degree - 1), sign * m])
    below = w.polynomial([c // shared, *[0] * (other - 1), d // shared])
    factors = [(base, Fraction(-1, index)), (below, Fraction(-1))]
    if power:
        factors.append((X, Fraction(power)))
    slot = Term(call("log", call("div", w.power(base, Fraction(1, index)), below)))
    return Problem(w.quotient(factors).tree, (slot,))
