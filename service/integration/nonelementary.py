"""Candidates with the named non-elementary functions: erf, Ei, Si, Ci, li, Fresnel, dilogarithm.

Each rule looks at one kind of kernel in an integrand and offers the terms that its
integral may have (Geddes, Glasser, Moore & Scott 1990; DLMF 5–7, 25.12). A term that
is not needed gets the coefficient zero, so the rules may be generous.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from sympy import S

from service.verification.convert import ConversionError, from_sympy
from tokenizer.ansatz import Term
from tokenizer.tree import Tree

#: Head -> what a person calls the function.
NAMES = {
    "erf": "error function",
    "erfc": "complementary error function",
    "erfi": "imaginary error function",
    "Ei": "exponential integral",
    "Si": "sine integral",
    "Ci": "cosine integral",
    "Shi": "hyperbolic sine integral",
    "Chi": "hyperbolic cosine integral",
    "li": "logarithmic integral",
    "fresnels": "Fresnel sine integral",
    "fresnelc": "Fresnel cosine integral",
    "polylog": "polylogarithm (dilogarithm)",
    "gamma": "gamma function",
    "LambertW": "Lambert W function",
}

_MAX_DEGREE = 4


def named_functions(tree: Tree) -> tuple[str, ...]:
    """Names of the non-elementary functions in ``tree``, each once."""
    heads = dict.fromkeys(node.head for node in tree.preorder() if node.head in NAMES)
    return tuple(f"{head}: {NAMES[head]}" for head in heads)


def candidates(integrand: sympy.Expr, x: sympy.Symbol) -> list[Term]:
    """Terms with non-elementary functions, and the elementary ones that go with them."""
    found: dict[Term, None] = {}
    for expression, degree in _rules(integrand, x):
        try:
            found[Term(from_sympy(expression), degree)] = None
        except ConversionError:
            continue
    return list(found)


def _rules(f: sympy.Expr, x: sympy.Symbol) -> Iterator[tuple[sympy.Expr, int]]:
    poles = _poles(f, x)
    numerator_degree = _degree(f, x)
    exponents = _exponents(f, x)
    angles = {
        a.args[0] for a in f.atoms(sympy.sin, sympy.cos, sympy.sec, sympy.csc) if a.has(x)
    } | {a.args[0] for a in f.atoms(sympy.tan, sympy.cot) if a.has(x)}
    hyperbolic = {a.args[0] for a in f.atoms(sympy.sinh, sympy.cosh) if a.has(x)}
    logs = {a for a in f.atoms(sympy.log) if a.has(x)}
    yield from _gaussians(exponents, angles, x, numerator_degree)
    yield from _at_poles(exponents, angles, hyperbolic, poles, x)
    yield from _fresnel(angles, x, numerator_degree)
    yield from _logarithmic(f, logs, x)
    yield from _dilogarithmic(logs, poles, x)
    yield from _with_powers(f, angles, exponents, x)


def _exponents(f: sympy.Expr, x: sympy.Symbol) -> set[sympy.Expr]:
    found = {e.args[0] for e in f.atoms(sympy.exp) if e.has(x)}
    for power in f.atoms(sympy.Pow):
        if power.exp.has(x) and not power.base.has(x):
            found.add(power.exp * sympy.log(power.base))
    sums = {sympy.expand(a + b) for a in found for b in found}
    return {sympy.expand(e) for e in found} | {s for s in sums if s.has(x)}


def _poles(f: sympy.Expr, x: sympy.Symbol) -> list[sympy.Expr]:
    """Roots of the polynomial factors of the denominator, of degree one or two."""
    _, denominator = sympy.fraction(sympy.together(f))
    roots: dict[sympy.Expr, None] = {}
    for factor in sympy.Mul.make_args(sympy.factor(denominator)):
        base = factor.as_base_exp()[0]
        if base.is_polynomial(x) and base.has(x):
            polynomial = sympy.Poly(base, x)
            if polynomial.degree() <= 2:
                for root in sympy.roots(polynomial):
                    if root.is_real is not False:
                        roots[root] = None
    return list(roots)


def _degree(f: sympy.Expr, x: sympy.Symbol) -> int:
    powers = [int(p.exp) for p in f.atoms(sympy.Pow) if p.base == x and p.exp.is_Integer]
    return min(_MAX_DEGREE, max([0, *powers, int(f.has(x))]))


def _quadratic(e: sympy.Expr, x: sympy.Symbol) -> tuple[sympy.Expr, ...] | None:
    if not e.is_polynomial(x):
        return None
    coefficients = sympy.Poly(e, x).all_coeffs()
    return tuple(coefficients) if len(coefficients) == 3 else None


def _gaussians(
    exponents: set[sympy.Expr], angles: set[sympy.Expr], x: sympy.Symbol, degree: int
) -> Iterator[tuple[sympy.Expr, int]]:
    for e in exponents:
        shape = _quadratic(e, x)
        if shape is None:
            continue
        a, b, _ = shape
        root = sympy.sqrt(-a) if not a.is_positive else sympy.sqrt(a)
        kind = sympy.erfi if a.is_positive else sympy.erf
        yield kind(root * x + (root * b / (2 * a))), min(2, degree)
        yield sympy.exp(e), degree + 1
        yield sympy.exp(e) / x, 0


def _at_poles(
    exponents: set[sympy.Expr],
    angles: set[sympy.Expr],
    hyperbolic: set[sympy.Expr],
    poles: list[sympy.Expr],
    x: sympy.Symbol,
) -> Iterator[tuple[sympy.Expr, int]]:
    """exp, sin, cos of a linear function over powers of x - r."""
    for r in poles:
        shifted = x - r
        for e in exponents:
            slope = e.diff(x)
            if not slope.has(x):
                yield sympy.Ei(sympy.expand(slope * shifted)), 1
                yield sympy.exp(e) / shifted, 0
                yield sympy.exp(e) / shifted**2, 0
                yield sympy.exp(e), 2
            elif e.is_polynomial(x) and r == 0:
                yield sympy.Ei(e), 0
        for u in angles:
            slope = u.diff(x)
            if not slope.has(x):
                for k in (1, 2, 3):
                    argument = sympy.expand(k * slope * shifted)
                    yield sympy.Si(argument), 1
                    yield sympy.Ci(_positive(argument)), 1
                    yield sympy.sin(k * u) / shifted, 0
                    yield sympy.cos(k * u) / shifted, 0
                yield sympy.sin(u), 1
                yield sympy.cos(u), 1
                yield sympy.log(shifted), 0
                yield 1 / shifted, 1
                yield sympy.sin(u) ** 2 / shifted, 0
                yield sympy.cos(u) ** 2 / shifted, 0
            elif u.is_polynomial(x) and r == 0:
                yield sympy.Si(u), 0
                yield sympy.Ci(u), 0
        for u in hyperbolic:
            slope = u.diff(x)
            if not slope.has(x):
                argument = sympy.expand(slope * shifted)
                yield sympy.Shi(argument), 1
                yield sympy.Chi(_positive(argument)), 1
                yield sympy.sinh(u) / shifted, 0
                yield sympy.cosh(u) / shifted, 0


def _positive(argument: sympy.Expr) -> sympy.Expr:
    """The argument of an even function (up to a constant) with a positive coefficient."""
    return -argument if argument.could_extract_minus_sign() else argument


def _fresnel(
    angles: set[sympy.Expr], x: sympy.Symbol, degree: int
) -> Iterator[tuple[sympy.Expr, int]]:
    for u in angles:
        shape = _quadratic(u, x)
        if shape is None:
            continue
        a, b, _ = shape
        size = sympy.sqrt(2 * abs(a) / sympy.pi) if a.is_number else sympy.sqrt(2 * a / sympy.pi)
        argument = sympy.expand(size * (x + b / (2 * a)))
        yield sympy.fresnels(argument), min(degree, 2)
        yield sympy.fresnelc(argument), min(degree, 2)
        yield sympy.sin(u), degree
        yield sympy.cos(u), degree
        yield sympy.sin(u) / x, 0
        yield sympy.cos(u) / x, 0


def _logarithmic(
    f: sympy.Expr, logs: set[sympy.Expr], x: sympy.Symbol
) -> Iterator[tuple[sympy.Expr, int]]:
    for log in logs:
        u = log.args[0]
        if u.is_polynomial(x) and sympy.Poly(u, x).degree() == 1:
            yield sympy.li(u), 1
            yield sympy.log(log), 2
            for n in range(2, _MAX_DEGREE + 2):
                yield sympy.Ei(n * log), 0
            yield u / log, 1
            yield u**2 / log, 1
            yield 1 / log, 2
        for k in (1, 2):
            yield sympy.log(log), 0
            yield sympy.Ei(k * log), 0
            yield sympy.Ei(-k * log), 0


def _dilogarithmic(
    logs: set[sympy.Expr], poles: list[sympy.Expr], x: sympy.Symbol
) -> Iterator[tuple[sympy.Expr, int]]:
    """log(c*(x - s)) over x - r: the dilogarithm of (x - r)/(s - r)."""
    for log in logs:
        u = log.args[0]
        zeros = sympy.roots(sympy.Poly(u, x)) if u.is_polynomial(x) else {}
        for r in poles:
            for s in zeros:
                if s != r and s.is_real is not False:
                    ratio = sympy.cancel((x - r) / (s - r))
                    yield sympy.polylog(2, ratio), 0
                    yield sympy.polylog(2, sympy.cancel(1 - ratio)), 0
                    yield log * sympy.log(1 - ratio), 0
                    yield log * sympy.log(ratio), 0
                    yield log * sympy.log(-ratio), 0
                    yield sympy.log(1 - ratio) * sympy.log(ratio), 0
            if r == 0 and u.is_polynomial(x) and not zeros.get(0):
                rest = u.subs(x, 0)
                power = sympy.cancel(1 - u / rest)
                yield sympy.polylog(2, power), 0
        yield log**2, 1
        yield log, 2
        yield log**3, 0
        for r in poles:
            yield log * sympy.log(x - r), 0
            yield sympy.log(x - r), 0


def _with_powers(
    f: sympy.Expr, angles: set[sympy.Expr], exponents: set[sympy.Expr], x: sympy.Symbol
) -> Iterator[tuple[sympy.Expr, int]]:
    """exp, sin, cos of c*x**n times a power of x; exp(x)/sqrt(x) and its like."""
    for e in exponents:
        c, power = e.as_independent(x)
        if power.is_Pow and power.base == x and power.exp.is_Rational and c.is_real is not False:
            n = power.exp
            yield sympy.Ei(e), 0
            yield sympy.exp(e), 2
            half = sympy.sqrt(-c if not c.is_positive else c) * x ** (n / 2)
            yield (sympy.erfi if c.is_positive else sympy.erf)(half), 0
            for k in range(1, 5):
                yield x ** (n * k) * sympy.exp(e), 0
                yield x ** (n * k - n / 2) * sympy.exp(e), 0
        elif power == x:
            half = sympy.sqrt(-c if not c.is_positive else c) * sympy.sqrt(x)
            yield (sympy.erfi if c.is_positive else sympy.erf)(half), 0
            yield sympy.sqrt(x) * sympy.exp(e), 2
            yield sympy.exp(e) / sympy.sqrt(x), 0
    for u in angles:
        c, power = u.as_independent(x)
        if power.is_Pow and power.base == x and power.exp.is_Rational:
            yield sympy.Si(u), 0
            yield sympy.Ci(u), 0
        elif power == x and f.has(sympy.sqrt(x)) and c.is_real is not False:
            argument = sympy.sqrt(2 * (abs(c) if c.is_number else c) / sympy.pi) * sympy.sqrt(x)
            yield sympy.fresnels(argument), 0
            yield sympy.fresnelc(argument), 0
            yield sympy.sqrt(x) * sympy.sin(u), 1
            yield sympy.sqrt(x) * sympy.cos(u), 1
    if f.has(x):
        yield S.One, 3
