"""What a logarithm slot stands for.

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
    ``log(A + B)``, sums of two roots or of a polynomial and a root, also stands for the
    slots of D = A**2 - B**2: log(D), log(A/D), log(B/D), log(A*B/D), and for the primitive of
    dx/(A*B).

The integrals behind these are tables' standard ones (Gradshteyn & Ryzhik 2.1, 2.2). Every
expression is a candidate for exact linear algebra: a wrong one gets the coefficient zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import gcd, lcm
from typing import Final

import sympy
from sympy import S

from service.integration import goursat
from service.integration.conjugate import Conjugates, conjugates
from service.integration.primitives import binomial_primitives, factor_primitives, square_root
from service.verification.convert import from_sympy, to_sympy
from tokenizer.ansatz import rational_value
from tokenizer.tree import Tree

#: Highest degree of a polynomial that is factored.
MAX_DEGREE: Final = 40

#: Degrees of binomials that are taken apart by cosines; the others have shorter forms.
_BINOMIALS: Final = (5, 7, 8, 9, 10)

_TRIG: Final = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)
_HYPERBOLIC: Final = (
    sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch,
)  # fmt: skip


def factors(tree: Tree) -> tuple[list[tuple[Tree, int]], list[tuple[Tree, int]]]:
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
        elif node.head == "neg" and node.args[0].head != "integer":
            stack.append((node.args[0], power))
        elif node.head == "pow" and (e := rational_value(node.args[1])) and e[1] == 1 and e[0]:
            stack.append((node.args[0], power * e[0]))
        elif node.symbols():
            (above if power > 0 else below).append((node, abs(power)))
    return above, below


def factor_list(polynomial: sympy.Expr, x: sympy.Symbol) -> list[tuple[sympy.Expr, int]]:
    """Irreducible factors over Q that contain ``x``; raises PolynomialError for no polynomial."""
    if sympy.Poly(polynomial, x).degree() > MAX_DEGREE:
        raise ValueError("degree too high to factor")
    return [(q, m) for q, m in sympy.factor_list(polynomial)[1] if q.has(x)]


@lru_cache(maxsize=4096)
def log_candidates(argument: Tree, variable: str) -> tuple[Tree, ...]:
    """What ``log(argument)`` stands for, by the log-slot convention.

    Cached: the hypotheses for one question share most of their slots.
    """
    x = sympy.Symbol(variable, real=True)
    expressions = list(dict.fromkeys(_log_slot(argument, x)))
    return tuple(from_sympy(e) for e in expressions)


def _log_slot(argument: Tree, x: sympy.Symbol) -> Iterator[sympy.Expr]:
    above, under = factors(argument)
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
    pair = conjugates(argument, str(x))
    if pair is not None:
        yield from _conjugate_slot(pair, x)
    if argument.head in ("add", "sub"):
        second = _radicals(argument.args[1])
        kernel = to_sympy(argument.args[0])
        if second and all(n == 2 for _, n in second) and kernel.has(x):
            u = sympy.Dummy("u", real=True)
            square = sympy.expand(sympy.Mul(*(r for r, _ in second))).subs(kernel, u)
            if not square.has(x) and sympy.degree(square, u) == 2:
                root = sympy.Mul(*(sympy.sqrt(r) for r, _ in second))
                yield from _root_primitive(sympy.Poly(square, u), kernel, root)
                return
    yield from _polynomial_slot(to_sympy(argument), x)


def _conjugate_slot(pair: Conjugates, x: sympy.Symbol) -> Iterator[sympy.Expr]:
    """The logarithm slots of D, A/D, B/D and A*B/D, and the primitive of dx/(A*B)."""
    sides = [[(radicand, 2) for radicand in side] for side in pair.radicands if side]
    every = [root for side in sides for root in side]
    if pair.norm.has(x):
        yield from _polynomial_slot(pair.norm, x)
        for radicals in (every, *(sides if len(sides) > 1 else ())):
            yield from _over_root(radicals, pair.norm, x)
    inside = sympy.Poly(sympy.expand(sympy.Mul(*(r for r, _ in every))), x)
    if inside.degree() == 2:
        root = sympy.Mul(*(sympy.sqrt(r) for r, _ in every))
        yield from _root_primitive(inside, x, root)


def _root_quotient(
    above: Tree, below: Tree, poles: list[Tree], x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Primitives of rational functions of u = x/(a + b*x**n)**(1/n) or (A/B)**(1/n).

    For the first u**n/(1 - b*u**n) = x**n/a, for the second x = (A - B*u**n) solved for x.
    """
    ((radicand, index),) = _radicals(below) or [(S.Zero, 1)]
    u = sympy.Dummy("u", real=True)
    root = radicand ** sympy.Rational(1, index)
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
        ((other, power),) = _radicals(above) or [(S.Zero, 1)]
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
        yield sympy.log(slope + 2 * square_root(a) * root)
    if a.is_positive is not True:
        yield sympy.atan(slope / (2 * square_root(-a) * root))


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
            for q, _ in factor_list(sympy.expand(numerator * denominator), u):
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
        for q, _ in factor_list(sympy.expand(below.subs(x, (u**index - b) / a)), u):
            root = radicand ** sympy.Rational(1, index)
            yield from (e.subs(u, root) for e in factor_primitives(q, u))
        return
    if len(radicals) == 1:
        yield from goursat.primitives(radicals[0][0], radicals[0][1], below, x)
    if any(index != 2 for _, index in radicals) or sympy.degree(inside, x) > 2:
        return
    root = sympy.Mul(*(sympy.sqrt(r) for r, _ in radicals))
    if sympy.degree(inside, x) == 2 and sympy.discriminant(inside, x) == 0:
        # a perfect square: Y is the linear function up to its sign
        line = inside.diff(x)
        for q, _ in factor_list(sympy.expand(below), x):
            yield from (e * root / line for e in factor_primitives(q, x))
        return
    for q, _ in factor_list(below, x):
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
        s = square_root(c)
        yield sympy.log((above + 2 * s * root) / (x - r))
    if c.is_positive is not True:
        s = square_root(-c)
        yield sympy.atan(above / (2 * s * root))


def _pole_pair(
    q: sympy.Expr, inside: sympy.Expr, root: sympy.Expr, x: sympy.Symbol
) -> Iterator[sympy.Expr]:
    """Primitives of 1/(q*Y) and x/(q*Y) for a quadratic q."""
    a, b, c = sympy.Poly(q, x).all_coeffs()
    disc = sympy.expand(b * b - 4 * a * c)
    if disc.is_positive:
        for sign in (1, -1):
            yield from _pole((-b + sign * square_root(disc)) / (2 * a), inside, root, x)
        return
    re, im = -b / (2 * a), square_root(-disc) / (2 * a)
    # inside at the complex root is p + i*t; its square root is s1 + i*s2
    z = sympy.expand(inside.subs(x, re + sympy.I * im))
    slope = sympy.expand(inside.diff(x).subs(x, re + sympy.I * im))
    p, t = z.as_real_imag()
    b1, b2 = slope.as_real_imag()
    if t == 0:
        real = p.is_positive is not False
        s1, s2 = (square_root(p), S.Zero) if real else (S.Zero, square_root(-p))
    else:
        size = square_root(sympy.expand(p * p + t * t))
        s1 = square_root((size + p) / 2)
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
            yield from (c.subs(u, x**n) for c in _binomial(_lower(e, x, n, u), u))
            for q, _ in factor_list(_lower(e, x, n, u), u):
                yield from (c.subs(u, x**n) for c in factor_primitives(q, u))
        return
    for u, value, inner in _kernels(e, x):
        numerator, denominator = sympy.fraction(sympy.together(inner))
        for q, _ in sympy.factor_list(sympy.expand(numerator * denominator))[1]:
            if q.has(u) and sympy.degree(q, u) <= MAX_DEGREE:
                yield from (c.subs(u, value) for c in factor_primitives(q, u))


def _binomial(e: sympy.Expr, u: sympy.Symbol) -> Iterator[sympy.Expr]:
    """Primitives over a binomial u**n + c whose factors need more than square roots."""
    leading, *middle, last = sympy.Poly(e, u).all_coeffs()
    n = len(middle) + 1
    if n in _BINOMIALS and not any(middle) and (last / leading).is_Rational:
        yield from binomial_primitives(n, last / leading, u)


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
