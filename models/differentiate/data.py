"""Training examples for differentiation, from both generators."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from models.dataset import Example, Shard, example
from models.differentiate.rules import Labeller
from models.differentiate.textbook import textbook
from models.held_out import is_held_out
from models.numeric import is_finite
from models.random_trees import Alphabet, RandomTrees
from tokenizer.codec import encode
from tokenizer.tree import Tree

#: Longest question and label that are trained on, in tokens.
LONGEST_SOURCE, LONGEST_TARGET = 96, 200


@dataclass(slots=True)
class Drawn:
    """How many draws were kept, and why the others were not."""

    kept: int = 0
    held_out: int = 0
    no_value: int = 0
    too_long: int = 0


def question(rng: random.Random, trees: RandomTrees) -> Tree:
    """One expression: 55% textbook, 45% random with 1 to 15 operators."""
    if rng.random() < 0.55:
        return textbook(rng)
    return trees.sample(rng, rng.randint(1, 15))


def examples(seed: int, count: int, drawn: Drawn, *, references: bool = True) -> Iterator[Example]:
    """``count`` training examples; none of them is in the test fold.

    Duplicates are kept: people ask the short questions again and again, too.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible data, no secret
    trees = RandomTrees(Alphabet())
    while drawn.kept < count:
        tree = question(rng, trees)
        source = encode(tree)
        if is_held_out(source.ids):
            drawn.held_out += 1
            continue
        label = Labeller(source, references=references).label()
        if len(source.ids) > LONGEST_SOURCE or len(label) > LONGEST_TARGET:
            drawn.too_long += 1
        elif not is_finite(tree, rng):
            drawn.no_value += 1
        else:
            drawn.kept += 1
            yield example(source, label)


def write(folder: Path, shards: int, size: int, seed: int, *, references: bool = True) -> Drawn:
    """Write ``shards`` files of ``size`` examples; those already there are kept (resumable)."""
    folder.mkdir(parents=True, exist_ok=True)
    total = Drawn()
    for index in tqdm(range(shards), desc="shards", unit="shard"):
        path = folder / f"{seed:03d}-{index:04d}.npz"
        if path.exists():
            continue
        drawn = Drawn()
        Shard.of(examples(seed * 100_003 + index, size, drawn, references=references)).save(path)
        for name in Drawn.__slots__:
            setattr(total, name, getattr(total, name) + getattr(drawn, name))
    return total


def validation(count: int, seed: int = 77) -> Shard:
    """``count`` examples of the test fold, to follow a training by; not a measured set."""
    rng = random.Random(seed)  # noqa: S311 - reproducible data, no secret
    trees = RandomTrees(Alphabet())
    held: list[Example] = []
    while len(held) < count:
        tree = question(rng, trees)
        source = encode(tree)
        label = Labeller(source).label()
        fits = len(source.ids) <= LONGEST_SOURCE and len(label) <= LONGEST_TARGET
        if is_held_out(source.ids) and fits and is_finite(tree, rng):
            held.append(example(source, label))
    return Shard.of(held)
