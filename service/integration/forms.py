"""Equivalent forms of an integrand, for a search to try when one form fails.

Each form is a Tree with the way back: an antiderivative of the form becomes one of the
integrand. Forms that change nothing are left out; every answer is verified against the
integrand as it was given, so a form need not be valid everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

import sympy
from sympy import S
from sympy.simplify.fu import TR8

from service.integration.pieces import as_signs
from service.integration.substitution import STUMBLES, substitutions
from service.integration.variables import changes_of_variable
from service.verification.convert import ConversionError, from_sympy, to_sympy
from tokenizer.tree import Tree, call, integer, negated, symbol

#: Forms larger than this many times the integrand are not worth trying.
GROWTH = 4


@dataclass(frozen=True, slots=True)
class Form:
    """An integrand in another shape.

    ``meaning`` tells for symbols of ``tree`` what they stand for in the variable of the
    integrand: a constant, or the new variable of a substitution. With it put in, an
    antiderivative of ``tree`` is one of the integrand but for a constant factor.
    """

    name: str
    tree: Tree
    meaning: tuple[tuple[str, Tree], ...] = ()

    def in_x(self, tree: Tree) -> Tree:
        """``tree`` with what the symbols of this form stand for."""
        if not self.meaning:
            return tree
        meaning = dict(self.meaning)
        return tree.map_leaves(
            lambda leaf: meaning.get(str(leaf.value), leaf) if leaf.head == "symbol" else leaf
        )

    @property
    def signs(self) -> list[Tree]:
        """Signs among what the symbols stand for: no coefficient can be one."""
        return [meaning for _, meaning in self.meaning if meaning.head == "sign"]


def asked(integrand: Tree, variable: str) -> list[Form]:
    """What the model is asked first: the integrand without constant factors and odd constants."""
    bare = without_factors(integrand, variable)
    named = with_named_constants(bare, variable)
    return [Form("without constant factors", bare), *([named] if named else [])]


def with_named_constants(integrand: Tree, variable: str) -> Form | None:
    """The integrand with symbols for constants such as ``cos(log(2))``; None without any.

    What such a constant is does not matter to the form of an antiderivative.
    """
    names: dict[Tree, str] = {}
    free = _free_names(integrand.symbols())

    def named(tree: Tree) -> Tree:
        if tree.args and not tree.contains(variable) and _is_odd(tree):
            if tree not in names:
                names[tree] = next(free)
            return symbol(names[tree])
        return Tree(tree.head, tuple(map(named, tree.args)), tree.value)

    tree = named(integrand)
    meaning = tuple((name, constant) for constant, name in names.items())
    return Form("constants named", tree, meaning) if meaning else None


def _with_named_signs(
    f: sympy.Expr, x: sympy.Symbol
) -> tuple[sympy.Expr, dict[sympy.Symbol, sympy.Expr]] | None:
    """``f`` with a symbol for each sign, which is constant wherever it is not 0.

    None when there is none: ``x*sqrt(x**2)`` becomes ``p0*x**2`` with p0 = sign(x).
    """
    g = as_signs(f)
    g = g.replace(sympy.Abs, lambda u: sympy.sign(u) * u if u.has(x) else sympy.Abs(u))
    signs = sorted((e for e in g.atoms(sympy.sign) if e.has(x)), key=sympy.default_sort_key)
    if not signs:
        return None
    free = _free_names([str(mark) for mark in f.free_symbols])
    names = {sign: sympy.Symbol(name, real=True) for sign, name in zip(signs, free, strict=False)}
    return g.xreplace(names), {mark: sign for sign, mark in names.items()}


def _free_names(taken: Collection[str]) -> Iterator[str]:
    """Names of parameters that are not ``taken``, without end."""
    return (name for name in map("p{}".format, count()) if name not in taken)


def _is_odd(constant: Tree) -> bool:
    """Whether a constant is more than arithmetic on numbers and symbols."""
    return any(node.head not in _ARITHMETIC for node in constant.preorder())


_ARITHMETIC = frozenset(
    {"add", "sub", "mul", "div", "pow", "neg", "sqrt", "symbol", "integer", "decimal", "constant"}
)


def forms(integrand: Tree, variable: str) -> list[Form]:
    """The integrand as given, then rewritten, then in other variables; each Tree once."""
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
        except (ConversionError, RecursionError, sympy.PolynomialError, *STUMBLES):
            continue
        if tree.size <= limit:
            found.setdefault(tree, Form(name, tree))
    changed = [(name, g, {x: inner}) for name, g, inner in changes_of_variable(f, x)]
    signs = _with_named_signs(f, x)
    if signs is not None:
        changed.append(("signs named", *signs))
    for form in _written(changed):
        if form.tree.size <= limit:
            found.setdefault(form.tree, form)
    return list(found.values())


def substituted(integrand: Tree, variable: str) -> list[Form]:
    """The integrand in other variables, each a question of its own.

    What solves it where something is positive may change its sign elsewhere: such signs are
    among the meanings.
    """
    try:
        f = to_sympy(integrand)
        x = sympy.Symbol(variable, real=True)
        _, signs = _with_named_signs(f, x) or (f, {})
        changes = [
            (name, g, {x: u, **(signs or _signs_of(u, x))}) for name, g, u in substitutions(f, x)
        ]
    except (ConversionError, RecursionError):
        return []
    found: dict[Tree, Form] = {}
    for form in _written(changes):
        if form.tree.size <= GROWTH * integrand.size + 20:
            found.setdefault(form.tree, form)
    found.pop(integrand, None)
    return list(found.values())


def _signs_of(u: sympy.Expr, x: sympy.Symbol) -> dict[sympy.Symbol, sympy.Expr]:
    """What may have been taken to be positive for the sake of ``u``, by its sign."""
    taken = (u, sympy.cos(*u.args)) if isinstance(u, sympy.tan) else (x,)
    return {sympy.Dummy("sign"): sympy.sign(e) for e in taken}


def _written(
    changed: Iterable[tuple[str, sympy.Expr, Mapping[sympy.Symbol, sympy.Expr]]],
) -> Iterator[Form]:
    """Forms of those that we have words for."""
    for name, g, table in changed:
        try:
            meaning = tuple((mark.name, from_sympy(e)) for mark, e in table.items())
            yield Form(name, from_sympy(g), meaning)
        except (ConversionError, RecursionError, *STUMBLES):
            continue


def without_factors(tree: Tree, variable: str) -> Tree:
    """A product or quotient without its constant factors, which no ansatz depends on."""
    if not tree.contains(variable):
        return integer(1)
    if tree.head == "neg":
        return without_factors(tree.args[0], variable)
    if tree.head not in {"mul", "div"}:
        return tree
    left, right = (without_factors(arg, variable) for arg in tree.args)
    if right == integer(1):
        return left
    return right if tree.head == "mul" and left == integer(1) else call(tree.head, left, right)


def split(integrand: Tree, variable: str) -> list[Tree]:
    """The terms of the integrand as a sum, constants kept; one Tree when it is no sum.

    A sum keeps its terms as they are written; of a quotient the numerator is split.
    """
    written = written_terms(integrand)
    if len(written) > 1:
        return written
    x = sympy.Symbol(variable, real=True)
    try:
        f = to_sympy(integrand)
        parts = sympy.Add.make_args(_split_numerator(f, x))
        return [from_sympy(part) for part in parts]
    except (ConversionError, RecursionError, *STUMBLES):
        return [integrand]


def written_terms(tree: Tree) -> list[Tree]:
    """The terms of a sum or difference, each with its sign."""
    if tree.head == "add":
        return [term for arg in tree.args for term in written_terms(arg)]
    if tree.head == "sub":
        left, right = tree.args
        return [*written_terms(left), *map(negated, written_terms(right))]
    if tree.head == "neg":
        terms = written_terms(tree.args[0])
        return [negated(term) for term in terms] if len(terms) > 1 else [tree]
    return [tree]


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
    if not numerator.is_Add:
        # a sum is split as it stands: multiplied out, (x - 1)**(3/2) would fall apart
        numerator = sympy.expand(numerator)
    return sympy.Add(*(term / denominator for term in sympy.Add.make_args(numerator)))


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
