"""Equivalent forms of an integrand, for a search to try when one form fails.

Each form is a Tree with the way back: an antiderivative of the form becomes one of the
integrand. Forms that change nothing are left out; every answer is verified against the
integrand as it was given, so a form need not be valid everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sympy
from sympy import S
from sympy.simplify.fu import TR8

from service.verification.convert import ConversionError, from_sympy, to_sympy
from tokenizer.tree import Tree, negated

#: Forms larger than this many times the integrand are not worth trying.
GROWTH = 4


@dataclass(frozen=True, slots=True)
class Form:
    """An integrand in another shape.

    For ``x = scale*u + shift`` (both constants) ``tree`` is the integrand in u, called by
    the same name: an antiderivative G of it gives ``scale * G((x - shift)/scale)``.
    """

    name: str
    tree: Tree
    scale: Tree | None = None
    shift: Tree | None = None


def forms(integrand: Tree, variable: str) -> list[Form]:
    """The integrand as given, then rewritten, then scaled; each Tree once."""
    found = {integrand: Form("as given", integrand)}
    try:
        f = to_sympy(integrand)
    except (ConversionError, RecursionError):
        return list(found.values())
    x = sympy.Symbol(variable, real=True)
    limit = GROWTH * integrand.size + 20
    for name, rewrite in _REWRITES.items():
        try:
            tree = from_sympy(rewrite(f, x))
        except (ConversionError, RecursionError, sympy.PolynomialError, *_ODD):
            continue
        if tree.size <= limit:
            found.setdefault(tree, Form(name, tree))
    for form in _scaled(f, x):
        found.setdefault(form.tree, form)
    return list(found.values())


def undo(form: Form, antiderivative: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """The antiderivative of the integrand that one of ``form`` gives."""
    if form.scale is None or form.shift is None:
        return antiderivative
    scale, shift = to_sympy(form.scale), to_sympy(form.shift)
    return scale * antiderivative.subs(x, (x - shift) / scale)


def split(integrand: Tree, variable: str) -> list[Tree]:
    """The terms of the integrand as a sum, constants kept; one Tree when it is no sum.

    A sum keeps its terms as they are written; of a quotient the numerator is split.
    """
    written = _terms(integrand)
    if len(written) > 1:
        return written
    x = sympy.Symbol(variable, real=True)
    try:
        f = to_sympy(integrand)
        parts = sympy.Add.make_args(_split_numerator(f, x))
        return [from_sympy(part) for part in parts]
    except (ConversionError, RecursionError, *_ODD):
        return [integrand]


def _terms(tree: Tree) -> list[Tree]:
    """The terms of a sum or difference, each with its sign."""
    if tree.head == "add":
        return [term for arg in tree.args for term in _terms(arg)]
    if tree.head == "sub":
        left, right = tree.args
        return [*_terms(left), *map(negated, _terms(right))]
    if tree.head == "neg":
        terms = _terms(tree.args[0])
        return [negated(term) for term in terms] if len(terms) > 1 else [tree]
    return [tree]


_ODD = (NotImplementedError, ValueError, TypeError, AttributeError, ZeroDivisionError)

Rewrite = Callable[[sympy.Expr, sympy.Symbol], sympy.Expr]


def without_imaginary_unit(integrand: Tree) -> Tree:
    """The integrand in circular functions where that removes the imaginary unit."""
    if not any(node.head == "constant" and node.value == "I" for node in integrand.preorder()):
        return integrand
    f = to_sympy(integrand)
    real = sympy.expand(f.rewrite(sympy.cos))
    if real.has(S.ImaginaryUnit):
        return integrand
    numerator, denominator = sympy.fraction(sympy.together(real))
    return from_sympy(numerator / denominator)


def _split_numerator(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    numerator, denominator = sympy.fraction(sympy.together(f))
    return sympy.Add(*(term / denominator for term in sympy.Add.make_args(sympy.expand(numerator))))


def _partial_fractions(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    return sympy.apart(f, x) if f.is_rational_function(x) else f


def _linear_trigonometry(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """Products and powers of sin and cos as sums."""
    return TR8(sympy.expand(f))


def _exponentials(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    hyperbolic = (sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch)
    return sympy.powsimp(sympy.expand(f.rewrite(sympy.exp))) if f.has(*hyperbolic) else f


def _hyperbolic(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    return f.rewrite(sympy.cosh) if f.has(sympy.exp) and f.has(sympy.sinh, sympy.cosh) else f


def _sines(f: sympy.Expr, x: sympy.Symbol) -> sympy.Expr:
    """tan, cot, sec and csc in terms of sin and cos."""
    kinds = (sympy.tan, sympy.cot, sympy.sec, sympy.csc)
    if not f.has(*kinds):
        return f
    table = {e: e.rewrite(sympy.cos) for e in f.atoms(sympy.sec, sympy.csc)}
    table |= {e: sympy.sin(e.args[0]) / sympy.cos(e.args[0]) for e in f.atoms(sympy.tan)}
    table |= {e: sympy.cos(e.args[0]) / sympy.sin(e.args[0]) for e in f.atoms(sympy.cot)}
    table |= {e: 1 / sympy.sin(e.args[0]) for e in f.atoms(sympy.csc)}
    return sympy.together(f.xreplace(table))


_REWRITES: dict[str, Rewrite] = {
    "expanded": lambda f, x: sympy.expand(f, log=False),
    "numerator split": _split_numerator,
    "together": lambda f, x: sympy.together(f),
    "partial fractions": _partial_fractions,
    "factored": lambda f, x: sympy.factor(f),
    "products of circular functions linear": _linear_trigonometry,
    "in sin and cos": _sines,
    "hyperbolic as exponential": _exponentials,
    "exponential as hyperbolic": _hyperbolic,
    "powers combined": lambda f, x: sympy.powsimp(f),
    "powers expanded": lambda f, x: sympy.expand_power_exp(f),
    "logarithms taken apart": lambda f, x: sympy.expand_log(f),
    "radicals combined": lambda f, x: sympy.powsimp(f, combine="base", force=True),
}


def _scaled(f: sympy.Expr, x: sympy.Symbol) -> Iterator[Form]:
    """x = (u - b)/a for the awkward linear arguments a*x + b of functions in ``f``."""
    seen: set[sympy.Expr] = set()
    inner = [e.args[0] for e in f.atoms(sympy.Function) if e.args]
    inner += [p.base for p in f.atoms(sympy.Pow)] + [p.exp for p in f.atoms(sympy.Pow)]
    for u in inner:
        if u in seen or u == x or not u.has(x) or not u.is_polynomial(x):
            continue
        seen.add(u)
        polynomial = sympy.Poly(u, x)
        if polynomial.degree() != 1:
            continue
        slope, constant = polynomial.all_coeffs()
        scale, shift = 1 / slope, -constant / slope
        try:
            tree = from_sympy(sympy.expand(f.subs(x, scale * x + shift), log=False))
            yield Form("scaled", tree, from_sympy(scale), from_sympy(shift))
        except (ConversionError, RecursionError, *_ODD):
            continue
