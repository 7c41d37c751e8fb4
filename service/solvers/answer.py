"""What every solver gives and keeps: a verified answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from service.cache import tree_from_json, tree_to_json
from service.resources import Resources
from service.schemas import ModelName, Timing, Verification
from service.stopwatch import Stopwatch
from tokenizer.tree import Tree


@dataclass(frozen=True, slots=True)
class Answer:
    """A verified formula, in normalised names."""

    tree: Tree
    source: Literal["model", "sympy"]
    verification: Verification
    model: ModelName | None

    def to_bytes(self) -> bytes:
        """As the cache keeps it."""
        return json.dumps(
            {
                "tree": tree_to_json(self.tree),
                "source": self.source,
                "verification": self.verification.model_dump(),
                "model": self.model and self.model.model_dump(),
            }
        ).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> Answer:
        """What :meth:`to_bytes` wrote. Raises ``ValueError`` for anything else."""
        kept: dict[str, Any] = json.loads(value)
        try:
            return cls(
                tree_from_json(kept["tree"]),
                kept["source"],
                Verification.model_validate(kept["verification"]),
                ModelName.model_validate(kept["model"]) if kept["model"] else None,
            )
        except (KeyError, TypeError) as error:
            raise ValueError("not an answer") from error


def timing(watch: Stopwatch) -> Timing:
    """The stages as the client sees them."""
    stages = {stage: milliseconds(ms) for stage, ms in watch.ms.items()}
    return Timing(**stages, total=milliseconds(watch.total_ms))


def milliseconds(ms: float) -> float:
    """To a microsecond."""
    return round(ms, 3)


def count(
    task: str, resources: Resources, watch: Stopwatch, status: str, answer: Answer | None
) -> None:
    """Metrics of one question."""
    metrics = resources.metrics
    metrics.answers.labels(task, status, answer.source if answer else "none").inc()
    if answer is not None:
        metrics.verifications.labels(task, answer.verification.status).inc()
    for stage, ms in watch.ms.items():
        if ms:
            metrics.stage_seconds.labels(task, stage).observe(ms / 1000)
