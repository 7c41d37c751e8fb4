"""Worker processes with a hard deadline and a memory limit, for code that may hang or die.

Built on :mod:`multiprocessing` instead of a pool library: with pebble 5.2 one
``kill -9`` of an *idle* worker breaks the whole pool, and its deadlines are
polled every 0.1 s. Here each worker has a socket of its own, so that a worker
and its request can be lost without touching any other.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import multiprocessing
import pickle
import socket
from bisect import insort
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from typing import Any, Final, Self, TypeVar, cast

from service.frames import Frames, frame
from service.processes import launch
from service.verification.errors import NoWorker, PoolSaturated, WorkerDied, WorkerTimeout
from service.verification.worker import request, serve

T = TypeVar("T")

MIB: Final = 1024 * 1024

#: When the question began that a request is part of, on the event loop's clock. A question's
#: second request is then not last in the queue again, behind all that came in the meantime.
BEGAN: Final[ContextVar[float]] = ContextVar("BEGAN")

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Asked:
    """A request, and the ``outcome`` that somebody waits for.

    ``place`` in the queue: when its question began, and in order of arrival.
    """

    place: tuple[float, int]
    message: bytes
    outcome: asyncio.Future[Any]
    #: When it was asked, on the event loop's clock.
    since: float
    #: Who is at it.
    worker: _Worker | None = None

    def fail(self, error: Exception) -> None:
        """Have who waits raise ``error``, if anybody does."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


class _Worker(asyncio.Protocol):
    """One process and our end of the stream to it; the first message from it says it is ready.

    ``asked`` is what it is at. ``on_reply`` is told what it sends, ``on_lost`` that the stream
    has ended.
    """

    def __init__(
        self,
        process: ForkServerProcess,
        on_reply: Callable[[_Worker, bytes], None],
        on_lost: Callable[[_Worker], None],
    ) -> None:
        self.process = process
        self.asked: _Asked | None = None
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_reply = on_reply
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()

    @property
    def open(self) -> bool:
        """Whether there is anybody at the other end."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The stream is open."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it

    def data_received(self, data: bytes) -> None:
        """Hand on the messages that are through."""
        for message in self._frames.feed(data):
            if self.ready.done():
                self._on_reply(self, message)
            else:
                self.ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended, or we have ended it."""
        if not self.ready.done():
            self.ready.set_exception(exc or EOFError("the stream ended"))
        self._on_lost(self)

    def send(self, message: bytes) -> None:
        """Send ``message`` when there is room."""
        assert self._transport is not None
        self._transport.write(frame(message))

    def end(self) -> None:
        """Kill the process."""
        if self.process.pid is not None:
            self.process.kill()
        if self._transport is not None:
            self._transport.close()


class WorkerPool:
    """A fixed number of worker processes behind ``await pool.run(function, …)``.

    ``workers`` is the number of processes, ``memory_mib`` the address space of
    each (a function that wants more gets ``MemoryError``), ``max_waiting``
    bounds the queue, ``preload`` names further modules that workers inherit
    already imported; ``on_wait`` is told the seconds that each request waited
    for a worker. ``completed``, ``timeouts``, ``deaths``, ``cancellations`` and
    ``restarts`` count since the start; ``waiting``, ``running`` and ``alive``
    are current numbers.
    """

    def __init__(
        self,
        workers: int = 2,
        *,
        memory_mib: int = 1536,
        max_waiting: int = 256,
        preload: tuple[str, ...] = (),
        start_timeout_s: float = 120.0,
        on_wait: Callable[[float], None] = lambda _: None,
    ) -> None:
        if workers < 1:
            raise ValueError("a pool has at least one worker")
        self.size = workers
        self.memory_mib = memory_mib
        self.max_waiting = max_waiting
        self.start_timeout_s = start_timeout_s
        self.on_wait = on_wait
        self.completed = self.timeouts = self.deaths = self.cancellations = self.restarts = 0
        self._preload = [
            "service.verification.forkserver",
            "service.verification.warmup",
            *preload,
        ]
        self._context = multiprocessing.get_context("forkserver")
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        # oldest question first, so that none is overtaken by a younger one
        self._queue: list[_Asked] = []
        self._arrivals = itertools.count()
        self._spawning: set[asyncio.Task[None]] = set()
        self._stopping = True

    @property
    def waiting(self) -> int:
        """Requests that wait for a worker."""
        return len(self._queue)

    @property
    def alive(self) -> int:
        """Workers that are up, busy ones included."""
        return len(self._workers)

    @property
    def running(self) -> int:
        """Workers that have a request."""
        return sum(worker.asked is not None for worker in self._workers)

    @property
    def ready(self) -> bool:
        """Whether all workers are up and warm."""
        return not self._stopping and self.alive == self.size

    def pids(self) -> list[int]:
        """Process ids of the workers that are up."""
        return sorted(worker.process.pid or 0 for worker in self._workers)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start all workers and wait until they are warm; ``WorkerDied`` if one cannot start."""
        self._stopping = False
        self._context.set_forkserver_preload(self._preload)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.size):
                    group.create_task(self._add_worker())
        except BaseException as error:
            await self.stop()
            if isinstance(error, BaseExceptionGroup):
                raise error.exceptions[0] from None
            raise

    async def stop(self) -> None:
        """Kill the workers and fail what is waiting; idempotent."""
        self._stopping = True
        for task in self._spawning:
            task.cancel()
        await asyncio.gather(*self._spawning, return_exceptions=True)
        workers = list(self._workers)
        at_work = [worker.asked for worker in workers if worker.asked is not None]
        for asked in (*self._queue, *at_work):
            asked.fail(WorkerDied("the pool is stopping"))
        self._queue.clear()
        for worker in workers:
            self._discard(worker)
        for worker in workers:
            await asyncio.to_thread(worker.process.join, 5.0)

    async def run(self, function: Callable[..., T], *args: Any, timeout_s: float) -> T:
        """``function(*args)`` in a worker; both must be picklable.

        ``timeout_s`` counts from this call, waiting for a free worker included.
        Raises :class:`WorkerTimeout`, :class:`WorkerDied`,
        :class:`PoolSaturated`, or whatever the function raised. When the
        awaiting task is cancelled while a worker is at it, that is killed and replaced.
        """
        if self._stopping:
            raise WorkerDied("the pool is not running")
        if self.waiting >= self.max_waiting:
            raise PoolSaturated(f"{self.waiting} requests are waiting for a worker")
        loop = asyncio.get_running_loop()
        now = loop.time()
        place = BEGAN.get(now), next(self._arrivals)
        message = request(function, args, timeout_s)
        asked = _Asked(place, message, loop.create_future(), now)
        timer = loop.call_at(now + timeout_s, self._expire, asked)
        if self._idle:
            self._send(self._idle.pop(), asked)
        else:
            insort(self._queue, asked, key=lambda waiting: waiting.place)
        try:
            result: T = await asked.outcome
        except asyncio.CancelledError:
            self._withdraw(asked)
            raise
        finally:
            timer.cancel()
        return result

    def _send(self, worker: _Worker, asked: _Asked) -> None:
        asked.worker, worker.asked = worker, asked
        self.on_wait(asyncio.get_running_loop().time() - asked.since)
        worker.send(asked.message)

    def _replied(self, worker: _Worker, message: bytes) -> None:
        """``worker`` is done with what it was asked, and goes on to what waits."""
        asked = worker.asked
        if worker not in self._workers or asked is None:
            return
        try:
            value, error, worn = pickle.loads(message)  # noqa: S301 - from our own child
        except Exception:
            logger.exception("a worker sent what cannot be read")
            self._lost(worker)
            return
        worker.asked = None
        if error is not None:
            asked.fail(error)
        elif not asked.outcome.done():
            self.completed += 1
            asked.outcome.set_result(value)
        if worn:
            self._discard(worker)
        else:
            self._release(worker)

    def _release(self, worker: _Worker) -> None:
        """``worker`` has nothing to do."""
        while self._queue:
            asked = self._queue.pop(0)
            if not asked.outcome.done():  # it is cancelled, but has not noticed yet
                self._send(worker, asked)
                return
        self._idle.append(worker)

    def _withdraw(self, asked: _Asked) -> None:
        """Nobody waits for ``asked`` any more."""
        if asked in self._queue:
            self._queue.remove(asked)
        elif asked.worker is not None and asked.worker.asked is asked:
            self.cancellations += 1
            asked.worker.asked = None
            self._discard(asked.worker)

    def _expire(self, asked: _Asked) -> None:
        """The deadline of ``asked`` has passed."""
        if asked.outcome.done():
            return
        self.timeouts += 1
        if asked.worker is None:
            self._queue.remove(asked)
            asked.fail(NoWorker("no worker became free in time"))
        else:
            asked.fail(WorkerTimeout("no answer before the deadline"))
            asked.worker.asked = None
            self._discard(asked.worker)

    async def _add_worker(self) -> None:
        """Have one process more, when it has said that it is ready.

        Raises ``WorkerDied`` when it does not.
        """
        ours, theirs = socket.socketpair()
        process = self._context.Process(
            target=serve,
            args=(theirs, self.memory_mib * MIB, self._preload),
            name="verifier",
            daemon=True,
        )
        loop = asyncio.get_running_loop()
        worker = _Worker(process, self._replied, self._lost)
        await loop.create_connection(lambda: worker, sock=ours)
        try:
            with theirs:
                await asyncio.to_thread(launch, process)
            async with asyncio.timeout(self.start_timeout_s):
                await worker.ready
            if not worker.open:
                raise EOFError("the stream ended")
        except (OSError, EOFError, TimeoutError) as error:
            worker.end()
            raise WorkerDied(f"a worker did not start: {error!r}") from error
        except BaseException:
            worker.end()
            raise
        self._workers.add(worker)
        # the sentinel turns readable when the process ends: an idle death is noticed at once
        loop.add_reader(process.sentinel, self._lost, worker)
        self._release(worker)

    def _lost(self, worker: _Worker) -> None:
        """The process of ``worker`` has ended."""
        if worker not in self._workers:
            return
        if worker.asked is not None:
            self.deaths += 1
            worker.asked.fail(WorkerDied("the worker process ended before it answered"))
        self._discard(worker)

    def _discard(self, worker: _Worker) -> None:
        """End this worker, whatever it is doing, and start another in its place."""
        if worker not in self._workers:
            return
        self._workers.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        asyncio.get_running_loop().remove_reader(worker.process.sentinel)
        worker.end()
        if not self._stopping:
            self.restarts += 1
            task = asyncio.get_running_loop().create_task(self._replace())
            self._spawning.add(task)
            task.add_done_callback(self._spawning.discard)

    async def _replace(self) -> None:
        pause = 0.1
        while not self._stopping:
            try:
                await self._add_worker()
            except Exception:  # no file left, or no thread: there may be some later
                logger.exception("a worker could not be replaced, trying again in %g s", pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
            else:
                return
