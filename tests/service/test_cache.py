"""The answer cache, in the process and in a real Redis."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.cache import MemoryCache, RedisCache, question_key, tree_from_json, tree_to_json
from tests.redis_server import RedisServer
from tokenizer.tree import Tree, call, integer, symbol

LEAVES = st.one_of(
    st.integers(-(10**30), 10**30).map(integer),
    st.sampled_from(["x", "theta", "x_1"]).map(symbol),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a: call("sin", a), inner),
        st.builds(lambda a, b: call("add", a, b), inner, inner),
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    server.start()
    yield server
    server.stop()


def test_memory_forgets_the_least_recently_used() -> None:
    """The bound holds, and what was just read is kept."""

    async def scenario() -> tuple[bytes | None, ...]:
        cache = MemoryCache(items=2, ttl_s=60)
        await cache.put("a", b"1")
        await cache.put("b", b"2")
        await cache.get("a")
        await cache.put("c", b"3")
        return await cache.get("a"), await cache.get("b"), await cache.get("c")

    assert asyncio.run(scenario()) == (b"1", None, b"3")


def test_memory_forgets_after_the_time_to_live() -> None:
    """An old answer is a miss."""
    now = 0.0

    async def scenario() -> tuple[bytes | None, bytes | None]:
        nonlocal now
        cache = MemoryCache(items=2, ttl_s=60, clock=lambda: now)
        await cache.put("a", b"1")
        before = await cache.get("a")
        now = 60.0
        return before, await cache.get("a")

    assert asyncio.run(scenario()) == (b"1", None)


def test_memory_of_no_items_keeps_nothing() -> None:
    """Zero turns the cache off."""

    async def scenario() -> bytes | None:
        cache = MemoryCache(items=0, ttl_s=60)
        await cache.put("a", b"1")
        return await cache.get("a")

    assert asyncio.run(scenario()) is None


def test_redis_shares_between_clients(redis: RedisServer) -> None:
    """What one process has put, another gets."""

    async def scenario() -> bytes | None:
        one, other = (RedisCache(redis.url, ttl_s=60, timeout_s=1) for _ in range(2))
        await one.put("shared", b"\x00answer")
        value = await other.get("shared")
        await one.close()
        await other.close()
        return value

    assert asyncio.run(scenario()) == b"\x00answer"


def test_redis_that_is_gone_is_a_miss() -> None:
    """With nothing at the address both operations return, and the errors are counted."""
    server = RedisServer()
    errors: list[None] = []

    async def scenario() -> bytes | None:
        cache = RedisCache(server.url, 60, timeout_s=0.2, on_error=lambda: errors.append(None))
        await cache.put("a", b"1")
        value = await cache.get("a")
        await cache.close()
        return value

    assert asyncio.run(scenario()) is None
    assert len(errors) == 2


def test_redis_that_never_answers_is_a_miss() -> None:
    """A stopped server costs the time-out and no more; once it goes on it is used again."""
    server = RedisServer()
    server.start()

    async def scenario() -> tuple[bytes | None, bytes | None]:
        cache = RedisCache(server.url, ttl_s=60, timeout_s=0.2)
        await cache.put("a", b"1")
        server.signal(signal.SIGSTOP)
        stopped = await asyncio.wait_for(cache.get("a"), timeout=5)
        server.signal(signal.SIGCONT)
        resumed = await cache.get("a")
        await cache.close()
        return stopped, resumed

    try:
        assert asyncio.run(scenario()) == (None, b"1")
    finally:
        server.stop()


def test_redis_that_is_full_is_a_miss() -> None:
    """A write that Redis refuses for want of memory is no error of ours."""
    server = RedisServer("--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
    server.start()
    errors: list[None] = []

    async def scenario() -> bytes | None:
        cache = RedisCache(server.url, 60, timeout_s=1, on_error=lambda: errors.append(None))
        await cache.put("a", bytes(2_000_000))
        await cache.put("b", b"1")
        value = await cache.get("b")
        await cache.close()
        return value

    try:
        assert asyncio.run(scenario()) is None
        assert errors
    finally:
        server.stop()


def test_key_depends_on_everything_that_decides_the_answer() -> None:
    """Another Tree, order or model version never meets the same answer."""
    x = symbol("x")
    keys = {
        question_key("differentiate", call("sin", x), order=1, model="1"),
        question_key("differentiate", call("cos", x), order=1, model="1"),
        question_key("differentiate", call("sin", x), order=2, model="1"),
        question_key("differentiate", call("sin", x), order=1, model="2"),
        question_key("integrate", call("sin", x), order=1, model="1"),
    }
    assert len(keys) == 5


def test_key_tells_symbols_from_integers() -> None:
    """A leaf's head is part of the key, not only what it prints as."""
    assert question_key("t", integer(2)) != question_key("t", symbol("2"))


@settings(max_examples=50)
@given(TREES)
def test_trees_survive_json(tree: Tree) -> None:
    """What is read from the cache is the Tree that was put there."""
    assert tree_from_json(tree_to_json(tree)) == tree


@pytest.mark.parametrize("flat", [[], ["add", 2], ["add", 2, "symbol", "x"], ["nonsense", 0]])
def test_broken_values_are_refused(flat: list[object]) -> None:
    """A value that is no Tree raises ValueError, nothing worse."""
    with pytest.raises(ValueError):  # noqa: PT011 - any message will do
        tree_from_json(flat)
