"""models.heat.rows and service.heat.batch: rows of many questions in one run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.heat.boundary import Array, Boundary
from models.heat.families import FAMILIES
from models.heat.panels import from_samples
from models.heat.predictor import KernelPredictor, Prepared, prepare
from models.heat.rows import MOST, Row, cost, stack, together
from service.engine import DeadlineExceeded, Engine
from service.heat.batch import HeatBatch, Work
from service.heat.served import ServedHeatModel
from service.heat.sessions import HeatModel
from service.settings import Settings


@pytest.fixture(scope="module")
def model() -> HeatModel:
    return HeatModel(Settings().artifacts, device="cpu", threads=1)


def problems(model: HeatModel) -> list[tuple[Prepared, Array]]:
    """Different families, boundary kinds, numbers of times and places, early and late."""
    rng = np.random.default_rng(8)
    found = []
    for number, drawer in enumerate(FAMILIES.values()):
        grid = np.linspace(0, 1, 17 + 8 * number)
        panels = from_samples(grid, drawer(rng, grid), "piecewise_linear")
        tau = np.exp(rng.uniform(-11.5, 0, size=1 + number))
        kind = list(Boundary)[number % 5]
        prepared = prepare(panels, kind, tau, model.manifest.threshold)
        found.append((prepared, np.linspace(0, 1, 9 + 20 * number)))
    return found


def test_padding_changes_nothing_but_rounding(model: HeatModel) -> None:
    """Rows of several questions in one run have the values they have alone."""
    rows: list[Row] = []

    def collect(taken: Any) -> list[Array]:
        rows.extend(taken)
        return [np.zeros((row.shape[0], row.shape[2], row.shape[3])) for row in taken]

    for branch in ("modes", "points"):
        rows.clear()
        for prepared, x in problems(model):
            collecting = KernelPredictor(collect, model.predictor.points)
            if branch == "points":
                collecting = KernelPredictor(model.predictor.modes, collect)
            collecting.predict(prepared, x)
        assert len(rows) > 3
        assert len({row.shape for row in rows}) > 3
        graph = model.predictor.modes if branch == "modes" else model.predictor.points
        alone = [graph([row])[0] for row in rows]
        for mine, shared in zip(alone, graph(rows), strict=True):
            assert mine.shape == shared.shape
            assert np.abs(mine - shared).max() < 1e-13


def row(tokens: int, times: int, places: int) -> Row:
    return Row(
        np.ones((1, tokens)), np.linspace(1, 9, tokens), np.ones(tokens),
        np.full(times, 0.1), np.linspace(0, 1, places),
    )  # fmt: skip


def test_a_run_is_bounded_and_at_least_half_full() -> None:
    """Rows much larger than the first, or too many, wait for another run."""
    small, large = row(10, 1, 20), row(1000, 10, 90)
    assert together([small] * 5) == [small] * 5
    assert together([small, large]) == [small]
    assert together([large] * 5) == [large]
    many = together([row(100, 10, 50)] * 100)
    assert cost(many[0].shape) * len(many) <= MOST < cost(many[0].shape) * (len(many) + 1)
    assert stack([small, row(9, 2, 30)], "points")["mass"].shape == (2, 10)


def test_questions_share_runs_and_a_long_one_lets_others_go_first(model: HeatModel) -> None:
    """One run serves all that are alike; one of many rows does not hold up one of few."""
    sizes: list[int] = []

    def run(feed: Mapping[str, Array]) -> Array:
        sizes.append(len(feed["x"]))
        return model.predictor.modes([row(9, 1, 4)])[0][None].repeat(len(feed["x"]), axis=0)

    batch = HeatBatch(run, "modes", 32)
    batch.join([Work([row(9, 1, 4)], np.inf) for _ in range(6)])
    batch.step()
    assert sizes == [6]
    assert all(item.done for item in batch.items)
    for item in list(batch.items):
        batch.leave(item)
    long, short = Work([row(2000, 10, 50)] * 4, np.inf), Work([row(9, 1, 4)], np.inf)
    batch.join([long, short])
    batch.step()
    batch.step()
    assert short.done
    assert not long.done
    assert len(long.found) == 1


def test_with_batching_off_a_question_has_its_runs_to_itself(model: HeatModel) -> None:
    """Only rows of one question share a run; another waits until it is done."""
    batch = HeatBatch(lambda feed: np.zeros((len(feed["x"]), 1, 1, 4)), "modes", 1)
    first, second = Work([row(9, 1, 4)] * 2, np.inf), Work([row(9, 1, 4)], np.inf)
    assert batch.room_for([], first)
    assert not batch.room_for([first], second)
    batch.join([first])
    batch.step()
    assert first.done
    assert not batch.room_for([], second)


def test_the_engine_runs_heat_in_its_batches(tmp_path: Path, model: HeatModel) -> None:
    """Questions asked at the same time get the values they get alone."""

    async def ask() -> list[Array]:
        engine = Engine(tmp_path)
        served = ServedHeatModel(
            Settings().artifacts, engine, device="cpu", threads=1, batch_items=32
        )
        async with engine:
            predictor = served.batched(time.monotonic() + 60)
            asked = problems(model)
            return await asyncio.gather(
                *(asyncio.to_thread(predictor.predict, *problem) for problem in asked)
            )

    for mine, (prepared, x) in zip(asyncio.run(ask()), problems(model), strict=True):
        assert np.abs(mine - model.predictor.predict(prepared, x)).max() < 1e-13


def test_a_deadline_that_has_passed_ends_the_wait(tmp_path: Path, model: HeatModel) -> None:
    """The graph is not run for a question whose time is over."""

    async def ask() -> None:
        engine = Engine(tmp_path)
        served = ServedHeatModel(
            Settings().artifacts, engine, device="cpu", threads=1, batch_items=32
        )
        async with engine:
            prepared, x = problems(model)[0]
            await asyncio.to_thread(served.batched(time.monotonic() - 1).predict, prepared, x)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(ask())
