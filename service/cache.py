"""Verified answers, kept in the process or in Redis.

A key names a question whatever its spelling: :func:`question_key` hashes the
normalised Tree with the version of the interface and the digest of the model,
so an answer never outlives the model that gave it. A value is bytes, and only
ever a verified answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol, TypeVar

import structlog
from circuitbreaker import CircuitBreaker
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.lock import Lock
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from service.settings import Settings
from tokenizer.tree import Tree

T = TypeVar("T")

_log = structlog.get_logger(__name__)

#: Connections to Redis that one process keeps at most.
CONNECTIONS: Final = 32

#: Failures in a row after which Redis is left alone for a while.
FAILURES: Final = 5

#: A claim outlives the process that made it by this long, in seconds.
CLAIM_S: Final = 3.0

#: How often a process that waits for another's claim looks again, in seconds.
CLAIM_POLL_S: Final = 0.02

#: Failures are counted one by one and logged at most this often, in seconds.
LOG_EVERY_S: Final = 1.0

_CANONICAL: Final = json.JSONEncoder(sort_keys=True)


class Cache(Protocol):
    """Where answers are kept. No method raises: a cache that fails is a cache that misses."""

    name: str

    #: Whether anything is kept at all.
    keeps: bool

    async def get(self, key: str) -> bytes | None:
        """The value of ``key``; None when there is none or it cannot be had in time."""

    async def put(self, key: str, value: bytes) -> None:
        """Keep ``value`` for a while."""

    def claim(self, key: str, patience_s: float) -> AbstractAsyncContextManager[None]:
        """Be the only process that works on ``key``, for the length of the block.

        Another may have been at it before: its answer may be there by now. Waits
        ``patience_s`` seconds at most; then the block runs all the same.
        """

    @property
    def broken(self) -> bool:
        """Whether the cache is being done without, after failures in a row."""

    async def close(self) -> None:
        """Let go of connections."""


class MemoryCache:
    """The least recently used of ``items`` answers goes first; each goes after ``ttl_s``."""

    name = "memory"

    def __init__(
        self, items: int, ttl_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.keeps = items > 0
        self._items = items
        self._ttl_s = ttl_s
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def get(self, key: str) -> bytes | None:
        found = self._kept.get(key)
        if found is None:
            return None
        expires, value = found
        if expires <= self._clock():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return value

    async def put(self, key: str, value: bytes) -> None:
        self._kept[key] = (self._clock() + self._ttl_s, value)
        self._kept.move_to_end(key)
        while len(self._kept) > self._items:
            self._kept.popitem(last=False)

    def claim(self, key: str, patience_s: float) -> AbstractAsyncContextManager[None]:
        return contextlib.nullcontext()  # no other process can see this cache

    @property
    def broken(self) -> bool:
        return False

    async def close(self) -> None:
        self._kept.clear()


class RedisCache:
    """Answers shared between processes; a Redis that is slow, full or gone is done without.

    Each command has ``timeout_s``; after :data:`FAILURES` failures in a row none is
    sent for ``rest_s`` seconds (a circuit breaker). ``on_error`` is called once a failure.
    """

    name = "redis"
    keeps = True

    def __init__(
        self,
        url: str,
        ttl_s: float,
        timeout_s: float,
        on_error: Callable[[], None] = lambda: None,
        rest_s: float = 5.0,
    ) -> None:
        self._ttl_ms = int(1000 * ttl_s)
        self._rest_s = rest_s
        self._on_error = on_error
        self._logged = float("-inf")
        self._breaker = CircuitBreaker(
            FAILURES, rest_s, expected_exception=(RedisError, OSError), name="redis"
        )
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=timeout_s,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            # once more on a new connection: those of before a restart of Redis are all dead
            retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        )
        self._redis = Redis.from_pool(pool)

    async def get(self, key: str) -> bytes | None:
        value = await self._try("get", lambda: self._redis.get(key))
        return bytes(value) if isinstance(value, bytes) else None

    async def put(self, key: str, value: bytes) -> None:
        await self._try("put", lambda: self._redis.set(key, value, px=self._ttl_ms))

    @asynccontextmanager
    async def claim(self, key: str, patience_s: float) -> AsyncIterator[None]:
        lock = self._redis.lock(f"{key}:claim", timeout=CLAIM_S, sleep=CLAIM_POLL_S)
        mine = await self._try("claim", lambda: lock.acquire(blocking_timeout=patience_s))
        if not mine:
            yield
            return
        holding = asyncio.create_task(self._hold(lock))
        try:
            yield
        finally:
            holding.cancel()
            if not self._breaker.opened:  # else it ends by itself
                with contextlib.suppress(RedisError, OSError):
                    await lock.release()

    async def _hold(self, lock: Lock) -> None:
        """Renew a claim until it is lost or this task is cancelled."""
        with contextlib.suppress(RedisError, OSError):
            while True:
                await asyncio.sleep(CLAIM_S / 3)
                await lock.reacquire()

    @property
    def broken(self) -> bool:
        return bool(self._breaker.opened)

    async def close(self) -> None:
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()

    async def _try(self, what: str, command: Callable[[], Awaitable[T]]) -> T | None:
        """The outcome of ``command``; None when it failed or was not worth trying."""
        if self._breaker.opened:
            return None
        try:
            result: T = await self._breaker.call_async(command)
        except (RedisError, OSError) as error:
            self._on_error()
            now = time.monotonic()
            if now - self._logged >= LOG_EVERY_S:
                self._logged = now
                cause = f"{type(error).__name__}: {error}"[:200]
                _log.warning("cache failed", operation=what, error=cause)
            if self._breaker.opened:
                _log.warning("cache left alone", seconds=self._rest_s)
            return None
        return result


def open_cache(settings: Settings, on_error: Callable[[], None] = lambda: None) -> Cache:
    """The cache that ``settings`` ask for; nothing is connected to yet."""
    if settings.redis_url:
        return RedisCache(
            settings.redis_url,
            settings.cache_ttl_s,
            settings.redis_timeout_s,
            on_error,
            settings.redis_rest_s,
        )
    return MemoryCache(settings.cache_items, settings.cache_ttl_s)


def question_key(task: str, tree: Tree, **parameters: Any) -> str:
    """The key of a question: the normalised ``tree`` and whatever else decides the answer."""
    question = _CANONICAL.encode([tree_to_json(tree), parameters])
    return f"calcert:{task}:{hashlib.sha256(question.encode()).hexdigest()}"


def tree_to_json(tree: Tree) -> list[Any]:
    """A Tree in preorder as ``[head, number of arguments or value, …]``, for JSON."""
    flat: list[Any] = []
    for node in tree.preorder():
        value: int | str | None = len(node.args) or node.value
        # digits as text: JSON readers of other make round large integers
        flat += (node.head, str(value) if node.head == "integer" else value)
    return flat


def tree_from_json(flat: list[Any]) -> Tree:
    """What :func:`tree_to_json` wrote; ``ValueError`` when it is something else."""
    built: list[Tree] = []
    leaves: dict[tuple[str, str | None], Tree] = {}  # an x is written often
    for at in range(len(flat) - 2, -1, -2):
        head, value = flat[at], flat[at + 1]
        if isinstance(value, int):
            if not 0 < value <= len(built):
                raise ValueError("not a tree")
            args = tuple(reversed(built[-value:]))
            del built[-value:]
            built.append(Tree(head, args))
        else:
            leaf = leaves.get((head, value))
            if leaf is None:
                leaf = Tree(head, (), int(value) if head == "integer" else value)
                leaves[head, value] = leaf
            built.append(leaf)
    if len(built) != 1:
        raise ValueError("not a tree")
    return built[0]
