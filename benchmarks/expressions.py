"""A seeded stream of distinct textbook expressions, for load."""

from __future__ import annotations

import random
from collections.abc import Iterator

_FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "atan", "sinh", "tanh", "asin", "erf")


def expressions(seed: int) -> Iterator[str]:
    """Endless text expressions in x, each once: sums, products, quotients, chains to depth 4."""
    rng = random.Random(seed)  # noqa: S311 - load, not secrets
    seen: set[str] = set()
    while True:
        text = _expression(rng, rng.randint(1, 4))
        if text not in seen:
            seen.add(text)
            yield text


def _expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        a, b = rng.randint(1, 9), rng.randint(1, 400)
        return rng.choice((f"{b}*x", f"(x**{a + 1} + {b})", f"(x/{a + 1})", "x"))
    inner = _expression(rng, depth - 1)
    match rng.randrange(5):
        case 0:
            return f"({inner} + {rng.choice(_FUNCTIONS)}({_expression(rng, 0)}))"
        case 1:
            return f"{inner}*{rng.choice(_FUNCTIONS)}({_expression(rng, 0)})"
        case 2:
            return f"{inner}/({_expression(rng, 0)} + {rng.randint(2, 90)})"
        case _:
            return f"{rng.choice(_FUNCTIONS)}({inner})"
