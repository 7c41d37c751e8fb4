"""Labels: the derivative of an encoded Tree as output tokens.

The label follows the question: what is copied is copied by reference, and a
reference to u comes just before or beside the derivative of u, so that the next
token always depends on something near by. Terms that vanish are left out and
factors of 1 dropped; nothing else is simplified, that is done after the proof.

References are checked by differentiating independently (see the tests).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokenizer import vocabulary as v
from tokenizer.codec import Encoded

Tokens = list[int]
#: An outer derivative: reference to the argument, reference to the whole -> tokens.
Outer = Callable[[int, int], Tokens]


def spell(words: str, argument: int = -1, whole: int = -1) -> Tokens:
    """Tokens of a space-separated formula; ``U`` is the argument, ``F`` the whole.

    >>> spell("div 1 U", argument=v.SIZE + 1) == [v.ID["div"], v.ID["1"], v.SIZE + 1]
    True
    """
    special = {"U": argument, "F": whole}
    return [special[word] if word in special else v.ID[word] for word in words.split()]


#: f -> f'(u), for d f(u)/dx = f'(u)·u'. Written as the quotient's denominator
#: where the value starts with "/": d f(u)/dx = u' / denominator.
OUTER = {
    "exp": "F",
    "log": "/ U",
    "sqrt": "/ mul 2 F",
    "Abs": "sign U",
    "erf": "div mul 2 exp neg pow U 2 sqrt pi",
    "sin": "cos U",
    "cos": "neg sin U",
    "tan": "add pow F 2 1",
    "cot": "neg add pow F 2 1",
    "sec": "mul F tan U",
    "csc": "neg mul F cot U",
    "asin": "/ sqrt sub 1 pow U 2",
    "acos": "neg / sqrt sub 1 pow U 2",
    "atan": "/ add pow U 2 1",
    "acot": "neg / add pow U 2 1",
    "asec": "/ mul pow U 2 sqrt sub 1 div 1 pow U 2",
    "acsc": "neg / mul pow U 2 sqrt sub 1 div 1 pow U 2",
    "sinh": "cosh U",
    "cosh": "sinh U",
    "tanh": "sub 1 pow F 2",
    "coth": "sub 1 pow F 2",
    "sech": "neg mul F tanh U",
    "csch": "neg mul F coth U",
    "asinh": "/ sqrt add pow U 2 1",
    "acosh": "/ mul sqrt sub U 1 sqrt add U 1",
    "atanh": "/ sub 1 pow U 2",
    "acoth": "/ sub 1 pow U 2",
    "asech": "neg / mul U sqrt sub 1 pow U 2",
    "acsch": "neg / mul pow U 2 sqrt add 1 div 1 pow U 2",
}

_ONE = [v.ID["1"]]


class Labeller:
    """Derivative tokens of one encoded Tree.

    With ``references`` False every reference is written out as the tokens it
    stands for: the plain form that references are measured against.
    """

    def __init__(self, source: Encoded, *, references: bool = True) -> None:
        self.ids: Sequence[int] = source.ids
        self.references = references
        count = len(self.ids)
        self.ends = [0] * count
        self.varies = [False] * count
        for position in range(count - 1, -1, -1):
            end, varies = position + 1, self.ids[position] == v.VAR
            for _ in range(v.arity(self.ids[position])):
                varies = varies or self.varies[end]
                end = self.ends[end]
            self.ends[position], self.varies[position] = end, varies

    def label(self) -> Tokens:
        """The whole derivative; ``0`` when nothing depends on the variable."""
        tokens = self.derivative(0) or [v.ID["0"]]
        if self.references:
            return tokens
        plain: Tokens = []
        for token in tokens:
            if token >= v.SIZE:
                plain.extend(self.ids[token - v.SIZE : self.ends[token - v.SIZE]])
            else:
                plain.append(token)
        return plain

    def derivative(self, at: int) -> Tokens:
        """Tokens of the derivative of the subtree at ``at``; empty for zero."""
        if not self.varies[at]:
            return []
        head = v.TOKENS[self.ids[at]]
        if head == "<VAR>":
            return _ONE
        u = at + 1
        if head == "neg":
            inner = self.derivative(u)
            return [v.ID["neg"], *inner] if inner else []
        if head == "sign":
            return []
        if head in OUTER:
            return self.chain(OUTER[head], u, at)
        return getattr(self, f"d_{head}")(u, self.ends[u], at)  # type: ignore[no-any-return]  # one method a binary head

    def chain(self, formula: str, u: int, at: int) -> Tokens:
        """f'(u)·u', or u'/g where the formula is "/ g"."""
        inner = self.derivative(u)
        if not inner:
            return []
        sign: Tokens = []
        if formula.startswith("neg "):
            sign, formula = [v.ID["neg"]], formula.removeprefix("neg ")
        if formula.startswith("/ "):
            denominator = spell(formula[2:], v.SIZE + u, v.SIZE + at)
            return [*sign, v.ID["div"], *inner, *denominator]
        return sign + times(spell(formula, v.SIZE + u, v.SIZE + at), inner)

    def d_add(self, a: int, b: int, _: int) -> Tokens:
        """(a + b)' = a' + b'."""
        return plus(self.derivative(a), self.derivative(b))

    def d_sub(self, a: int, b: int, _: int) -> Tokens:
        """(a - b)' = a' - b'."""
        return minus(self.derivative(a), self.derivative(b))

    def d_mul(self, a: int, b: int, _: int) -> Tokens:
        """(a·b)' = b·a' + a·b'."""
        return plus(
            times([v.SIZE + b], self.derivative(a)),
            times([v.SIZE + a], self.derivative(b)),
        )

    def d_div(self, a: int, b: int, _: int) -> Tokens:
        """(a/b)' = (b·a' - a·b') / b²."""
        da, db = self.derivative(a), self.derivative(b)
        if not db:
            return over(da, [v.SIZE + b])
        if not da:
            return [v.ID["neg"], *over(times([v.SIZE + a], db), spell("pow U 2", v.SIZE + b))]
        top = minus(times([v.SIZE + b], da), times([v.SIZE + a], db))
        return over(top, spell("pow U 2", v.SIZE + b))

    def d_pow(self, a: int, b: int, at: int) -> Tokens:
        """b·a^(b-1)·a', a^b·log(a)·b', or a^b·(b'·log(a) + b·a'/a)."""
        da, db = self.derivative(a), self.derivative(b)
        base, exponent, whole = v.SIZE + a, v.SIZE + b, v.SIZE + at
        if not db:
            if not da:
                return []
            if v.TOKENS[self.ids[b]] == "2":
                return times([v.ID["mul"], exponent, base], da)
            outer = [v.ID["mul"], exponent, v.ID["pow"], base, *spell("sub U 1", exponent)]
            return times(outer, da)
        if not da:
            return times([v.ID["mul"], whole, v.ID["log"], base], db)
        growth = times([v.ID["log"], base], db)
        slope = over(times([exponent], da), [base])
        return times([whole], plus(growth, slope))


def times(a: Tokens, b: Tokens) -> Tokens:
    """a·b, without a factor of 1; empty (zero) if either is."""
    if not a or not b:
        return []
    if b == _ONE:
        return a
    return [v.ID["mul"], *a, *b]


def over(a: Tokens, b: Tokens) -> Tokens:
    """a/b; empty if a is."""
    return [v.ID["div"], *a, *b] if a else []


def plus(a: Tokens, b: Tokens) -> Tokens:
    """a + b, either of which may be empty."""
    return [v.ID["add"], *a, *b] if a and b else a or b


def minus(a: Tokens, b: Tokens) -> Tokens:
    """a - b, either of which may be empty."""
    if a and b:
        return [v.ID["sub"], *a, *b]
    return a or ([v.ID["neg"], *b] if b else [])
