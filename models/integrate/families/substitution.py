"""F'(g(x)) g'(x) as people write it, F' from the algebraic families or a table."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from models.integrate.families import (
    exponential,
    hyperbolic,
    inverse,
    linear_products,
    logarithmic,
    quadratic_radicals,
    table,
    trigonometric,
)  # fmt: skip
from models.integrate.families import rational as rational_functions
from models.integrate.problem import Problem, Unlabelled
from models.integrate.writing import ONE, Writer, X, plus_one, product, raised
from tokenizer.ansatz import Term, polynomial_degree
from tokenizer.tree import Tree, call, integer, rational

#: A kernel g and how f(g) * g' is written.
Kernel = tuple[Tree, Callable[[Tree], Tree]]


def sample(rng: random.Random) -> Problem:
    """One integrand that a substitution makes simple."""
    while True:
        w = Writer(rng)
        outer = _outer(w)
        if outer.integrand.size > 18:
            continue
        try:
            g, times = _kernel(w)
            terms = tuple(_composed(t, g) for t in outer.terms)
        except Unlabelled:
            continue
        return Problem(times(_substituted(outer.integrand, g)), terms)


def _outer(w: Writer) -> Problem:
    draw = w.rng.random()
    if draw < 0.2:
        return table.sample(w.rng)
    if draw < 0.45:
        families = (
            exponential.sample, trigonometric.sample, trigonometric.sample, logarithmic.sample,
            inverse.sample, hyperbolic.sample,
        )  # fmt: skip
        return w.rng.choice(families)(w.rng)
    if draw < 0.65:
        n = w.rng.choice(
            (1, 2, 2, 3, 4, 5, Fraction(1, 2), Fraction(3, 2), Fraction(-1, 2), -1, -1, -2, -3)
        )
        base = X if w.chance(0.5) else w.linear(unit=0.7)
        n = Fraction(n)
        tree = w.power(base, n) if n > 0 else call("div", ONE, w.power(base, -n))
        if n == -1:
            return Problem(tree, (Term(call("log", base)),))
        if base == X:
            up = n + 1
            return Problem(
                tree, (Term(w.power(X, up) if up > 0 else call("div", ONE, w.power(X, -up))),)
            )
        return Problem(tree, (Term(tree, 1),))
    if draw < 0.8:
        return rational_functions.sample(w.rng)
    if w.chance(0.6):
        return quadratic_radicals.sample(w.rng)
    return linear_products.sample(w.rng)


def _kernel(w: Writer) -> Kernel:
    n = w.rng.choice((2, 2, 2, 3, 3, 4))
    kind = w.rng.choices(
        (
            "power",
            "root",
            "exp",
            "log",
            "sin",
            "cos",
            "tan",
            "inverse",
            "function",
            "reciprocal",
            "hyperbolic",
            "sum",
        ),
        (28, 12, 10, 10, 8, 8, 6, 5, 4, 4, 3, 2),
    )[0]
    match kind:
        case "power":
            return raised(X, n), lambda f: _multiplied(w, raised(X, n - 1), f)
        case "root":
            q = w.rng.choice((2, 2, 2, 3))
            root = w.power(X, Fraction(1, q))
            return root, lambda f: _over_root(w, f, root, q)
        case "sum":
            inside = w.polynomial([w.rng.choice((0, 1, 2)), w.rng.choice((1, 1, -1)), 1])
            slope = w.polynomial(
                [-1 if any(node.head == "sub" for node in inside.preorder()) else 1, 2]
            )
            return inside, lambda f: _multiplied(w, slope, f)
        case "exp":
            e = call("exp", X)
            return e, lambda f: _multiplied(w, e, f)
        case "log":
            return call("log", X), lambda f: _divided(w, f, X)
        case "sin":
            u = w.argument(0.8)
            return call("sin", u), lambda f: _multiplied(w, call("cos", u), f)
        case "cos":
            u = w.argument(0.8)
            return call("cos", u), lambda f: _multiplied(w, call("sin", u), f)
        case "tan":
            head, other = w.rng.choice((("tan", "sec"), ("tan", "sec"), ("cot", "csc")))
            if w.chance(0.3):
                return call(head, X), lambda f: _divided(
                    w, f, raised(call("cos" if head == "tan" else "sin", X), 2)
                )
            return call(head, X), lambda f: _multiplied(w, raised(call(other, X), 2), f)
        case "inverse":
            head = w.rng.choice(("atan", "asin"))
            below = (
                call("add", ONE, raised(X, 2))
                if head == "atan"
                else call("sqrt", call("sub", ONE, raised(X, 2)))
            )
            return call(head, X), lambda f: _divided(w, f, below)
        case "function":
            inside = w.quadratic()
            if polynomial_degree(inside, "x") != 2 or inside.head == "neg" or len(inside.args) < 2:
                raise Unlabelled("no square")
            even = not any(_is_linear(t) for t in _terms(inside))
            if not even:
                raise Unlabelled("a middle term")
            root = w.power(inside, Fraction(1, 2))
            return root, lambda f: _multiplied(w, X, _divided(w, f, root))
        case "reciprocal":
            return call("div", ONE, X), lambda f: _divided(w, f, raised(X, 2))
        case _:
            head, other = w.rng.choice(
                (
                    ("sinh", "cosh"),
                    ("cosh", "sinh"),
                    ("tanh", "sech"),
                    ("sec", "tan"),
                    ("csc", "cot"),
                )
            )
            slope = raised(call(other, X), 2) if head == "tanh" else call(other, X)
            if head in ("sec", "csc"):
                slope = product([call(head, X), slope])
            return call(head, X), lambda f: _multiplied(w, slope, f)


def _over_root(w: Writer, f: Tree, root: Tree, q: int) -> Tree:
    """f(root) / root**(q - 1), where f has that power as a factor simply without it."""
    power = raised(root, q - 1)
    if f.head == "mul" and f.args[0] == power:
        return f.args[1]
    if f.head == "mul" and f.args[0].head == "mul" and f.args[0].args[0] == power:
        return call("mul", f.args[0].args[1], f.args[1])
    return _divided(w, f, w.power(X, Fraction(q - 1, q)))


def _terms(tree: Tree) -> list[Tree]:
    if tree.head in ("add", "sub"):
        return _terms(tree.args[0]) + _terms(tree.args[1])
    return [tree.args[0]] if tree.head == "neg" else [tree]


def _is_linear(tree: Tree) -> bool:
    return polynomial_degree(tree, "x") == 1


def _substituted(tree: Tree, g: Tree) -> Tree:
    if tree == X:
        return g
    if not tree.args:
        return tree
    args = tuple(_substituted(arg, g) for arg in tree.args)
    if tree.head == "pow" and args[0].head == "pow":
        inner, outer = args[0].args[1], args[1]
        if inner.head == outer.head == "integer":
            # (x**2)**3 is written x**6
            return call(
                "pow", args[0].args[0], integer(int(inner.value or 0) * int(outer.value or 0))
            )
    if tree.head == "pow" and args[0] == g and args[1].head == "integer" and _has_root(g):
        # (x**(1/3))**2 is written x**(2/3)
        index = 2 if g.head == "sqrt" else int(g.args[1].args[1].value or 0)
        base, power = g.args[0], Fraction(int(args[1].value or 0), index)
        if base == X and power.denominator == 1:
            return raised(X, power.numerator)
        if base == X:
            return call("pow", X, rational(power.numerator, power.denominator))
    if tree.head == "pow" and args[0].head == "exp" and args[1].head == "integer":
        return call("exp", call("mul", args[1], args[0].args[0]))
    return Tree(tree.head, args, tree.value)


def _composed(term: Term, g: Tree) -> Term:
    """The term with x replaced by g; its polynomial slot becomes a sum slot in g."""
    factor = _substituted(term.factor, g)
    if g.head == "exp" and factor.head == "log" and not _has_root(factor):
        # with exp(x) in it the argument is read as a polynomial in exp(x), not exp(2*x)
        factor = call("log", product([g, factor.args[0]]))
    if not term.degree:
        return Term(factor)
    if any(node.head == "pow" and node.args[1].head == "neg" for node in factor.preorder()):
        raise Unlabelled("a negative power")
    if term.factor.head == "div":
        # in a kernel the denominator is not split, so its whole degree is needed above it
        below = polynomial_degree(term.factor.args[1], "x") or 0
        term = Term(term.factor, max(term.degree, below))
    if size := polynomial_degree(g, "x"):
        return Term(factor, term.degree * size)
    if term.degree > 10:
        raise Unlabelled("a slot too large")
    slot = raised(plus_one(g), term.degree)
    if factor.head == "div" and factor.args[0] == ONE:
        return Term(call("div", slot, factor.args[1]))
    return Term(product([slot, factor]))


def _has_root(tree: Tree) -> bool:
    return any(
        node.head == "sqrt" or (node.head == "pow" and node.args[1].head == "div")
        for node in tree.preorder()
    )


def _multiplied(w: Writer, slope: Tree, f: Tree) -> Tree:
    """slope * f, the slope in the numerator if there is one."""
    if f == ONE:
        return slope
    if f in (X, raised(X, 2), raised(X, 3)) and slope in (X, raised(X, 2), raised(X, 3)):
        return raised(X, (polynomial_degree(f, "x") or 0) + (polynomial_degree(slope, "x") or 0))
    if f.head == "div":
        return call("div", product([slope, f.args[0]]), f.args[1])
    if f.head == "neg":
        return call("neg", _multiplied(w, slope, f.args[0]))
    return product([slope, f] if w.chance(0.6) else [f, slope])


def _divided(w: Writer, f: Tree, below: Tree) -> Tree:
    if below == ONE:
        return f
    if f.head == "div":
        factors = [below, f.args[1]] if w.chance(0.7) else [f.args[1], below]
        return call("div", f.args[0], product(factors))
    if f.head == "neg":
        return call("neg", _divided(w, f.args[0], below))
    return call("div", f, below)
