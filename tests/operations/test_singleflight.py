"""One computation for everybody who asks the same at the same time."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from service.cache import Cache, MemoryCache, RedisCache
from service.concurrency import ConcurrencyLimit
from service.metrics import Metrics
from service.problems import Problem
from service.singleflight import SingleFlight
from service.verification.pool import BEGAN
from tests.operations.process import metric, service
from tests.redis_server import RedisServer

Compute = Callable[[], Awaitable[bytes]]


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    server.start()
    yield server
    server.stop()


def flights(cache: Cache, most: int = 1000) -> SingleFlight:
    return SingleFlight(cache, Metrics(), ConcurrencyLimit(most))


def counting(seconds: float = 0.2, value: bytes = b"42") -> tuple[Compute, list[None]]:
    calls: list[None] = []

    async def compute() -> bytes:
        calls.append(None)
        await asyncio.sleep(seconds)
        return value

    return compute, calls


def test_a_hundred_in_one_process() -> None:
    """Identical questions at the same time are computed once."""
    compute, calls = counting()

    async def scenario() -> list[tuple[bytes, bool]]:
        shared = flights(MemoryCache(items=0, ttl_s=60))
        return await asyncio.gather(
            *(shared.answer("task", "k", 5, bytes, bytes, compute) for _ in range(100))
        )

    answers = asyncio.run(scenario())
    assert len(calls) == 1
    assert {answer for answer, _ in answers} == {b"42"}


def test_a_hundred_in_two_processes(redis: RedisServer) -> None:
    """Two processes that share a Redis compute once between them, and longer than a claim lasts."""
    compute, calls = counting(seconds=4.0)

    async def scenario() -> list[tuple[bytes, bool]]:
        caches = [RedisCache(redis.url, ttl_s=60, timeout_s=2) for _ in range(2)]
        both = [flights(cache) for cache in caches]
        answers = await asyncio.gather(
            *(
                one.answer("task", "two", 20, bytes, bytes, compute)
                for one in both
                for _ in range(50)
            )
        )
        for cache in caches:
            await cache.close()
        return answers

    answers = asyncio.run(scenario())
    assert len(calls) == 1
    assert {answer for answer, _ in answers} == {b"42"}


def test_an_answer_that_came_before_the_claim_is_not_computed_again(redis: RedisServer) -> None:
    """Another process may answer and let go between this one's look and its claim."""
    compute, calls = counting(seconds=0)

    async def scenario() -> tuple[bytes, bool]:
        cache, other = (RedisCache(redis.url, ttl_s=60, timeout_s=2) for _ in range(2))
        seen = cache.get

        async def look_and_dawdle(key: str) -> bytes | None:
            found = await seen(key)
            await flights(other).answer("task", key, 20, bytes, bytes, compute)
            return found

        cache.get = look_and_dawdle  # type: ignore[method-assign]  # the pause is the fault
        answer = await flights(cache).answer("task", "late", 20, bytes, bytes, compute)
        await cache.close()
        await other.close()
        return answer

    assert asyncio.run(scenario()) == (b"42", True)
    assert len(calls) == 1


def test_a_claim_does_not_outlive_its_process(redis: RedisServer) -> None:
    """A question whose process died holding the claim is computed by the next one."""
    compute, calls = counting(seconds=0)

    async def scenario() -> tuple[bytes, bool]:
        cache = RedisCache(redis.url, ttl_s=60, timeout_s=2)
        await cache._redis.set("dead:claim", "nobody", px=1000)
        answer = await flights(cache).answer("task", "dead", 20, bytes, bytes, compute)
        await cache.close()
        return answer

    assert asyncio.run(scenario()) == (b"42", False)
    assert len(calls) == 1


def test_a_failure_is_shared_and_not_kept() -> None:
    """Everybody who waits is told, and the next one computes afresh."""
    calls: list[None] = []

    async def compute() -> bytes:
        calls.append(None)
        await asyncio.sleep(0.05)
        raise LookupError("no answer")

    async def scenario() -> list[object]:
        shared = flights(MemoryCache(10, 60))
        first = await asyncio.gather(
            *(shared.answer("task", "k", 5, bytes, bytes, compute) for _ in range(5)),
            return_exceptions=True,
        )
        with pytest.raises(LookupError):
            await shared.answer("task", "k", 5, bytes, bytes, compute)
        return list(first)

    assert all(isinstance(answer, LookupError) for answer in asyncio.run(scenario()))
    assert len(calls) == 2


def test_the_work_goes_on_for_those_who_stay() -> None:
    """The first client's leaving ends nothing for the second; the last one's ends it all."""
    ended: list[str] = []

    async def compute() -> bytes:
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        ended.append("done")
        return b"42"

    def nothing(answer: bytes) -> None:
        """What is kept of it."""

    async def scenario() -> tuple[bytes, bool]:
        shared = flights(MemoryCache(10, 60))
        first, second = (
            asyncio.create_task(shared.answer("task", "k", 5, bytes, nothing, compute))
            for _ in range(2)
        )
        await asyncio.sleep(0.05)
        first.cancel()
        answer = await second
        third = asyncio.create_task(shared.answer("task", "k", 5, bytes, nothing, compute))
        await asyncio.sleep(0.05)
        third.cancel()
        await asyncio.wait([third])
        await asyncio.sleep(0)
        assert shared.limit.running == 0
        return answer

    assert asyncio.run(scenario()) == (b"42", True)
    assert ended == ["done", "cancelled"]


def test_a_question_keeps_its_age() -> None:
    """All that is done for a question, side by side too, goes by when it began."""

    async def scenario() -> tuple[float, float, float]:
        loop = asyncio.get_running_loop()

        async def age() -> float:
            return BEGAN.get()

        async def compute() -> bytes:
            await asyncio.sleep(0.05)
            first, second = await asyncio.gather(age(), asyncio.create_task(age()))
            assert first == second
            return repr(first).encode()

        before = loop.time()
        shared = flights(MemoryCache(items=0, ttl_s=60))
        answer, _ = await shared.answer("task", "k", 5, bytes, bytes, compute)
        return before, float(answer), loop.time() - 0.05

    before, began, latest = asyncio.run(scenario())
    assert before <= began <= latest


def test_one_computation_too_many_is_refused() -> None:
    """Past the limit a new question gets 429; one that is in work already is joined."""
    compute, _ = counting()

    async def scenario() -> None:
        shared = flights(MemoryCache(0, 60), most=1)
        first = asyncio.create_task(shared.answer("task", "a", 5, bytes, bytes, compute))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refusal:
            await shared.answer("task", "b", 5, bytes, bytes, compute)
        assert refusal.value.status == 429
        assert int(shared.refusal("task").headers["Retry-After"]) >= 1
        assert await shared.answer("task", "a", 5, bytes, bytes, compute) == (b"42", True)
        await first

    asyncio.run(scenario())


@pytest.mark.parametrize("fault", ["gone", "hung", "full"])
def test_a_broken_redis_costs_no_answer(fault: str) -> None:
    """Whatever is wrong with Redis, the question is computed."""
    options = ("--maxmemory", "1", "--maxmemory-policy", "noeviction") if fault == "full" else ()
    server = RedisServer(*options)
    server.start()
    compute, calls = counting(seconds=0)

    async def scenario() -> list[tuple[bytes, bool]]:
        cache = RedisCache(server.url, 60, timeout_s=0.1)
        if fault == "gone":
            server.stop()
        if fault == "hung":
            server.signal(signal.SIGSTOP)
        answers = [
            await flights(cache).answer("task", f"k{k}", 5, bytes, bytes, compute) for k in range(8)
        ]
        assert cache.broken is (fault != "full")
        await cache.close()
        return answers

    try:
        assert asyncio.run(scenario()) == [(b"42", False)] * 8
        assert len(calls) == 8
    finally:
        server.stop()


def test_a_hundred_identical_requests_run_the_model_once(redis: RedisServer) -> None:
    """Over HTTP, with two service processes that share a Redis."""
    body = {"expression": "sin(x)*exp(x^2)/(1+x)", "timeout_s": 60}
    with (
        service(redis_url=redis.url, redis_timeout_s=2) as one,
        service(redis_url=redis.url, redis_timeout_s=2) as other,
        ThreadPoolExecutor(100) as threads,
        httpx.Client(timeout=120, limits=httpx.Limits(max_connections=100)) as client,
    ):
        urls = [one.url, other.url] * 50
        answers = list(
            threads.map(lambda url: client.post(f"{url}/differentiate", json=body), urls)
        )
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["answer"]["text"] for answer in answers}) == 1
        runs = [metric(url, 'calcert_queue_seconds_count{queue="model"}') for url in urls[:2]]
        assert sum(runs) == 1
