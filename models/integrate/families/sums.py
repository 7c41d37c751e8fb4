"""Sums of problems of the other families, and solved problems changed a little."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from models.integrate.problem import Problem
from models.integrate.writing import ONE, Writer, X
from tokenizer.ansatz import Term
from tokenizer.tree import Tree, call, negated

Sampler = Callable[[random.Random], Problem]

LONGEST = 48


def sampler(parts: Sequence[Sampler], weights: Sequence[float]) -> Sampler:
    """A sampler of sums, its parts drawn from ``parts``."""

    def sample(rng: random.Random) -> Problem:
        w = Writer(rng)
        count = rng.choice((2, 2, 2, 2, 3, 3, 4))
        tree: Tree | None = None
        terms: dict[Term, None] = {}
        for part in rng.choices(parts, weights, k=3 * count):
            if count == 0:
                break
            problem = part(rng)
            room = LONGEST - (tree.size if tree else 0)
            if problem.integrand.size * 2 > room:
                continue
            count -= 1
            piece = w.scaled(problem.integrand, 0.45)
            terms.update(dict.fromkeys(problem.terms))
            if tree is None:
                tree = piece
            elif piece.head == "neg":
                tree = call("sub", tree, negated(piece))
            else:
                tree = call(rng.choice(("add", "add", "sub")), tree, piece)
        if tree is None:
            return part(rng)
        if rng.random() < 0.1:
            easy = rng.choice((call("exp", X), call("log", X)))
            tree = call("add", tree, easy)
            terms[Term(easy, 1 if easy.head == "log" else 0)] = None
            if easy.head == "log":
                terms[Term(ONE, 1)] = None
        return Problem(tree, _merged(terms))

    return sample


def _merged(terms: dict[Term, None]) -> tuple[Term, ...]:
    """One slot for a factor, of the highest degree that is asked for."""
    degrees: dict[Tree, int] = {}
    for term in terms:
        degrees[term.factor] = max(term.degree, degrees.get(term.factor, 0))
    if ONE in degrees and X in degrees:
        degrees[ONE] = max(degrees[ONE], 1)
        del degrees[X]
    return tuple(Term(factor, degree) for factor, degree in degrees.items())
