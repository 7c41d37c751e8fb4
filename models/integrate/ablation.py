"""What a form without numbers, and references, are worth: small models in the same time.

    python -m models.integrate.ablation --minutes 3

The same random antiderivatives F (:mod:`models.integrate.families.backward`) are
differentiated to questions, whose labels are written in four ways:

1. ansatz with references: terms of F without coefficients, as they are served;
2. ansatz: the same, every subtree written out;
3. full with references: F itself, token by token;
4. full: the same, every subtree written out.

A network of one size is trained on each for equal processor time and asked questions of
the test fold once, greedily. An answer in full is right when its derivative has the
values of the integrand at random complex points; an ansatz when some combination of its
terms has (least squares). What is pure luck of rounding would pass in both.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import symengine
import torch
from tqdm import tqdm

from models.config import ModelConfig
from models.dataset import Shard, example
from models.held_out import is_held_out
from models.integrate import excluded
from models.integrate.data import LONGEST_SOURCE, LONGEST_TARGET
from models.integrate.families import backward
from models.integrate.problem import Unlabelled, label, spell
from models.integrate.recipe import to_symengine
from models.numeric import is_finite
from models.training import Run, train
from models.transformer import Transformer
from tokenizer import vocabulary as v
from tokenizer.ansatz import Term
from tokenizer.codec import Encoded, Malformed, advance, decode, decode_terms, encode
from tokenizer.tree import Tree, call, integer, symbol

OUTPUT = Path(__file__).with_name("ablation.json")
_SMALL = ModelConfig(width=96, heads=3, hidden=384, encoder_layers=3, decoder_layers=2)
_X = symbol("x")
#: Relative misfit at which values count as equal.
_TOLERANCE = 1e-6
_LONGEST_ANSWER = 120


@dataclass(frozen=True, slots=True)
class Pair:
    """An integrand, the antiderivative it came from, and the terms of that."""

    integrand: Tree
    antiderivative: Tree
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """How answers are written: as an ansatz or in full, with or without references."""

    name: str
    ansatz: bool
    references: bool

    @property
    def config(self) -> ModelConfig:
        """The network that is trained."""
        return replace(_SMALL, references=self.references)

    def tokens(self, pair: Pair, source: Encoded) -> list[int]:
        """The label. Raises :class:`Unlabelled`."""
        if self.ansatz:
            return label(pair.terms, source, references=self.references)
        return spell(pair.antiderivative, source, references=self.references)

    def is_right(self, tokens: Sequence[int], source: Encoded, integrand: Tree) -> bool:
        """Whether an answer gives the integrand."""
        try:
            if self.ansatz:
                terms = [Term(tree, degree) for tree, degree in decode_terms(tokens, source)]
                return spans(terms, integrand)
            return slope_is(decode(tokens, source), integrand)
        except Malformed:
            return False


WAYS = (
    Way("ansatz with references", ansatz=True, references=True),
    Way("ansatz, written out", ansatz=True, references=False),
    Way("full answer with references", ansatz=False, references=True),
    Way("full answer, written out", ansatz=False, references=False),
)


def pairs(
    seed: int, count: int, measured: excluded.Measured, *, held_out: bool = False
) -> list[Pair]:
    """Questions that every way can label, without parameters or large numbers."""
    rng = random.Random(seed)  # noqa: S311 - reproducible data, no secret
    found: list[Pair] = []
    with tqdm(total=count, desc="pairs") as bar:
        while len(found) < count:
            problem, antiderivative = backward.draw(rng)
            pair = Pair(problem.integrand, antiderivative, problem.terms)
            source = encode(pair.integrand)
            if source.numbers or set(pair.integrand.symbols()) != {"x"}:
                continue
            if is_held_out(source.ids) != held_out or len(source.ids) > LONGEST_SOURCE:
                continue
            try:
                lengths = [len(way.tokens(pair, source)) for way in WAYS]
            except Unlabelled:
                continue
            if max(lengths) > LONGEST_TARGET or not is_finite(pair.integrand, rng):
                continue
            if pair.integrand in measured:
                continue
            found.append(pair)
            bar.update()
    return found


def slope_is(answer: Tree, integrand: Tree) -> bool:
    """Whether the derivative of ``answer`` has the values of ``integrand``."""
    points = _points(integrand, 6)
    column = _slopes(answer, points)
    if column is None or len(points) < 6:
        return False
    wanted = np.array([w for _, w in points])
    return bool(np.abs(column - wanted).max() <= _TOLERANCE * np.abs(wanted).max())


def spans(terms: Sequence[Term], integrand: Tree) -> bool:
    """Whether a combination of ``terms``, constants free, has the derivative ``integrand``."""
    trees = [
        term.factor if not power else call("mul", call("pow", _X, integer(power)), term.factor)
        for term in terms
        for power in range(term.degree + 1)
    ]
    points = _points(integrand, 2 * len(trees) + 8)
    columns = [c for tree in trees if (c := _slopes(tree, points)) is not None]
    if not columns or len(points) < len(columns) + 4:
        return False
    wanted = np.array([w for _, w in points])
    size = np.abs(wanted)
    matrix = np.stack(columns, axis=1) / size[:, None]
    matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-30)
    right = wanted / size
    solution, *_ = np.linalg.lstsq(matrix, right, rcond=None)
    return bool(np.abs(matrix @ solution - right).max() <= _TOLERANCE)


def _points(integrand: Tree, count: int) -> list[tuple[complex, complex]]:
    """(x, value) at random complex points near the positive axis."""
    rng = random.Random(3)  # noqa: S311 - reproducible points, no secret
    drawn = [complex(rng.uniform(0.3, 1.9), rng.uniform(0.05, 0.5)) for _ in range(3 * count)]
    values = _values(to_symengine(integrand), drawn)
    if values is None:
        return []
    size = np.abs(values)
    usable = np.isfinite(values) & (size > 1e-12) & (size < 1e12)
    found = [(at, complex(w)) for at, w, ok in zip(drawn, values, usable, strict=True) if ok]
    return found[:count]


def _slopes(tree: Tree, points: Sequence[tuple[complex, complex]]) -> Any:
    """Derivatives of ``tree`` at ``points``; None where there are none."""
    try:
        slope = symengine.diff(to_symengine(tree), symengine.Symbol("x"))
    except (ArithmeticError, RuntimeError, ValueError, TypeError, AttributeError):
        return None
    column = _values(slope, [at for at, _ in points])
    return column if column is not None and np.isfinite(column).all() and column.any() else None


def _values(expression: Any, points: Sequence[complex]) -> Any:
    """The values at ``points``; None where SymEngine has none."""
    try:
        evaluate = symengine.Lambdify([symengine.Symbol("x")], [expression], real=False)
        return np.array([complex(evaluate([at])[0]) for at in points])
    except (ArithmeticError, RuntimeError, ValueError, TypeError, AttributeError):
        return None


@torch.no_grad()
def greedy(model: Transformer, source: Encoded) -> list[int]:
    """The most likely next token again and again, without a cache: slow and simple."""
    ids = list(source.ids)
    tokens: list[int] = []
    open_slots, places = [(v.START, 0)], [(v.START, 0)]
    while len(tokens) < _LONGEST_ANSWER:
        columns = [ids, source.paths, [v.START, *tokens], [p for p, _ in places]]
        columns.append([path for _, path in places])
        logits = model(*(torch.tensor([column]) for column in columns))
        token = int(logits[0, -1].argmax())
        tokens.append(token)
        advance(open_slots, token)
        if not open_slots:
            break
        places.append(open_slots[-1])
    return tokens


def main(argv: Sequence[str] | None = None) -> None:
    """Train each, ask all the same questions, print and store the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=3)
    options.add_argument("--questions", type=int, default=300)
    options.add_argument("--examples", type=int, default=60_000)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--folder", type=Path, default=Path("runs/ablation"))
    options.add_argument("--output", type=Path, default=OUTPUT)
    given = options.parse_args(argv)
    cases = excluded.cases_folder()
    if cases is None:
        raise FileNotFoundError("the folder of measuring problems: set CALCERT_CASES")
    measured = excluded.load(cases)
    folders = {way: given.folder / way.name.replace(" ", "-").replace(",", "") for way in WAYS}
    if not all((folder / "data").exists() for folder in folders.values()):
        training = pairs(1, given.examples, measured)
        for way, folder in folders.items():
            (folder / "data").mkdir(parents=True, exist_ok=True)
            items = ((encode(p.integrand), p) for p in training)
            Shard.of(example(s, way.tokens(p, s)) for s, p in items).save(folder / "data/0.npz")
    asked = pairs(2, given.questions, measured, held_out=True)
    rows = [_measure(way, folder, asked, given) for way, folder in folders.items()]
    given.output.write_text(json.dumps(rows, indent=1) + "\n")


def _measure(
    way: Way, folder: Path, asked: Sequence[Pair], given: argparse.Namespace
) -> dict[str, Any]:
    model = train(
        Run(
            folder=folder,
            data=((folder / "data", 1.0),),
            minutes=given.minutes,
            config=way.config,
            threads=given.threads,
            checkpoint_seconds=60,
            processor_time=True,
        )
    )
    model.eval()
    right = 0
    for pair in tqdm(asked, desc=way.name):
        source = encode(pair.integrand)
        right += way.is_right(greedy(model, source), source, pair.integrand)
    checkpoint = torch.load(folder / "checkpoint.pt", weights_only=True)
    row = {
        "way": way.name,
        "right": right,
        "questions": len(asked),
        "minutes": given.minutes,
        "examples": given.examples,
        "examples_seen": checkpoint["state"]["examples"],
        "target_tokens": float(Shard.load(folder / "data/0.npz").lengths()[1].mean()),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    print(row)
    return row


if __name__ == "__main__":
    main()
