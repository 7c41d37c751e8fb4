"""Training examples for integration: families of problems in one mixture.

write(Path("runs/data/integrate"), shards=100, size=20_000, seed=1)
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tqdm import tqdm

from models.dataset import Example, Shard, example
from models.held_out import is_held_out
from models.integrate import excluded
from models.integrate.families import (
    backward,
    conjugate_roots,
    exponential,
    hyperbolic,
    inverse,
    inverse_exponents,
    linear_products,
    logarithmic,
    parts,
    polynomials,
    quadratic_radicals,
    rational,
    recipe,
    roots,
    special,
    substitution,
    sums,
    table,
    trigonometric,
)
from models.integrate.problem import Problem, Unlabelled, label
from models.numeric import is_finite
from tokenizer.ansatz import Term
from tokenizer.codec import Unencodable, encode
from tokenizer.normalise import VARIABLE, normalise, rename

#: Longest question and label that are trained on, in tokens.
LONGEST_SOURCE, LONGEST_TARGET = 150, 120

Sampler = Callable[[random.Random], Problem]

#: Family -> share of the training examples (normalised when drawn). Algebraic functions are
#: three quarters of the problems that tables publish, but their forms follow few rules; what
#: people ask most is spread over many small families, each of which needs examples enough.
SINGLE: Final[dict[Sampler, float]] = {
    table.sample: 8,
    polynomials.sample: 5,
    rational.sample: 13,
    linear_products.sample: 7,
    quadratic_radicals.sample: 12,
    roots.sample: 13,
    exponential.sample: 9,
    logarithmic.sample: 7,
    trigonometric.sample: 11,
    hyperbolic.sample: 6,
    inverse.sample: 9,
    substitution.sample: 11,
    special.sample: 2,
    backward.sample: 8,
    # few of the problems that tables publish, but forms that nothing else teaches; and they came
    # late, when weights were refined for half an hour: half as much will do from scratch
    parts.sample: 12,
    conjugate_roots.sample: 6,
    inverse_exponents.sample: 8,
}
#: Sums take their parts from the families in the same proportions, the short ones.
MIXTURE: Final[dict[Sampler, float]] = {
    **SINGLE,
    recipe.backward: 12,
    recipe.by_parts(): 2,
    sums.sampler(list(SINGLE), list(SINGLE.values())): 10,
}


@dataclass(slots=True)
class Drawn:
    """How many draws were kept, and why the others were not."""

    kept: int = 0
    held_out: int = 0
    measured: int = 0
    too_long: int = 0
    no_value: int = 0
    unlabelled: int = 0


def problems(rng: random.Random) -> Iterator[Problem]:
    """Problems of all families, mixed, without end."""
    samplers, weights = list(MIXTURE), list(MIXTURE.values())
    while True:
        yield rng.choices(samplers, weights)[0](rng)


def standard(problem: Problem) -> Problem:
    """The problem with its parameters named in order of appearance."""
    normalised = normalise(problem.integrand, VARIABLE)
    names = {old: new for new, old in normalised.names.items()}
    if all(old == new for old, new in names.items()):
        return problem
    terms = tuple(Term(rename(t.factor, names), t.degree) for t in problem.terms)
    return Problem(normalised.tree, terms)


def examples(
    seed: int, count: int, drawn: Drawn, measured: excluded.Measured, *, held_out: bool = False
) -> Iterator[tuple[Problem, Example]]:
    """``count`` examples of the training fold, or of the test fold when ``held_out``.

    ``measured`` are problems that no example may reduce to. Duplicates
    are kept: short questions are asked again and again.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible data, no secret
    source = problems(rng)
    while drawn.kept < count:
        problem = next(source)
        tree = problem.integrand
        if tree.size > LONGEST_SOURCE:
            drawn.too_long += 1
            continue
        try:
            problem = standard(problem)
            tree = problem.integrand
            encoded = encode(tree)
            if is_held_out(encoded.ids) != held_out:
                drawn.held_out += 1
                continue
            tokens = label(problem.terms, encoded)
        except (Unencodable, Unlabelled):
            drawn.unlabelled += 1
            continue
        if len(tokens) > LONGEST_TARGET:
            drawn.too_long += 1
        elif tree in measured:
            drawn.measured += 1
        elif not is_finite(tree, rng):
            drawn.no_value += 1
        else:
            drawn.kept += 1
            yield problem, example(encoded, tokens)


def write(folder: Path, shards: int, size: int, seed: int, *, validation: int = 500) -> Drawn:
    """Write ``shards`` files of ``size`` examples; those already there are kept (resumable).

    ``folder/validation/`` gets one shard of problems of the test fold. Raises
    ``FileNotFoundError`` when the measuring problems cannot be found: data that
    might contain them is worthless.
    """
    cases = excluded.cases_folder()
    if cases is None:
        raise FileNotFoundError("the folder of measuring problems: set CALCERT_CASES")
    measured = excluded.load(cases)
    (folder / "validation").mkdir(parents=True, exist_ok=True)
    target = folder / "validation" / f"{seed:03d}.npz"
    if not target.exists():
        held = examples(seed * 100_003 + 99_991, validation, Drawn(), measured, held_out=True)
        Shard.of(item for _, item in held).save(target)
    total = Drawn()
    for index in tqdm(range(shards), desc="shards", unit="shard"):
        path = folder / f"{seed:03d}-{index:04d}.npz"
        if path.exists():
            continue
        drawn = Drawn()
        kept = examples(seed * 100_003 + index, size, drawn, measured)
        Shard.of(item for _, item in kept).save(path)
        for name, value in asdict(drawn).items():
            setattr(total, name, getattr(total, name) + value)
    print(total)
    return total


def main() -> None:
    """``python -m models.integrate.data FOLDER SHARDS SIZE SEED``."""
    folder, shards, size, seed = sys.argv[1:5]
    write(Path(folder), int(shards), int(size), int(seed))


if __name__ == "__main__":
    main()
