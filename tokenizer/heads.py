"""The heads a :class:`~tokenizer.tree.Tree` node may have, and what each one takes.

A head is named as SymPy names the function, so that rendered text is SymPy
syntax without a translation table. Arithmetic and task heads are lower case
words of our own (``add``, ``integral``); leaves carry a ``value`` instead of
arguments.
"""

from __future__ import annotations

from typing import Final

#: Leaf heads. ``integer`` holds a non-negative int, ``symbol`` and
#: ``constant`` hold a name, ``boolean`` holds "True" or "False".
LEAVES: Final = ("integer", "symbol", "constant", "boolean")

#: Names a ``constant`` leaf may hold: pi, Euler's number, the imaginary unit, infinity.
CONSTANTS: Final = ("pi", "E", "I", "oo")

#: Arithmetic. A negative number is ``neg`` of an integer, a rational ``div`` of two.
ARITHMETIC: Final = {"add": 2, "sub": 2, "mul": 2, "div": 2, "pow": 2, "neg": 1}

#: Elementary functions of one argument, and erf: what the models are trained on.
ELEMENTARY: Final = (
    "sqrt exp log Abs sign erf "
    "sin cos tan cot sec csc asin acos atan acot asec acsc "
    "sinh cosh tanh coth sech csch asinh acosh atanh acoth asech acsch"
).split()

#: Further functions, by arity; the models do not know them, SymPy does.
SPECIAL: Final = {
    "erfc": 1,
    "erfi": 1,
    "gamma": 1,
    "loggamma": 1,
    "digamma": 1,
    "factorial": 1,
    "floor": 1,
    "ceiling": 1,
    "Heaviside": 1,
    "DiracDelta": 1,
    "Si": 1,
    "Ci": 1,
    "Shi": 1,
    "Chi": 1,
    "Ei": 1,
    "li": 1,
    "fresnels": 1,
    "fresnelc": 1,
    "LambertW": 1,
    "atan2": 2,
    "Mod": 2,
    "binomial": 2,
    "beta": 2,
    "polylog": 2,
}

#: Heads of any arity: Max and Min take two or more; Piecewise takes
#: value, condition, value, condition, … in one flat list.
VARIADIC: Final = ("Max", "Min", "Piecewise")

#: Conditions inside Piecewise.
RELATIONS: Final = {"Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">=", "Eq": "==", "Ne": "!="}

#: What the whole input may ask for; allowed at the root only.
#: ``integral(integrand, variable)`` or ``integral(integrand, variable, lower, upper)``;
#: ``derivative(expression, variable, order)``.
TASKS: Final = ("integral", "derivative")

#: Head -> number of arguments; None where it varies.
ARITY: Final[dict[str, int | None]] = {
    **dict.fromkeys(LEAVES, 0),
    **ARITHMETIC,
    **dict.fromkeys(ELEMENTARY, 1),
    **SPECIAL,
    **dict.fromkeys(VARIADIC, None),
    **dict.fromkeys(RELATIONS, 2),
    "And": None,
    "Or": None,
    "integral": None,
    "derivative": 3,
}
