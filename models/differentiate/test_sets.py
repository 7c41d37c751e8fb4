"""The questions that measure a differentiation model; none of them is trained on.

Held-out sets come from the training generators, restricted to the test fold
(:mod:`models.held_out`) and without duplicates. ``test_split.txt`` keeps the
digests of every held-out question, so that a changed generator shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from models.differentiate.data import LONGEST_SOURCE
from models.differentiate.rules import Labeller
from models.differentiate.textbook import textbook
from models.held_out import digest, is_held_out
from models.numeric import is_finite, value
from models.random_trees import Alphabet, RandomTrees
from tokenizer.codec import decode, encode
from tokenizer.errors import ParseError
from tokenizer.parse import parse
from tokenizer.render import to_text
from tokenizer.tree import Tree, call, integer, symbol

SPLIT = Path(__file__).with_name("test_split.txt")


def held_out(
    draw: Callable[[random.Random], Tree], count: int, seed: int, longest: int = LONGEST_SOURCE
) -> list[Tree]:
    """``count`` different questions of the test fold from a generator."""
    rng = random.Random(seed)  # noqa: S311 - reproducible sets, no secret
    seen: dict[str, Tree] = {}
    while len(seen) < count:
        tree = draw(rng)
        source = encode(tree)
        ids = source.ids
        if not is_held_out(ids) or len(ids) > longest or digest(ids) in seen:
            continue
        # sqrt(x - x) has a value and no derivative
        derivative = decode(Labeller(source).label(), source)
        has_values = is_finite(tree, rng) and is_finite(derivative, rng)
        if tree.contains("x") and has_values and is_real(tree) and is_within_limits(tree):
            seen[digest(ids)] = tree
    return list(seen.values())


def is_real(tree: Tree) -> bool:
    """Whether the constants in it are real: not ``acos(4)``, not ``log(-2)``."""
    if not tree.symbols():
        return abs(value(tree, {}).imag) < 1e-9
    return all(is_real(arg) for arg in tree.args)


def is_within_limits(tree: Tree) -> bool:
    """Whether the service's parser takes it."""
    try:
        return parse(to_text(tree), variables=tree.symbols()) == tree
    except ParseError:
        return False


def textbook_set(count: int = 1000) -> list[Tree]:
    """Textbook questions, chains to depth 6."""
    return held_out(lambda rng: textbook(rng, 6), count, seed=101)


def random_set(least: int, most: int, count: int = 500) -> list[Tree]:
    """Random trees with ``least`` to ``most`` operators."""
    trees = RandomTrees(Alphabet())
    return held_out(lambda rng: trees.sample(rng, rng.randint(least, most)), count, seed=102 + most)


def robustness_set() -> list[Tree]:
    """k₁·g(k₂x) for five elementary g and x^n, x^(1/n), numbers up to 11,000.

    The checks on which Welleck et al. (2022, arXiv:2109.13986) found symbolic
    models to break: numbers that were not in the training data.
    """
    numbers = [1, 2, 7, 13, 47, 83, 120, 999, 1234, 5678, 10_007, 11_000]
    x = symbol("x")
    trees = []
    for head in ("log", "exp", "sin", "cos", "tan"):
        for i, k1 in enumerate(numbers):
            for k2 in (numbers[(i * 5 + 3) % len(numbers)], numbers[(i * 7 + 1) % len(numbers)]):
                trees.append(call("mul", integer(k1), call(head, call("mul", integer(k2), x))))
    for n in numbers[1:]:
        trees.append(call("pow", x, integer(n)))
        trees.append(call("pow", x, call("div", integer(1), integer(n))))
    return trees


def sets(fraction: float = 1.0) -> Iterator[tuple[str, list[Tree]]]:
    """Every set with its name; ``fraction`` below 1 takes the first part of each."""
    for name, trees in (
        ("held-out textbook, chains to depth 6", textbook_set()),
        ("held-out random trees, up to 10 operators", random_set(1, 10)),
        ("held-out random trees, 11 to 15 operators", random_set(11, 15)),
        ("robustness, numbers up to 11,000", robustness_set()),
    ):
        yield name, trees[: max(1, round(len(trees) * fraction))]


def digests() -> list[str]:
    """Digests of all held-out questions, sorted."""
    trees = [*textbook_set(), *random_set(1, 10), *random_set(11, 15)]
    return sorted({digest(encode(tree).ids) for tree in trees})


if __name__ == "__main__":
    SPLIT.write_text("\n".join(digests()) + "\n")
