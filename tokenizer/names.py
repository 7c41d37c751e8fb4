"""Names: which letters belong together, and what a name stands for.

The rules, in order, for a run of letters such as ``x``, ``theta`` or ``xsin``:

1. a function with a parenthesis after it is that function; else a declared
   name stays whole;
2. a function, a constant (``pi``, ``oo``, ``e``, ``E``, ``I``) or the English
   name of a Greek letter is that;
3. otherwise the run is cut, longest match first, at declared names, functions,
   ``pi`` and Greek names of four letters or more; what is left over between
   them, at most two letters in a row, is a product of letters;
4. otherwise a run of at most three letters is the product of its letters, and
   so is a longer one made of declared letters only;
5. otherwise the run is one symbol.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection
from typing import Final, Literal, NamedTuple

from tokenizer.errors import ParseError
from tokenizer.functions import FUNCTIONS, GLUED
from tokenizer.tree import Tree, constant, symbol

_LOWER: Final = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
    "sigma tau upsilon phi chi psi omega"
).split()

#: Greek letter -> its name; final sigma has none of its own.
GREEK: Final[dict[str, str]] = {
    **dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _LOWER, strict=True)),
    **dict(zip("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", map(str.capitalize, _LOWER), strict=True)),
    "ς": "varsigma",
    "ϑ": "vartheta",
    "ϕ": "varphi",
    "ϵ": "varepsilon",
    "ϱ": "varrho",
    "ϰ": "varkappa",
    "ϖ": "varpi",
    "µ": "mu",  # micro sign
    "Ω": "Omega",  # ohm sign
}

#: English names of Greek letters and two more of TeX's; ``pi`` is the constant.
GREEK_NAMES: Final = frozenset((*GREEK.values(), "hbar", "ell")) - {"pi"}

#: Spelling -> constant leaf. ``E`` and ``e`` give way to a declared name.
CONSTANTS: Final[dict[str, Tree]] = {
    "pi": constant("pi"),
    "oo": constant("oo"),
    "inf": constant("oo"),
    "infty": constant("oo"),
    "infinity": constant("oo"),
    "Infinity": constant("oo"),
    "e": constant("E"),
    "E": constant("E"),
    "I": constant("I"),
}

#: Whole words that Python keeps for itself, so that no text could hold them as a symbol.
KEYWORDS: Final = frozenset(
    word for word in keyword.kwlist if word not in {"lambda", "True", "False"}
)

_INNER: Final = tuple(
    sorted((*GLUED, "pi", *(name for name in GREEK_NAMES if len(name) >= 4)), key=len, reverse=True)
)
_LOOSE_ALONE: Final = 3
_LOOSE_BESIDE_WORDS: Final = 2
#: Characters that one name or one run of letters may have.
LONGEST_NAME: Final = 64
#: A canonical name: letters, digits, subscripts.
CANONICAL: Final = re.compile(r"[A-Za-z]+[0-9]*(?:_(?:[0-9]+|[A-Za-z]+[0-9]*))*\Z")
_SUBSCRIPTS: Final = re.compile(r"[₀-₉ₐ-ₜᵢ-ᵥⱼ]+")
_BRACED: Final = re.compile(r"\{([^{}]*)\}")
_UPRIGHT: Final = re.compile(r"\\(?:mathrm|mathit|operatorname|text|mathsf|mathbf)\s*\{([^{}]*)\}")


class Piece(NamedTuple):
    """A part of a run of letters: what it is, how it is spelled, where it starts in the run."""

    kind: Literal["symbol", "constant", "function"]
    text: str
    offset: int


def leaf(name: str) -> Tree:
    """The leaf of a piece of kind ``symbol``; SymPy's spelling ``lamda`` is ``lambda``."""
    return symbol("lambda" if name == "lamda" else name)


def split(run: str, declared: Collection[str] = (), *, applied: bool = False) -> list[Piece]:
    """Cut a run of ASCII letters into its pieces (rules: see the module).

    ``applied`` says that an opening parenthesis follows, so that the run may
    end in any function (``xerf(x)``), not only in those often written bare.
    """
    whole = _known(run, declared, applied)
    if whole is not None:
        return [whole]
    if len(run) == 1:
        return [_letter(run, 0, declared)]
    if applied:
        ending = max((name for name in FUNCTIONS if run.endswith(name)), key=len, default="")
        head = run[: len(run) - len(ending)]
        if len(ending) >= 2 and len(head) <= _LOOSE_BESIDE_WORDS:
            letters = [_letter(character, at, declared) for at, character in enumerate(head)]
            return [*letters, Piece("function", FUNCTIONS[ending], len(head))]
    words = _INNER
    if declared:
        longer = (name for name in declared if len(name) > 1)
        words = tuple(sorted((*_INNER, *longer), key=len, reverse=True))
    pieces: list[Piece] = []
    loose = longest = at = 0
    while at < len(run):
        word = next((word for word in words if run.startswith(word, at)), "")
        known = _known(word, declared) if word else None
        if known is None:
            pieces.append(_letter(run[at], at, declared))
            loose += run[at] not in declared
            longest = max(longest, loose)
            at += 1
        else:
            pieces.append(known._replace(offset=at))
            loose = 0
            at += len(word)
    letters_only = len(pieces) == len(run)
    if longest > (_LOOSE_ALONE if letters_only else _LOOSE_BESIDE_WORDS):
        return [Piece("symbol", run, 0)]
    return pieces


def _known(run: str, declared: Collection[str], applied: bool = False) -> Piece | None:
    if applied and run in FUNCTIONS:
        return Piece("function", FUNCTIONS[run], 0)
    if run in declared:
        return Piece("symbol", run, 0)
    if run in CONSTANTS:
        return Piece("constant", run, 0)
    if run in GREEK_NAMES or run == "lamda":
        return Piece("symbol", run, 0)
    if run in FUNCTIONS and (len(run) > 2 or run in GLUED):
        return Piece("function", FUNCTIONS[run], 0)
    return None


def _letter(character: str, offset: int, declared: Collection[str]) -> Piece:
    if character in CONSTANTS and character not in declared:
        return Piece("constant", character, offset)
    return Piece("symbol", character, offset)


def canonical_subscripts(text: str) -> str:
    """Subscripts in one form: ``_{1}``, ``₁`` and ``_1`` are ``_1``, ``_{1a}`` is ``_1_a``."""
    if not text:
        return text
    text = _SUBSCRIPTS.sub(lambda found: "_" + unicodedata.normalize("NFKC", found[0]), text)
    start = text.find("_")
    if start < 0:
        return text
    subscripts = _BRACED.sub(r"\1", text[start:])
    return text[:start] + re.sub(r"(?<=[0-9])(?=[A-Za-z])", "_", subscripts)


def parse_name(source: str) -> str:
    """The canonical name of a symbol, from either syntax.

    >>> [parse_name(name) for name in ("θ", "\\\\theta", "x_{1}", "x₁", "\\\\mathrm{rate}")]
    ['theta', 'theta', 'x_1', 'x_1', 'rate']

    Raises :class:`ParseError` for what is no name, and for names that mean
    something else (``pi``, ``sin``).
    """
    text = _UPRIGHT.sub(r"\1", plain_characters(source.strip())).replace(" ", "")
    text = "".join(GREEK.get(character, character) for character in text.replace("\\", ""))
    text = canonical_subscripts(text)
    name = "lambda" if text == "lamda" else text
    if len(name) > LONGEST_NAME or not CANONICAL.match(name):
        raise ParseError(
            f"{source!r:.60} is not a name",
            position=0,
            hint="a name is letters, then digits, then subscripts: x, theta, x_1, A_{BC}",
            code="name",
            source=source,
        )
    reserved = (name in FUNCTIONS and name not in GREEK_NAMES) or name in {"pi", "oo", "I"}
    if reserved or name in KEYWORDS or name in {"True", "False"}:
        raise ParseError(
            f"{name} cannot be a variable: it already means something else",
            position=0,
            hint="choose another letter",
            code="reserved-name",
            source=source,
        )
    return name


def plain_characters(source: str) -> str:
    """Look-alikes of one letter, digit or sign replaced by it (``𝑥``, ``ｘ``); same length."""
    if source.isascii():
        return source
    return "".join(map(_plain, source))


def _plain(character: str) -> str:
    if "\U0001d400" <= character <= "\U0001d7ff" or "！" <= character <= "～" or character in "ℯℎ":
        return unicodedata.normalize("NFKC", character)
    return character
