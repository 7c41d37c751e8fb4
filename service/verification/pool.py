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
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from typing import Any, Final, Self, TypeVar, cast

from service.frames import Frames, frame
from service.processes import launch
from service.verification.errors import NoWorker, PoolSaturated, WorkerDied, WorkerTimeout
from service.verification.worker import Reply, serve, to_message, withdrawal

T = TypeVar("T")

MIB: Final = 1024 * 1024

#: Requests that a worker holds beside the one it works on, so that it never waits for the event
#: loop to hand it the next one.
AHEAD: Final = 1

#: Seconds for a worker to say that it has passed over a request that was given up.
_PASS_OVER_S: Final = 1.0

#: When the question began that a request is part of, on the event loop's clock. A question's
#: second request is then not last in the queue again, behind all that came in the meantime.
BEGAN: Final[ContextVar[float]] = ContextVar("BEGAN")

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Request:
    """What somebody waits for: ``outcome``. Times are of the event loop's clock."""

    number: int
    began: float
    asked: float
    message: bytes
    outcome: asyncio.Future[Any]
    #: Who has it.
    worker: _Worker | None = None
    #: Ends the wait at the deadline, or the worker.
    timer: asyncio.TimerHandle | None = None

    @property
    def place(self) -> tuple[float, int]:
        """In the queue: oldest question first, requests in order of arrival."""
        return self.began, self.number

    def stop_timer(self) -> None:
        """It has come to an end in time."""
        if self.timer is not None:
            self.timer.cancel()

    def fail(self, error: Exception) -> None:
        """Have who waits raise ``error``."""
        self.stop_timer()
        if not self.outcome.done():
            self.outcome.set_exception(error)


class _Worker(asyncio.Protocol):
    """One process and our end of the stream to it; the first message from it says it is ready.

    It works on the first of its ``requests``. ``on_reply`` is told what it sends,
    ``on_lost`` that the stream has ended.
    """

    def __init__(
        self,
        process: ForkServerProcess,
        on_reply: Callable[[_Worker, bytes], None],
        on_lost: Callable[[_Worker], None],
    ) -> None:
        self.process = process
        self.requests: deque[_Request] = deque()
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_reply = on_reply
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()

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
        self._preload = ["service.verification.warmup", *preload]
        self._context = multiprocessing.get_context("forkserver")
        self._workers: set[_Worker] = set()
        self._queue: list[_Request] = []
        self._numbers = itertools.count()
        self._spawning: set[asyncio.Task[None]] = set()
        self._stopping = True

    @property
    def waiting(self) -> int:
        """Requests that no worker works on yet."""
        ahead = (len(worker.requests) - 1 for worker in self._workers if worker.requests)
        return len(self._queue) + sum(ahead)

    @property
    def alive(self) -> int:
        """Workers that are up, busy ones included."""
        return len(self._workers)

    @property
    def running(self) -> int:
        """Workers that have a request."""
        return sum(bool(worker.requests) for worker in self._workers)

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
            for worker in await asyncio.gather(*(self._new_worker() for _ in range(self.size))):
                self._enlist(worker)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Kill the workers and fail what is waiting; idempotent."""
        self._stopping = True
        for task in self._spawning:
            task.cancel()
        await asyncio.gather(*self._spawning, return_exceptions=True)
        workers = list(self._workers)
        pending = [*self._queue, *itertools.chain(*(worker.requests for worker in workers))]
        self._queue.clear()
        for worker in workers:
            worker.requests.clear()
            self._discard(worker)
        for request in pending:
            request.fail(WorkerDied("the pool is stopping"))
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
        if (waiting := self.waiting) >= self.max_waiting:
            raise PoolSaturated(f"{waiting} requests are waiting for a worker")
        loop = asyncio.get_running_loop()
        now, number = loop.time(), next(self._numbers)
        message = to_message(number, function, args, timeout_s)
        asked = _Request(number, BEGAN.get(now), now, message, loop.create_future())
        asked.timer = loop.call_at(now + timeout_s, self._expire, asked)
        self._place(asked)
        try:
            result: T = await asked.outcome
        except asyncio.CancelledError:
            self._withdraw(asked)
            raise
        return result

    def _place(self, request: _Request) -> None:
        """Give ``request`` to the worker that has least to do, or have it wait."""
        worker = min(self._workers, key=lambda worker: len(worker.requests), default=None)
        if worker is not None and len(worker.requests) <= AHEAD:
            self._send(worker, request)
        else:
            insort(self._queue, request, key=lambda request: request.place)

    def _send(self, worker: _Worker, request: _Request) -> None:
        request.worker = worker
        worker.requests.append(request)
        worker.send(request.message)
        if len(worker.requests) == 1:
            self._begin(request)

    def _begin(self, request: _Request) -> None:
        """A worker has come to ``request``."""
        loop = asyncio.get_running_loop()
        if request.outcome.done():
            # it will be passed over, unless the worker began before it heard of that
            request.timer = loop.call_later(_PASS_OVER_S, self._expire, request)
        else:
            self.on_wait(loop.time() - request.asked)

    def _replied(self, worker: _Worker, message: bytes) -> None:
        """``worker`` is done with its first request: it goes on to the next one."""
        if worker not in self._workers:
            return
        try:
            reply: Reply | None = pickle.loads(message)  # noqa: S301 - from our own child
        except Exception:
            logger.exception("a worker sent what cannot be read")
            self._lost(worker)
            return
        request = worker.requests.popleft()
        request.stop_timer()
        if reply is not None and reply.worn:
            self._discard(worker)
        else:
            self._feed(worker)
        if reply is None or request.outcome.done():
            return
        if reply.error is not None:
            request.outcome.set_exception(reply.error)
        else:
            self.completed += 1
            request.outcome.set_result(reply.value)

    def _feed(self, worker: _Worker) -> None:
        """Have ``worker`` go on to its next request, or to one that somebody waits for."""
        if worker.requests:
            self._begin(worker.requests[0])
        while self._queue and len(worker.requests) <= AHEAD:
            self._send(worker, self._queue.pop(0))
        if not worker.requests:
            self._relieve(worker)

    def _relieve(self, worker: _Worker) -> None:
        """Give ``worker``, which has nothing to do, what waits behind another's request."""
        for other in self._workers:
            last = other.requests[-1] if len(other.requests) > 1 else None
            if last is not None and not last.outcome.done():
                # the other one answers for the request all the same, but nobody waits for that
                self._give_up(last)
                self._send(worker, last)
                return

    def _give_up(self, request: _Request) -> None:
        """Have the worker of ``request``, which is not at it yet, pass it over."""
        worker = request.worker
        assert worker is not None
        nobody: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        nobody.cancel()
        in_its_place = _Request(request.number, request.began, request.asked, b"", nobody, worker)
        worker.requests[worker.requests.index(request)] = in_its_place
        worker.send(withdrawal(request.number))

    def _withdraw(self, request: _Request) -> None:
        """Nobody waits for ``request`` any more."""
        worker = request.worker
        if worker is None:
            if request in self._queue:
                self._queue.remove(request)
        elif request in worker.requests:
            if request is worker.requests[0]:
                self.cancellations += 1
                worker.requests.popleft()
                self._discard(worker)
            else:
                self._give_up(request)
        request.stop_timer()

    def _expire(self, request: _Request) -> None:
        """The deadline of ``request`` has passed."""
        worker = request.worker
        if not request.outcome.done():
            self.timeouts += 1
        if worker is not None and request is worker.requests[0]:
            request.fail(WorkerTimeout("no answer before the deadline"))
            worker.requests.popleft()
            self._discard(worker)
            return
        request.fail(NoWorker("no worker became free in time"))
        if worker is None:
            self._queue.remove(request)
        else:
            self._give_up(request)

    async def _new_worker(self) -> _Worker:
        """A process that has said it is ready. Raises ``WorkerDied`` otherwise."""
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
        except (OSError, EOFError, TimeoutError) as error:
            worker.end()
            raise WorkerDied(f"a worker did not start: {error!r}") from error
        except BaseException:
            worker.end()
            raise
        return worker

    def _enlist(self, worker: _Worker) -> None:
        self._workers.add(worker)
        # the sentinel turns readable when the process ends: an idle death is noticed at once
        asyncio.get_running_loop().add_reader(worker.process.sentinel, self._lost, worker)
        self._feed(worker)

    def _lost(self, worker: _Worker) -> None:
        """The process of ``worker`` has ended."""
        if worker not in self._workers:
            return
        if worker.requests:
            self.deaths += 1
            died = WorkerDied("the worker process ended before it answered")
            worker.requests.popleft().fail(died)
        self._discard(worker)

    def _discard(self, worker: _Worker) -> None:
        """End this worker and start another in its place; others get the requests that it has."""
        if worker not in self._workers:
            return
        self._workers.discard(worker)
        asyncio.get_running_loop().remove_reader(worker.process.sentinel)
        worker.end()
        while worker.requests:
            request = worker.requests.popleft()
            request.worker = None
            if not request.outcome.done():
                self._place(request)
        if not self._stopping:
            self.restarts += 1
            task = asyncio.get_running_loop().create_task(self._replace())
            self._spawning.add(task)
            task.add_done_callback(self._spawning.discard)

    async def _replace(self) -> None:
        pause = 0.1
        while not self._stopping:
            try:
                worker = await self._new_worker()
            except WorkerDied:
                logger.exception("a worker could not be replaced, trying again in %g s", pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
            else:
                self._enlist(worker)
                return
