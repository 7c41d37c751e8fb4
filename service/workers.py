"""A function in a worker of the pool, with every way it can fail turned into an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import structlog

from service.noanswer import NEVER_TRIED, NoAnswer
from service.problems import Problem
from service.verification.errors import NoWorker, PoolSaturated, WorkerDied, WorkerTimeout
from service.verification.pool import WorkerPool

T = TypeVar("T")

_log = structlog.get_logger(__name__)

#: A worker gets this much longer than a function that knows its time, to come back; seconds.
GRACE_S: Final = 0.25


async def in_worker(
    pool: WorkerPool,
    seconds: float,
    function: Callable[..., T],
    *arguments: Any,
    timed: bool = False,
    passing: tuple[type[Exception], ...] = (),
) -> T:
    """``function(*arguments)`` in a worker, at most ``seconds`` from now.

    A ``timed`` function is told, after its arguments, how many seconds it may take.
    Raises :class:`NoAnswer`, what of ``passing`` the function raised, and :class:`Problem`
    (429) when too much is waiting.
    """
    give_up = time.monotonic() + seconds

    async def attempt() -> T:
        left = give_up - time.monotonic()
        if left <= (GRACE_S / 2 if timed else 0):
            raise NoAnswer("deadline", "the deadline passed")
        inner = (max(left - GRACE_S, left / 2),) if timed else ()
        return await pool.run(function, *arguments, *inner, timeout_s=left)

    try:
        try:
            return await attempt()
        except WorkerDied:
            # it may have been killed from outside, through no fault of the question
            return await attempt()
    except NoWorker:
        raise NoAnswer(NEVER_TRIED, "no worker was free before the deadline") from None
    except WorkerTimeout:
        raise NoAnswer("deadline", "it was not done before the deadline") from None
    except WorkerDied:
        raise NoAnswer("worker_died", "the process that was working on it ended") from None
    except MemoryError:
        raise NoAnswer("memory", "it needs more memory than a worker may use") from None
    except PoolSaturated:
        raise Problem.queue_full("a worker") from None
    except Exception as error:
        if isinstance(error, (NoAnswer, *passing)):
            raise
        # SymPy raises anything on odd input; that is its failure, not a crash of ours
        _log.error("a worker failed", exc_info=error)
        raise NoAnswer("worker_failed", "a worker failed on it") from None
