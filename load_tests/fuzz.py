"""Strings without number for the parsers, which must answer each of them, and soon.

    python -m load_tests.fuzz                        100,000 strings by Hypothesis
    python -m load_tests.fuzz --atheris 100000       and as many by Atheris, led by coverage

Whatever the string, ``parse`` gives a Tree that can be written as text and LaTeX, or raises
``ParseError``. Anything else is a crash; more than a second of CPU time is slow. Prints one
table and exits with 1 when there was either. ``atheris`` is in the extra `load`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from benchmarks.expressions import expressions
from tokenizer.errors import ParseError
from tokenizer.parse import Syntax, parse
from tokenizer.render import to_text
from tokenizer.typeset import to_latex

#: More CPU time than this for one string is a failure, in seconds.
SLOW_S = 1.0

_PIECES = (
    *"+-*/^_!|,.;:=<>'~&()[]{}$ \n\t0123456789xyztabcefijkn",
    *"** // <= >= != == += .. ... oo pi theta E I".split(),
    *"sin cos tan exp log ln sqrt abs asin atan2 gamma erf Piecewise integrate diff d/dx".split(),
    *r"\frac \sqrt \sin \cos \left( \right) \left| \right| \cdot \times \int \mathrm{d}x".split(),
    *r"\frac{1}{2} \begin{cases} \end{cases} \\ \operatorname{ \text{ ^{ _{ \, \infty".split(),
    *"½ ² ⁻¹ ₁ π θ ∞ √ · × ÷ − ∫ 𝑥 ｘ \u200b \u0301 \ufeff \x00 \ud800".split(" "),
    *("1e999", "9**9**9", "1e-400", "(" * 50, "x" * 100, "0." + "3" * 300, r"\frac{" * 30),
)


@dataclass(slots=True)
class Counts:
    """What became of the strings; ``slowest`` in seconds of CPU time."""

    tree: int = 0
    refused: int = 0
    crashes: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def run(self, source: str, syntax: Syntax) -> None:
        """Parse one string and write down what happened."""
        started = time.process_time()
        try:
            read(source, syntax)
            self.tree += 1
        except ParseError:
            self.refused += 1
        except Exception as error:
            self.crashes.append(f"{syntax} {source!r}: {error!r}")
        seconds = time.process_time() - started
        if seconds > SLOW_S:
            # once more: the fuzzer's own garbage may have been collected meanwhile
            started = time.process_time()
            with contextlib.suppress(Exception):
                read(source, syntax)
            seconds = time.process_time() - started
        self.slowest = max(self.slowest, seconds)
        if seconds > SLOW_S:
            self.slow.append(f"{syntax} {source!r}: {seconds:.1f} s")


def read(source: str, syntax: Syntax) -> None:
    """Parse and write. Raises ``ParseError``, and nothing else if all is well."""
    tree = parse(source, syntax=syntax)
    to_text(tree)
    to_latex(tree)


def strings() -> st.SearchStrategy[str]:
    """Any characters; pieces of formulas in any order; formulas with a few things changed."""
    texts = list(islice(expressions(3), 200))
    seeds = [*texts, *(to_latex(parse(text)) for text in texts)]
    soup = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)
    damaged = st.builds(_damaged, st.sampled_from(seeds), st.integers(0, 2**32), st.integers(1, 5))
    repeated = st.builds(
        lambda piece, times, end: piece * times + end,
        st.sampled_from(_PIECES),
        st.integers(1, 1500),
        soup,
    )
    return st.one_of(st.text(max_size=80), soup, soup, damaged, damaged, repeated)


def _damaged(source: str, number: int, times: int) -> str:
    rng = random.Random(number)
    for _ in range(times):
        at, to = sorted(rng.randint(0, len(source)) for _ in range(2))
        match rng.randrange(4):
            case 0:
                source = source[:at] + source[to:]
            case 1:
                source = source[:to] + source[at:]
            case 2:
                source = source[:at] + rng.choice(_PIECES) + source[at:]
            case _:
                source = source[:at] + rng.choice(_PIECES) + source[to:]
    return source


def by_hypothesis(number: int, start: int) -> Counts:
    """Run ``number`` strings through all three ways to read them, in turn."""
    counts = Counts()

    @seed(start)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strings(), st.sampled_from(("auto", "text", "latex")))
    def run(source: str, syntax: Syntax) -> None:
        counts.run(source, syntax)

    run()
    return counts


def by_atheris(number: int, start: int) -> Counts:
    """Let Atheris make the strings, in a process of its own: it never comes back from its loop."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "counts.json")
        done = subprocess.run(  # noqa: S603 - our own command
            [
                *(sys.executable, "-m", "load_tests.coverage_led"),
                *(str(number), str(start), str(found)),
            ],
            check=False,
            capture_output=True,
            text=True,
        )
        if not found.exists():
            raise RuntimeError(f"Atheris ended early:\n{done.stderr[-3000:]}")
        return Counts(**json.loads(found.read_text()))


def table(runs: dict[str, tuple[Counts, float]]) -> Table:
    shown = Table(title="Fuzzed strings; times are CPU time")
    columns = "strings,a Tree,refused,crashes,over 1 s,slowest s,all s"
    shown.add_column("made by")
    for column in columns.split(","):
        shown.add_column(column, justify="right", no_wrap=True)
    for name, (counts, seconds) in runs.items():
        total = counts.tree + counts.refused + len(counts.crashes)
        numbers = (total, counts.tree, counts.refused, len(counts.crashes), len(counts.slow))
        shown.add_row(name, *(f"{n:,}" for n in numbers), f"{counts.slowest:.3f}", f"{seconds:.0f}")
    return shown


def _cpu() -> float:
    """CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> int:
    arguments = argparse.ArgumentParser(description="Strings without number for the parsers.")
    arguments.add_argument("--strings", type=int, default=100_000, help="by Hypothesis")
    arguments.add_argument("--atheris", type=int, default=0, help="strings by Atheris")
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    runs = {}
    for name, number, fuzz in (
        ("Hypothesis", asked.strings, by_hypothesis),
        ("Atheris", asked.atheris, by_atheris),
    ):
        if number:
            started = _cpu()
            counts = fuzz(number, asked.seed)
            runs[name] = counts, _cpu() - started
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)  # a file has room
    console.print(table(runs))
    failures = [line for counts, _ in runs.values() for line in (*counts.crashes, *counts.slow)]
    for line in failures[:20]:
        console.print(line, markup=False, highlight=False)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
