"""Verified answers, kept in the process or in Redis.

A key names a question whatever its spelling: :func:`question_key` hashes the
normalised Tree with the versions of the interface and of the model, so an
answer never outlives the model that gave it. A value is bytes, and only ever
a verified answer.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from service.settings import Settings
from tokenizer.tree import Tree

_log = structlog.get_logger(__name__)


class Cache(Protocol):
    """Where answers are kept. No method raises: a cache that fails is a cache that misses."""

    name: str

    async def get(self, key: str) -> bytes | None:
        """The value of ``key``; None when there is none or it cannot be had in time."""

    async def put(self, key: str, value: bytes) -> None:
        """Keep ``value`` for a while."""

    async def close(self) -> None:
        """Let go of connections."""


class MemoryCache:
    """The least recently used of ``items`` answers goes first; each goes after ``ttl_s``."""

    name = "memory"

    def __init__(
        self, items: int, ttl_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
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
        if not self._items:
            return
        self._kept[key] = (self._clock() + self._ttl_s, value)
        self._kept.move_to_end(key)
        while len(self._kept) > self._items:
            self._kept.popitem(last=False)

    async def close(self) -> None:
        self._kept.clear()


class RedisCache:
    """Answers shared between processes; a Redis that is slow, full or gone is done without."""

    name = "redis"

    def __init__(
        self,
        url: str,
        ttl_s: float,
        timeout_s: float,
        on_error: Callable[[], None] = lambda: None,
    ) -> None:
        self._ttl_ms = int(1000 * ttl_s)
        self._on_error = on_error
        self._redis = Redis.from_url(
            url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, retry=None
        )

    async def get(self, key: str) -> bytes | None:
        try:
            value = await self._redis.get(key)
        except (RedisError, OSError) as error:
            self._failed("get", error)
            return None
        return bytes(value) if isinstance(value, bytes) else None

    async def put(self, key: str, value: bytes) -> None:
        try:
            await self._redis.set(key, value, px=self._ttl_ms)
        except (RedisError, OSError) as error:
            self._failed("put", error)

    async def close(self) -> None:
        await self._redis.aclose()

    def _failed(self, what: str, error: Exception) -> None:
        self._on_error()
        _log.warning("cache failed", operation=what, error=f"{type(error).__name__}: {error}"[:200])


def open_cache(settings: Settings, on_error: Callable[[], None] = lambda: None) -> Cache:
    """The cache that ``settings`` ask for; nothing is connected to yet."""
    if settings.redis_url:
        return RedisCache(
            settings.redis_url, settings.cache_ttl_s, settings.redis_timeout_s, on_error
        )
    return MemoryCache(settings.cache_items, settings.cache_ttl_s)


def question_key(task: str, tree: Tree, **parameters: Any) -> str:
    """The key of a question: the normalised ``tree`` and whatever else decides the answer."""
    question = json.dumps([tree_to_json(tree), parameters], sort_keys=True)
    return f"calcert:{task}:{hashlib.sha256(question.encode()).hexdigest()}"


def tree_to_json(tree: Tree) -> list[Any]:
    """A Tree in preorder as ``[head, number of arguments or value, …]``, for JSON."""
    flat: list[Any] = []
    for node in tree.preorder():
        # digits as text: JSON readers of other make round large integers
        value = str(node.value) if isinstance(node.value, int) else node.value
        flat += [node.head, value if not node.args else len(node.args)]
    return flat


def tree_from_json(flat: list[Any]) -> Tree:
    """What :func:`tree_to_json` wrote; ``ValueError`` when it is something else."""
    built: list[Tree] = []
    for at in range(len(flat) - 2, -1, -2):
        head, value = flat[at], flat[at + 1]
        if isinstance(value, int):
            if not 0 < value <= len(built):
                raise ValueError("not a tree")
            args = tuple(reversed(built[-value:]))
            del built[-value:]
            built.append(Tree(head, args))
        else:
            built.append(Tree(head, (), int(value) if head == "integer" else value))
    if len(built) != 1:
        raise ValueError("not a tree")
    return built[0]
