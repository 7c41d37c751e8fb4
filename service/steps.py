"""A derivative written out rule by rule, by a walk over the Tree.

Nothing here is computed by SymPy: each step is a claim d/dx u = v that
:mod:`service.verification.derivation` checks on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Final

from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree, call, integer, rational, symbol
from tokenizer.typeset import to_latex

#: Steps of one derivation; what is nested deeper is done without being shown.
MOST_STEPS: Final = 60
#: Nodes a result may grow to: a product of many factors multiplies what it is made of.
LARGEST_RESULT: Final = 3000

ZERO: Final = integer(0)
ONE: Final = integer(1)

#: f'(u) of each function f(u) that is differentiable almost everywhere, and the rule's name.
OUTER: Final[dict[str, tuple[str, str]]] = {
    "exp": ("exp(u)", "Exponential function"),
    "log": ("1/u", "Logarithm"),
    "sqrt": ("1/(2*sqrt(u))", "Square root"),
    "Abs": ("sign(u)", "Absolute value"),
    "sign": ("0", "Sign: constant between jumps"),
    "sin": ("cos(u)", "Sine"),
    "cos": ("-sin(u)", "Cosine"),
    "tan": ("sec(u)^2", "Tangent"),
    "cot": ("-csc(u)^2", "Cotangent"),
    "sec": ("sec(u)*tan(u)", "Secant"),
    "csc": ("-csc(u)*cot(u)", "Cosecant"),
    "asin": ("1/sqrt(1-u^2)", "Arcsine"),
    "acos": ("-1/sqrt(1-u^2)", "Arccosine"),
    "atan": ("1/(1+u^2)", "Arctangent"),
    "acot": ("-1/(1+u^2)", "Arccotangent"),
    "asec": ("1/(u^2*sqrt(1-1/u^2))", "Arcsecant"),
    "acsc": ("-1/(u^2*sqrt(1-1/u^2))", "Arccosecant"),
    "sinh": ("cosh(u)", "Hyperbolic sine"),
    "cosh": ("sinh(u)", "Hyperbolic cosine"),
    "tanh": ("sech(u)^2", "Hyperbolic tangent"),
    "coth": ("-csch(u)^2", "Hyperbolic cotangent"),
    "sech": ("-sech(u)*tanh(u)", "Hyperbolic secant"),
    "csch": ("-csch(u)*coth(u)", "Hyperbolic cosecant"),
    "asinh": ("1/sqrt(u^2+1)", "Area hyperbolic sine"),
    "acosh": ("1/(sqrt(u-1)*sqrt(u+1))", "Area hyperbolic cosine"),
    "atanh": ("1/(1-u^2)", "Area hyperbolic tangent"),
    "acoth": ("1/(1-u^2)", "Area hyperbolic cotangent"),
    "asech": ("-1/(u*sqrt(1-u^2))", "Area hyperbolic secant"),
    "acsch": ("-1/(u^2*sqrt(1+1/u^2))", "Area hyperbolic cosecant"),
    "erf": ("2*exp(-u^2)/sqrt(pi)", "Error function"),
    "erfc": ("-2*exp(-u^2)/sqrt(pi)", "Complementary error function"),
    "erfi": ("2*exp(u^2)/sqrt(pi)", "Imaginary error function"),
    "gamma": ("gamma(u)*digamma(u)", "Gamma function"),
    "loggamma": ("digamma(u)", "Logarithm of the gamma function"),
    "factorial": ("gamma(u+1)*digamma(u+1)", "Factorial"),
    "floor": ("0", "Floor: constant between jumps"),
    "ceiling": ("0", "Ceiling: constant between jumps"),
    "Heaviside": ("0", "Heaviside step: constant off the jump"),
    "Si": ("sin(u)/u", "Sine integral"),
    "Ci": ("cos(u)/u", "Cosine integral"),
    "Shi": ("sinh(u)/u", "Hyperbolic sine integral"),
    "Chi": ("cosh(u)/u", "Hyperbolic cosine integral"),
    "Ei": ("exp(u)/u", "Exponential integral"),
    "li": ("1/log(u)", "Logarithmic integral"),
    "fresnels": ("sin(pi*u^2/2)", "Fresnel sine integral"),
    "fresnelc": ("cos(pi*u^2/2)", "Fresnel cosine integral"),
    "LambertW": ("LambertW(u)/(u*(1+LambertW(u)))", "Lambert W function"),
}


Write = Callable[[Tree], str]


class NoRuleError(ValueError):
    """A head that no rule here differentiates, or a result too large to show."""


@dataclass(slots=True)
class Step:
    """d/dx ``of`` = ``result`` by ``rule``; ``latex`` and ``text`` leave inner derivatives."""

    rule: str
    depth: int
    of: Tree
    result: Tree = ZERO
    latex: str = ""
    text: str = ""


@dataclass(slots=True)
class Derivation:
    """The steps of one derivative, outermost first."""

    variable: str
    steps: list[Step] = field(default_factory=list)
    results: dict[Tree, Tree] = field(default_factory=dict)
    shortened: bool = False

    def derive(self, tree: Tree, depth: int = 0) -> Tree:
        """The derivative of ``tree``, its steps appended. Raises :class:`NoRuleError`."""
        trivial = self._trivial(tree)
        if trivial is not None:
            return trivial
        if tree in self.results:
            return self.results[tree]
        step = Step("", depth, tree)
        if len(self.steps) < MOST_STEPS:
            self.steps.append(step)
        else:
            self.shortened = True
        inner = _Inner(self, depth + 1)
        step.rule, step.result = self._apply(tree, inner)
        if step.result.size > LARGEST_RESULT:
            raise NoRuleError("the derivative is too long to be written out")
        step.latex = inner.equation(tree, step.result, to_latex, slope_latex)
        step.text = inner.equation(tree, step.result, to_text, slope_text)
        self.results[tree] = step.result
        return step.result

    def _trivial(self, tree: Tree) -> Tree | None:
        if not tree.contains(self.variable):
            return ZERO
        return ONE if tree.head == "symbol" else None

    def _apply(self, tree: Tree, d: _Inner) -> tuple[str, Tree]:
        head, args = tree.head, tree.args
        if head in ("add", "sub"):
            terms = linear_terms(tree)
            d.shown = sum_of([(sign, d.mark(term)) for sign, term in terms])
            return "Sum rule", sum_of([(sign, d(term)) for sign, term in terms])
        if head == "neg":
            d.shown = negative(d.mark(args[0]))
            return "Constant factor", negative(d(args[0]))
        if head == "mul":
            return self._product(tree, d)
        if head == "div":
            return self._quotient(args[0], args[1], d)
        if head == "pow":
            return self._power(tree, d)
        if head in OUTER:
            outer, name = _outer(head, args[0])
            d.shown = times(outer, d.mark(args[0]))
            chained = args[0].head != "symbol"
            rule = f"{name} and chain rule" if chained else name
            return rule, times(outer, d(args[0]))
        if head == "atan2":
            y, x = args
            squares = call("add", power(x, 2), power(y, 2))
            d.shown = over(minus(times(x, d.mark(y)), times(y, d.mark(x))), squares)
            return "Angle of a point", over(minus(times(x, d(y)), times(y, d(x))), squares)
        if head == "Piecewise":
            values, conditions = args[::2], args[1::2]

            def pieces(of: list[Tree]) -> Tree:
                return call(head, *(p for pair in zip(of, conditions, strict=True) for p in pair))

            d.shown = pieces([d.mark(value) for value in values])
            return "Case by case", pieces([d(value) for value in values])
        raise NoRuleError(f"there is no rule for {head} here")

    def _product(self, tree: Tree, d: _Inner) -> tuple[str, Tree]:
        factors = list(_factors(tree))
        constants = [f for f in factors if not f.contains(self.variable)]
        rest = [f for f in factors if f.contains(self.variable)]
        if constants:
            c, u = product(constants), product(rest)
            d.shown = times(c, d.mark(u))
            return "Constant factor", times(c, d(u))
        u, v = rest[0], product(rest[1:])
        d.shown = plus(times(d.mark(u), v), times(u, d.mark(v)))
        return "Product rule", plus(times(d(u), v), times(u, d(v)))

    def _quotient(self, u: Tree, v: Tree, d: _Inner) -> tuple[str, Tree]:
        if not v.contains(self.variable):
            d.shown = over(d.mark(u), v)
            return "Constant factor", over(d(u), v)
        if not u.contains(self.variable):
            d.shown = negative(over(times(u, d.mark(v)), power(v, 2)))
            return "Reciprocal rule", negative(over(times(u, d(v)), power(v, 2)))
        d.shown = over(minus(times(d.mark(u), v), times(u, d.mark(v))), power(v, 2))
        return "Quotient rule", over(minus(times(d(u), v), times(u, d(v))), power(v, 2))

    def _power(self, tree: Tree, d: _Inner) -> tuple[str, Tree]:
        base, exponent = tree.args
        if not exponent.contains(self.variable):
            outer = times(exponent, power_of(base, less_one(exponent)))
            d.shown = times(outer, d.mark(base))
            chained = base.head != "symbol"
            return "Power and chain rule" if chained else "Power rule", times(outer, d(base))
        if not base.contains(self.variable):
            outer = times(tree, call("log", base))
            d.shown = times(outer, d.mark(exponent))
            return "Exponential rule", times(outer, d(exponent))
        logarithm = call("log", base)

        def outside(exponent_slope: Tree, base_slope: Tree) -> Tree:
            inside = plus(times(exponent_slope, logarithm), over(times(exponent, base_slope), base))
            return times(tree, inside)

        d.shown = outside(d.mark(exponent), d.mark(base))
        return "Logarithmic differentiation", outside(d(exponent), d(base))


class _Inner:
    """Derivatives of the parts of one step: called for the value, marked for the display."""

    def __init__(self, derivation: Derivation, depth: int) -> None:
        self.derivation = derivation
        self.depth = depth
        self.marks: dict[str, Tree] = {}
        self.shown = ZERO

    def __call__(self, tree: Tree) -> Tree:
        return self.derivation.derive(tree, self.depth)

    def mark(self, tree: Tree) -> Tree:
        """A stand-in for d/dx ``tree``, or its value where that needs no step."""
        trivial = self.derivation._trivial(tree)
        if trivial is not None:
            return trivial
        name = f"Derivativeof_{len(self.marks)}"
        self.marks[name] = tree
        return symbol(name)

    def equation(
        self, of: Tree, result: Tree, write: Write, slope: Callable[[Tree, str], str]
    ) -> str:
        """d/dx ``of`` = what the rule makes of it = ``result``."""
        variable = self.derivation.variable
        middle = write(self.shown)
        for name, tree in reversed(self.marks.items()):  # …_1 is also the beginning of …_12
            middle = middle.replace(write(symbol(name)), slope(tree, variable))
        parts = [slope(of, variable), *([middle] if self.marks else []), write(result)]
        return " = ".join(parts)


def slope_latex(tree: Tree, variable: str) -> str:
    """d/dx of ``tree``."""
    return rf"\frac{{d}}{{d {to_latex(symbol(variable))}}}\left[{to_latex(tree)}\right]"


def slope_text(tree: Tree, variable: str) -> str:
    """d/dx of ``tree``, for a terminal."""
    return f"d/d{variable}[{to_text(tree)}]"


@cache
def _outer_template(head: str) -> Tree:
    return parse(OUTER[head][0], syntax="text", variables=("u",))


def _outer(head: str, argument: Tree) -> tuple[Tree, str]:
    def put(leaf: Tree) -> Tree:
        return argument if leaf.head == "symbol" else leaf

    return _outer_template(head).map_leaves(put), OUTER[head][1]


def linear_terms(tree: Tree, sign: int = 1) -> list[tuple[int, Tree]]:
    """The terms of a sum with their signs."""
    if tree.head == "add":
        return linear_terms(tree.args[0], sign) + linear_terms(tree.args[1], sign)
    if tree.head == "sub":
        return linear_terms(tree.args[0], sign) + linear_terms(tree.args[1], -sign)
    if tree.head == "neg":
        return linear_terms(tree.args[0], -sign)
    return [(sign, tree)]


def _factors(tree: Tree) -> list[Tree]:
    if tree.head != "mul":
        return [tree]
    return _factors(tree.args[0]) + _factors(tree.args[1])


# --- arithmetic on Trees that drops zeros and ones --------------------------------


def sum_of(terms: list[tuple[int, Tree]]) -> Tree:
    """The sum of signed terms."""
    result = ZERO
    for sign, term in terms:
        result = plus(result, term) if sign > 0 else minus(result, term)
    return result


def product(factors: list[Tree]) -> Tree:
    """The product of factors."""
    result = ONE
    for factor in factors:
        result = times(result, factor)
    return result


def plus(a: Tree, b: Tree) -> Tree:
    """a + b."""
    if a == ZERO:
        return b
    if b == ZERO:
        return a
    return call("sub", a, b.args[0]) if b.head == "neg" else call("add", a, b)


def minus(a: Tree, b: Tree) -> Tree:
    """a - b."""
    if b == ZERO:
        return a
    if a == ZERO:
        return negative(b)
    return call("add", a, b.args[0]) if b.head == "neg" else call("sub", a, b)


def negative(a: Tree) -> Tree:
    """-a."""
    if a == ZERO:
        return a
    return a.args[0] if a.head == "neg" else call("neg", a)


def times(a: Tree, b: Tree) -> Tree:
    """a b, a sign and a number pulled to the front, a fraction 1/c joined."""
    if ZERO in (a, b):
        return ZERO
    if a == ONE:
        return b
    if b == ONE:
        return a
    if a.head == "neg":
        return negative(times(a.args[0], b))
    if b.head == "neg":
        return negative(times(a, b.args[0]))
    if a.head == "integer" and b.head == "integer":
        return integer(_int(a) * _int(b))
    if b.head == "integer":
        return times(b, a)
    if a.head == "integer" and b.head == "mul" and b.args[0].head == "integer":
        return times(times(a, b.args[0]), b.args[1])
    if b.head == "mul" and b.args[0].head == "integer":
        return times(b.args[0], times(a, b.args[1]))
    if a.head == "div" and a.args[0] == ONE:
        return over(b, a.args[1])
    if b.head == "div" and b.args[0] == ONE:
        return over(a, b.args[1])
    if b.head == "mul":
        return times(times(a, b.args[0]), b.args[1])
    return call("mul", a, b)


def over(a: Tree, b: Tree) -> Tree:
    """a / b."""
    if a == ZERO or b == ONE:
        return a
    if a.head == "neg":
        return negative(over(a.args[0], b))
    return call("div", a, b)


def power(base: Tree, exponent: int) -> Tree:
    """base to a whole number."""
    return power_of(base, integer(exponent))


def power_of(base: Tree, exponent: Tree) -> Tree:
    """base to the exponent, without exponents 0 and 1."""
    if exponent == ZERO:
        return ONE
    return base if exponent == ONE else call("pow", base, exponent)


def less_one(exponent: Tree) -> Tree:
    """exponent - 1, worked out for a fraction."""
    value = _fraction(exponent)
    if value is None:
        return call("sub", exponent, ONE)
    return rational((value - 1).numerator, (value - 1).denominator)


def _fraction(tree: Tree) -> Fraction | None:
    if tree.head == "integer":
        return Fraction(_int(tree))
    parts = [_fraction(arg) for arg in tree.args]
    if tree.head == "neg" and parts[0] is not None:
        return -parts[0]
    if tree.head == "div" and parts[0] is not None and parts[1]:
        return parts[0] / parts[1]
    return None


def _int(tree: Tree) -> int:
    assert isinstance(tree.value, int)
    return tree.value
