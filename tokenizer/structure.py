"""Structure: atoms of either syntax to one Tree, by operator precedence.

A Pratt parser (V. R. Pratt, "Top down operator precedence", 1973). From loose
to tight: ``or``, ``and``, relations, sums, products (written or implicit, from
left to right), powers (from right to left), factorial. A minus in front of a
term takes the whole term: ``-a*b`` is ``neg(mul(a, b))``; one inside a product
or an exponent takes the next power only.
"""

from __future__ import annotations

from typing import Final

from tokenizer import piecewise
from tokenizer.atoms import BRACKETS, Atom
from tokenizer.cursor import Cursor
from tokenizer.errors import ParseError
from tokenizer.functions import (
    INVERSE,
    POWERED,
    TASK_WORDS,
    accepts,
    apply,
    arity,
    root,
)
from tokenizer.heads import ARITY, ELEMENTARY, RELATIONS, SPECIAL
from tokenizer.refusals import unknown_function
from tokenizer.tree import Tree, integer

LOOSEST: Final = 0
OR, AND, RELATION, SUM, PRODUCT, POWER, POSTFIX = 10, 20, 30, 40, 50, 60, 70

#: Infix operator -> head, binding power, binding power asked of its right operand.
INFIX: Final[dict[str, tuple[str, int, int]]] = {
    "or": ("Or", OR, OR + 1),
    "and": ("And", AND, AND + 1),
    **{sign: (head, RELATION, RELATION + 1) for head, sign in RELATIONS.items()},
    "+": ("add", SUM, SUM + 1),
    "-": ("sub", SUM, SUM + 1),
    "*": ("mul", PRODUCT, PRODUCT + 1),
    "/": ("div", PRODUCT, PRODUCT + 1),
    "^": ("pow", POWER, POWER),
}

#: Kinds of atoms that begin an operand, and so an implicit factor.
_OPERANDS: Final = frozenset(
    "number symbol constant boolean function open radical fraction binomial".split()
)
#: Operands that join the argument of a function written without parentheses.
_SIMPLE: Final = frozenset("number symbol constant radical fraction".split())
#: Letters that everyone reads as functions when something in parentheses follows.
_FUNCTION_LETTERS: Final = frozenset("fgh")
_BARE: Final = frozenset(
    (
        *ELEMENTARY,
        *(name for name, count in SPECIAL.items() if count == 1),
        "log2",
        "log10",
        "cbrt",
    )
)
#: Functions that do not end the argument of another: ``sin 2sqrt(x)``.
_ROOTS: Final = ("sqrt", "cbrt")


class Structure(Cursor):
    """One method per construct; each reads at the cursor and leaves it behind what it read.

    All raise :class:`ParseError`.
    """

    def _enter(self) -> None:
        """One level deeper; two levels at most for a node and its brackets."""
        self.level += 1
        if self.level > 2 * self.limits.depth:
            raise self._too_deep(self.atom.position)

    def expression(self, minimum: int = LOOSEST) -> Tree:
        """What stands at the cursor, up to an operator that binds less than ``minimum``."""
        self._enter()
        first = self.atom
        left = self.operand(minimum)
        while True:
            atom = self.atom
            kind = atom.kind
            if kind == "operator":
                if atom.text == "!":
                    self.at += 1
                    left = self.make("factorial", left, position=atom.position)
                    continue
                if atom.text not in INFIX:
                    break
                head, binding, right_binding = INFIX[atom.text]
                if binding < minimum:
                    break
                self.at += 1
                if head == "pow":
                    left = self.make("pow", left, self.exponent(), position=atom.position)
                    continue
                right = self.expression(right_binding)
                if head in RELATIONS and left.head in RELATIONS:  # a < b < c
                    right = self.make(head, left.args[1], right, position=atom.position)
                    head = "And"
                left = self.make(head, left, right, position=atom.position)
            elif kind == "superscript":
                assert atom.tree is not None
                self.at += 1
                left = self.make("pow", left, atom.tree, position=atom.position)
            elif kind in _OPERANDS or (kind == "bar" and not self.bars[-1]):
                if minimum > PRODUCT:
                    break
                self._refuse_mixed_number()
                right = self.expression(PRODUCT + 1)
                left = self.make("mul", left, right, position=first.position)
            else:
                break
        self.level -= 1
        return left

    def _refuse_mixed_number(self) -> None:
        """Refuse a number right behind a number: ``2 3``, ``2½``, ``2\\frac{1}{2}``."""
        if self.atoms[self.at - 1].kind != "number":
            return
        fraction = self.is_kind("fraction") and all(
            self.atoms[self.at + step].kind == "number" for step in (2, 5)
        )
        if fraction or self.is_kind("number"):
            raise ParseError(
                "two numbers side by side",
                position=self.atom.position,
                hint="write a sign between them, or close the gap inside one number",
                code="adjacent-numbers",
            )

    def exponent(self) -> Tree:
        """What stands after ``^``: a TeX group whole, else a power with its sign."""
        if not self.is_open("{"):
            return self.expression(POWER)
        tree = self.operand(POWER)
        if self.is_operator("^", "!"):
            raise ParseError(
                "an exponent in braces is followed by another exponent or factorial",
                position=self.atom.position,
                hint="group with braces or parentheses: x^{2^{3}}, (x^{2})^{3}",
                code="ambiguous",
            )
        return tree

    def operand(self, minimum: int) -> Tree:
        """One operand, with the signs and functions in front of it."""
        atom = self.atom
        kind = atom.kind
        if kind in ("number", "symbol", "constant", "boolean"):
            assert atom.tree is not None
            self.at += 1
            if kind == "symbol" and self.atom.kind == "open":
                self._refuse_call(atom)
            return atom.tree
        if kind == "open":
            return piecewise.cases(self) if atom.text == "cases" else self.group()
        if kind == "function":
            return self.function()
        if kind == "operator" and atom.text in "+-":
            self.at += 1
            argument = self.expression(max(minimum, PRODUCT))
            self.number(argument, atom.position)
            if atom.text == "+":
                return argument
            return self.make("neg", argument, position=atom.position)
        if kind == "bar":
            self.at += 1
            self.bars[-1] += 1
            tree = self.expression()
            if self.atom.kind != "bar":
                raise self.unexpected(atom if self.atom.kind == "end" else self.atom)
            self.at += 1
            self.bars[-1] -= 1
            return self.make("Abs", tree, position=atom.position)
        if kind == "radical":
            return self.radical()
        if kind in ("fraction", "binomial"):
            self.at += 1
            first, second = self.group(), self.group()
            head = "div" if kind == "fraction" else "binomial"
            return self.make(head, first, second, position=atom.position)
        raise self.unexpected(atom)

    def _refuse_call(self, name: Atom) -> None:
        """Refuse what reads as a function we do not have: ``m(0)``, ``f(x+1)``."""
        if self.atom.text not in ("(", "["):
            return
        alone = self.partner[self.at] == self.at + 2
        called = name.text in _FUNCTION_LETTERS and name.text not in self.declared
        called = called or self.has_comma(self.at)
        if called or (alone and self.atoms[self.at + 1].kind in ("number", "symbol")):
            text, start = name.text, self.at - 1
            while start and self._touches(start):
                start -= 1
                text = self.atoms[start].text + text
            raise unknown_function(text, self.atoms[start].position)

    def _touches(self, index: int) -> bool:
        """Whether the name at ``index`` stands right behind another, as in ``foo``."""
        before = self.atoms[index - 1]
        adjacent = before.position + len(before.text) == self.atoms[index].position
        return adjacent and before.kind in ("symbol", "constant")

    def group(self) -> Tree:
        """A bracketed operand; bars, floors and ceilings apply their function."""
        atom = self.atom
        if atom.kind != "open":
            raise self.unexpected(atom)
        self.at += 1
        self.bars.append(0)
        if self.atom.kind == "close":
            raise ParseError(
                "nothing between the brackets",
                position=atom.position,
                hint="put an expression inside",
                code="empty-group",
            )
        tree = self.expression()
        self.bars.pop()
        self.expect("close", BRACKETS[atom.text])
        head = {"|": "Abs", "⌊": "floor", "⌈": "ceiling"}.get(atom.text)
        return tree if head is None else self.make(head, tree, position=atom.position)

    def script(self) -> Tree:
        """A bound, the base of a logarithm, the power of a function: a group or a leaf, signed.

        What follows it does not belong to it: ``sin^n(x)`` is no call of n.
        """
        first = self.atom
        negative = self.is_operator("-")
        self.at += negative
        atom = self.atom
        if atom.kind in ("number", "symbol", "constant") and atom.tree is not None:
            self.at += 1
            tree = atom.tree
        else:
            tree = self.number(self.group(), first.position)
        return self.make("neg", tree, position=first.position) if negative else tree

    def radical(self) -> Tree:
        """``\\sqrt[3]{x}``, ``√x``, ``∛(x+1)``."""
        self._enter()
        atom = self.atom
        self.at += 1
        index = atom.tree
        if self.is_open("[") and atom.text == "\\sqrt":
            index = self.number(self.group(), atom.position)
        bare = self.atom.kind != "open"
        radicand = self.operand(POSTFIX)
        if bare and (self.is_operator("^", "!") or self.atom.kind == "superscript"):
            raise ParseError(
                "it is unclear whether the exponent is under the root",
                position=self.atom.position,
                hint="write √(x^2) or (√x)^2",
                code="ambiguous",
            )
        self.number(radicand, atom.position)
        tree = root(radicand, integer(2) if index is None else index)
        self.level -= 1
        return self.checked(tree, atom.position)

    # functions

    def function(self) -> Tree:
        """A function with its base, power and argument, bare or in brackets.

        A chain such as ``cos sin ln x`` is read in a loop, innermost last.
        """
        self._enter()
        chain: list[tuple[Atom, str, Tree | None, Tree | None]] = []
        while True:
            atom = self.atom
            self.at += 1
            name, base, exponent = self._decorations(atom)
            chain.append((atom, name, base, exponent))
            if self.atom.kind != "function" or name not in _BARE:
                break
        if self.atom.kind == "open":
            arguments = self.arguments(name)
        else:
            arguments = [self.bare_argument(atom, name)]
        for atom, name, base, exponent in reversed(chain):
            tree = self.apply(name, arguments, atom, base)
            if exponent is not None:
                tree = self.make("pow", tree, exponent, position=atom.position)
            arguments = [tree]
        self.level -= 1
        return tree

    def _decorations(self, atom: Atom) -> tuple[str, Tree | None, Tree | None]:
        """Base and power between a function's name and its argument."""
        name, base = atom.text, None
        if self.is_operator("_"):
            if name != "log":
                raise ParseError(
                    f"{name} takes no subscript",
                    position=self.atom.position,
                    hint="only log has one, its base: log_2(x)",
                    code="subscript",
                )
            self.at += 1
            base = self.script()
        exponent = None
        if self.atom.kind == "superscript":
            exponent = self.atom.tree
            self.at += 1
        elif self.is_operator("^"):
            self.at += 1
            exponent = self.script()
        if exponent is None:
            return name, base, None
        if name not in POWERED:
            raise ParseError(
                f"the power stands between {name} and its argument",
                position=atom.position,
                hint=f"write {name}(x)**2 or {name}(x**2)",
                code="ambiguous",
            )
        if exponent == integer(-1):
            if name not in INVERSE:
                raise ParseError(
                    f"{name}^-1 may mean the inverse function or the reciprocal",
                    position=atom.position,
                    hint=f"write 1/{name}(x) for the reciprocal",
                    code="ambiguous",
                )
            return INVERSE[name], base, None
        return name, base, exponent

    def arguments(self, name: str) -> list[Tree]:
        """The arguments between brackets, separated by commas."""
        outer = 0  # \sin{\left(x\right)}: the brackets inside are the ones that count
        while self.is_open("{") and self.partner.get(self.at + 1) == self.partner[self.at] - 1:
            self.at += 1
            outer += 1
        opening = self.atom
        if name == "Piecewise":
            arguments = piecewise.pairs(self)
        elif opening.text == "|":
            arguments = [self.group()]
        else:
            self.at += 1
            self.bars.append(0)
            arguments = []
            while self.atom.kind != "close":
                if arguments:
                    self.expect("operator", ",")
                arguments.append(self.expression())
            self.bars.pop()
            self.expect("close", BRACKETS[opening.text])
        self.at += outer
        return arguments

    def apply(self, name: str, arguments: list[Tree], atom: Atom, base: Tree | None) -> Tree:
        """``name`` of ``arguments``, their number and kind checked."""
        if name in TASK_WORDS:
            raise ParseError(
                f"{name} can only be the whole input",
                position=atom.position,
                hint=f"send {name}(…) on its own",
                code="task-inside",
            )
        if base is not None:
            arguments = [*arguments, base]
        if not accepts(name, len(arguments)):
            count = len(arguments)
            raise ParseError(
                f"{name} takes {arity(name)}, not {count}",
                position=atom.position,
                hint=f"for a product with the symbol {name} write {name}*(…)"
                if name in ("beta", "gamma")
                else "arguments are separated by commas",
                code="arity",
            )
        if name != "Piecewise":
            check = self.condition if name in ("And", "Or") else self.number
            for argument in arguments:
                check(argument, atom.position)
        return self.checked(apply(name, arguments), atom.position)

    def bare_argument(self, function: Atom, name: str) -> Tree:
        """The argument of a function without brackets: the simple factors that follow.

        It ends at a written operator, a closing bracket, a comma or another
        function: ``3 sin 2x cos x`` is ``3*sin(2*x)*cos(x)``.
        """
        start = self.atom
        if name not in _BARE or start.kind in ("end", "close") or self.is_operator("+"):
            example = "x" if ARITY.get(name, 1) == 1 else "x, y"
            raise ParseError(
                f"{name} needs its argument in parentheses",
                position=function.position,
                hint=f"write {name}({'f, x' if name in TASK_WORDS else example})",
                code="no-argument",
            )
        if self.is_operator("-"):
            self.at += 1
            return self.make("neg", self.expression(POWER), position=start.position)
        argument = self.expression(POWER)
        numeric = start.kind in ("number", "constant")
        while self._continues_argument():
            atom = self.atom
            if atom.kind == "open" and not numeric:
                raise ParseError(
                    f"it is unclear where the argument of {name} ends",
                    position=atom.position,
                    hint=f"write {name}(…) with the argument in parentheses",
                    code="ambiguous",
                )
            self._refuse_mixed_number()
            numeric = numeric and atom.kind in ("number", "constant")
            factor = self.expression(POWER)
            argument = self.make("mul", argument, factor, position=atom.position)
        return argument

    def _continues_argument(self) -> bool:
        atom = self.atom
        if atom.kind == "function" and atom.text in _ROOTS:
            return self.atoms[self.at + 1].kind == "open"
        return atom.kind in _SIMPLE or atom.kind == "open"
