"""What training brings, family by family: the same held-out problems asked of checkpoints.

    python -m models.integrate.progress runs/refined/checkpoint.pt runs/refined2/checkpoint.pt

For each family of problems the share of labels whose every token is ranked first, greedy and
without the search, which finds more. Two checkpoints of one training, or what ships and a
checkpoint refined from it, show where more of it helps.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from models.dataset import Shard, example
from models.held_out import is_held_out
from models.integrate.data import LONGEST_SOURCE, LONGEST_TARGET, MIXTURE, Sampler, standard
from models.integrate.problem import Unlabelled, label
from models.restore import network
from models.training import validate
from tokenizer.codec import Unencodable, encode

OUTPUT = Path(__file__).with_name("progress.json")
#: Problems of each family, and tokens of a batch.
_PROBLEMS, _BUDGET = 150, 3000


def held_out(sampler: Sampler, rng: random.Random) -> Shard:
    """Problems of one family that no training has seen; fewer where the family is small."""
    found = []
    for _ in range(400 * _PROBLEMS):
        problem = standard(sampler(rng))
        try:
            source = encode(problem.integrand)
            tokens = label(problem.terms, source)
        except (Unencodable, Unlabelled):
            continue
        if is_held_out(source.ids) and len(source.ids) <= LONGEST_SOURCE:
            if len(tokens) <= LONGEST_TARGET:
                found.append(example(source, tokens))
            if len(found) == _PROBLEMS:
                break
    return Shard.of(found)


def main(argv: Sequence[str]) -> None:
    """Measure and store one row a family."""
    networks = [network(Path(path)) for path in argv]
    rows = []
    for sampler in tqdm(MIXTURE):
        # a sampler of sums is a function in a function
        name = sampler.__module__.rsplit(".", 1)[-1]
        name += "" if sampler.__name__ == "sample" else f" ({sampler.__name__})"
        problems = held_out(sampler, random.Random(5))  # noqa: S311 - reproducible, no secret
        exact = [round(validate(net, problems, _BUDGET, "cpu")[1], 4) for net in networks]
        rows.append({"family": name, "problems": len(problems), "exact": exact})
    OUTPUT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
