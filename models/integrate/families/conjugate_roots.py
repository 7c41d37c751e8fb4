"""x**r (c x**(1/n) - a)**(p/2) (c x**(1/n) + a)**(q/2): two roots whose product is one root."""

from __future__ import annotations

import random
from fractions import Fraction

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, integer


def sample(rng: random.Random) -> Problem:
    """One product of roots of a sum and of a difference of the same."""
    w = Writer(rng)
    n = w.rng.choice((2, 2, 2, 3, 4))
    v = w.power(X, Fraction(1, n))
    a, c = w.number(0.7), w.number(0.8)
    term = v if c == ONE else call("mul", c, v)
    falls = w.chance(0.25)
    minus, plus = _pair(w, a, term, falls)
    p = w.rng.choice((1, 1, 1, -1, -1, 3))
    q = p if p == 3 or w.chance(0.85) else -p
    r = Fraction(w.rng.choice((-5, -3, -2, -1, -1, 0, 0, 1, 1, 2, 3, 5)), n)
    factors = [(minus, Fraction(p, 2)), (plus, Fraction(q, 2))]
    if w.chance(0.5):
        factors.reverse()
    if r:
        factors.insert(w.rng.choice((0, 0, 2)), (X, r))
    # in v: v**k times the roots, dv
    k = r.numerator * (n // r.denominator) + n - 1 if r else n - 1
    roots = product([call("sqrt", minus), call("sqrt", plus)])
    # the primitive of dv over both roots
    lead = (
        call("atan", call("div", term, roots)) if falls else call("log", call("add", term, roots))
    )
    terms = [Term(lead)]
    more = 0 if p != q else p
    if k >= 0:
        terms.append(Term(product([powers_of(v, max(k + more, 0)), roots])))
    else:
        # and that of dv/v
        inside = roots if a == ONE else call("div", roots, a)
        terms.append(Term(call("atanh" if falls else "atan", inside)))
        whole = (-k - 2 + n) // n
        slot = product([powers_of(v, max(n * whole + more, 0)), roots])
        terms.append(Term(call("div", slot, raised(X, whole)) if whole else slot))
    return Problem(w.scaled(w.quotient(factors).tree, 0.05), tuple(terms))


def _pair(w: Writer, a: Tree, term: Tree, falls: bool) -> tuple[Tree, Tree]:
    """term - a and term + a, as one writes both; a - term and a + term when it ``falls``."""
    plus = call("add", a, term) if w.ascending else call("add", term, a)
    if falls:
        return call("sub", a, term), plus
    if w.ascending:
        negative = integer(-a.value) if isinstance(a.value, int) else call("neg", a)
        return call("add", negative, term), plus
    return call("sub", term, a), plus
