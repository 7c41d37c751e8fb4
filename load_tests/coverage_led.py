"""The half of ``load_tests.fuzz`` that Atheris runs: it must see the parsers being imported."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tokenizer"], enable_loader_override=False):
    from benchmarks.expressions import expressions
    from load_tests.fuzz import Counts
    from tokenizer.parse import parse
    from tokenizer.typeset import to_latex

#: The strings are at most this long: coverage grows with many short ones.
CHARACTERS = 400


def main(number: int, seed: int, found: Path) -> None:
    """Run ``number`` strings and leave the counts in ``found``; does not return."""
    counts = Counts()
    runs = 0

    def run(data: bytes) -> None:
        nonlocal runs
        provider = atheris.FuzzedDataProvider(data)
        syntax = provider.PickValueInList(["auto", "text", "latex"])
        counts.run(provider.ConsumeUnicode(CHARACTERS), syntax)
        runs += 1
        if runs == number:
            found.write_text(json.dumps(asdict(counts)))

    # beside it, since nothing runs here after the loop
    corpus = found.parent / "corpus"
    corpus.mkdir()
    for index, text in enumerate(islice(expressions(3), 100)):
        for name, source in (("text", text), ("latex", to_latex(parse(text)))):
            (corpus / f"{index}.{name}").write_bytes(source.encode())
    options = [f"-seed={seed}", f"-runs={number + 10}", f"-max_len={CHARACTERS}"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
