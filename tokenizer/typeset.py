"""Tree to LaTeX, as mathematics is set."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from tokenizer.functions import INVERSE
from tokenizer.names import GREEK_NAMES
from tokenizer.tree import Tree, integer

# how tightly a rendering binds, from loose to tight
CONDITION, SUM, NEGATION, PRODUCT, POWER, ATOM = range(6)

_BINDING: Final = {
    "add": SUM,
    "sub": SUM,
    "neg": NEGATION,
    "mul": PRODUCT,
    "pow": POWER,
    "exp": POWER,
    "factorial": POWER,
    **dict.fromkeys(("Lt", "Le", "Gt", "Ge", "Eq", "Ne", "And", "Or"), CONDITION),
}
_RELATIONS: Final = {
    "Lt": "<",
    "Le": r"\leq",
    "Gt": ">",
    "Ge": r"\geq",
    "Eq": "=",
    "Ne": r"\neq",
}
_COMMANDS: Final = {
    **{name: f"\\{name}" for name in "sin cos tan cot sec csc sinh cosh tanh coth".split()},
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "log": r"\ln",
    "gamma": r"\Gamma",
    "Max": r"\max",
    "Min": r"\min",
    **{f"a{name}": rf"\operatorname{{arc{name}}}" for name in ("cot", "sec", "csc")},
    **{
        f"a{name}": rf"\operatorname{{ar{name}}}"
        for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch")
    },
}
_CONSTANTS: Final = {"pi": r"\pi", "I": r"\mathrm{i}", "oo": r"\infty"}
#: Functions that carry a power between name and argument.
_POWERED: Final = frozenset((*INVERSE, *INVERSE.values(), "log"))
_DELIMITED: Final = {
    "Abs": (r"\left|", r"\right|"),
    "floor": (r"\left\lfloor ", r" \right\rfloor"),
    "ceiling": (r"\left\lceil ", r" \right\rceil"),
}
_NAME: Final = re.compile(r"([A-Za-z]+[0-9]*)(?:_(.+))?\Z")
#: Greek letters that TeX has no command for, since they look Latin.
_LATIN_LOOKING: Final = frozenset(
    "omicron Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi".split()
)
_ONE: Final = integer(1)
_ZERO: Final = integer(0)
_TWO: Final = integer(2)
_MINUS_ONE: Final = integer(-1)


def to_latex(tree: Tree) -> str:
    r"""The expression in LaTeX, for a formula environment.

    ``parse(to_latex(tree), syntax="latex", variables=tree.symbols())`` gives
    the same Tree again.

    >>> from tokenizer.parse import parse
    >>> to_latex(parse("sin(x)^2/(2x)"))
    '\\frac{\\sin^{2}\\left(x\\right)}{2 x}'
    """
    return _Typesetter(tree).set(tree)


class _Typesetter:
    def __init__(self, root: Tree) -> None:
        self.root = root

    @cached_property
    def euler(self) -> str:
        # a symbol called e leaves the number e to be written upright
        return r"\mathrm{e}" if self.root.contains("e") else "e"

    @cached_property
    def d(self) -> str:
        return r"\mathrm{d}" if self.root.contains("d") else "d"

    def set(self, tree: Tree) -> str:
        head, args = tree.head, tree.args
        if not args:
            return self.leaf(tree)
        if head == "mul":
            return self.product(*args)
        if head == "div":
            return rf"\frac{{{self.set(args[0])}}}{{{self.set(args[1])}}}"
        if head == "pow":
            return self.power(*args)
        if head == "add":
            return f"{self.at_least(args[0], SUM)} + {self.at_least(args[1], PRODUCT)}"
        if head == "sub":
            return f"{self.at_least(args[0], SUM)} - {self.at_least(args[1], PRODUCT)}"
        if head in _COMMANDS:
            arguments = ", ".join([self.set(arg) for arg in args])
            return rf"{_COMMANDS[head]}\left({arguments}\right)"
        if head == "neg":
            return "-" + self.at_least(args[0], PRODUCT)
        if head == "exp":
            return f"{self.euler}^{{{self.set(args[0])}}}"
        if head == "sqrt":
            return rf"\sqrt{{{self.set(args[0])}}}"
        if head in _DELIMITED:
            opening, closing = _DELIMITED[head]
            return opening + self.set(args[0]) + closing
        if head == "factorial":
            return self.at_least(args[0], ATOM) + "!"
        if head == "binomial":
            return rf"\binom{{{self.set(args[0])}}}{{{self.set(args[1])}}}"
        if head in _RELATIONS:
            left, right = args
            return f"{self.set(left)} {_RELATIONS[head]} {self.set(right)}"
        if head in ("And", "Or"):
            sign = r" \wedge " if head == "And" else r" \vee "
            return sign.join(self.junct(arg) for arg in args)
        if head == "Piecewise":
            return self.cases(args)
        if head == "integral":
            return self.integral(*args)
        if head == "derivative":
            return self.derivative(*args)
        arguments = ", ".join(map(self.set, args))
        return rf"\operatorname{{{head}}}\left({arguments}\right)"

    def at_least(self, tree: Tree, binding: int) -> str:
        text = self.set(tree)
        tight = _BINDING.get(tree.head, ATOM) >= binding
        return text if tight else rf"\left({text}\right)"

    def leaf(self, tree: Tree) -> str:
        head, value = tree.head, str(tree.value)
        if head == "symbol":
            return self.symbol(value)
        if head == "constant":
            return self.euler if value == "E" else _CONSTANTS[value]
        if head == "boolean":
            return r"\text{otherwise}" if value == "True" else r"\text{False}"
        return value

    def symbol(self, name: str) -> str:
        if len(name) == 1:
            return name
        match = _NAME.match(name)
        assert match is not None, name
        base, subscript = match.groups()
        if base in GREEK_NAMES and base not in _LATIN_LOOKING:
            text = f"\\{base}"
        elif len(base) == 1:
            text = base
        else:
            text = rf"\mathit{{{base}}}" if base[-1].isdigit() else rf"\mathrm{{{base}}}"
        if subscript is None:
            return text
        if subscript in GREEK_NAMES and subscript not in _LATIN_LOOKING:
            return f"{text}_{{\\{subscript}}}"
        joined = re.sub(r"(?<=[0-9])_(?=[A-Za-z])", "", subscript)
        parts = joined.replace("_", ",")
        return f"{text}_{{{parts}}}"

    def function_name(self, head: str) -> str:
        return _COMMANDS.get(head) or rf"\operatorname{{{head}}}"

    def product(self, left: Tree, right: Tree) -> str:
        first, second = self.at_least(left, PRODUCT), self.at_least(right, POWER)
        return first + (r" \cdot " if self.needs_dot(left, second) else " ") + second

    def needs_dot(self, left: Tree, second: str) -> bool:
        """Whether a space alone would be read otherwise than as a product."""
        while left.head == "mul":
            left = left.args[1]
        if second[0].isdigit() or (left.head == "integer" and second.startswith(r"\frac")):
            return True
        if left.head == "symbol":
            name = str(left.value)
            if name == "d":  # would be a differential
                return True
            upright = self.symbol(name).startswith(r"\math")
            looks_called = upright or name in ("f", "g", "h", "Gamma", "zeta")
            return looks_called and second.startswith(r"\left(")
        return False

    def power(self, base: Tree, exponent: Tree) -> str:
        raised = self.set(exponent)
        if base.head in _POWERED and exponent != _MINUS_ONE:
            argument = self.set(base.args[0])
            return rf"{self.function_name(base.head)}^{{{raised}}}\left({argument}\right)"
        if exponent.head == "div" and exponent.args[0] == _ONE:
            index = exponent.args[1]
            if index.head == "integer" and index not in (_ZERO, _ONE, _TWO):
                return rf"\sqrt[{index.value}]{{{self.set(base)}}}"
        plain = not base.args or base.head in _DELIMITED
        text = self.set(base)
        return (text if plain else rf"\left({text}\right)") + f"^{{{raised}}}"

    def junct(self, tree: Tree) -> str:
        text = self.set(tree)
        return rf"\left({text}\right)" if tree.head in ("And", "Or") else text

    def cases(self, args: tuple[Tree, ...]) -> str:
        rows = []
        for value, condition in zip(args[::2], args[1::2], strict=True):
            text = self.set(condition)
            if condition.head != "boolean":
                text = rf"\text{{for}}\: {text}"
            rows.append(f"{self.set(value)} & {text}")
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def integral(self, integrand: Tree, variable: Tree, *bounds: Tree) -> str:
        sign = r"\int"
        if bounds:
            sign += f"_{{{self.set(bounds[0])}}}^{{{self.set(bounds[1])}}}"
        return rf"{sign} {self.at_least(integrand, NEGATION)} \, {self.d}{self.variable(variable)}"

    def derivative(self, expression: Tree, variable: Tree, order: Tree) -> str:
        raised = "" if order == _ONE else f"^{{{order.value}}}"
        below = self.variable(variable) + raised
        return rf"\frac{{{self.d}{raised}}}{{{self.d}{below}}} {self.at_least(expression, PRODUCT)}"

    def variable(self, variable: Tree) -> str:
        text = self.symbol(str(variable.value))
        return text if len(text) == 1 or not text[0].isalpha() else f" {text}"
