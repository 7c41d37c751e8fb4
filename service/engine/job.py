"""What the batcher asks of the kinds of jobs that it runs, whatever they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar


class Job(Protocol):
    """One question on its way. Times are of ``time.monotonic``."""

    started: float

    @property
    def done(self) -> bool:
        """Whether nothing is left to compute."""

    def result(self, now: float) -> Any:
        """What was asked for, once it is done."""

    def expired(self, now: float) -> bool:
        """The deadline has passed."""


J = TypeVar("J", bound=Job)


class Running(Protocol[J]):
    """The jobs of one model that are computed together, a step at a time."""

    items: list[J]

    def room_for(self, joining: Sequence[J], item: J) -> bool:
        """Whether ``item`` may join besides ``joining``; an empty batch takes any."""

    def join(self, items: Sequence[J]) -> None:
        """Take ``items`` in."""

    def leave(self, item: J) -> None:
        """Take ``item`` out."""

    def step(self) -> None:
        """Every job, or as many as one step has room for, goes on a little."""


class Kind(Protocol[J]):
    """One thing that an engine computes; ``provider`` is what ONNX Runtime calls where."""

    provider: str

    def job(self, request: Any, deadline: float | None, submitted: float) -> J:
        """The job of a request; times are of ``time.monotonic``."""

    def open(self) -> Running[J]:
        """A batch without jobs."""
