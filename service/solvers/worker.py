"""A function on expressions in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from service import workers
from service.noanswer import NoAnswer
from service.resources import Resources
from service.verification.convert import ConversionError

T = TypeVar("T")


async def in_worker(
    resources: Resources, seconds: float, function: Callable[..., T], *arguments: Any
) -> T:
    """``function(*arguments, deadline)`` in a worker, at most ``seconds`` from now.

    Raises :class:`NoAnswer`, and :class:`Problem` (429) when too much is waiting.
    """
    try:
        return await workers.in_worker(
            resources.pool,
            seconds,
            function,
            *arguments,
            timed=True,
            passing=(ConversionError, RecursionError),
        )
    except ConversionError as error:
        raise NoAnswer("inexpressible", str(error)) from None
    except RecursionError:
        raise NoAnswer("too_deep", "the expression is nested too deeply to verify") from None
