"""The writer of training examples for integration."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from models.dataset import Shard
from models.held_out import is_held_out
from models.integrate import data, excluded
from tokenizer.codec import encode
from tokenizer.parse import parse


def test_examples_keep_their_limits() -> None:
    """No example is longer than allowed, and none is in the test fold."""
    drawn = data.Drawn()
    for problem, item in data.examples(3, 200, drawn, excluded.Measured()):
        assert not is_held_out(encode(problem.integrand).ids)
        assert len(item.source) <= data.LONGEST_SOURCE
        assert len(item.target) <= data.LONGEST_TARGET
    assert drawn.kept == 200


def test_measured_problems_are_left_out() -> None:
    """A problem that is measured, or one that reduces to it, is never an example."""
    rng = random.Random(5)
    some = list(itertools.islice(data.problems(rng), 300))
    measured = excluded.Measured(p.integrand for p in some)
    for problem, _ in data.examples(6, 100, drawn := data.Drawn(), measured):
        assert problem.integrand not in measured
    assert drawn.measured > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x*sin(x)", "3*x*sin(x)"),
        ("x*sin(x)", "sin(x)*x"),
        ("sin(x)**2", "sin(3*x)**2/7"),
        ("exp(x)*(1+x)", "(x+1)*exp(x)"),
        ("1/(2-x)", "1/(x-2)"),
        ("x/sqrt(1-x**2)", "x*(1-x**2)**(-1/2)"),
        ("log(x)", "log(p*x)"),
    ],
)
def test_canonical_form_ignores_scale_and_order(one: str, other: str) -> None:
    """Constant factors, a rescaled variable, the order of terms and factors make no difference."""
    assert excluded.canonical(parse(one)) == excluded.canonical(parse(other))


def test_canonical_form_tells_problems_apart() -> None:
    """Different problems stay different."""
    forms = {
        excluded.canonical(parse(s)) for s in ("x*sin(x)", "x*cos(x)", "x**2*sin(x)", "x+sin(x)")
    }
    assert len(forms) == 4


def test_all_measuring_problems_are_known() -> None:
    """The files of measuring problems are read whole."""
    folder = excluded.cases_folder()
    if folder is None:
        pytest.skip("the measuring problems are not here: set CALCERT_CASES")
    measured = excluded.load(folder)
    assert parse("x*sqrt(1+3*x)") in measured
    assert len(measured) > 1500


def test_writer_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run writes only what is missing, and shards hold what was asked for."""
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "rubi_dev.tsv").write_text("suite\tx*sqrt(1+3*x)\t0\t1\n")
    (cases / "cases.jsonl").write_text("")
    monkeypatch.setenv("CALCERT_CASES", str(cases))
    folder = tmp_path / "data"
    assert data.write(folder, 1, 20, 1, validation=2).kept == 20
    first = (folder / "001-0000.npz").read_bytes()
    assert data.write(folder, 2, 20, 1, validation=2).kept == 20
    assert (folder / "001-0000.npz").read_bytes() == first
    assert len(Shard.load(folder / "001-0001.npz")) == 20
    assert len(Shard.load(folder / "validation" / "001.npz")) == 2
