"""What the tokenizer says when it cannot read an input."""

from __future__ import annotations


class ParseError(ValueError):
    """An input that was not understood or is over a limit.

    ``message`` says what is wrong, ``position`` where (0-based offset into the
    source, counted in Unicode code points; None when the whole input is meant),
    ``hint`` what would work, and ``code`` which kind of mistake it is, a slug
    such as ``unknown-function`` that stays the same between releases.
    """

    def __init__(
        self,
        message: str,
        *,
        position: int | None = None,
        hint: str = "",
        code: str = "syntax",
        source: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint
        self.code = code
        self.source = source

    def caret(self, width: int = 72) -> str:
        """The source line with a caret under the offending place, cut to ``width``."""
        if self.position is None:
            return ""
        start = max(0, self.position - width // 2)
        window = self.source[start : start + width].replace("\n", " ").replace("\t", " ")
        printable = "".join(c if c.isprintable() else "�" for c in window)
        return f"{printable}\n{' ' * (self.position - start)}^"
