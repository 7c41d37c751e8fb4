"""Who may ask, and how much: API keys and rate limits, both off unless set."""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from typing import Final

import structlog
from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError

from service.cache import Cache
from service.metrics import Metrics
from service.problems import Problem
from service.settings import Settings

HEADER: Final = "X-API-Key"

_log = structlog.get_logger(__name__)


class Access:
    """Knows the keys, and counts what each client asks: in Redis, or here while it fails."""

    def __init__(self, settings: Settings, cache: Cache, metrics: Metrics) -> None:
        self._keys = [key.encode() for key in settings.api_keys]
        self._cache = cache
        self._metrics = metrics
        self._rate = parse(settings.rate_limit) if settings.rate_limit else None
        self._here = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared: SlidingWindowCounterRateLimiter | None = None
        if settings.rate_limit and settings.redis_url:
            storage = RedisStorage(
                f"async+{settings.redis_url}",
                implementation="redispy",
                key_prefix="calcert:rate",
                socket_timeout=settings.redis_timeout_s,
                socket_connect_timeout=settings.redis_timeout_s,
            )
            self._shared = SlidingWindowCounterRateLimiter(storage)

    def client(self, key: str | None, address: str) -> str:
        """A name for the client, which gives away neither. Raises :class:`Problem` (401)."""
        if not self._keys:
            return _digest(address.encode())
        given = (key or "").encode()
        if sum(secrets.compare_digest(given, known) for known in self._keys) == 0:
            raise Problem(
                "unknown-key",
                f"Send one of the keys of this service in the header {HEADER}.",
                headers={"WWW-Authenticate": "ApiKey"},
            )
        return _digest(given)

    async def spend(self, client: str, questions: int) -> None:
        """Count ``questions``. Raises :class:`Problem` (429) when they are too many."""
        rate = self._rate
        if rate is None:
            return
        limiter = self._here
        if self._shared is not None and not self._cache.broken:
            limiter = self._shared
        try:
            granted = await limiter.hit(rate, client, cost=questions)
        except (RedisError, OSError) as error:
            self._metrics.cache.labels("error").inc()
            _log.warning("rate limits are counted here", error=type(error).__name__)
            limiter = self._here
            granted = await limiter.hit(rate, client, cost=questions)
        if granted:
            return
        self._metrics.rate_limited.inc(questions)
        raise Problem(
            "too-many-requests",
            f"A client may ask {rate}.",
            headers={"Retry-After": str(await _seconds(limiter, rate, client))},
        )


async def _seconds(limiter: SlidingWindowCounterRateLimiter, rate: RateLimitItem, who: str) -> int:
    try:
        stats = await limiter.get_window_stats(rate, who)
    except (RedisError, OSError):
        return 1
    return max(1, math.ceil(stats.reset_time - time.time()))


def _digest(identity: bytes) -> str:
    return hashlib.sha256(identity).hexdigest()[:32]
