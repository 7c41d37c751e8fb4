"""Inverse functions: x^k times them, their squares, exponentials of them, their derivatives."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Final

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer, rational


def sample(rng: random.Random) -> Problem:
    """One integrand with an inverse trigonometric or hyperbolic function."""
    kinds = (
        _rational_kind,
        _radical_kind,
        _squares,
        _of_root,
        _of_reciprocal,
        _beside,
        _exponentials,
        _secants,
        _inside,
    )
    return rng.choices(kinds, (25, 21, 9, 12, 9, 13, 8, 8, 8))[0](Writer(rng))


def _factor(w: Writer, k: int, f: Tree) -> Tree:
    if k < 0:
        return call("div", f, raised(X, -k))
    x = raised(X, k)
    return product([x, f] if w.chance(0.75) else [f, x])


def _inner(w: Writer) -> Tree:
    draw = w.rng.random()
    if draw < 0.65:
        return X
    if draw < 0.8:
        return call("mul", w.letter() if w.chance(0.15) else integer(w.small(2, 7)), X)
    if draw < 0.87:
        return call("div", X, integer(w.small(2, 5)))
    if draw < 0.95:
        return w.linear(unit=0.6)
    return raised(X, 2)


def _rational_kind(w: Writer) -> Problem:
    """x**k times atan, acot, atanh, acoth."""
    u = _inner(w)
    head = w.rng.choice(("atan", "atan", "atan", "acot", "atanh", "acoth"))
    f = call(head, u)
    k = w.rng.choice((0, 0, 0, 1, 1, 2, 2, 3, 4, -2, -2, -3, -4))
    below = call("add" if head in ("atan", "acot") else "sub", ONE, raised(u, 2))
    terms = [Term(call("log", below))]
    if k >= 0:
        terms += [Term(f, k + 1), Term(ONE, k)] if k else [Term(f, 1)]
    else:
        terms += [Term(f), Term(call("div", f, raised(X, -k - 1))), Term(call("log", X))]
        if k < -2:
            terms.append(Term(call("div", ONE, raised(X, -k - 2)), max(0, -k - 4)))
    return Problem(w.scaled(_factor(w, k, f), 0.06), tuple(terms))


def _radical_kind(w: Writer) -> Problem:
    """x**k times asin, acos, asinh, acosh."""
    head = w.rng.choice(("asin", "asin", "asin", "acos", "asinh", "acosh"))
    u = _inner(w)
    f = call(head, u)
    k = w.rng.choice((0, 0, 0, 1, 1, 2, 2, 3, -2, -2, -3, -4))
    root = _root(head, u)
    if u.head == "pow":
        k = w.rng.choice((1, 1, 3, 5)) if head != "acosh" else 1
        return Problem(_factor(w, k, f), (Term(f, k + 1), Term(root, k - 1)))
    if k >= 0:
        terms = [Term(f, k + 1), Term(root, k)]
    else:
        if u.head in ("add", "sub"):
            return _radical_kind(w)
        terms = [Term(call("div", f, raised(X, -k - 1)))]
        if k % 2 == 0:
            inside = root if head != "acosh" else call("sqrt", call("sub", raised(u, 2), ONE))
            terms.append(
                Term(
                    call("log", call("div", inside, X)) if head != "acosh" else call("atan", inside)
                )
            )
        if k < -2:
            terms.append(Term(call("div", root, raised(X, -k - 2)), max(0, -k - 4)))
    return Problem(w.scaled(_factor(w, k, f), 0.05), tuple(terms))


def _root(head: str, u: Tree) -> Tree:
    """The root in the derivative of head(u)."""
    square = raised(u, 2)
    match head:
        case "asin" | "acos":
            return call("sqrt", call("sub", ONE, square))
        case "asinh":
            return call("sqrt", call("add", ONE, square))
        case _:
            return product([call("sqrt", call("sub", u, ONE)), call("sqrt", call("add", u, ONE))])


def _squares(w: Writer) -> Problem:
    """x**k asin(x)**2, x atan(x)**2."""
    if w.chance(0.7):
        head = w.rng.choice(("asin", "asin", "acos", "asinh", "acosh"))
        u = X if w.chance(0.85) else call("mul", integer(w.small(2, 5)), X)
        f = call(head, u)
        n = w.rng.choice((2, 2, 2, 3, 4))
        k = w.rng.choice((0, 0, 0, 1, 2)) if n == 2 else 0
        root = _root(head, u)
        tree = _factor(w, k, raised(f, n))
        return Problem(
            tree, (Term(powers_of(f, n), k + 1), Term(product([root, powers_of(f, n - 1)]), k))
        )
    head = w.rng.choice(("atan", "atan", "acot", "atanh", "acoth"))
    f = call(head, X)
    k = w.rng.choice((1, 1, 3))
    below = call("add" if head in ("atan", "acot") else "sub", ONE, raised(X, 2))
    tree = _factor(w, k, raised(f, 2))
    return Problem(tree, (Term(powers_of(f, 2), k + 1), Term(call("log", below)), Term(ONE, k)))


#: What _of_root asks for beside integer powers of x alone: beside others no short form is known.
_EVEN_ONLY: Final = ("asec", "acsc", "acosh", "asinh", "asech", "acsch")


def _of_root(w: Writer) -> Problem:
    """x**(k/2) times an inverse function of sqrt(x)."""
    root = w.power(X, Fraction(1, 2))
    head = w.rng.choice(
        (
            "atan", "atan", "acot", "atanh", "acoth", "asin", "acos", "asinh", "asec", "acsc",
            "acosh", "asech", "asech", "acsch",
        )
    )  # fmt: skip
    f = call(head, root)
    k = w.rng.choice((0, 0, 0, 2, 2, 4, -1, -1, 1, 3, -4, -4, -6, -3, -5))
    if k % 2 and head in _EVEN_ONLY:
        k -= 3 if k == -1 else 1
    x = w.power(X, Fraction(abs(k), 2)) if k else ONE
    tree = call("div", f, x) if k < 0 else product([x, f] if w.chance(0.75) else [f, x])
    up = k + 2
    sign = {"atan": "add", "acot": "add", "asinh": "add"}.get(head, "sub")
    base = call(sign, ONE, X)
    # the polynomial parts below are relative to the lowest power that occurs
    down = -up // 2 + 1 if up < 0 else 0
    whole = max(up, 0) // 2
    over = (lambda t: call("div", t, raised(X, down))) if down else (lambda t: t)
    if up > 0:
        lead = Term(f, whole) if up % 2 == 0 else Term(product([root, f]), whole)
    else:
        lead = Term(call("div", f, w.power(X, Fraction(-up, 2))))
    terms = [lead]
    match head:
        case "atan" | "acot" | "atanh" | "acoth":
            if up % 2 == 0:
                terms += [Term(f), Term(over(root), whole + down)]
            else:
                terms += [Term(call("log", base)), Term(over(ONE), whole + down + 1)]
                if up < 0 or k == -3:
                    terms.append(Term(call("log", X)))
        case "asin" | "acos" | "asinh":
            y = call("sqrt", base)
            if up % 2 == 0:
                terms += [Term(f), Term(over(product([root, y])), whole + down)]
            else:
                terms.append(Term(over(y), whole + down + 1))
                if up < 0:
                    terms.append(Term(call("atanh", y)))
        case "acosh":
            y = product(
                [call("sqrt", call("sub", root, ONE)), call("sqrt", call("add", root, ONE))]
            )
            terms += [Term(f), Term(over(product([root, y])), whole + down)]
        case "asech" | "acsch":
            y = call("sqrt", call("sub" if head == "asech" else "add", ONE, X))
            terms.append(Term(over(y), whole + down))
            if up < 0:
                terms.append(Term(call("atanh", y)))
        case _:
            y = call("sqrt", call("sub", X, ONE))
            terms.append(Term(over(y), whole + down))
            if up < 0:
                terms.append(Term(call("atan", y)))
    return Problem(tree, tuple(terms))


def _of_reciprocal(w: Writer) -> Problem:
    """x**k atan(1/x), acoth(1/x), asin(2/x), …"""
    u = call("div", w.number(0.6), X)
    head = w.rng.choice(
        ("atan", "acot", "atanh", "acoth", "asin", "acos", "asinh", "asec", "asech", "acsch")
    )
    f = call(head, u)
    k = w.rng.choice((0, 0, 1, 2))
    if head in ("asec", "asech", "acsch"):
        # acos, acosh, asinh of x/c
        c, square = u.args[0], raised(X, 2)
        under = raised(c, 2) if c != ONE else ONE
        pair = {"asec": ("sub", under, square), "acsch": ("add", under, square)}.get(head)
        y = (
            call("sqrt", call(*pair))
            if pair
            else product([call("sqrt", call("sub", X, c)), call("sqrt", call("add", X, c))])
        )
        return Problem(_factor(w, k, f), (Term(f, k + 1), Term(y, k)))
    if head in ("asin", "acos", "asinh"):
        return Problem(_factor(w, k, f), _reciprocal_terms(f, raised(u, 2), k, head == "asinh"))
    below = call(
        "add" if head in ("atan", "acot") else "sub",
        raised(X, 2),
        raised(u.args[0], 2) if u.args[0] != ONE else ONE,
    )
    return Problem(
        _factor(w, k, f),
        (Term(f, k + 1), Term(call("log", below)), *((Term(ONE, k),) if k else ())),
    )


def _reciprocal_terms(f: Tree, square: Tree, k: int, plus: bool) -> tuple[Term, ...]:
    """By parts for x**k f, the derivative of f a constant over x**2 sqrt(1 ± square)."""
    y = call("sqrt", call("add" if plus else "sub", ONE, square))
    logarithm = () if k % 2 else (Term(call("atanh", y)),)
    return (Term(f, k + 1), Term(y, k), *logarithm)


def _inside(w: Writer) -> Problem:
    """x**k sin(n asin(x)), cosh(acosh(x)), …: by substitution of the inverse function."""
    head = w.rng.choice(("asin", "acos", "asinh", "acosh"))
    u = X if w.chance(0.6) else call("mul", integer(w.small(2, 5)), X)
    angle = call(head, u)
    root = _root(head, u)
    if w.chance(0.3):
        angle = call("mul", integer(w.small(2, 5)), angle)
    outer = w.rng.choice(("sin", "cos", "sin", "cos", "sinh", "cosh"))
    partner = {"sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh"}[outer]
    k = w.rng.choice((0, 0, 0, 1, 2))
    terms = (Term(call(outer, angle), k + 1), Term(product([root, call(partner, angle)]), k))
    return Problem(_factor(w, k, call(outer, angle)), terms)


def _beside(w: Writer) -> Problem:
    """Inverse functions with the denominators and roots of their derivatives."""
    draw = w.rng.random()
    if draw < 0.35:
        head = w.rng.choice(("atan", "atan", "acot", "atanh", "acoth"))
        f = call(head, X)
        below = call("add" if head in ("atan", "acot") else "sub", ONE, raised(X, 2))
        n = w.rng.choice((1, 2, 3, -1))
        if n == -1:
            return Problem(call("div", ONE, product([below, f])), (Term(call("log", f)),))
        if w.chance(0.6):
            return Problem(call("div", raised(f, n), below), (Term(raised(f, n + 1)),))
        k = w.rng.choice((1, 2, 2))
        x = w.rng.choice((ONE, ONE, X))
        tree = call("div", product([x, f]), raised(below, max(k, 2)))
        terms = [Term(call("div", f, below), 1), Term(f), Term(call("div", ONE, below), 1)]
        terms[1] = Term(powers_of(f, 2)) if x == ONE else Term(f)
        return Problem(tree, tuple(terms))
    if draw < 0.8:
        head = w.rng.choice(("asin", "asin", "acos", "asinh"))
        f = call(head, X)
        root = _root(head, X)
        k = w.rng.choice((0, 0, 1, 1, 2, 3))
        if w.chance(0.2):
            k = w.rng.choice((0, 2))
            return Problem(
                product([raised(X, k), f, root]),
                (Term(product([root, f]), k + 1), Term(raised(f, 2)), Term(ONE, k + 2)),
            )
        if k == 0:
            n = w.rng.choice((1, 2, 3))
            return Problem(call("div", raised(f, n), root), (Term(raised(f, n + 1)),))
        tree = call("div", product([raised(X, k), f] if w.chance(0.7) else [f, raised(X, k)]), root)
        terms = [Term(product([root, f]), k - 1), Term(ONE, k)]
        if k % 2 == 0:
            terms.append(Term(raised(f, 2)))
        return Problem(tree, tuple(terms))
    head = w.rng.choice(("asin", "acos", "asinh"))
    f = call(head, X)
    inside = _root(head, X).args[0]
    k = w.rng.choice((0, 1))
    tree = call("div", product([raised(X, k), f]), call("pow", inside, rational(3, 2)))
    rest = (
        call("log", inside) if k == 0 else call("atan", X) if head == "asinh" else call("atanh", X)
    )
    return Problem(tree, (Term(call("div", f, call("sqrt", inside)), 1 - k), Term(rest)))


def _exponentials(w: Writer) -> Problem:
    """exp(n f(x)) with algebraic factors, f atan, asin, atanh, acoth; sin and cos of them."""
    draw = w.rng.random()
    if draw < 0.3:
        f = call("atan", X)
        e = call("exp", f if w.chance(0.7) else call("mul", integer(w.small(2, 4)), f))
        below = call("add", ONE, raised(X, 2))
        p = w.rng.choice((2, 2, 3, 3, 4))
        tree = call(
            "div", product([raised(X, w.rng.choice((0, 0, 1))), e]), w.power(below, Fraction(p, 2))
        )
        y = w.power(below, Fraction(p - 2, 2)) if p > 2 else ONE
        return Problem(tree, (Term(call("div", e, y) if y != ONE else e, p - 2),))
    if draw < 0.5:
        head = w.rng.choice(("asin", "asinh"))
        e = call("exp", call(head, X))
        root = _root(head, X)
        k = w.rng.choice((0, 0, 1))
        return Problem(product([raised(X, k), e]), (Term(e, k + 1), Term(product([e, root]), k)))
    head = w.rng.choice(("atanh", "atanh", "acoth"))
    f = call(head, X)
    e = call("exp", f)
    sign = "add" if w.chance(0.6) else "sub"
    base = call(sign, ONE, X)
    n = w.rng.choice((0, 0, 1, 1, 2, -1, -1, -2))
    k = w.rng.choice((0, 0, 1, 1, 2))
    half = w.chance(0.4)
    power = Fraction(2 * n + 1, 2) if half else Fraction(n)
    factors = [e, raised(X, k)]
    if power > 0:
        tree = product([*factors, w.power(base, power)])
    elif power < 0:
        tree = call("div", product(factors), w.power(base, -power))
    else:
        tree = product(factors)
    degree = k + max(n, 0) + 1
    terms: list[Term]
    if half:
        shape = (
            call("div", product([e]), w.power(base, -power))
            if power < 0
            else call("div", e, call("sqrt", base))
        )
        terms = [Term(shape, degree + 1)]
        if sign == "sub" and power < 0:
            terms.append(Term(call("log", call("div", call("sqrt", call("add", ONE, X)), base))))
        elif power < 0:
            terms.append(Term(call("log", call("div", call("sqrt", call("sub", ONE, X)), base))))
    else:
        shape = call("div", e, raised(base, -n)) if n < 0 else e
        terms = [Term(shape, degree + max(-n, 0))]
        log = call("asin", X) if head == "atanh" else call("acosh", X)
        terms.append(Term(log))
    return Problem(tree, tuple(terms))


def _secants(w: Writer) -> Problem:
    """x**k asec, acsc, asech, acsch."""
    head = w.rng.choice(("asec", "acsc", "acsch"))
    u = X if w.chance(0.8) else call("mul", integer(w.small(2, 5)), X)
    f = call(head, u)
    k = w.rng.choice((0, 0, 1, 1, 2, -2, -3))
    inverse = call("div", ONE, raised(u, 2))
    if k >= 0:
        return Problem(_factor(w, k, f), _reciprocal_terms(f, inverse, k, head == "acsch"))
    y = call("sqrt", call("add" if head == "acsch" else "sub", ONE, inverse))
    terms = [
        Term(call("div", f, raised(X, -k - 1))),
        Term(call("div", y, raised(X, -k - 2)) if k < -2 else y),
    ]
    if k % 2:
        terms.append(Term(f))
    return Problem(_factor(w, k, f), tuple(terms))
