from __future__ import annotations

import asyncio
import errno
import os
import random
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from service.verification.errors import (
    NoWorker,
    PoolSaturated,
    WorkerDied,
    WorkerError,
    WorkerTimeout,
)
from service.verification.pool import BEGAN, WorkerPool


def identify() -> int:
    return os.getpid()


def double(value: int) -> int:
    return 2 * value


def echo(value: bytes) -> bytes:
    return value


def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def hang_in_c() -> int:
    """A loop inside one C call, which no Python signal handler can interrupt."""
    return int(pow(3, 10**10))


def eat_memory() -> int:
    return len(bytearray(8 * 1024**3))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def remembered(count: int) -> int:
    """The most that SymPy keeps for one of its functions after ``count`` new sums."""
    import sympy
    from sympy.core.cache import CACHE

    x = sympy.Symbol("x")
    for k in range(count):
        sympy.expand((x + k) * (x - k))
    return int(max(function.cache_info().currsize for function in CACHE))


class OddError(ValueError):
    """Cannot be unpickled: its constructor wants two arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def fail(kind: str) -> None:
    if kind == "odd":
        raise OddError("a", "b")
    if kind == "exit":
        raise SystemExit(3)
    if kind == "stop":
        raise StopIteration
    raise KeyError(kind)


def unpicklable() -> Callable[[], int]:
    return lambda: 1


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def scenario(body: Callable[[WorkerPool], Awaitable[None]], **options: Any) -> None:
    """Run ``body`` on the event loop of the service, whose streams are not asyncio's own."""

    async def main() -> None:
        async with WorkerPool(**options) as pool:
            assert pool.ready
            await body(pool)
        assert not pool.ready

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_results_and_arguments() -> None:
    """Many concurrent calls each get their own answer, from more than one process."""

    async def body(pool: WorkerPool) -> None:
        answers = await asyncio.gather(*(pool.run(double, i, timeout_s=30) for i in range(50)))
        assert answers == [2 * i for i in range(50)]
        pids = await asyncio.gather(*(pool.run(identify, timeout_s=30) for _ in range(20)))
        assert set(pids) <= set(pool.pids())
        assert os.getpid() not in pids
        assert pool.completed == 70

    scenario(body, workers=2)


def test_the_loop_of_asyncio_serves_as_well() -> None:
    """Answers longer than one read, and deaths, are the same without uvloop."""

    async def main() -> None:
        async with WorkerPool(1) as pool:
            long = bytes(3_000_000)
            assert await pool.run(echo, long, timeout_s=30) == long
            with pytest.raises(WorkerDied):
                await pool.run(die, timeout_s=30)
            assert await pool.run(double, 1, timeout_s=30) == 2

    asyncio.run(main())


def test_long_messages() -> None:
    """Requests and answers that come in many pieces are whole."""

    async def body(pool: WorkerPool) -> None:
        long = os.urandom(3_000_000)
        assert await pool.run(echo, long, timeout_s=30) == long
        assert await pool.run(double, 2, timeout_s=30) == 4

    scenario(body, workers=1)


@pytest.mark.parametrize("function", [hang_in_c, sleep])
def test_hang_costs_its_own_request(function: Callable[..., Any]) -> None:
    """A worker that overruns is killed and replaced while a neighbour goes on undisturbed."""

    async def body(pool: WorkerPool) -> None:
        neighbour = asyncio.create_task(pool.run(sleep, 1.0, timeout_s=30))
        arguments = (100.0,) if function is sleep else ()
        with pytest.raises(WorkerTimeout):
            await pool.run(function, *arguments, timeout_s=0.3)
        assert await pool.run(double, 4, timeout_s=30) == 8
        assert await neighbour == "slept"
        assert (pool.timeouts, pool.restarts) == (1, 1)
        await until(lambda: pool.ready)

    scenario(body, workers=2)


def test_death_costs_its_own_request() -> None:
    """A worker that dies while working fails its request at once; the pool refills."""

    async def body(pool: WorkerPool) -> None:
        with pytest.raises(WorkerDied):
            await pool.run(die, timeout_s=30)
        with pytest.raises(WorkerDied):
            await pool.run(fail, "exit", timeout_s=30)
        assert await pool.run(double, 1, timeout_s=30) == 2
        assert (pool.deaths, pool.restarts) == (2, 2)

    scenario(body, workers=1)


def test_idle_workers_killed() -> None:
    """kill -9 of idle workers is noticed without a request and costs nobody anything."""

    async def body(pool: WorkerPool) -> None:
        for _ in range(3):
            before = set(pool.pids())
            for pid in before:
                os.kill(pid, signal.SIGKILL)
            async with asyncio.timeout(30):
                while not pool.ready or before & set(pool.pids()):
                    await asyncio.sleep(0.01)
            assert await pool.run(double, 5, timeout_s=30) == 10
        assert pool.restarts == 6
        assert pool.deaths == 0

    scenario(body, workers=2)


def test_a_worker_is_replaced_when_there_are_files_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """That none can be opened for a while does not leave the pool short of a worker."""

    async def body(pool: WorkerPool) -> None:
        pair, tries = socket.socketpair, iter(range(3))

        def scarce() -> tuple[socket.socket, socket.socket]:
            if next(tries, None) is not None:
                raise OSError(errno.EMFILE, "too many open files")
            return pair()

        monkeypatch.setattr("service.verification.pool.socket.socketpair", scarce)
        with pytest.raises(WorkerDied):
            await pool.run(die, timeout_s=30)
        assert await pool.run(double, 4, timeout_s=30) == 8
        assert next(tries, None) is None

    scenario(body, workers=1)


def test_memory_limit() -> None:
    """A function that wants more memory than allowed gets MemoryError; its worker retires."""

    async def body(pool: WorkerPool) -> None:
        before = pool.pids()
        with pytest.raises(MemoryError):
            await pool.run(eat_memory, timeout_s=30)
        await until(lambda: pool.ready)
        assert pool.pids() != before

    scenario(body, workers=1, memory_mib=1024)


def test_memory_is_at_its_bound_soon() -> None:
    """What SymPy remembers of questions in a verifier is full after some hundred of them."""

    async def body(pool: WorkerPool) -> None:
        some = await pool.run(remembered, 600, timeout_s=60)
        assert 0 < some < 600
        assert await pool.run(remembered, 2000, timeout_s=60) == some

    scenario(body, workers=1)


def test_exceptions_travel() -> None:
    """The function's own exception comes back; what cannot be pickled comes back as WorkerError."""

    async def body(pool: WorkerPool) -> None:
        with pytest.raises(KeyError) as caught:
            await pool.run(fail, "key", timeout_s=30)
        assert "in fail" in caught.value.__notes__[0]
        with pytest.raises(WorkerError, match="OddError: a b"):
            await pool.run(fail, "odd", timeout_s=30)
        with pytest.raises((AttributeError, TypeError, WorkerError)):
            await pool.run(unpicklable, timeout_s=30)
        with pytest.raises(WorkerError, match="StopIteration"):
            await pool.run(fail, "stop", timeout_s=30)
        assert pool.restarts == 0

    scenario(body, workers=1)


def test_cancellation_frees_the_worker() -> None:
    """Cancelling the awaiting task kills its work, so that the next request need not wait."""

    async def body(pool: WorkerPool) -> None:
        task = asyncio.create_task(pool.run(sleep, 100.0, timeout_s=200))
        await until(lambda: pool.running == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await pool.run(double, 2, timeout_s=30) == 4
        assert pool.cancellations == 1

    scenario(body, workers=1)


def test_queue_is_bounded() -> None:
    """Requests over the bound are refused; one that waits too long times out, nobody is killed."""

    async def body(pool: WorkerPool) -> None:
        working = asyncio.create_task(pool.run(sleep, 1.0, timeout_s=30))
        await until(lambda: pool.running == 1)
        waiting = asyncio.create_task(pool.run(double, 1, timeout_s=0.2))
        await asyncio.sleep(0)
        with pytest.raises(PoolSaturated):
            await pool.run(double, 1, timeout_s=30)
        with pytest.raises(WorkerTimeout, match="no worker"):
            await waiting
        assert await working == "slept"
        assert pool.restarts == 0

    scenario(body, workers=1, max_waiting=1)


def test_nobody_is_overtaken() -> None:
    """Requests get a worker in the order in which they came, whoever asks as one becomes free."""

    async def body(pool: WorkerPool) -> None:
        finished: list[int] = []

        async def ask(number: int) -> None:
            await pool.run(double, number, timeout_s=60)
            finished.append(number)
            if number < 20:  # asks again at once, when its worker is just free
                await ask(number + 100)

        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(ask(number))
        assert finished == [*range(40), *range(100, 120)]

    scenario(body, workers=1)


def test_an_older_question_goes_first() -> None:
    """Requests of one question wait with its age, not behind all that came since it began."""

    async def body(pool: WorkerPool) -> None:
        finished: list[str] = []

        async def ask(name: str, began: float) -> None:
            BEGAN.set(began)
            await pool.run(double, 1, timeout_s=60)
            finished.append(name)

        now = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            group.create_task(pool.run(sleep, 0.5, timeout_s=60))
            await until(lambda: pool.running == 1)
            for name, age in (("young", 1.0), ("old", 3.0), ("middle", 2.0)):
                group.create_task(ask(name, now - age))
            await until(lambda: pool.waiting == 3)
        assert finished == ["old", "middle", "young"]

    scenario(body, workers=1)


def test_what_nobody_waits_for_is_passed_over() -> None:
    """A request that is cancelled, or late, before its turn is not computed; nobody is killed."""

    async def body(pool: WorkerPool) -> None:
        working = asyncio.create_task(pool.run(sleep, 0.5, timeout_s=30))
        await until(lambda: pool.running == 1)
        cancelled = asyncio.create_task(pool.run(sleep, 20.0, timeout_s=30))
        await until(lambda: pool.waiting == 1)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        with pytest.raises(NoWorker):
            await pool.run(sleep, 20.0, timeout_s=0.1)
        assert await pool.run(double, 3, timeout_s=10) == 6
        assert await working == "slept"
        assert (pool.cancellations, pool.timeouts, pool.restarts) == (0, 1, 0)

    scenario(body, workers=1)


def test_a_storm() -> None:
    """Deaths, hangs, cancellations and late requests among others: each gets what is its own."""
    rng = random.Random(6)

    async def ask(pool: WorkerPool, number: int) -> None:
        match rng.randrange(10):
            case 0:
                with pytest.raises(WorkerDied):
                    await pool.run(die, timeout_s=60)
            case 1:
                with pytest.raises(WorkerTimeout):
                    await pool.run(sleep, 60.0, timeout_s=rng.uniform(0.01, 2))
            case 2:
                task = asyncio.create_task(pool.run(sleep, 60.0, timeout_s=60))
                await asyncio.sleep(rng.uniform(0, 2))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            case 3:
                with pytest.raises(KeyError):
                    await pool.run(fail, "key", timeout_s=60)
            case 4:
                assert await pool.run(sleep, rng.uniform(0, 0.1), timeout_s=60) == "slept"
            case _:
                assert await pool.run(double, number, timeout_s=60) == 2 * number

    async def body(pool: WorkerPool) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(120):
                group.create_task(ask(pool, number))
                await asyncio.sleep(rng.expovariate(60))
        await until(lambda: pool.ready and not pool.waiting and not pool.running)
        assert await asyncio.gather(*(pool.run(double, k, timeout_s=30) for k in range(9))) == [
            2 * k for k in range(9)
        ]

    scenario(body, workers=3)


def test_stop_fails_what_is_pending() -> None:
    """Stopping ends running and waiting requests with WorkerDied and leaves no process behind."""

    async def main() -> None:
        pool = WorkerPool(1)
        await pool.start()
        pids = pool.pids()
        pending = [asyncio.create_task(pool.run(sleep, 50.0, timeout_s=60)) for _ in range(3)]
        await until(lambda: pool.waiting == 2)
        await pool.stop()
        outcomes = await asyncio.gather(*pending, return_exceptions=True)
        assert all(isinstance(outcome, WorkerDied) for outcome in outcomes)
        await until(lambda: not any(_exists(pid) for pid in pids))
        with pytest.raises(WorkerDied):
            await pool.run(double, 1, timeout_s=1)

    asyncio.run(main())


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
