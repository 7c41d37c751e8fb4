"""Worker processes with a hard deadline and a memory limit, for code that may hang or die.

Built on :mod:`multiprocessing` instead of a pool library: with pebble 5.2 one
``kill -9`` of an *idle* worker breaks the whole pool, and its deadlines are
polled every 0.1 s. Here each worker has a socket of its own, so that a worker
and its request can be lost without touching any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import logging
import multiprocessing
import os
import pickle
import resource
import signal
import socket
import traceback
from bisect import insort
from collections.abc import Callable
from contextvars import ContextVar
from multiprocessing.context import ForkServerProcess
from typing import Any, Final, Self, TypeVar, cast

from service.frames import Frames, frame
from service.processes import launch, leave_signals_to_parent

T = TypeVar("T")

MIB: Final = 1024 * 1024

#: The most that is read from the stream at once, in bytes: nearly every message whole.
_CHUNK: Final = 65536

#: CPU time beyond its deadline after which a worker ends, should nobody have killed it; seconds.
SELF_DESTRUCTION_S: Final = 5.0

#: When the question began that a request is part of, on the event loop's clock. A question's
#: second request is then not last in the queue again, behind all that came in the meantime.
BEGAN: Final[ContextVar[float]] = ContextVar("BEGAN")

logger = logging.getLogger(__name__)


class WorkerError(RuntimeError):
    """A request got no result from its worker, for a reason of the pool's."""


class WorkerTimeout(WorkerError):
    """The deadline passed, waiting in the queue included; the worker was killed."""


class NoWorker(WorkerTimeout):
    """The deadline passed before a worker was free."""


class WorkerDied(WorkerError):
    """The worker process ended before it answered."""


class PoolSaturated(WorkerError):
    """Too many requests are waiting for a worker already."""


class _Worker(asyncio.Protocol):
    """One process and our end of the stream to it; the first message from it says it is ready."""

    def __init__(self, process: ForkServerProcess) -> None:
        self.process = process
        self.busy = False
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._message: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The stream is open."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass of it

    def data_received(self, data: bytes) -> None:
        """Keep it until a message is through."""
        for message in self._frames.feed(data):
            if not self._message.done():
                self._message.set_result(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits for a message waits in vain."""
        if not self._message.done():
            self._message.set_exception(exc or EOFError("the stream ended"))

    async def ask(self, message: bytes, deadline: float) -> Any:
        """Send one request and wait for the outcome: ``(kind, value)``. Raises as ``hear`` does."""
        if self._transport is None or self._transport.is_closing():
            raise EOFError("the stream ended")
        self._message = asyncio.get_running_loop().create_future()
        self._transport.write(frame(message))
        return pickle.loads(await self.hear(deadline))  # noqa: S301 - from our own child

    async def hear(self, deadline: float) -> bytes:
        """The next message.

        Raises ``EOFError`` or ``OSError`` when the process ends before it is through,
        ``TimeoutError`` when that takes longer than ``deadline`` on the event loop's clock.
        """
        return await _by(deadline, self._message)

    def end(self) -> None:
        """Kill the process."""
        if self.process.pid is not None:
            self.process.kill()
        if self._transport is not None:
            self._transport.close()


async def _by(deadline: float, future: asyncio.Future[T]) -> T:
    """What ``asyncio.timeout_at`` does for one future, which has nobody else to wait for it."""
    timer = asyncio.get_running_loop().call_at(deadline, _give_up, future)
    try:
        return await future
    finally:
        timer.cancel()


def _give_up(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_exception(TimeoutError())


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
        self._idle: list[_Worker] = []
        # oldest question first, requests in order of arrival: none is overtaken by a younger one
        self._queue: list[tuple[float, int, asyncio.Future[_Worker]]] = []
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
        return sum(worker.busy for worker in self._workers)

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
        while self._queue:
            *_, handed = self._queue.pop(0)
            if not handed.done():
                handed.set_exception(WorkerDied("the pool is stopping"))
        workers = list(self._workers)
        for worker in workers:
            self._discard(worker)
        for worker in workers:
            await asyncio.to_thread(worker.process.join, 5.0)

    async def run(self, function: Callable[..., T], *args: Any, timeout_s: float) -> T:
        """``function(*args)`` in a worker; both must be picklable.

        ``timeout_s`` counts from this call, waiting for a free worker included.
        Raises :class:`WorkerTimeout`, :class:`WorkerDied`,
        :class:`PoolSaturated`, or whatever the function raised. When the
        awaiting task is cancelled the worker is killed and replaced.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        message = pickle.dumps((function, args, timeout_s + SELF_DESTRUCTION_S))
        worker = await self._acquire(deadline)
        self.on_wait(loop.time() - deadline + timeout_s)
        worker.busy = True
        try:
            kind, value = await worker.ask(message, deadline)
        except TimeoutError:
            self.timeouts += 1
            self._discard(worker)
            raise WorkerTimeout(f"no answer within {timeout_s:g} s") from None
        except asyncio.CancelledError:
            self.cancellations += 1
            self._discard(worker)
            raise
        except (EOFError, OSError, pickle.UnpicklingError):
            self.deaths += 1
            self._discard(worker)
            raise WorkerDied("the worker process ended before it answered") from None
        worker.busy = False
        if kind == "retire":
            self._discard(worker)
        else:
            self._release(worker)
        if isinstance(value, _Failure):
            raise value.error
        self.completed += 1
        result: T = value
        return result

    async def _acquire(self, deadline: float) -> _Worker:
        if self._stopping:
            raise WorkerDied("the pool is not running")
        if self.waiting >= self.max_waiting:
            raise PoolSaturated(f"{self.waiting} requests are waiting for a worker")
        while True:
            worker = self._idle.pop() if self._idle else await self._handed(deadline)
            if worker in self._workers:
                return worker

    async def _handed(self, deadline: float) -> _Worker:
        """The next worker that is free and that no older question waits for."""
        loop = asyncio.get_running_loop()
        handed: asyncio.Future[_Worker] = loop.create_future()
        place = BEGAN.get(loop.time()), next(self._arrivals), handed
        insort(self._queue, place)
        try:
            return await _by(deadline, handed)
        except BaseException as error:
            if place in self._queue:
                self._queue.remove(place)
            elif handed.done() and not handed.cancelled() and handed.exception() is None:
                self._release(handed.result())  # it came at the very moment we gave up
            if isinstance(error, TimeoutError):
                self.timeouts += 1
                raise NoWorker("no worker became free in time") from None
            raise

    def _release(self, worker: _Worker) -> None:
        if worker not in self._workers:
            return
        while self._queue:
            *_, handed = self._queue.pop(0)
            if not handed.done():
                handed.set_result(worker)
                return
        self._idle.append(worker)

    async def _new_worker(self) -> _Worker:
        """A process that has said it is ready. Raises ``WorkerDied`` otherwise."""
        ours, theirs = socket.socketpair()
        process = self._context.Process(
            target=_serve,
            args=(theirs, self.memory_mib * MIB, self._preload),
            name="verifier",
            daemon=True,
        )
        loop = asyncio.get_running_loop()
        worker = _Worker(process)
        await loop.create_connection(lambda: worker, sock=ours)
        try:
            with theirs:
                await asyncio.to_thread(launch, process)
            await worker.hear(loop.time() + self.start_timeout_s)
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
        asyncio.get_running_loop().add_reader(worker.process.sentinel, self._discard, worker)
        self._release(worker)

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
                worker = await self._new_worker()
            except WorkerDied:
                logger.exception("a worker could not be replaced, trying again in %g s", pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
            else:
                self._enlist(worker)
                return


class _Failure:
    """What the function raised, on its way back."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _serve(stream: socket.socket, memory: int, preload: list[str]) -> None:
    """The life of a worker process."""
    leave_signals_to_parent()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # who gets a request does not take the core from who sent it; only Linux has this policy
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    with contextlib.suppress(ValueError, OSError):  # not every system has the limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for module in preload:  # a fork server that was up before us has not imported them
        importlib.import_module(module)
    with contextlib.suppress(EOFError, OSError):  # the parent has closed its end
        message, frames = b"ready", Frames()
        while True:
            stream.sendall(frame(message))
            message = _answer(_received(stream, frames), memory)


def _received(stream: socket.socket, frames: Frames) -> bytes:
    """The next message, which is the only one under way. Raises ``EOFError``."""
    messages: list[bytes] = []
    while not messages:
        chunk = stream.recv(_CHUNK)
        if not chunk:
            raise EOFError
        messages = frames.feed(chunk)
    return messages[0]


def _answer(message: bytes, memory: int) -> bytes:
    kind = "done"
    value: Any
    try:
        function, args, lifetime = pickle.loads(message)  # noqa: S301 - from our own parent
        # should the parent be gone, the kernel ends a hung worker even inside C code
        signal.setitimer(signal.ITIMER_PROF, lifetime)
        value = function(*args)
    except Exception as error:
        if isinstance(error, MemoryError):
            kind = "retire"
        value = _Failure(_portable(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > memory // 2:
        kind = "retire"
    try:
        return pickle.dumps((kind, value))
    except Exception as error:
        return pickle.dumps((kind, _Failure(_portable(error))))


def _portable(error: Exception) -> Exception:
    """The exception with its traceback as a note, or a WorkerError that says as much."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(trace)
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:
        return WorkerError(f"{type(error).__name__}: {error}\n{trace}")
    return error
