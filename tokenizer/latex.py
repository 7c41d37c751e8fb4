"""The LaTeX syntax: a source to atoms.

The atoms are those of the text syntax. The arguments of TeX commands, found by
:mod:`tokenizer.arguments`, come as groups, however they were written.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Final

from tokenizer.arguments import Arguments
from tokenizer.atoms import BRACKETS, Atom, Kind
from tokenizer.errors import ParseError
from tokenizer.functions import FUNCTIONS, UNSUPPORTED
from tokenizer.lexing import Token, lex
from tokenizer.limits import Limits
from tokenizer.names import (
    CANONICAL,
    CONSTANTS,
    GREEK,
    GREEK_NAMES,
    KEYWORDS,
    LONGEST_NAME,
    canonical_subscripts,
    leaf,
)
from tokenizer.numbers import number
from tokenizer.refusals import degrees, long_name, unexpected_character, unknown_function
from tokenizer.text import OPERATORS, root_index, superscript, vulgar
from tokenizer.tree import Tree
from tokenizer.words import Words

_OPENING: Final = {
    "OPEN": "(",
    "LBRACKET": "[",
    "LBRACE": "{",
    "VISIBLE_LBRACE": "\\{",
    "LBAR": "|",
    "LFLOOR": "⌊",
    "LCEIL": "⌈",
}
_CLOSING: Final = {
    "CLOSE": ")",
    "RBRACKET": "]",
    "RBRACE": "}",
    "VISIBLE_RBRACE": "\\}",
    "RBAR": "|",
    "RFLOOR": "⌋",
    "RCEIL": "⌉",
}
#: What may follow \left and \right -> the bracket it is; bars turn to face inwards.
_DELIMITERS: Final = {
    **{sign: sign for sign in "()[]|."},
    "\\{": "\\{",
    "\\lbrace": "\\{",
    "\\}": "\\}",
    "\\rbrace": "\\}",
    "\\vert": "|",
    "\\lvert": "|",
    "\\rvert": "|",
    "\\lfloor": "⌊",
    "\\rfloor": "⌋",
    "\\lceil": "⌈",
    "\\rceil": "⌉",
}
_UPRIGHT: Final = re.compile(r"\\([a-z]+)\*?\s*\{?([^{}]*)\}?\Z")
#: Tokens that are one atom of their own.
_SIGNS: Final[dict[str, Kind]] = {
    "FRACTION": "fraction",
    "RADICAL": "radical",
    "BINOMIAL": "binomial",
    "INTEGRAL": "integral",
    "PARTIAL": "d",
    "ROW": "row",
    "COLUMN": "column",
}
_COMMANDS: Final = sorted({*GREEK_NAMES, *FUNCTIONS, "frac", "sqrt", "int", "cdot", "times", "pi"})
_UNSUPPORTED: Final = {
    "sum": "sums are not supported",
    "prod": "products over an index are not supported",
    "lim": "limits are not supported",
    "iint": "double integrals are not supported",
    "iiint": "triple integrals are not supported",
    "oint": "contour integrals are not supported",
    "pm": "± stands for two expressions; send each sign on its own",
    "mp": "∓ stands for two expressions; send each sign on its own",
    "prime": "primes are not supported; write \\frac{d}{dx} f",
    "over": "\\over is not supported; write \\frac{a}{b}",
    "choose": "\\choose is not supported; write \\binom{n}{k}",
    "lg": "\\lg may mean base 10 or base 2; write \\log_{10} or \\log_{2}",
}
_SUBSCRIPT_PARTS: Final = frozenset("LETTERS NUMBER GREEK UPRIGHT COMMAND".split())


def atomise(source: str, declared: frozenset[str], limits: Limits) -> list[Atom]:
    """The atoms of ``source``; raises :class:`ParseError`."""
    tokens = lex("latex", source)
    return _Emitter(tokens, declared, limits).emit()


class _Emitter:
    """Turns tokens into atoms, with a group around each argument."""

    def __init__(self, tokens: Sequence[Token], declared: frozenset[str], limits: Limits) -> None:
        self.tokens = tokens
        self.limits = limits
        self.arguments = Arguments(tokens, declared, limits)
        self.words = Words(declared, integral=any(token.type == "INTEGRAL" for token in tokens))
        self.atoms: list[Atom] = []

    def emit(self) -> list[Atom]:
        index = 0
        while index < len(self.tokens):
            index = self._emit(index)
        return self.atoms

    def _put(self, kind: Kind, text: str, position: int, tree: Tree | None = None) -> None:
        self.atoms.append(Atom(kind, text, position, tree))

    def _emit(self, index: int) -> int:
        """Emit the token at ``index`` with the groups around it; the index after it."""
        token = self.tokens[index]
        position = token.start_pos
        for _ in range(self.arguments.opens[index]):
            self._put("open", "{", position)
        cut = self.arguments.cuts.get(index, 0)
        for at in range(cut):
            self._put("open", "{", position + at)
            self._letters_or_number(token[at], position + at, index, last=False)
            self._put("close", "}", position + at)
            if at + 1 < len(token):
                self._close(index, at + 1, position + at)
        after = index + 1
        if cut == 0:
            after = self._whole(index, token, position)
        elif cut < len(token):
            self._letters_or_number(token[cut:], position + cut, index)
        self._close(index, len(token), position)
        return after

    def _close(self, index: int, offset: int, position: int) -> None:
        for _ in range(self.arguments.closes[index, offset]):
            self._put("close", "}", position)

    def _letters_or_number(
        self, text: str, position: int, index: int, *, last: bool = True
    ) -> None:
        if text.isalpha():
            self.atoms += self.words.atoms(text, position, applied=last and self._applied(index))
        else:
            self._put("number", text, position, number(text, position, self.limits))

    def _applied(self, index: int) -> bool:
        """Whether a parenthesis opens right after the token at ``index``."""
        if index + 1 >= len(self.tokens):
            return False
        following = self.tokens[index + 1]
        return following.type == "OPEN" or (following.type == "LEFT" and following[-1] == "(")

    def _whole(self, index: int, token: Token, position: int) -> int:
        kind = token.type
        if kind == "UNDERSCORE":
            return self._subscript(index, position)
        if kind in ("LEFT", "RIGHT"):
            return self._delimiter(index, position)
        if kind in OPERATORS:
            self._put("operator", OPERATORS[kind], position)
        elif kind in ("NUMBER", "LETTERS"):
            self._letters_or_number(token, position, index)
        elif kind == "WORD":
            self._put("function", token, position)
        elif kind == "GREEK":
            self._named(GREEK[token], position, index)
        elif kind == "COMMAND":
            self._named(token[1:], position, index)
        elif kind == "UPRIGHT":
            self._upright(token, position, index)
        elif kind in _OPENING:
            self._put("open", _OPENING[kind], position)
        elif kind in _CLOSING:
            self._put("close", _CLOSING[kind], position)
        elif kind == "BAR":
            self._put("bar", "|", position)
        elif kind == "SUPERSCRIPT":
            self._put("superscript", token, position, superscript(token, position, self.limits))
        elif kind == "VULGAR":
            self._put("number", token, position, vulgar(token))
        elif kind == "ROOT":
            self._put("radical", token, position, root_index(token))
        elif kind == "INFINITY":
            self._put("constant", token, position, CONSTANTS["oo"])
        elif kind in ("BEGIN", "END"):
            self._environment(token, position)
        elif kind == "SCIENTIFIC":
            raise ParseError(
                f"{token:.40} may be a power of ten or a product with Euler's number",
                position=position,
                hint="write 2 \\cdot 10^{-3}, or put spaces around e",
                code="ambiguous",
            )
        elif kind == "ESCAPED":
            raise unexpected_character("_", 0, "latex")
        else:
            self._put(_SIGNS[kind], "\\sqrt" if kind == "RADICAL" else token, position)
        return index + 1

    def _named(self, name: str, position: int, index: int) -> None:
        """A command that is a Greek letter or a function."""
        applied = self._applied(index)
        if name == "pi":
            self._put("constant", name, position, CONSTANTS["pi"])
        elif name == "Gamma" and applied:
            self._put("function", "gamma", position)
        elif name in GREEK_NAMES:
            if name in UNSUPPORTED and applied:
                raise unknown_function(name, position)
            self._put("symbol", name, position, leaf(name))
        elif name in ("circ", "degree"):
            raise degrees(position)
        elif name in ("left", "right"):
            raise ParseError(
                f"\\{name} needs a bracket after it",
                position=position,
                hint="write \\left( … \\right)",
                code="unbalanced",
            )
        elif name in _UNSUPPORTED:
            raise ParseError(
                _UNSUPPORTED[name],
                position=position,
                hint="an input is one expression, one integral or one derivative",
                code="unsupported",
            )
        elif name in FUNCTIONS:
            self._put("function", FUNCTIONS[name], position)
        else:
            near = difflib.get_close_matches(name[:40], _COMMANDS, n=1, cutoff=0.6)
            raise ParseError(
                f"unknown command \\{name:.40}",
                position=position,
                hint=f"did you mean \\{near[0]}?" if near else "write it without this command",
                code="unknown-command",
            )

    def _upright(self, token: Token, position: int, index: int) -> None:
        """``\\mathrm{…}``, ``\\operatorname{…}``, ``\\text{…}``: one word or number."""
        match = _UPRIGHT.match(token)
        assert match is not None
        font, content = match[1], match[2].strip().replace("\\_", "_")
        position += match.start(2)
        name = canonical_subscripts("".join(GREEK.get(letter, letter) for letter in content))
        greek = name in GREEK_NAMES
        if not content or content in (",", "."):
            return
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", content):
            self._put("number", content, position, number(content, position, self.limits))
        elif content in ("if", "for", "when"):
            self._put("operator", "if", position)
        elif content in ("otherwise", "else", "True", "False"):
            value = "False" if content == "False" else "True"
            self._put("boolean", content, position, Tree("boolean", (), value))
        elif content in ("and", "or"):
            self._put("operator", content, position)
        elif content == "d" and font != "mathit":
            self._put("d", content, position)
        elif content == "deg":
            raise degrees(position)
        elif content in ("e", "i", "pi") and font != "mathit":
            self._put("constant", content, position, CONSTANTS["I" if content == "i" else content])
        elif name in FUNCTIONS and (not greek or self._applied(index)):
            self._put("function", FUNCTIONS[name], position)
        elif len(name) > LONGEST_NAME:
            raise long_name(position)
        elif not CANONICAL.match(name) or name in KEYWORDS:
            raise ParseError(
                f"{content!r:.40} is not one name",
                position=position,
                hint="only a name, a function or a number can stand in \\text or \\mathrm",
                code="name",
            )
        elif len(name) > 1 and self._applied(index) and not greek and not self._declared(name):
            raise unknown_function(name, position)
        else:
            self._put("symbol", name, position, leaf(name))

    def _declared(self, name: str) -> bool:
        return name in self.words.declared

    def _environment(self, token: Token, position: int) -> None:
        name = token[token.index("{") + 1 : -1]
        if name != "cases":
            raise ParseError(
                f"the environment {name:.40} is not supported",
                position=position,
                hint="a function by cases stands in \\begin{cases} … \\end{cases}",
                code="unsupported",
            )
        if token.type == "BEGIN":
            self._put("open", "cases", position)
        else:
            self._put("close", "end cases", position)

    def _delimiter(self, index: int, position: int) -> int:
        """``\\left`` or ``\\right``; editors write ``\\left(\\right.`` for a lone ``(``."""
        token = self.tokens[index]
        sign = _DELIMITERS[re.sub(r"\\(left|right)\s*", "", token, count=1)]
        opening = token.type == "LEFT"
        if opening and index + 1 < len(self.tokens) and self.tokens[index + 1].type == "RIGHT":
            other = _DELIMITERS[re.sub(r"\\right\s*", "", self.tokens[index + 1], count=1)]
            if "." in (sign, other) and sign != other:
                sign = other if sign == "." else sign
                if sign == "|":
                    self._put("bar", "|", position)
                else:
                    self._put("open" if sign in BRACKETS else "close", sign, position)
                return index + 2
        if sign == ".":
            raise ParseError(
                "an empty delimiter is not supported here",
                position=position,
                hint="give \\left and \\right a bracket each",
                code="unsupported",
            )
        if sign == "|":
            self._put("open" if opening else "close", "|", position)
        else:
            self._put("open" if sign in BRACKETS else "close", sign, position)
        return index + 1

    def _subscript(self, index: int, position: int) -> int:
        """Join a subscript to the name before it; the index after the subscript."""
        before = self.atoms[-1] if self.atoms else None
        if index in self.arguments.bounds or (before is not None and before.kind == "function"):
            self._put("operator", "_", position)
            return index + 1
        at = len(self.atoms) - 1
        if at >= 2 and self.atoms[at].text == "}" and self.atoms[at - 2].text == "{":
            at -= 1
            before = self.atoms[at]
        named = before is not None and (before.kind == "symbol" or before.text in ("e", "E", "I"))
        if before is None or not named:
            raise ParseError(
                "a subscript belongs right after a name",
                position=position,
                hint="write x_{1}; with an exponent x_{1}^{2}",
                code="subscript",
            )
        text, end, rest = self._subscript_text(index + 1, position)
        name = before.text + canonical_subscripts(f"_{text}")
        if len(name) > LONGEST_NAME:
            raise long_name(position)
        if not CANONICAL.match(name):
            raise ParseError(
                "this subscript is not made of letters and digits",
                position=position,
                hint="write x_{1}, x_{max}, A_{BC} or x_{i,j}",
                code="subscript",
            )
        self.atoms[at] = Atom("symbol", name, before.position, leaf(name))
        if rest:
            self.atoms += self.words.atoms(rest, self.tokens[end - 1].start_pos + 1)
        return end

    def _subscript_text(self, at: int, position: int) -> tuple[str, int, str]:
        """The subscript that begins at token ``at``, the index after it, letters left over."""
        token = self.tokens[at] if at < len(self.tokens) else None
        if token is not None and token.type == "LBRACE":
            end = self.arguments.partner.get(at, at)
            return "".join(map(self._subscript_part, range(at + 1, end))), end + 1, ""
        if token is None or token.type not in _SUBSCRIPT_PARTS:
            return "", at + 1, ""
        if token.type == "LETTERS" and len(token) <= 2:
            return token[0], at + 1, token[1:]
        if token.type in ("LETTERS", "NUMBER") and len(token) > 1:
            raise ParseError(
                f"TeX takes only the first character of {token:.40} here",
                position=position,
                hint=f"write _{{{token:.40}}}",
                code="ambiguous",
            )
        return self._subscript_part(at), at + 1, ""

    def _subscript_part(self, at: int) -> str:
        token = self.tokens[at]
        if token.type == "UPRIGHT":
            match = _UPRIGHT.match(token)
            assert match is not None
            return match[2].strip().replace("\\_", "_")
        if token.type == "COMMAND":
            return token[1:] if token[1:] in GREEK_NAMES or token[1:] == "pi" else "?"
        if token.type == "GREEK":
            return GREEK[token]
        return "_" if token.type in ("COMMA", "ESCAPED", "UNDERSCORE") else str(token)
