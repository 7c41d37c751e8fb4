"""A cursor over atoms: brackets, limits and the refusals that go with them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from tokenizer.atoms import BRACKETS, Atom, Kind
from tokenizer.errors import ParseError
from tokenizer.functions import junction, power
from tokenizer.heads import RELATIONS
from tokenizer.limits import Limits
from tokenizer.tree import Tree, call

CONDITIONS: Final = frozenset((*RELATIONS, "And", "Or", "boolean"))


class Cursor:
    """The atoms of one source, and the place that is read next.

    All methods raise :class:`ParseError`. Nesting is measured before anything
    is built on it, so that no input reaches Python's recursion limit.
    """

    def __init__(
        self, atoms: Sequence[Atom], length: int, declared: Collection[str], limits: Limits
    ) -> None:
        self.atoms = [*atoms, Atom("end", "", length)]
        self.declared = declared
        self.limits = limits
        self.positions: dict[int, int] = {}
        self.at = 0
        self.level = 0
        self.bars = [0]  # bars open at each bracket level
        self.partner = self._match_brackets()

    # brackets

    def _match_brackets(self) -> dict[int, int]:
        """Opening index -> index of its closing atom."""
        partner: dict[int, int] = {}
        stack: list[int] = []
        for index, atom in enumerate(self.atoms):
            if atom.kind == "open":
                stack.append(index)
                if len(stack) > self.limits.depth:
                    raise self._too_deep(atom.position)
            elif atom.kind == "close":
                if not stack or BRACKETS[self.atoms[stack[-1]].text] != atom.text:
                    raise self._unbalanced(atom, "is never opened")
                partner[stack.pop()] = index
        if stack:
            raise self._unbalanced(self.atoms[stack[-1]], "is never closed")
        return partner

    def _unbalanced(self, atom: Atom, what: str) -> ParseError:
        bracket = {"|": "|…|", "cases": "\\begin{cases}", "end cases": "\\end{cases}"}.get(
            atom.text, atom.text
        )
        return ParseError(
            f"unbalanced: {bracket} {what}",
            position=atom.position,
            hint="every bracket needs its partner of the same kind",
            code="unbalanced",
        )

    def _too_deep(self, position: int) -> ParseError:
        return ParseError(
            f"nested more than {self.limits.depth} levels deep",
            position=position,
            hint="a sum of n terms is n levels deep: group its parts; drop needless parentheses",
            code="too-deep",
        )

    # the cursor

    @property
    def atom(self) -> Atom:
        """The atom under the cursor."""
        return self.atoms[self.at]

    def is_kind(self, kind: Kind) -> bool:
        """Whether the cursor is on an atom of this kind."""
        return self.atoms[self.at].kind == kind

    def is_operator(self, *texts: str) -> bool:
        """Whether the cursor is on one of these operators."""
        atom = self.atoms[self.at]
        return atom.kind == "operator" and atom.text in texts

    def is_open(self, text: str) -> bool:
        """Whether the cursor is on this opening bracket."""
        atom = self.atoms[self.at]
        return atom.kind == "open" and atom.text == text

    def has_comma(self, opening: int) -> bool:
        """Whether a comma stands directly inside the bracket that opens at ``opening``."""
        index = opening + 1
        while index < self.partner[opening]:
            atom = self.atoms[index]
            if atom.kind == "operator" and atom.text == ",":
                return True
            index = self.partner.get(index, index) + 1
        return False

    def replace(self, atoms: Sequence[Atom]) -> None:
        """Put other atoms in place of all; the cursor stays at its index."""
        self.atoms = [*atoms, self.atoms[-1]]
        self.partner = self._match_brackets()

    def expect(self, kind: str, text: str) -> None:
        """Step over an atom that must be there."""
        atom = self.atoms[self.at]
        if atom.kind != kind or atom.text != text:
            raise self.unexpected(atom)
        self.at += 1

    def unexpected(self, atom: Atom) -> ParseError:
        """The refusal of an atom that cannot stand where it does."""
        hint = "something is missing before it, or it is one too many"
        code = "syntax"
        if atom.kind == "bar" or (atom.kind == "end" and any(self.bars)):
            message = "the bars |…| do not pair up"
            hint = "write Abs(x), or \\left| x \\right|"
            code = "unbalanced"
        elif atom.kind == "end":
            message = "the expression ends too early"
            hint = "something is missing after the last sign"
        elif atom.kind == "differential":
            message = f"d{atom.text} without an integral or derivative"
            hint = (
                f"write integrate(f, {atom.text}) or diff(f, {atom.text}); "
                f"for a product write d*{atom.text}"
            )
            code = "differential"
        elif atom.text == ",":
            message = "a comma is not expected here"
            hint = "commas separate the arguments of a function; decimals take a point: 0.5"
        elif atom.text == "_":
            message = "an underscore belongs between a name and its subscript"
            hint = "write x_1; digits are not grouped with underscores"
        elif atom.kind == "d":
            message = "a differential without an integral or derivative"
            hint = "write \\int f \\, dx or \\frac{d}{dx} f; for a product write d \\cdot x"
            code = "differential"
        elif atom.kind == "integral":
            message = "an integral can only be the whole input"
            hint = "send the integral on its own, from ∫ to dx"
            code = "task-inside"
        else:
            message = f"{atom.text or atom.kind!s:.40} is not expected here"
            if atom.kind == "operator":
                hint = "an operand is missing before this sign"
        return ParseError(message, position=atom.position, hint=hint, code=code)

    def make(self, head: str, *args: Tree, position: int) -> Tree:
        """A node, kept inside the limits; conditions are refused where a number belongs."""
        check = self.condition if head in ("And", "Or") else self.number
        for arg in args:
            check(arg, position)
        if head == "pow":
            tree = power(*args)
        elif head in ("And", "Or"):
            tree = junction(head, list(args))
        else:
            tree = call(head, *args)
        return self.checked(tree, position)

    def checked(self, tree: Tree, position: int) -> Tree:
        """``tree``, if its size and depth are inside the limits."""
        if tree.depth > self.limits.depth:
            raise self._too_deep(position)
        if tree.size > self.limits.nodes:
            raise ParseError(
                f"more than {self.limits.nodes} numbers, names and operations",
                position=position,
                hint="split the expression and send its parts",
                code="too-many-nodes",
            )
        self.positions[id(tree)] = position
        return tree

    def condition(self, tree: Tree, position: int) -> Tree:
        """``tree``, if it is a condition and not a number."""
        if tree.head not in CONDITIONS:
            raise ParseError(
                "a condition is expected here",
                position=position,
                hint="write x < 0, Eq(x, 0), And(x > 0, x < 1) or True",
                code="relation",
            )
        return tree

    def number(self, tree: Tree, position: int) -> Tree:
        """``tree``, if it is a number and not a condition."""
        if tree.head in CONDITIONS:
            raise ParseError(
                "a condition stands where a number belongs",
                position=position,
                hint="relations such as x < 0 belong into Piecewise; send one side of an equation",
                code="relation",
            )
        return tree
