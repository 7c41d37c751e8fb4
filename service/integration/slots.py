"""Slots: terms that stand for several, expanded before the linear algebra.

A model should not compute inside of functions, nor count. So a term of an ansatz
may be a *slot*, which :func:`expand` replaces by the terms it stands for. Every
term that comes out is only a candidate; a wrong one gets the coefficient zero.

Sum slot
    ``(1 + u + v)**n * g`` with u, v not polynomials stands for all ``u**i * v**j * g``
    with i + j <= n: each has a coefficient of its own anyway.
Denominator slot
    ``<POLYd> g / B`` with a polynomial B stands for ``p(x) * g`` and, for each factor
    q**m of B over Q, ``r_k(x) * g / q**k`` with deg r_k < deg q, k = 1 … m.
Largest polynomial slot
    Its degree stands for "as many as it takes": it is raised until the term grows as fast
    as x times the integrand.
Log slots
    ``log(P)``, P a polynomial in one kernel u (the variable, exp(x), a root of a linear
    function, tan(x/2), …), stands for the logarithms and arctangents that come from the
    factors of P: log(q), atan(q'/sqrt(-disc q)), log of a quotient of linear factors, also
    for biquadratic and palindromic quartics and for u**3 - c.
    ``log(u + Y)``, Y a product of square roots whose square is quadratic in u, stands for
    the primitive of du/Y.
    ``log(Y / q)``, q and Y**2 polynomials in one kernel u, stands for the primitives of
    u**k/(q_i*Y) du, k < deg q_i, for each factor q_i of q; roots among the factors of q are
    passed over, so that q may be copied from a denominator. With Y the n-th root of a linear
    function of u it is ``log(q)`` as a polynomial in Y.
    ``log(x / Y)``, ``log(x / (Y*q))``, Y**n = a + b*x**n, and ``log(Y1 / Y2)``, n-th roots of
    linear functions, likewise with u the quotient.

The integrals behind them are tables' standard ones (Gradshteyn & Ryzhik 2.1, 2.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd, lcm
from typing import Final

import numpy as np
import sympy
from sympy import S

from service.integration.evaluate import CannotEvaluate, Evaluator, FloatField
from service.verification.convert import ConversionError, from_sympy, to_sympy
from tokenizer.ansatz import Term, polynomial_degree, rational_value
from tokenizer.tree import Tree, call, integer
from tokenizer.vocabulary import LARGEST_SLOT

#: Most terms that one sum slot stands for.
MAX_SUM: Final = 60
#: Most distinct powers in one denominator slot.
MAX_POLES: Final = 60
#: Highest degree that the largest polynomial slot is raised to.
MAX_REACH: Final = 60
#: Highest degree of a polynomial that is factored.
MAX_DEGREE: Final = 40

_ONE: Final = integer(1)
_TRIG: Final = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)
_HYPERBOLIC: Final = (
    sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch,
)  # fmt: skip
_FAILURES: Final = (
    ConversionError, CannotEvaluate, ArithmeticError, ValueError, TypeError, AttributeError, NotImplementedError,
    RecursionError, sympy.PolynomialError, sympy.polys.polyerrors.BasePolynomialError,
)  # fmt: skip


def expand(terms: Sequence[Term], integrand: Tree, variable: str) -> list[Term]:
    """The terms that ``terms`` stand for, each once, the likelier ones first.

    A slot that cannot be expanded is kept as it is written. Takes milliseconds a
    slot; call it in a worker.
    """
    present = frozenset(integrand.preorder())
    out: dict[Term, None] = {}
    for term in terms:
        try:
            if term.degree >= LARGEST_SLOT:
                term = Term(term.factor, _reach(term, integrand, variable))
            found = list(_expand(term, present, variable))
        except _FAILURES:
            found = [term]
        out.update(dict.fromkeys(found))
    return list(out)


def _expand(term: Term, present: frozenset[Tree], variable: str) -> Iterator[Term]:
    factor = term.factor
    if factor.head == "log":
        literal = Term(factor, term.degree)
        if factor in present:
            yield literal
        for tree in log_candidates(factor.args[0], variable):
            yield Term(tree, term.degree)
        yield literal
        return
    above, below = _factors(factor)
    fixed: list[Tree] = []
    sums: list[Tree] = [_ONE]
    for base, power in above:
        whole = base if power == 1 else call("pow", base, integer(power))
        if base.head in ("add", "sub") and polynomial_degree(base, variable) is None:
            options = _sum_slot(base, power, variable)
            if whole in present:
                options = list(dict.fromkeys([whole, *options]))
            if len(sums) * len(options) <= MAX_SUM:
                sums = [_times(a, b) for b in options for a in sums]
                continue
        fixed.append(whole)
    poles: list[tuple[Tree, int]] = []
    rest: list[Tree] = []
    for base, power in below:
        degree = polynomial_degree(base, variable)
        if degree is None or degree == 0:
            rest.append(base if power == 1 else call("pow", base, integer(power)))
        else:
            poles.append((base, power))
    for product in sums:
        whole = product
        for base in fixed:
            whole = _times(whole, base)
        if rest:
            under = rest[0]
            for base in rest[1:]:
                under = _times(under, base)
            whole = call("div", whole, under)
        yield from _pole_slot(whole, poles, term.degree, variable)


def _reach(term: Term, integrand: Tree, variable: str) -> int:
    """Degree at which the slot of ``term`` grows like the variable times the integrand."""
    at = np.array([1e6, 1e7], dtype=np.complex128)
    symbols = {*integrand.symbols(), *term.factor.symbols()}
    values = {**dict.fromkeys(symbols, 1.3), variable: at}
    evaluator = Evaluator(FloatField(), values, variable)
    with np.errstate(all="ignore"):
        sizes = [np.abs(evaluator.dual(tree)[0]) for tree in (integrand, term.factor)]
        if not all(np.isfinite(size).all() and np.all(size > 0) for size in sizes):
            return term.degree
        growth = [
            float(np.log10(size[1] / size[0])) for size in map(np.ravel, sizes) if size.size == 2
        ]
    if len(growth) == 1:
        growth.append(0.0)
    return max(term.degree, min(round(max(growth[0] + 1, 0) - growth[1]), MAX_REACH))


def _factors(tree: Tree) -> tuple[list[tuple[Tree, int]], list[tuple[Tree, int]]]:
    """(base, exponent) of the numerator and of the denominator, exponents positive integers."""
    above: list[tuple[Tree, int]] = []
    below: list[tuple[Tree, int]] = []
    stack = [(tree, 1)]
    while stack:
        node, power = stack.pop()
        if node.head == "mul":
            stack += [(node.args[1], power), (node.args[0], power)]
        elif node.head == "div":
            stack += [(node.args[1], -power), (node.args[0], power)]
        elif node.head == "neg" and not node.args[0].head == "integer":
            stack.append((node.args[0], power))
        elif node.head == "pow" and (e := rational_value(node.args[1])) and e[1] == 1 and e[0]:
            stack.append((node.args[0], power * e[0]))
        elif node.symbols() and not (node.head == "integer"):
            (above if power > 0 else below).append((node, abs(power)))
    return above, below


def _sum_slot(base: Tree, power: int, variable: str) -> list[Tree]:
    """Power products of the terms of ``base`` up to degree ``power``, without coefficients."""
    parts: list[Tree] = []
    stack = [base]
    while stack:
        node = stack.pop()
        if node.head in ("add", "sub"):
            stack += [node.args[1], node.args[0]]
        elif node.head == "neg":
            stack.append(node.args[0])
        elif node.contains(variable):
            parts.append(_without_number(node, variable))
    parts = list(dict.fromkeys(parts))
    products: list[tuple[int, Tree]] = [(0, _ONE)]
    for part in parts:
        grown = []
        for used, product in products:
            for k in range(power - used + 1):
                raised = _ONE if k == 0 else part if k == 1 else call("pow", part, integer(k))
                grown.append((used + k, _times(product, raised)))
        products = grown
        if len(products) > MAX_SUM:
            raise ValueError("too many terms in a sum slot")
    return [product for _, product in products]


def _without_number(tree: Tree, variable: str) -> Tree:
    if tree.head == "mul":
        kept = [_without_number(a, variable) for a in tree.args if a.contains(variable)]
        return kept[0] if len(kept) == 1 else _times(kept[0], kept[1])
    if tree.head == "div" and not tree.args[1].contains(variable):
        return _without_number(tree.args[0], variable)
    return tree


def _times(a: Tree, b: Tree) -> Tree:
    if a == _ONE:
        return b
    return a if b == _ONE else call("mul", a, b)


def _pole_slot(
    factor: Tree, poles: list[tuple[Tree, int]], degree: int, variable: str
) -> Iterator[Term]:
    if not poles:
        yield Term(factor, degree)
        return
    x = sympy.Symbol(variable, real=True)
    powers: dict[sympy.Expr, int] = {}
    for base, power in poles:
        for q, m in _factor_list(to_sympy(base), x):
            powers[q] = powers.get(q, 0) + m * power
    total = sum(sympy.degree(q, x) * m for q, m in powers.items())
    if sum(powers.values()) > MAX_POLES:
        raise ValueError("too many poles")
    if degree >= total:
        yield Term(factor, degree - total)
    for q, m in powers.items():
        size = sympy.degree(q, x)
        tree = from_sympy(q)
        for k in range(1, m + 1):
            under = tree if k == 1 else call("pow", tree, integer(k))
            yield Term(call("div", factor, under), min(size - 1, max(degree, 0)))


def _factor_list(polynomial: sympy.Expr, x: sympy.Symbol) -> list[tuple[sympy.Expr, int]]:
    """Irreducible factors over Q that contain ``x``; raises PolynomialError for no polynomial."""
    if sympy.Poly(polynomial, x).degree() > MAX_DEGREE:
        raise ValueError("degree too high to factor")
    return [(q, m) for q, m in sympy.factor_list(polynomial)[1] if q.has(x)]


def log_candidates(argument: Tree, variable: str) -> list[Tree]:
    """What ``log(argument)`` stands for, by the log-slot convention."""
    x = sympy.Symbol(variable, real=True)
    expressions = list(dict.fromkeys(_log_slot(argument, x)))
    return [from_sympy(e) for e in expressions]


def _log_slot(argument: Tree, x: sympy.Symbol) -> Iterator[sympy.Expr]:
    above, under = _factors(argument)
    poles = [base for base, _ in under if not _is_root(base)]
    roots = [base for base, _ in under if _is_root(base)]
    if len(above) == len(roots) == 1 and (above[0][0].head == "symbol" or _is_root(above[0][0])):
        found = list(_root_quotient(above[0][0], roots[0], poles, x))
        yield from found
        if found:
            return
    if poles and above and all(_is_root(base) for base, _ in above):
        radicals = [root for base, _ in above for root in _radicals(base) or ()]
        yield from _over_root(radicals, sympy.Mul(*map(to_sympy, poles)), x)
        return
    if argument.head in ("add", "sub"):
        radicals = _radicals(argument.args[1])
        kernel = to_sympy(argument.args[0])
        if radicals and all(n == 2 for _, n in radicals) and kernel.has(x):
            u = sympy.Dummy("u", real=True)
            square = sympy.expand(sympy.Mul(*(r for r, _ in radicals))).subs(kernel, u)
            if not square.has(x) and sympy.degree(square, u) == 2:
                root = sympy.Mul(*(sympy.sqrt(r) for r, _ in radicals))
                yield from _root_primitive(sympy.Poly(square, u), kernel, root)
                return
    yield from _polynomial_slot(to_sympy(argument), x)


def _root_quotient(
    above: Tree, below: Tree, poles: list[Tree], x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Primitives of rational functions of u = x/(a + b*x**n)**(1/n) or (A/B)**(1/n).

    For the first u**n/(1 - b*u**n) = x**n/a, for the second x = (A - B*u**n) solved for x.
    """
    ((radicand, index),) = _radicals(below) or (((S.Zero, 0)),)
    u = sympy.Dummy("u", real=True)
    root = radicand ** sympy.Rational(1, index) if index else S.Zero
    qs = [q for q in map(to_sympy, poles) if q.is_polynomial(x)]
    if above.head == "symbol":
        form = sympy.Poly(radicand, x)
        if {k[0] for k, _ in form.terms()} != {0, index}:
            return
        a, b = form.nth(0), form.nth(index)
        found = [1 - b * u**index]
        for q in qs:
            terms = sympy.Poly(q, x).terms()
            if all(k[0] % index == 0 for k, _ in terms):
                t = a * u**index / (1 - b * u**index)
                found.append(sympy.Add(*(c * t ** (k[0] // index) for k, c in terms)))
        kernel = to_sympy(above) / root
    else:
        ((other, power),) = _radicals(above) or (((S.Zero, 0)),)
        if power != index or sympy.degree(other, x) != 1 or sympy.degree(radicand, x) != 1:
            return
        solved = sympy.solve(other - radicand * u**index, x)[0]
        found = [1 / solved.diff(u), *(q.subs(x, solved) for q in qs)]
        kernel = other ** sympy.Rational(1, index) / root
    for e in found:
        numerator, denominator = sympy.fraction(sympy.together(e))
        for q, _ in sympy.factor_list(sympy.expand(numerator * denominator))[1]:
            if q.has(u):
                yield from (c.subs(u, kernel) for c in factor_primitives(q, u))


def _is_root(tree: Tree) -> bool:
    return tree.head == "sqrt" or (tree.head == "pow" and rational_value(tree.args[1]) is not None)


def _radicals(tree: Tree) -> list[tuple[sympy.Expr, int]] | None:
    """(radicand, index) of a product of roots; None when it is anything else."""
    if tree.head == "sqrt":
        return [(to_sympy(tree.args[0]), 2)]
    if tree.head == "pow" and (e := rational_value(tree.args[1])) and e[0] == 1 and e[1] > 1:
        return [(to_sympy(tree.args[0]), e[1])]
    if tree.head == "mul":
        left, right = (_radicals(arg) for arg in tree.args)
        if left and right:
            return left + right
    return None


def _root_primitive(
    square: sympy.Poly, kernel: sympy.Expr, root: sympy.Expr
) -> Iterator[sympy.Expr]:
    """Primitive of du/Y, Y**2 = a*u**2 + b*u + c."""
    a, b, c = square.all_coeffs()
    slope = 2 * a * kernel + b
    if sympy.expand(b * b - 4 * a * c) == 0:
        yield sympy.log(slope) * root / slope
        return
    if a.is_positive is not False:
        yield sympy.log(slope + 2 * _sqrt(a) * root)
    if a.is_positive is not True:
        yield sympy.atan(slope / (2 * _sqrt(-a) * root))


def _sqrt(value: sympy.Expr) -> sympy.Expr:
    """A square root without absolute values of parameters: the sign does not matter here."""
    positive = {s: sympy.Dummy(s.name, positive=True) for s in value.free_symbols}
    root = sympy.sqrt(sympy.factor(value.subs(positive)))
    return root.subs({dummy: s for s, dummy in positive.items()})


def _over_root(
    radicals: list[tuple[sympy.Expr, int]], below: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Primitives of u**k/(q*Y) du, Y the product of ``radicals``, in the kernel u they share."""
    inside = sympy.Mul(*(r for r, _ in radicals))
    if inside.is_polynomial(x) and below.is_polynomial(x):
        yield from _in_powers(radicals, below, x)
        return
    root = sympy.Mul(*(r ** sympy.Rational(1, index) for r, index in radicals))
    for u, value, inner in _kernels(below * root, x):
        if inner.is_rational_function(u):
            numerator, denominator = sympy.fraction(sympy.together(inner))
            for q, _ in _factor_list(sympy.expand(numerator * denominator), u):
                yield from (e.subs(u, value) for e in factor_primitives(q, u))
            return
    mark = sympy.Dummy("mark")
    combined = below + sum(mark ** (i + 1) * r for i, (r, _) in enumerate(radicals))
    for u, value, inner in _kernels(combined, x):
        rows = [sympy.expand(inner).coeff(mark, i) for i in range(len(radicals) + 1)]
        if all(row.is_polynomial(u) for row in rows):
            lowered = [(r, index) for r, (_, index) in zip(rows[1:], radicals, strict=True)]
            for e in _in_powers(lowered, rows[0], u):
                yield e.subs(u, value)


def _in_powers(
    radicals: list[tuple[sympy.Expr, int]], below: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """The primitives in x and in v = x**n, where the radicands are polynomials in x**n."""
    yield from _pole_primitives(radicals, below, x)
    inside = sympy.Mul(*(r for r, _ in radicals))
    common = gcd(*(k[0] for k, _ in sympy.Poly(inside, x).terms()))
    lowest = min(k[0] for k, _ in sympy.Poly(below, x).terms())
    # in v a power of x is a power of v, times dx/dv
    rest = sympy.Poly({(k[0] - lowest,): c for k, c in sympy.Poly(below, x).terms()}, x)
    for n in range(common, 1, -1):
        if common % n == 0 and all(k[0] % n == 0 for k, _ in rest.terms()):
            v = sympy.Dummy("v", real=True)
            lowered = [(_lower(r, x, n, v), index) for r, index in radicals]
            poles = _lower(rest.as_expr(), x, n, v) * (v if lowest else 1)
            for e in _pole_primitives(lowered, poles, v):
                yield e.subs(v, x**n)


def _lower(e: sympy.Expr, x: sympy.Symbol, n: int, v: sympy.Symbol) -> sympy.Expr:
    """``e``, a polynomial in x**n, as a polynomial in v = x**n."""
    return sympy.Poly({(k[0] // n,): c for k, c in sympy.Poly(e, x).terms()}, v).as_expr()


def _pole_primitives(
    radicals: list[tuple[sympy.Expr, int]], below: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    inside = sympy.expand(sympy.Mul(*(r for r, _ in radicals)))
    if not (inside.has(x) and below.has(x)):
        return
    if len(radicals) == 1 and sympy.degree(inside, x) == 1:
        radicand, index = radicals[0]
        u = sympy.Dummy("u", real=True)
        a, b = sympy.Poly(inside, x).all_coeffs()
        for q, _ in _factor_list(sympy.expand(below.subs(x, (u**index - b) / a)), u):
            root = radicand ** sympy.Rational(1, index)
            yield from (e.subs(u, root) for e in factor_primitives(q, u))
        return
    if any(index != 2 for _, index in radicals) or sympy.degree(inside, x) > 2:
        return
    root = sympy.Mul(*(sympy.sqrt(r) for r, _ in radicals))
    if sympy.degree(inside, x) == 2 and sympy.discriminant(inside, x) == 0:
        # a perfect square: Y is the linear function up to its sign
        line = inside.diff(x)
        for q, _ in _factor_list(sympy.expand(below), x):
            yield from (e * root / line for e in factor_primitives(q, x))
        return
    for q, _ in _factor_list(below, x):
        match sympy.degree(q, x):
            case 1:
                yield from _pole(sympy.solve(q, x)[0], inside, root, x)
            case 2:
                yield from _pole_pair(q, inside, root, x)


def _pole(
    r: sympy.Expr, inside: sympy.Expr, root: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Primitive of 1/((x - r)*Y), Y**2 = ``inside`` of degree 1 or 2."""
    c = sympy.nsimplify(sympy.expand(inside.subs(x, r)))
    slope = sympy.expand(inside.diff(x).subs(x, r))
    above = sympy.expand(2 * c + slope * (x - r))
    if c == 0:
        return
    if c.is_positive is not False:
        s = _sqrt(c)
        yield sympy.log((above + 2 * s * root) / (x - r))
    if c.is_positive is not True:
        s = _sqrt(-c)
        yield sympy.atan(above / (2 * s * root))


def _pole_pair(
    q: sympy.Expr, inside: sympy.Expr, root: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Primitives of 1/(q*Y) and x/(q*Y) for a quadratic q."""
    a, b, c = sympy.Poly(q, x).all_coeffs()
    disc = sympy.expand(b * b - 4 * a * c)
    if disc.is_positive:
        for sign in (1, -1):
            yield from _pole((-b + sign * _sqrt(disc)) / (2 * a), inside, root, x)
        return
    re, im = -b / (2 * a), _sqrt(-disc) / (2 * a)
    # inside at the complex root is p + i*t; its square root is s1 + i*s2
    z = sympy.expand(inside.subs(x, re + sympy.I * im))
    slope = sympy.expand(inside.diff(x).subs(x, re + sympy.I * im))
    p, t = z.as_real_imag()
    b1, b2 = slope.as_real_imag()
    if t == 0:
        real = p.is_positive is not False
        s1, s2 = (_sqrt(p), S.Zero) if real else (S.Zero, _sqrt(-p))
    else:
        size = _sqrt(sympy.expand(p * p + t * t))
        s1 = _sqrt((size + p) / 2)
        s2 = t / (2 * s1)
    # 2z + slope*(x - w) + 2*s*Y, w = re + i*im
    A = sympy.expand(2 * p + b1 * (x - re) + b2 * im) + 2 * s1 * root
    B = sympy.expand(2 * t + b2 * (x - re) - b1 * im) + 2 * s2 * root
    length = sympy.log((sympy.expand(A * A + B * B)) / sympy.expand(q / a)) / 2
    angle = sympy.atan(B / A) - sympy.atan((x - re) / im)
    # (1/s) * log(N/(x - w)), its real and imaginary part
    norm = sympy.radsimp(s1 * s1 + s2 * s2)
    yield sympy.expand((s1 * length + s2 * angle) / norm)
    yield sympy.expand((s1 * angle - s2 * length) / norm)


def _polynomial_slot(e: sympy.Expr, x: sympy.Symbol) -> Iterator[sympy.Expr]:
    if e.is_rational_function(x):
        numerator, denominator = sympy.fraction(sympy.together(e))
        e = sympy.expand(numerator * denominator)
        for n in _powers(e, x):
            u = sympy.Dummy("u", real=True)
            for q, _ in _factor_list(_lower(e, x, n, u), u):
                yield from (c.subs(u, x**n) for c in factor_primitives(q, u))
        return
    for u, value, inner in _kernels(e, x):
        numerator, denominator = sympy.fraction(sympy.together(inner))
        for q, _ in sympy.factor_list(sympy.expand(numerator * denominator))[1]:
            if q.has(u) and sympy.degree(q, u) <= MAX_DEGREE:
                yield from (c.subs(u, value) for c in factor_primitives(q, u))


def _powers(e: sympy.Expr, x: sympy.Symbol) -> list[int]:
    """n such that e is a polynomial in x**n, largest first."""
    common = gcd(*(k[0] for k, _ in sympy.Poly(e, x).terms()))
    return [n for n in range(common, 0, -1) if common % n == 0]


def _kernels(
    e: sympy.Expr, x: sympy.Symbol
) -> Iterator[tuple[sympy.Symbol, sympy.Expr, sympy.Expr]]:
    """(u, what u stands for, e as a rational function of u), one or two ways."""
    u = sympy.Dummy("u", real=True)
    trig = [f for f in e.atoms(*_TRIG) if f.has(x)]
    hyperbolic = [f for f in e.atoms(*_HYPERBOLIC) if f.has(x)]
    exponentials = [f for f in e.atoms(sympy.exp, sympy.Pow) if _is_exponential(f, x)]
    if len(trig) + len(hyperbolic) == 1:
        (only,) = trig or hyperbolic
        inner = e.subs(only, u)
        if not inner.has(x):
            yield u, only, inner
            u = sympy.Dummy("u", real=True)
    if trig:
        argument = _common_argument([f.args[0] for f in trig], x)
        for angle in (argument, argument / 2):
            inner = _in_tangent(e, trig, angle, u)
            if inner is not None and not inner.has(x):
                yield u, sympy.tan(angle), inner
        return
    if hyperbolic:
        arguments = [f.args[0] for f in hyperbolic] + [_exponent(f) for f in exponentials]
        argument = _common_argument(arguments, x)
        inner = e.rewrite(sympy.exp).replace(
            lambda f: _is_exponential(f, x),
            lambda f: u ** sympy.cancel(_exponent(f) / argument),
        )
        if not inner.has(x):
            yield u, sympy.exp(argument), inner
        return
    if exponentials:
        argument = _common_argument([_exponent(f) for f in exponentials], x)
        inner = e.replace(
            lambda f: _is_exponential(f, x),
            lambda f: u ** sympy.cancel(_exponent(f) / argument),
        )
        if not inner.has(x):
            base = exponentials[0]
            value = sympy.exp(argument)
            if isinstance(base, sympy.Pow) and not isinstance(base, sympy.exp):
                value = base ** sympy.cancel(argument / _exponent(base))
            yield u, value, inner
        return
    roots = [f for f in e.atoms(sympy.Pow) if f.exp.is_Rational and f.exp.q > 1 and f.has(x)]
    bases = {f.base for f in roots}
    if len(bases) == 1:
        (base,) = bases
        index = lcm(*(int(f.exp.q) for f in roots))
        inner = e.replace(lambda f: f in roots, lambda f: u ** sympy.Integer(f.exp * index))
        if inner.has(x):
            solved = sympy.solve(sympy.Eq(base, u**index), x)
            if len(solved) == 1:
                inner = inner.subs(x, solved[0])
        if not inner.has(x):
            yield u, base ** sympy.Rational(1, index), inner
        return
    others = [f for f in e.atoms(sympy.Function) if f.has(x)]
    for f in sorted(others, key=lambda f: -sympy.count_ops(f)):
        inner = e.subs(f, u)
        if not inner.has(x):
            yield u, f, inner
            return


def _is_exponential(f: sympy.Expr, x: sympy.Symbol) -> bool:
    return isinstance(f, sympy.exp) or (isinstance(f, sympy.Pow) and f.exp.has(x))


def _exponent(f: sympy.Expr) -> sympy.Expr:
    return f.exp if not isinstance(f, sympy.exp) else f.args[0]


def _common_argument(arguments: Iterable[sympy.Expr], x: sympy.Symbol) -> sympy.Expr:
    """The argument of which all others are integer multiples."""
    first, *rest = arguments
    divisor = S.One
    for other in rest:
        ratio = sympy.cancel(other / first)
        if not ratio.is_Rational:
            raise ValueError("arguments that are no multiples of each other")
        divisor = sympy.Rational(sympy.gcd(divisor, abs(ratio)))
    return sympy.expand(first * divisor)


def _in_tangent(
    e: sympy.Expr, trig: Sequence[sympy.Expr], angle: sympy.Expr, u: sympy.Symbol
) -> sympy.Expr | None:
    """e up to factors cos(angle), rational in u = tan(angle); None if it is not."""
    c = sympy.Dummy("c", real=True)

    def convert(f: sympy.Expr) -> sympy.Expr:
        k = int(sympy.cancel(f.args[0] / angle))
        real, imaginary = sympy.expand((1 + sympy.I * u) ** abs(k)).as_real_imag()
        cos, sin = c ** abs(k) * real, sympy.sign(k) * c ** abs(k) * imaginary
        match f.func:
            case sympy.sin:
                return sin
            case sympy.cos:
                return cos
            case sympy.tan:
                return sin / cos
            case sympy.cot:
                return cos / sin
            case sympy.sec:
                return 1 / cos
            case _:
                return 1 / sin

    whole = sympy.together(e.xreplace({f: convert(f) for f in trig}))
    numerator, denominator = sympy.fraction(whole)
    product = sympy.Poly(sympy.expand(numerator * denominator), c)
    if len({k[0] % 2 for k, _ in product.terms()}) > 1:
        return None
    lowest = min(k[0] for k, _ in product.terms())
    return sum(
        (v * (1 + u**2) ** (-(k[0] - lowest) // 2) for k, v in product.terms()), sympy.S.Zero
    )


def factor_primitives(q: sympy.Expr, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """Logarithms and arctangents in the primitives of p(u)/q(u), q irreducible over Q."""
    polynomial = sympy.Poly(q, u)
    yield sympy.log(q)
    match polynomial.degree():
        case 2:
            yield from _quadratic(*polynomial.all_coeffs(), u=u)
        case 3:
            a, b, c, d = polynomial.all_coeffs()
            if b == 0 and c == 0 and (d / a).is_Rational:
                r = sympy.real_root(-d / a, 3)
                yield sympy.log(u - r)
                yield from _over_field(S.One, r, r * r, u)
        case 4:
            yield from _quartic(polynomial, u)
        case 6:
            a, *middle, d = polynomial.all_coeffs()
            if not any(middle) and (d / a).is_Rational:
                yield from _sixth(d / a, u)


def _quadratic(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, *, u: sympy.Symbol
) -> Iterator[sympy.Expr]:
    disc = sympy.expand(b * b - 4 * a * c)
    slope = 2 * a * u + b
    if disc.is_positive is not True:
        yield sympy.atan(sympy.radsimp(slope / _sqrt(-disc)))
    if disc.is_positive is not False:
        s = _sqrt(disc)
        yield sympy.log((slope - s) / (slope + s))


def _over_field(
    a: sympy.Expr, b: sympy.Expr, c: sympy.Expr, u: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """log and atan of a quadratic whose coefficients are real radicals."""
    yield sympy.log(a * u**2 + b * u + c)
    disc = sympy.radsimp(sympy.expand(b * b - 4 * a * c))
    slope = 2 * a * u + b
    if disc.is_negative:
        yield sympy.atan(slope / sympy.sqrtdenest(sympy.sqrt(-disc)))
    elif disc.is_positive:
        s = sympy.sqrtdenest(sympy.sqrt(disc))
        yield sympy.log((slope - s) / (slope + s))


def _quartic(polynomial: sympy.Poly, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    a, b, c, d, e = polynomial.all_coeffs()
    if b == 0 and d == 0:
        B, C = c / a, e / a
        disc = B * B - 4 * C
        if disc.is_positive:
            s = _sqrt(disc)
            for sign in (1, -1):
                yield from _over_field(S.One, S.Zero, (B + sign * s) / 2, u)
        if C.is_positive and (disc.is_negative or _sqrt(C).is_Rational):
            r = _sqrt(C)
            m = 2 * r - B
            if m.is_positive:
                s = sympy.sqrtdenest(_sqrt(m))
                yield from _over_field(S.One, s, r, u)
                yield from _over_field(S.One, -s, r, u)
        elif disc.is_negative is False and C.is_positive is None:
            return
    elif a == e and b == d:
        # palindromic: u + 1/u obeys a quadratic equation
        disc = b * b - 4 * a * (c - 2 * a)
        if disc.is_positive:
            for sign in (1, -1):
                yield from _over_field(S.One, (b + sign * _sqrt(disc)) / (2 * a), S.One, u)


def _sixth(c: sympy.Expr, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """u**6 + c without rational factors: through u**3 and u**2."""
    if c.is_negative:
        r = sympy.root(-c, 6)
        yield sympy.log((u - r) / (u + r))
        for sign in (1, -1):
            yield from _over_field(S.One, sign * r, r * r, u)
    else:
        r = sympy.root(c, 6)
        for b in (S.Zero, sympy.sqrt(3) * r, -sympy.sqrt(3) * r):
            yield from _over_field(S.One, b, r * r, u)
