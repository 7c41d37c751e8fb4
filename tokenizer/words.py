"""Runs of letters to atoms, for both syntaxes."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final

from tokenizer.atoms import Atom
from tokenizer.errors import ParseError
from tokenizer.functions import GLUED, UNSUPPORTED
from tokenizer.names import CONSTANTS, GREEK_NAMES, KEYWORDS, LONGEST_NAME, leaf, split
from tokenizer.refusals import degrees, long_name, unknown_function
from tokenizer.tree import Tree

#: Letters that dx is likely to mean a differential with, where no integral says so.
_USUAL_VARIABLES: Final = frozenset("xyztuvwrs")

_BOOLEANS: Final = {name: Tree("boolean", (), name) for name in ("True", "False")}

#: Words of a question around the expression; nobody multiplies these letters.
_PROSE: Final = frozenset(
    "of is the what find solve derivative differentiate evaluate compute calculate simplify "
    "plus minus times squared cubed over divided square root respect with from where let".split()
)


def looks_like_differential(variable: str, declared: Collection[str]) -> bool:
    """Whether dx, for this x, is a differential rather than a product with d."""
    return variable in declared or variable in GREEK_NAMES or variable in _USUAL_VARIABLES


class Words:
    """Turns the words of one source into atoms.

    ``declared`` names stay whole; ``integral`` says that the source holds an
    integral sign, so that ``xdx`` is x times a differential.
    """

    def __init__(self, declared: frozenset[str], *, integral: bool) -> None:
        self.declared = declared
        self.integral = integral

    def atoms(self, run: str, position: int, *, applied: bool = False) -> list[Atom]:
        """The atoms of a run of letters that starts at ``position``.

        ``applied``: an opening parenthesis follows. Raises :class:`ParseError`
        for a word that Python owns and for a function we do not have.
        """
        try:
            atoms = _atoms(str(run), self.declared, self.integral, applied)
        except ParseError as error:
            error.position = position
            raise
        return [Atom(kind, text, position + at, tree) for kind, text, at, tree in atoms]


@lru_cache(512)  # few words, such as x and sin, are most of all that is ever written
def _atoms(run: str, declared: frozenset[str], integral: bool, applied: bool) -> tuple[Atom, ...]:
    """The atoms of a run of letters at the start of a source; errors are at its start."""
    if len(run) > LONGEST_NAME:
        raise long_name(0)
    if run in _BOOLEANS:
        return (Atom("boolean", run, 0, _BOOLEANS[run]),)
    if run in ("and", "or"):
        return (Atom("operator", run, 0),)
    if run in KEYWORDS and len(run) > 2 and run not in declared:
        raise ParseError(
            f"{run!r} is a word of a programming language, not mathematics",
            position=0,
            hint="type one expression, such as x**2 + sin(x)",
            code="keyword",
        )
    if run in _PROSE and run not in declared and not applied:
        raise ParseError(
            f"{run!r} is a word of a sentence, not of an expression",
            position=0,
            hint="type the expression alone, such as x**2 + sin(x)",
            code="prose",
        )
    if run in ("Pi", "PI") and run not in declared:
        raise ParseError(
            f"{run} may be the constant or a symbol",
            position=0,
            hint="write pi for 3.14159…",
            code="ambiguous",
        )
    if run == "deg" and run not in declared:
        raise degrees(0)
    if run in UNSUPPORTED and applied and run not in declared:
        raise unknown_function(run, 0)
    variable = _differential(run, declared, integral=integral)
    if not variable:
        return _pieces(run, declared, applied=applied)
    start = len(run) - len(variable)
    before = run[: start - 1]
    atoms = _pieces(before, declared) if before else ()
    if not integral:
        return (*atoms, Atom("differential", variable, start - 1, leaf(variable)))
    # which d of an integral is the differential is found later
    d = Atom("symbol", "d", start - 1, leaf("d"))
    return (*atoms, d, Atom("symbol", variable, start, leaf(variable)))


def _pieces(run: str, declared: frozenset[str], *, applied: bool = False) -> tuple[Atom, ...]:
    pieces = split(run, declared, applied=applied)
    kind, last, _ = pieces[-1]
    if applied and kind != "function":
        known = len(last) == 1 or kind == "constant"
        known = known or last in GREEK_NAMES or last in declared
        if not known or any(piece.kind == "function" for piece in pieces):
            raise unknown_function(run, 0)  # sine(x), not sin(e*x)
    atoms = []
    for kind, text, offset in pieces:
        tree = CONSTANTS[text] if kind == "constant" else None
        if kind == "symbol":
            tree = leaf(text)
        atoms.append(Atom(kind, text, offset, tree))
    return tuple(atoms)


def _differential(run: str, declared: frozenset[str], *, integral: bool) -> str:
    """The variable of a differential that ends the run (``dx``, ``xdx``), or nothing."""
    if "d" not in run or not declared.isdisjoint({run, "d"}) or run in GREEK_NAMES:
        return ""
    before, _, variable = run.rpartition("d")
    known = variable in declared or variable in GREEK_NAMES
    if integral:
        return variable if len(variable) == 1 or known else ""
    if not looks_like_differential(variable, declared):
        return ""
    plain = len(before) <= 1 or any(name in before for name in GLUED)
    return variable if plain else ""
