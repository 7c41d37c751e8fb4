"""What goes wrong with a request to a worker of the pool."""

from __future__ import annotations


class WorkerError(RuntimeError):
    """A request got no result from its worker, for a reason of the pool's."""


class WorkerTimeout(WorkerError):
    """The deadline passed, waiting in the queue included; the worker was killed."""


class NoWorker(WorkerTimeout):
    """The deadline passed before a worker was free."""


class WorkerDied(WorkerError):
    """The worker process ended before it answered."""


class PoolSaturated(WorkerError):
    """Too many requests are waiting for a worker already."""
