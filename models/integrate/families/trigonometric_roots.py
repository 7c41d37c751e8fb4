"""Roots of trigonometric functions and of their squares, and half-integer powers of them."""

from __future__ import annotations

from fractions import Fraction

from models.integrate.families.sines_cosines import EXPONENTS, sin_cos
from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, powers_of, product, raised
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, rational


def draw(w: Writer) -> Problem:
    """One integrand with a root."""
    kinds = (_roots, _pythagorean, _root_of_tangent, _root_of_square)
    return w.rng.choices(kinds, (4, 4, 2, 2))[0](w)


def _roots(w: Writer) -> Problem:
    """Half-integer powers: one exponent odd, or the two adding up to -2, or of 1 + cos."""
    u = w.argument(0.8)
    sin, cos = call("sin", u), call("cos", u)
    one, other = (sin, cos) if w.chance(0.5) else (cos, sin)
    draw = w.rng.random()
    if draw < 0.5:
        p = w.rng.choice((1, 1, 3, 5, -1, -1, -3))
        k = w.rng.choice((1, 1, 3, 5))
        root = call("sqrt", one) if abs(p) == 1 else call("pow", one, rational(abs(p), 2))
        rest = raised(other, k)
        tree = product([rest, root]) if p > 0 else call("div", rest, root)
        slot = call("sqrt", one) if p > 0 else call("div", ONE, root)
        return Problem(tree, (Term(product([powers_of(one, k + abs(p) // 2 + 1), slot])),))
    if draw < 0.65:
        d = w.rng.choice((2, 2, 3))
        p = w.rng.choice((1, 3, 5, -1, -3) if d == 2 else (1, 2, 4, 5, -1, -2, -4))
        above = [(one, Fraction(p, d)), (other, Fraction(-2 * d - p, d))]
        tree = w.quotient(above).tree
        # over the square of other this is one/other to a power
        up = Fraction(p + d, d)
        term = w.quotient([(one, up), (other, -up)]).tree
        return Problem(tree, (Term(term),))
    sign = w.rng.choice(("add", "sub"))
    a = w.number(0.7)
    base = call(sign, a, one if a == ONE else call("mul", a, one))
    n = w.rng.choice((1, 1, 3, 5))
    root = w.power(base, Fraction(n, 2))
    return Problem(
        root, (Term(product([powers_of(one, n // 2), call("div", other, call("sqrt", base))])),)
    )


#: h, g, and the order in which h**2 = ±(a - g**2) is written: 1 - cos**2, sec**2 - 1, 1 + tan**2.
_SQUARES = (
    ("sin", "cos", "1-g"), ("cos", "sin", "1-g"), ("tan", "sec", "g-1"), ("sec", "tan", "1+g"),
    ("cot", "csc", "g-1"), ("csc", "cot", "1+g"),
)  # fmt: skip


def _pythagorean(w: Writer) -> Problem:
    """(1 - cos**2)**(p/2), (sec**2 - 1)**(p/2), sqrt(sin**2), at times with another factor."""
    u = w.argument(0.9)
    head, other, form = w.rng.choice(_SQUARES)
    h = call(head, u)
    square = raised(call(other, u), 2)
    if w.chance(0.35):
        inside = raised(h, 2)
    elif form == "1-g":
        inside = call("sub", ONE, square)
    elif form == "g-1":
        inside = (
            call("sub", square, ONE) if not w.ascending else call("add", call("neg", ONE), square)
        )
    else:
        inside = call("add", ONE, square)
    if w.chance(0.2):
        inside = call("neg", inside) if inside.head == "pow" else _negative(inside)
    p = w.rng.choice((1, 1, 1, 3, -1, -1, -3, 5))
    m, n = (p * e for e in EXPONENTS[head])
    power = w.power(inside, Fraction(abs(p), 2))
    tree = power if p > 0 else call("div", ONE, power)
    if w.chance(0.2):
        extra = w.rng.choice(("sin", "cos", "tan"))
        m, n = m + EXPONENTS[extra][0], n + EXPONENTS[extra][1]
        f = call(extra, u)
        tree = product([f, power]) if p > 0 else call("div", f, power)
    if (m, n) == (0, 0):
        return _pythagorean(w)
    # sqrt(h**2) is h up to a sign that is constant between zeros
    sign = call("div", call("sqrt", inside), h)
    return Problem(tree, tuple(Term(product([t.factor, sign])) for t in sin_cos(m, n, u)))


def _negative(inside: Tree) -> Tree:
    if inside.head == "sub":
        return (
            call("sub", inside.args[1], inside.args[0])
            if inside.args[1] != ONE
            else call("sub", ONE, inside.args[0])
        )
    if inside.args[0] == ONE:
        return call("sub", call("neg", ONE), inside.args[1])
    return call("sub", ONE, inside.args[1])


def _root_of_tangent(w: Writer) -> Problem:
    """(a + b tan**2)**(p/2): two logarithms in t = tan."""
    head = w.rng.choice(("tan", "tan", "cot"))
    u = w.argument(0.9)
    if w.chance(0.3):
        return _root_of_secant(w, u, head)
    t = call(head, u)
    return root_of_square(w, t, call("add", ONE, raised(t, 2)))


def root_of_square(w: Writer, t: Tree, slope: Tree) -> Problem:
    """t**m (a + b t**2)**(p/2): logarithms in t, whose ``slope`` is 1 + t**2 or 1 - t**2."""
    base = w.linear(raised(t, 2), unit=0.7)
    p = w.rng.choice((1, 1, -1, -1, 3))
    m = w.rng.choice((0, 0, 1)) if p < 3 else 0
    root = call("sqrt", base)
    power = w.power(base, Fraction(abs(p), 2))
    tree = product([raised(t, m), power]) if p > 0 else call("div", raised(t, m), power)
    terms = [Term(call("log", call("div", root, slope)))]
    if m == 0 and p > 0:
        terms.append(Term(call("log", call("add", t, root))))
    if p > 1 or (m and p > 0):
        terms.append(Term(product([powers_of(t, 1), root])))
    return Problem(tree, tuple(terms))


def _root_of_secant(w: Writer, u: Tree, head: str) -> Problem:
    """(a + b sec**2)**(p/2), which is a root of a + b + b tan**2; csc and cot alike."""
    t, s = call(head, u), call("sec" if head == "tan" else "csc", u)
    a, b = w.number(0.7), w.number(0.7)
    signs = w.rng.choice(((1, 1), (1, 1), (1, -1), (-1, 1)))
    parts = [(signs[0], a), (signs[1], product([b, raised(s, 2)]))]
    if signs[0] < 0 or (signs[1] > 0 and w.chance(0.4)):
        parts.reverse()
    base = w.sum(parts)
    root = call("sqrt", base)
    p = w.rng.choice((1, 1, -1, 3))
    power = w.power(base, Fraction(abs(p), 2))

    def angle(head: str, c: Tree) -> Term:
        over = t if c == ONE else product([call("sqrt", c), t])
        return Term(call(head, call("div", over, root)))

    terms = [angle("atan" if signs[0] > 0 else "atanh", a)]
    if p > 0:
        over = t if b == ONE else product([call("sqrt", b), t])
        log = Term(call("log", call("add", over, root)))
        terms.append(log if signs[1] > 0 else angle("atan", b))
    if p > 1:
        terms.append(Term(product([t, root])))
    return Problem(power if p > 0 else call("div", ONE, power), tuple(terms))


def _root_of_square(w: Writer) -> Problem:
    """cos/sqrt(a + b cos**2), sin/sqrt(a + b sin**2)."""
    u = w.argument(0.9)
    one, other = (
        (call("sin", u), call("cos", u)) if w.chance(0.5) else (call("cos", u), call("sin", u))
    )
    base = w.linear(raised(one, 2), unit=0.5)
    root = call("sqrt", base)
    tree = call("div", one, root) if w.chance(0.7) else product([one, root])
    inside = base.args[0] if base.head == "neg" else base
    last = inside.args[1]
    square = raised(one, 2)
    positive = (inside.head == "add") if last in (square,) or last.head == "mul" else True
    coefficient = next(
        (node.args[0] for node in base.preorder() if node.head == "mul" and node.args[1] == square),
        ONE,
    )
    c = product([call("sqrt", coefficient), other]) if coefficient != ONE else other
    terms = [
        Term(call("atan", call("div", c, root)))
        if positive
        else Term(call("log", call("add", c, root)))
    ]
    if tree.head == "mul":
        terms.append(Term(product([other, root])))
    return Problem(tree, tuple(terms))
