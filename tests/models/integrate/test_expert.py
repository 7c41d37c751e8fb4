"""Expert iteration with the model that ships."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rich.progress import Progress

from models.dataset import Shard
from models.integrate import excluded
from service.evaluation.expert import iterate
from service.settings import Settings
from tokenizer import vocabulary as v


@pytest.mark.skipif(excluded.cases_folder() is None, reason="no folder of measuring problems")
def test_examples_come_from_what_is_proved(tmp_path: Path) -> None:
    """The search brings examples whose labels end as labels do."""
    settings = Settings(redis_url=None, cache_items=0, workers=1)
    harvest = asyncio.run(iterate(tmp_path, 5, 7, settings, Progress(), most=2))
    assert 0 < harvest.solved <= harvest.asked
    (path,) = tmp_path.glob("*.npz")
    shard = Shard.load(path)
    assert len(shard) == len(harvest.examples)
    for end in shard.target_offsets[1:]:
        assert shard.target[end - 1] == v.END
