"""Many questions in one request, each with an outcome of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Generic, TypeVar

import structlog
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.responses import StreamingResponse
from starlette.types import Send

from service.problems import Problem
from service.requestid import current_request_id
from service.resources import Resources
from service.singleflight import WAITS
from tokenizer.errors import ParseError

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"

#: Questions that one request may have.
MOST_ITEMS: Final = 256

#: Finished answers that wait for their turn, in bytes; past that no further question begins.
HELD_BYTES: Final = 16 * 1024 * 1024

#: How soon a question is tried again when the service is full, in seconds.
AGAIN_S: Final = 0.05

#: Seconds that a client has beyond the deadline to read the rest.
READ_S: Final = 30.0

Q = TypeVar("Q", bound=BaseModel)

_log = structlog.get_logger(__name__)


class Batch(Generic[Q]):
    """The questions of one request, at most as many at a time as the engine batches.

    The request as a whole has the longest deadline that a question may have; a question
    that has not begun by then is answered with 504.
    """

    def __init__(
        self,
        task: str,
        items: Sequence[Any],
        question: type[Q],
        solve: Callable[[Q], Awaitable[BaseModel]],
        resources: Resources,
    ) -> None:
        self._task = task
        self._items = items
        self._adapter = TypeAdapter(question)
        self._solve = solve
        self._resources = resources
        self._seconds = resources.settings.timeout_max_s
        self._deadline = time.monotonic() + self._seconds
        #: Questions that are counted as expected.
        self._left = 0

    def response(self, form: str) -> StreamingResponse:
        """All answers in order as one JSON object, or one a line as they finish."""
        self._resources.metrics.batch_items.labels(self._task).observe(len(self._items))
        content = self._lines() if form == NDJSON else self._document()
        return _Streamed(content, self._expected, self._seconds + READ_S, form)

    @contextmanager
    def _expected(self) -> Iterator[None]:
        """Count the questions as expected until each has its answer, or nobody waits for it."""
        limit = self._resources.flights.limit
        self._left = len(self._items)
        limit.expect(self._task, self._left)
        try:
            yield
        finally:
            limit.expect(self._task, -self._left)

    async def _lines(self) -> AsyncIterator[bytes]:
        async for outcome in self._outcomes(ordered=False):
            yield outcome + b"\n"

    async def _document(self) -> AsyncIterator[bytes]:
        before = b'{"items":['
        async for outcome in self._outcomes(ordered=True):
            yield before + outcome
            before = b","
        yield b"]}"

    async def _outcomes(self, *, ordered: bool) -> AsyncIterator[bytes]:
        waiting = iter(range(len(self._items)))
        running: dict[asyncio.Task[bytes], int] = {}
        finished: dict[int, bytes] = {}
        held = given = 0
        try:
            while given < len(self._items):
                while len(running) < self._resources.settings.batch_items and held < HELD_BYTES:
                    index = next(waiting, None)
                    if index is None:
                        break
                    running[asyncio.create_task(self._outcome(index))] = index
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    outcome = task.result()
                    finished[running.pop(task)] = outcome
                    held += len(outcome)
                self._left -= len(done)
                self._resources.flights.limit.expect(self._task, -len(done))
                for index in sorted(finished):
                    if ordered and index != given:
                        break
                    outcome = finished.pop(index)
                    held -= len(outcome)
                    given += 1
                    yield outcome
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _outcome(self, index: int) -> bytes:
        """One entry of the answer as JSON; raises nothing."""
        WAITS.set(True)
        answer, problem = None, None
        try:
            answer = await self._answer(self._items[index])
        except Problem as error:
            problem = error
        except ParseError as error:
            problem = Problem.from_parse_error(error)
        except ValidationError as error:
            problem = Problem.from_faults(error.errors(include_url=False))
        except Exception as error:
            _log.error("crash", request_id=current_request_id(), item=index, exc_info=error)
            problem = Problem("internal", "The question could not be finished.")
        status = problem.status if problem else 200
        self._resources.metrics.items.labels(self._task, str(status)).inc()
        result = answer.model_dump_json().encode() if answer else b"null"
        trouble = problem.to_bytes() if problem else b"null"
        head = f'{{"index":{index},"status":{status},"result":'.encode()
        return head + result + b',"problem":' + trouble + b"}"

    async def _answer(self, item: Any) -> BaseModel:
        question = self._adapter.validate_python(item)
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise Problem("deadline", "The request's time was over before this question began.")
            wanted = getattr(question, "timeout_s", None)
            if left < (wanted or self._resources.settings.timeout_default_s):
                question = question.model_copy(update={"timeout_s": left})
            try:
                return await self._solve(question)
            except Problem as problem:
                # the request was let in, and its questions wait in it for their turn
                if problem.slug != "queue-full":
                    raise
                await asyncio.sleep(AGAIN_S)


class _Streamed(StreamingResponse):
    """Ends what is behind it as soon as the client has gone, or does not read for too long.

    All of it is within ``during()``.
    """

    def __init__(
        self,
        content: AsyncIterator[bytes],
        during: Callable[[], AbstractContextManager[None]],
        seconds: float,
        form: str,
    ) -> None:
        super().__init__(content, media_type=form)
        self._content = content
        self._during = during
        self._seconds = seconds

    async def stream_response(self, send: Send) -> None:
        with self._during():
            try:
                async with asyncio.timeout(self._seconds):
                    await super().stream_response(send)
            finally:
                closing = getattr(self._content, "aclose", None)
                if closing is not None:
                    await closing()
