"""The functions of the language: how they are spelled and what they build.

A function's canonical spelling is its head, or one of :data:`BUILT` for those
that are short for something else (``log10``, ``cbrt``, ``pow``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tokenizer.heads import ARITY, ELEMENTARY, RELATIONS, SPECIAL
from tokenizer.tree import Tree, call, constant, integer

TRIGONOMETRIC: Final = ("sin", "cos", "tan", "cot", "sec", "csc")
HYPERBOLIC: Final = ("sinh", "cosh", "tanh", "coth", "sech", "csch")

#: What ``sin^{-1}`` means: function -> inverse.
INVERSE: Final = {name: f"a{name}" for name in (*TRIGONOMETRIC, *HYPERBOLIC)}

#: Functions that may carry a power between name and argument, as in ``sin^2 x``.
POWERED: Final = frozenset((*INVERSE, *INVERSE.values(), "log", "log2", "log10"))

ONE: Final = integer(1)


def power(base: Tree, exponent: Tree) -> Tree:
    """``base**exponent``; a power of Euler's number is ``exp``."""
    if base.head == "constant" and base.value == "E":
        return exponential(exponent)
    return call("pow", base, exponent)


def exponential(exponent: Tree) -> Tree:
    """``exp(exponent)``; ``exp(1)`` is Euler's number itself."""
    return constant("E") if exponent == ONE else call("exp", exponent)


def root(radicand: Tree, index: Tree) -> Tree:
    """The principal root: ``sqrt`` for index 2, else a power with exponent 1/index."""
    if index == integer(2):
        return call("sqrt", radicand)
    return power(radicand, call("div", ONE, index))


def logarithm(argument: Tree, base: Tree | None = None) -> Tree:
    """The natural logarithm, or that to a base as a quotient of two natural ones."""
    numerator = call("log", argument)
    return numerator if base is None else call("div", numerator, call("log", base))


def junction(head: str, conditions: list[Tree]) -> Tree:
    """``And`` or ``Or`` of conditions, without another of its kind directly inside."""
    parts = [part for tree in conditions for part in (tree.args if tree.head == head else (tree,))]
    return call(head, *parts)


#: Spelling -> numbers of arguments it may have, and what it builds from them.
BUILT: Final[dict[str, tuple[tuple[int, ...], Callable[..., Tree]]]] = {
    "exp": ((1,), exponential),
    "log": ((1, 2), logarithm),
    "log2": ((1,), lambda argument: logarithm(argument, integer(2))),
    "log10": ((1,), lambda argument: logarithm(argument, integer(10))),
    "pow": ((2,), power),
    "root": ((2,), root),
    "cbrt": ((1,), lambda radicand: root(radicand, integer(3))),
    "Rational": ((1, 2), lambda p, q=None: p if q is None else call("div", p, q)),
}

#: Asked for as the whole input: spelling -> task head.
TASK_WORDS: Final = {
    "integrate": "integral",
    "Integral": "integral",
    "diff": "derivative",
    "Derivative": "derivative",
}


def _spellings() -> dict[str, str]:
    names = {name: name for name in (*ELEMENTARY, *SPECIAL, *BUILT, *RELATIONS, *TASK_WORDS)}
    for name in (*TRIGONOMETRIC, *HYPERBOLIC, "exp", "log", "ln", "sqrt", "abs"):
        head = {"ln": "log", "abs": "Abs"}.get(name, name)
        names |= {name.capitalize(): head, name.upper(): head}
    names |= {name: name for name in ("Max", "Min", "Piecewise", "And", "Or")}
    for name in TRIGONOMETRIC:
        names[f"arc{name}"] = f"a{name}"
    for name in HYPERBOLIC:
        names[f"ar{name}"] = names[f"arc{name}"] = f"a{name}"
    return names | {
        "ln": "log",
        "abs": "Abs",
        "sgn": "sign",
        "signum": "sign",
        "ceil": "ceiling",
        "max": "Max",
        "min": "Min",
        "mod": "Mod",
        "Pow": "pow",
        "Gamma": "gamma",
        "lgamma": "loggamma",
        "heaviside": "Heaviside",
        "diracdelta": "DiracDelta",
        "lambertw": "LambertW",
        "piecewise": "Piecewise",
        "cosec": "csc",
        "cotan": "cot",
        "tg": "tan",
        "ctg": "cot",
        "arctg": "atan",
        "arcctg": "acot",
    }


#: Every spelling -> canonical spelling.
FUNCTIONS: Final = _spellings()


def _may_stand_bare(name: str) -> bool:
    usual = FUNCTIONS[name] in (*POWERED, "exp", "sqrt")
    return usual and name.isalpha() and name.islower() and name != "tg"


#: Spellings recognised inside a run of letters, as in ``xsinx``; longest first.
GLUED: Final = tuple(sorted(filter(_may_stand_bare, FUNCTIONS), key=len, reverse=True))

#: Known to people, unknown to us, and short enough to be taken for a product of letters.
UNSUPPORTED: Final = frozenset(
    "arg re im det lim sum gcd lcm Re Im Sum deg lg sinc rad tr ker dim sup inf cis Not "
    "var cov std avg erfinv zeta".split()
)


def arity(name: str) -> str:
    """How many arguments ``name`` takes, in words: ``1 or 2 arguments``."""
    counts: tuple[int | None, ...] = BUILT[name][0] if name in BUILT else (ARITY[name],)
    if counts == (1,):
        return "1 argument"
    text = " or ".join("2 or more" if count is None else str(count) for count in counts)
    return f"{text} arguments"


def accepts(name: str, count: int) -> bool:
    """Whether ``name`` may be applied to ``count`` arguments."""
    if name in BUILT:
        return count in BUILT[name][0]
    expected = ARITY[name]
    return count >= 2 if expected is None else count == expected


def apply(name: str, arguments: list[Tree]) -> Tree:
    """The Tree of ``name(*arguments)``; the number of arguments must be accepted."""
    if name in BUILT:
        return BUILT[name][1](*arguments)
    if name in ("And", "Or"):
        return junction(name, arguments)
    return call(name, *arguments)
