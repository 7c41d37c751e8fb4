"""Tree ↔ SymPy, by an explicit table.

No name a user typed is ever looked up: a head selects a constructor from
``CONSTRUCTORS``, a symbol's name only becomes the name of a ``Symbol``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final

import sympy
from sympy import S
from sympy.core.sorting import default_sort_key

from tokenizer.heads import ARITY, ELEMENTARY
from tokenizer.tree import Tree, call, constant, integer, rational, symbol

#: Highest root of a fraction that is passed to SymPy.
MAX_ROOT: Final = 200

#: Most decimal digits of a number that conversion will compute.
MAX_DIGITS: Final = 20_000

#: Largest argument at which gamma-like functions are evaluated to a number.
MAX_GAMMA: Final = 6_000

ONE: Final = integer(1)


class ConversionError(ValueError):
    """An expression that has no counterpart on the other side."""


class NumberTooLargeError(ConversionError):
    """A number that would take more than :data:`MAX_DIGITS` digits to write down."""


def to_sympy(
    tree: Tree, *, real: bool = True, seen: dict[Tree, sympy.Basic] | None = None
) -> sympy.Basic:
    """The expression (or condition) as SymPy sees it, evaluated by its constructors only.

    Symbols are real unless ``real`` is false. ``factorial`` of anything but a
    non-negative integer is ``gamma(x + 1)``. Raises :class:`ConversionError`
    for a task head and :class:`NumberTooLargeError` for a number beyond bounds.
    ``seen`` may be shared between Trees that have parts in common.
    """
    seen = {} if seen is None else seen

    def convert(node: Tree) -> sympy.Basic:
        found = seen.get(node)
        if found is None:
            found = seen[node] = (
                _build(node.head, [convert(arg) for arg in node.args])
                if node.args
                else _leaf(node, real)
            )
        return found

    return convert(tree)


def _leaf(node: Tree, real: bool) -> sympy.Basic:
    if node.head == "symbol":
        return sympy.Symbol(str(node.value), real=True) if real else sympy.Symbol(str(node.value))
    if node.head == "integer":
        return sympy.Integer(node.value)
    if node.head == "boolean":
        return S.true if node.value == "True" else S.false
    return _CONSTANTS[str(node.value)]


def _build(head: str, args: list[sympy.Basic]) -> sympy.Basic:
    try:
        constructor = CONSTRUCTORS[head]
    except KeyError:
        raise ConversionError(f"{head} is a task, not an expression") from None
    if head in _NUMERIC_ONLY and not all(isinstance(arg, sympy.Expr) for arg in args):
        raise ConversionError(f"{head} takes numbers, not conditions")
    try:
        return constructor(*args)
    except ConversionError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:  # such as I < x, Mod(x, 0)
        raise ConversionError(f"{head} has no meaning here: {error}") from None


def _power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    if base.is_Rational and exponent.is_Rational and not base.is_zero:
        size = max(abs(base.p), base.q)
        if abs(exponent) * (math.log10(size) if size > 1 else 0) > MAX_DIGITS:
            raise NumberTooLargeError(f"a power of more than {MAX_DIGITS} digits")
    if exponent.is_Rational and exponent.q > MAX_ROOT:
        # SymPy takes the root of the coefficient's denominator by factoring its q-th power
        coefficient = base.as_coeff_Mul()[0]
        if coefficient.is_Rational and coefficient.q != 1:
            raise NumberTooLargeError(f"a root beyond the {MAX_ROOT}th of a fraction")
    return sympy.Pow(base, exponent)


def _bounded(function: Callable[..., sympy.Expr]) -> Callable[..., sympy.Expr]:
    """``function``, refusing the numbers at which SymPy would loop for very long."""

    def build(*args: sympy.Expr) -> sympy.Expr:
        if any(arg.is_Rational and abs(arg) > MAX_GAMMA for arg in args):
            raise NumberTooLargeError(f"an argument beyond ±{MAX_GAMMA}")
        return function(*args)

    return build


def _factorial(argument: sympy.Expr) -> sympy.Expr:
    if argument.is_Integer and argument >= 0:
        return sympy.factorial(argument)
    return sympy.gamma(argument + 1)


def _binomial(upper: sympy.Expr, lower: sympy.Expr) -> sympy.Expr:
    # SymPy multiplies the product out for a literal lower index
    if lower.is_Integer and not (upper.is_Rational and abs(upper) <= MAX_GAMMA) and lower > 60:
        raise NumberTooLargeError("a binomial coefficient of more than 60 factors")
    return sympy.binomial(upper, lower)


def _piecewise(*flat: sympy.Basic) -> sympy.Basic:
    if len(flat) % 2 or not flat:
        raise ConversionError("Piecewise takes value, condition, value, condition, …")
    return sympy.Piecewise(*zip(flat[::2], flat[1::2], strict=True))


_CONSTANTS: Final = {"pi": S.Pi, "E": S.Exp1, "I": S.ImaginaryUnit, "oo": S.Infinity}

#: SymPy class -> head, for every function whose arguments are the same on both sides.
_SAME: Final[dict[Any, str]] = {
    sympy.log: "log", sympy.Abs: "Abs", sympy.sign: "sign", sympy.erf: "erf",
    sympy.sin: "sin", sympy.cos: "cos", sympy.tan: "tan",
    sympy.cot: "cot", sympy.sec: "sec", sympy.csc: "csc",
    sympy.asin: "asin", sympy.acos: "acos", sympy.atan: "atan",
    sympy.acot: "acot", sympy.asec: "asec", sympy.acsc: "acsc",
    sympy.sinh: "sinh", sympy.cosh: "cosh", sympy.tanh: "tanh",
    sympy.coth: "coth", sympy.sech: "sech", sympy.csch: "csch",
    sympy.asinh: "asinh", sympy.acosh: "acosh", sympy.atanh: "atanh",
    sympy.acoth: "acoth", sympy.asech: "asech", sympy.acsch: "acsch",
    sympy.erfc: "erfc", sympy.erfi: "erfi",
    sympy.gamma: "gamma", sympy.loggamma: "loggamma", sympy.factorial: "factorial",
    sympy.floor: "floor", sympy.ceiling: "ceiling", sympy.DiracDelta: "DiracDelta",
    sympy.Si: "Si", sympy.Ci: "Ci", sympy.Shi: "Shi", sympy.Chi: "Chi",
    sympy.Ei: "Ei", sympy.li: "li",
    sympy.fresnels: "fresnels", sympy.fresnelc: "fresnelc", sympy.LambertW: "LambertW",
    sympy.atan2: "atan2", sympy.Mod: "Mod", sympy.binomial: "binomial", sympy.beta: "beta",
    sympy.polylog: "polylog",
}  # fmt: skip

_SYMMETRIC: Final[dict[Any, str]] = {
    sympy.Max: "Max", sympy.Min: "Min", sympy.And: "And", sympy.Or: "Or",
}  # fmt: skip

_RELATIONS: Final[dict[Any, str]] = {
    sympy.StrictLessThan: "Lt", sympy.LessThan: "Le",
    sympy.StrictGreaterThan: "Gt", sympy.GreaterThan: "Ge",
    sympy.Equality: "Eq", sympy.Unequality: "Ne",
}  # fmt: skip

#: Head -> what builds it out of converted arguments.
CONSTRUCTORS: Final[dict[str, Callable[..., sympy.Basic]]] = {
    **{head: cls for table in (_SAME, _SYMMETRIC, _RELATIONS) for cls, head in table.items()},
    "add": sympy.Add,
    "sub": lambda a, b: sympy.Add(a, -b),
    "mul": sympy.Mul,
    "div": lambda a, b: sympy.Mul(a, _power(b, S.NegativeOne)),
    "neg": lambda a: -a,
    "pow": _power,
    "sqrt": sympy.sqrt,
    "exp": sympy.exp,
    "factorial": _bounded(_factorial),
    "gamma": _bounded(sympy.gamma),
    "loggamma": _bounded(sympy.loggamma),
    "digamma": _bounded(sympy.digamma),
    "beta": _bounded(sympy.beta),
    "polylog": _bounded(sympy.polylog),
    "binomial": _binomial,
    "Heaviside": lambda a: sympy.Heaviside(a, S.Half),
    "Piecewise": _piecewise,
}
_NUMERIC_ONLY: Final = frozenset(
    {"add", "sub", "mul", "div", "neg", "pow", "Max", "Min", "Lt", "Le", "Gt", "Ge", *ELEMENTARY}
    | set(_SAME.values())
)


def from_sympy(expr: sympy.Basic, seen: dict[sympy.Basic, Tree] | None = None) -> Tree:
    """The Tree of a SymPy expression, arranged for reading.

    Negative coefficients become ``sub`` or ``neg``, negative powers ``div``,
    half powers ``sqrt``; a sum starts with a positive term where it has one.
    Raises :class:`ConversionError` for a function or object without a head. ``seen``
    may be shared between expressions that have parts in common.
    """
    seen = {} if seen is None else seen

    def convert(node: sympy.Basic) -> Tree:
        found = seen.get(node)
        if found is None:
            found = seen[node] = _tree_of(node, convert)
        return found

    return convert(expr)


def _tree_of(node: sympy.Basic, convert: Callable[[sympy.Basic], Tree]) -> Tree:
    if node.is_Symbol:
        return symbol(node.name)
    if node.is_Rational:
        return rational(int(node.p), int(node.q))
    if node.is_Add:
        return _sum(node, convert)
    if node.is_Mul:
        return _product(node, convert)
    if node.is_Pow:
        return _power_tree(node, convert)
    if isinstance(node, sympy.exp):
        return call("exp", convert(node.args[0]))
    if isinstance(node, sympy.Piecewise):
        return call("Piecewise", *(convert(part) for pair in node.args for part in pair.args))
    cls = type(node)
    head = _SAME.get(cls) or _RELATIONS.get(cls)
    # a derivative of DiracDelta is one with two arguments
    if head is not None and ARITY[head] in (None, len(node.args)):
        return call(head, *map(convert, node.args))
    head = _SYMMETRIC.get(cls)
    if head is not None:
        return call(head, *map(convert, sorted(node.args, key=default_sort_key)))
    return _special(node, convert)


def _special(node: sympy.Basic, convert: Callable[[sympy.Basic], Tree]) -> Tree:
    for name, value in _CONSTANTS.items():
        if node is value:
            return constant(name)
    if node is S.NegativeInfinity:
        return call("neg", constant("oo"))
    if node is S.true or node is S.false:
        return Tree("boolean", (), str(node))
    if node is S.EulerGamma:
        return call("neg", call("digamma", ONE))
    if isinstance(node, sympy.polygamma) and node.args[0].is_zero:
        return call("digamma", convert(node.args[1]))
    if isinstance(node, sympy.Heaviside) and node.args[1] == S.Half:
        return call("Heaviside", convert(node.args[0]))
    if isinstance(node, sympy.frac):
        return call("sub", convert(node.args[0]), call("floor", convert(node.args[0])))
    raise ConversionError(f"no way to write {type(node).__name__} in an answer")


def _negative(term: sympy.Expr) -> bool:
    return bool(term.as_coeff_Mul()[0].is_extended_negative)


def _sum(node: sympy.Expr, convert: Callable[[sympy.Basic], Tree]) -> Tree:
    terms: Sequence[sympy.Expr] = node.as_ordered_terms()
    first = next((i for i, term in enumerate(terms) if not _negative(term)), 0)
    terms = [terms[first], *terms[:first], *terms[first + 1 :]]
    total = convert(terms[0])
    for term in terms[1:]:
        total = (
            call("sub", total, convert(-term))
            if _negative(term)
            else call("add", total, convert(term))
        )
    return total


def _times(factors: Iterable[Tree]) -> Tree:
    return reduce(lambda a, b: call("mul", a, b), factors)


def _product(node: sympy.Expr, convert: Callable[[sympy.Basic], Tree]) -> Tree:
    above: list[Tree] = []
    below: list[Tree] = []
    coefficient = S.One
    for factor in node.as_ordered_factors():
        if factor.is_Rational:
            coefficient *= factor
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(convert(sympy.Pow(factor.base, -factor.exp)))
        else:
            above.append(convert(factor))
    size = abs(coefficient)
    if size.p != 1 or not above:
        above.insert(0, integer(int(size.p)))
    if size.q != 1:
        below.insert(0, integer(int(size.q)))
    product = _times(above)
    if below:
        product = call("div", product, _times(below))
    return call("neg", product) if coefficient.is_negative else product


def _power_tree(node: sympy.Expr, convert: Callable[[sympy.Basic], Tree]) -> Tree:
    base, exponent = node.base, node.exp
    if base is S.Exp1:
        return call("exp", convert(exponent))
    if exponent.is_Rational and exponent.is_negative:
        return call("div", ONE, convert(sympy.Pow(base, -exponent)))
    if exponent == S.Half:
        return call("sqrt", convert(base))
    return call("pow", convert(base), convert(exponent))
