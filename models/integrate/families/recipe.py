"""Problems after Lample & Charton's recipe, as SymEngine writes them: long ones, and by parts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from models.integrate.problem import Problem
from models.integrate.recipe import FAILURES, Recipe
from models.numeric import is_real_somewhere
from tokenizer.ansatz import ansatz_of
from tokenizer.errors import ParseError
from tokenizer.parse import parse

#: Most nodes of an integrand and of its antiderivative.
_SIZES: Final = (150, 70)
#: Fewest nodes of an integrand: by chance, most products by parts are a multiple of x.
_LEAST: Final = 5


def backward(rng: random.Random) -> Problem:
    """The derivative of a random expression with 3 to 15 operators."""
    recipe = Recipe(rng)
    return _first(lambda: recipe.backward(3, 15), rng)


def by_parts() -> Callable[[random.Random], Problem]:
    """A sampler of problems by parts; it remembers what it has found with one generator."""
    recipe: Recipe | None = None

    def sample(rng: random.Random) -> Problem:
        nonlocal recipe
        if recipe is None or recipe.rng is not rng:
            recipe = Recipe(rng)
        return _first(recipe.by_parts, rng)

    return sample


def _first(draw: Callable[[], tuple[Any, Any] | None], rng: random.Random) -> Problem:
    while True:
        try:
            drawn = draw()
            if drawn is None:
                continue
            integrand, answer = (parse(str(side), variables=("x",)) for side in drawn)
        except (*FAILURES, ParseError):
            continue
        if not (_LEAST <= integrand.size <= _SIZES[0] and answer.size <= _SIZES[1]):
            continue
        # other letters are those of SymEngine's nan and zoo
        if not (set(integrand.symbols()) == {"x"} and is_real_somewhere(integrand, "x", rng)):
            continue
        terms = ansatz_of(answer, "x")
        if terms:
            return Problem(integrand, tuple(terms))
