"""The questions that measure integration; none of them is trained on.

*Rubi's* problems lie outside this repository, the training data excludes them by
canonical form (:mod:`models.integrate.excluded`). The sets after Lample & Charton
(2020, arXiv:1912.01412, sections 3 and 4) are made here and stored in
``lample_charton.tsv``::

    python -m models.integrate.test_sets [KIND ...]

*Forward* draws f and keeps what a teacher, FriCAS, integrates; *backward* draws F and
asks for F'; *by parts* draws F and G and asks for F·G' where F'·G is a problem whose
answer is known. Every question is in the test fold of :mod:`models.held_out`, which the
training generators never emit.
"""

from __future__ import annotations

import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from models.held_out import is_held_out
from models.integrate.recipe import FAILURES, Recipe
from models.numeric import are_real_somewhere, is_finite, is_real_somewhere
from tokenizer.codec import Unencodable, encode
from tokenizer.errors import ParseError
from tokenizer.normalise import normalise
from tokenizer.parse import parse
from tokenizer.render import to_text

#: Longest question, in tokens: what the model reads.
LONGEST = 160
STORED = Path(__file__).with_name("lample_charton.tsv")
KINDS = ("backward", "by parts", "forward")
#: An integral that is left (drawn in two ways), a failure, a function that is not elementary.
_NO_ANSWER = re.compile(r"INTSIGN|\+\+|%%|rror|failed|Ei|erf|li\(|Si|Ci|dilog|Gamma|elliptic|%pole")
_TEACHER_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Rubi:
    """A problem of the Rubi test suite: where it is from, the integrand, a reference answer."""

    file: str
    integrand: str
    antiderivative: str

    @property
    def independent(self) -> bool:
        """Whether it is of the independent suites (Apostol, Stewart, …), not a chapter."""
        return self.file.startswith("0 Independent")


def rubi() -> list[Rubi]:
    """The problems in the folder ``CALCERT_CASES``; raises FileNotFoundError without them."""
    default = Path(__file__).resolve().parents[3] / "shared" / "cases"
    path = Path(os.environ.get("CALCERT_CASES", default)) / "rubi_dev.tsv"
    with path.open() as file:
        rows = [row for row in csv.reader(file, delimiter="\t") if row[0] != "file"]
    return [Rubi(*row[:3]) for row in rows]


def stored(kind: str) -> list[str]:
    """Integrands of one of :data:`KINDS`."""
    with STORED.open() as file:
        return [row[1] for row in csv.reader(file, delimiter="\t") if row[0] == kind]


def robustness() -> list[str]:
    """Primitives with numbers up to 11,000 (after Welleck et al., 2022, arXiv:2109.13986)."""
    numbers = [1, 2, 7, 13, 47, 83, 120, 999, 1234, 5678, 10_007, 11_000]
    texts = []
    for head in ("log", "exp", "sin", "cos", "tan"):
        for i, k1 in enumerate(numbers):
            k2 = numbers[(i * 5 + 3) % len(numbers)]
            texts.append(f"{k1}*{head}({k2}*x)")
    texts += [f"{k}*x" for k in numbers] + [f"{k}*x**42" for k in numbers]
    texts += [f"x**{n}" for n in numbers[1:]] + [f"x**(1/{n})" for n in numbers[1:]]
    return texts


def variations(solved: list[str], count: int, seed: int = 5) -> list[str]:
    """Solved integrands changed a little, and sums of two to four of them.

    What is real nowhere has no answer over the reals and is drawn again.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible set, no secret
    texts = []
    for place in range(count):
        draw = _changed if place < count // 2 else _added
        again = random.Random(f"{seed} {place}")  # noqa: S311 - reproducible set, no secret
        terms = draw(solved, rng)
        while not _are_real(terms, again):
            terms = draw(solved, again)
        texts.append(" + ".join(terms))
    return texts


def _changed(solved: list[str], rng: random.Random) -> list[str]:
    f, k = rng.choice(solved), rng.choice((2, 3, 7, 13, 101, 997, 10_007))
    return rng.choice(([f"{k}*({f})"], [f"({f})/{k}"], [f, "exp(x)"], [f, "log(x)"]))


def _added(solved: list[str], rng: random.Random) -> list[str]:
    return rng.sample(solved, rng.choice((2, 3, 4)))


def _are_real(texts: list[str], rng: random.Random) -> bool:
    """Whether terms in x alone are real at the same points; others are taken to be."""
    trees = [parse(text, variables=("x",)) for text in texts]
    alone = [tree for tree in trees if tree.symbols() == ("x",)]
    return are_real_somewhere(alone, "x", rng)


class Teacher:
    """FriCAS, asked many questions in one process.

    Raises ``FileNotFoundError`` when it is not installed.
    """

    def __init__(self) -> None:
        program = shutil.which("fricas")
        if program is None:
            raise FileNotFoundError("fricas, a Debian package")
        self.program = program

    def integrates(self, integrands: Sequence[str]) -> list[bool]:
        """Whether each is integrated in elementary terms; all False when one takes too long."""
        lines = [")set messages type off", ")set output algebra on"]
        for number, text in enumerate(integrands):
            lines.append(f')lisp (format t "Q{number}~%")')
            lines.append(f"integrate({text.replace('**', '^')}, x)")
        with subprocess.Popen(  # noqa: S603 - the program that was found, questions of ours
            [self.program, "-nosman"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                script = "\n".join([*lines, ")quit", "y"])
                output, _ = process.communicate(script, _TEACHER_SECONDS * len(integrands))
            except subprocess.TimeoutExpired:
                # the program is a script: its child, which does the work, must go, too
                os.killpg(process.pid, signal.SIGKILL)
                return [False] * len(integrands)
        pieces = re.split(r"Q(\d+)\n", output)[1:]
        answers = dict(zip(map(int, pieces[::2]), pieces[1::2], strict=True))
        return [n in answers and not _NO_ANSWER.search(answers[n]) for n in range(len(integrands))]


def _question(expression: Any) -> str | None:
    """The expression as we write it, if it is a question of the test fold with real values."""
    try:
        tree = parse(str(expression), variables=("x",))
        ids = encode(normalise(tree, "x").tree).ids
    except (ParseError, Unencodable):
        return None
    # other letters are those of SymEngine's nan and zoo
    if set(tree.symbols()) != {"x"} or len(ids) > LONGEST or not is_held_out(ids):
        return None
    rng = random.Random(1)  # noqa: S311 - fixed points, no secret
    # over the reals there is nothing to find where acos(4) or acosh(cos(x)) is a factor
    usable = is_finite(tree, rng) and is_real_somewhere(tree, "x", rng)
    return to_text(tree) if usable else None


class Generator:
    """Draws candidates of each kind."""

    def __init__(self, seed: int) -> None:
        self.recipe = Recipe(random.Random(seed))  # noqa: S311 - reproducible sets, no secret

    def draw(self, kind: str) -> Any:
        """A random integrand of ``kind`` in SymEngine; None for a draw without success."""
        match kind:
            case "forward":
                return self.recipe.function(1, 15)
            case "backward":
                return self.recipe.backward()[0]
        found = self.recipe.by_parts()
        return found and found[0]

    def questions(self, kind: str) -> Iterator[str]:
        """Different candidates of one kind, without end."""
        seen: set[str] = set()
        while True:
            try:
                text = _question(self.draw(kind))
            except FAILURES:
                continue
            if text is not None and text not in seen:
                seen.add(text)
                yield text


def generate(kind: str, count: int, seed: int = 1) -> Iterator[str]:
    """``count`` integrands of one of :data:`KINDS`."""
    candidates, teacher = Generator(seed).questions(kind), Teacher()
    kept = 0
    with tqdm(total=count, desc=kind) as bar:
        while kept < count:
            texts = [next(candidates) for _ in range(4)]
            right = teacher.integrates(texts) if kind == "forward" else [True] * len(texts)
            for text, is_right in zip(texts, right, strict=True):
                if is_right and kept < count:
                    kept += 1
                    bar.update()
                    yield text


def main(kinds: Sequence[str]) -> None:
    """Make the sets of ``kinds`` again; the others stay as they are stored."""
    made = {kind: list(generate(kind, 500) if kind in kinds else stored(kind)) for kind in KINDS}
    with STORED.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows((kind, text) for kind, texts in made.items() for text in texts)


if __name__ == "__main__":
    main(sys.argv[1:] or KINDS)
