"""Why there is no answer, where that is nobody's fault."""

from __future__ import annotations

from typing import Final

from service.problems import Problem

#: The code of a question that no worker was free for in time.
NEVER_TRIED: Final = "no_worker"


class NoAnswer(Exception):
    """Nothing was verified; ``code`` is a bounded word for metrics, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def refuse_if_never_tried(self) -> None:
        """Raises :class:`Problem` (504) for a question that waited until its deadline."""
        if self.code == NEVER_TRIED:
            raise Problem("deadline", "The deadline passed while the question was waiting.")
