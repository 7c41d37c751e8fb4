"""The form of an answer, as the client wishes."""

from __future__ import annotations

from collections.abc import Sequence

from service.problems import Problem


def negotiate(accept: str, offered: Sequence[str]) -> str:
    """The media type of ``offered`` that ``accept`` prefers (RFC 9110 §12.5.1), ties to the first.

    Raises :class:`Problem` (406) when none is acceptable.
    """
    weights: dict[str, float] = {}
    for entry in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in entry.split(";"))
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    weight = float(value)
                except ValueError:
                    weight = 0.0
        weights[kind] = max(weight, weights.get(kind, 0.0))

    def wish(kind: str) -> float:
        for pattern in (kind, kind.split("/", 1)[0] + "/*", "*/*"):
            if pattern in weights:
                return weights[pattern]
        return 0.0

    best = max(offered, key=wish)
    if wish(best) <= 0:
        raise Problem(
            "not-acceptable",
            f"Accept one of {', '.join(offered)}.",
            status=406,
            title="None of the accepted forms can be had",
        )
    return best
