"""A function in a verification worker, with every way it can fail turned into an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from service.problems import Problem
from service.resources import Resources
from service.solvers.answer import NEVER_TRIED, NoAnswer
from service.verification.convert import ConversionError
from service.verification.errors import NoWorker, PoolSaturated, WorkerDied, WorkerTimeout

T = TypeVar("T")

_log = structlog.get_logger(__name__)

#: A worker gets this much longer than the function in it, to come back with a verdict; seconds.
GRACE_S = 0.25


async def in_worker(
    resources: Resources, seconds: float, function: Callable[..., T], *arguments: Any
) -> T:
    """``function(*arguments, deadline)`` in a worker, at most ``seconds`` from now.

    Raises :class:`NoAnswer`, and :class:`Problem` (429) when too much is waiting.
    """
    give_up = time.monotonic() + seconds
    try:
        try:
            return await _attempt(resources, give_up, function, arguments)
        except WorkerDied:
            # it may have been killed from outside, through no fault of the question
            return await _attempt(resources, give_up, function, arguments)
    except NoWorker:
        raise NoAnswer(NEVER_TRIED, "no worker was free before the deadline") from None
    except WorkerTimeout:
        raise NoAnswer("deadline", "nothing could be verified before the deadline") from None
    except WorkerDied:
        raise NoAnswer("worker_died", "the process that was verifying ended") from None
    except MemoryError:
        raise NoAnswer("memory", "verification needed more memory than it may use") from None
    except PoolSaturated:
        raise Problem.queue_full("a verifier") from None
    except ConversionError as error:
        raise NoAnswer("inexpressible", str(error)) from None
    except RecursionError:
        raise NoAnswer("too_deep", "the expression is nested too deeply to verify") from None
    except NoAnswer:
        raise
    except Exception as error:
        # SymPy raises anything on odd input; that is its failure to verify, not a crash of ours
        _log.error("verification failed", exc_info=error)
        raise NoAnswer("verifier_failed", "verification failed on this expression") from None


async def _attempt(
    resources: Resources, give_up: float, function: Callable[..., T], arguments: tuple[Any, ...]
) -> T:
    seconds = give_up - time.monotonic()
    if seconds <= GRACE_S / 2:
        raise NoAnswer("deadline", "the deadline passed")
    inner = max(seconds - GRACE_S, seconds / 2)
    return await resources.pool.run(function, *arguments, inner, timeout_s=seconds)
