"""The connection to a service, for programs that wait and for asyncio."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Literal, Self

import httpx

from service.client.answers import (
    READERS,
    CalcertError,
    Derivative,
    HeatSolution,
    Integral,
    Refused,
    Unreachable,
    read_derivative,
    read_heat,
    read_integral,
)
from service.schemas import Info

Task = Literal["differentiate", "integrate"]
Number = float | int
#: Called with how many are done and of how many.
Progress = Callable[[int, int], None]

#: Statuses that say: not now, but soon.
RETRIED: Final = frozenset({429, 503})
#: Longest wait before one retry, in seconds; a server that asks for more is not waited for.
LONGEST_WAIT_S: Final = 60.0
#: A request may take this much longer than the deadline it sends, in seconds.
GRACE_S: Final = 5.0


def _body(**fields: Any) -> dict[str, Any]:
    """The fields that were given; the service has the defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def _accepted(response: httpx.Response) -> httpx.Response:
    """A success. Raises :class:`Refused`."""
    if response.is_success:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = {"title": response.reason_phrase}
    raise Refused(response.status_code, problem if isinstance(problem, dict) else {})


def _wait_s(response: httpx.Response | None, attempt: int, retries: int) -> float | None:
    """Seconds to wait before the next attempt; None when this one is the last word."""
    if attempt >= retries or (response is not None and response.status_code not in RETRIED):
        return None
    # doubles from 0.25 s; the random part keeps clients from coming back together
    wait = 0.25 * 2**attempt * (1 + random.random())  # noqa: S311 - no secret
    if response is not None:
        wait = max(wait, _retry_after(response.headers.get("retry-after", "")))
    return wait if wait <= LONGEST_WAIT_S else None


def _retry_after(value: str) -> float:
    """Seconds that a ``Retry-After`` asks for: a number or a date (RFC 9110 §10.2.3)."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


class _Connection:
    """What both clients are told."""

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
        *,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 5,
        **options: Any,
    ) -> None:
        """``timeout_s`` is the deadline of a question; ``retries`` are for 429 and 503.

        ``options`` are httpx's, such as ``verify`` and ``transport``.
        """
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._retries = retries
        self._options: dict[str, Any] = {
            "base_url": base_url,
            "headers": {"X-API-Key": api_key} if api_key else {},
            **options,
        }

    def _question(self, expression: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        return _body(expression=expression, **{"timeout_s": self._timeout_s, **fields})

    def _unreachable(self, error: Exception) -> Unreachable:
        said = str(error) or type(error).__name__
        return Unreachable(f"{self._base_url} cannot be reached: {said}")

    def _request(self, address: str, body: Mapping[str, Any] | None, accept: str) -> dict[str, Any]:
        """What httpx is asked for."""
        asked = body.get("timeout_s") if body else None
        return {
            "method": "GET" if body is None else "POST",
            "url": address,
            "json": body,
            "headers": {"Accept": accept},
            "timeout": (asked or self._timeout_s) + GRACE_S,
        }

    def _settle(self, response: httpx.Response | httpx.HTTPError, attempt: int) -> bytes | float:
        """The content of the answer, or seconds to wait before the next attempt.

        Only a connection that could not be made is worth another attempt, and a service
        that says so. Raises :class:`Refused` and :class:`Unreachable`.
        """
        if isinstance(response, httpx.Response):
            wait = _wait_s(response, attempt, self._retries)
            return _accepted(response).content if wait is None else wait
        wait = None
        if isinstance(response, httpx.ConnectError):
            wait = _wait_s(None, attempt, self._retries)
        if wait is None:
            raise self._unreachable(response) from response
        return wait


class Calcert(_Connection):
    """A client that waits. Use it as a context manager, or call :meth:`close`.

    Every question raises :class:`Refused`, :class:`NotSolved` or :class:`Unreachable`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self._http = httpx.Client(**self._options)
        except httpx.InvalidURL as error:
            raise self._unreachable(error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def differentiate(self, expression: str, **fields: Any) -> Derivative:
        """A derivative; ``fields`` are those of POST /differentiate (variable, order, …)."""
        return read_derivative(self.ask("/differentiate", self._question(expression, fields)))

    def integrate(self, expression: str, **fields: Any) -> Integral:
        """An integral; ``fields`` are those of POST /integrate (variable, lower, upper, …)."""
        return read_integral(self.ask("/integrate", self._question(expression, fields)))

    def heat(
        self, initial_condition: str | Sequence[Number], times: Any, **fields: Any
    ) -> HeatSolution:
        """The heat equation; ``fields`` are those of POST /pde/heat (alpha, boundary, …)."""
        body = _body(initial_condition=initial_condition, times=times, **fields)
        return read_heat(self.ask("/pde/heat", {"timeout_s": self._timeout_s, **body}))

    def info(self) -> Info:
        """What answers at the other end."""
        return Info.model_validate(self.ask("/info"))

    def many(
        self,
        task: Task,
        expressions: Iterable[str],
        *,
        progress: Progress | None = None,
        concurrency: int = 8,
        **fields: Any,
    ) -> list[Derivative | Integral | CalcertError]:
        """The answers to many questions in their order; one that has none is its error."""
        questions = list(expressions)
        done = 0

        def one(expression: str) -> Derivative | Integral | CalcertError:
            try:
                body = self._question(expression, fields)
                return READERS[task](self.ask(f"/{task}", body))
            except CalcertError as error:
                return error

        answers = []
        with ThreadPoolExecutor(concurrency) as threads:
            for answer in threads.map(one, questions):
                answers.append(answer)
                done += 1
                if progress:
                    progress(done, len(questions))
        return answers

    def ask(self, address: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON that an address answers with; ``body`` is posted, None is a GET."""
        return json.loads(self.fetch(address, body))

    def fetch(
        self, address: str, body: Mapping[str, Any] | None, accept: str = "application/json"
    ) -> bytes:
        """What an address answers with, in the media type ``accept``."""
        request = self._request(address, body, accept)
        attempt = 0
        while isinstance(settled := self._settle(self._send(request), attempt), float):
            time.sleep(settled)
            attempt += 1
        return settled

    def _send(self, request: Mapping[str, Any]) -> httpx.Response | httpx.HTTPError:
        try:
            return self._http.request(**request)
        except httpx.HTTPError as error:
            return error


class AsyncCalcert(_Connection):
    """The same for asyncio. Use it as an asynchronous context manager, or :meth:`close` it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self._http = httpx.AsyncClient(**self._options)
        except httpx.InvalidURL as error:
            raise self._unreachable(error) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def differentiate(self, expression: str, **fields: Any) -> Derivative:
        """See :meth:`Calcert.differentiate`."""
        body = self._question(expression, fields)
        return read_derivative(await self.ask("/differentiate", body))

    async def integrate(self, expression: str, **fields: Any) -> Integral:
        """See :meth:`Calcert.integrate`."""
        return read_integral(await self.ask("/integrate", self._question(expression, fields)))

    async def heat(
        self, initial_condition: str | Sequence[Number], times: Any, **fields: Any
    ) -> HeatSolution:
        """See :meth:`Calcert.heat`."""
        body = _body(initial_condition=initial_condition, times=times, **fields)
        return read_heat(await self.ask("/pde/heat", {"timeout_s": self._timeout_s, **body}))

    async def info(self) -> Info:
        """What answers at the other end."""
        return Info.model_validate(await self.ask("/info"))

    async def many(
        self,
        task: Task,
        expressions: Iterable[str],
        *,
        progress: Progress | None = None,
        concurrency: int = 8,
        **fields: Any,
    ) -> list[Derivative | Integral | CalcertError]:
        """See :meth:`Calcert.many`."""
        questions = list(expressions)
        places = asyncio.Semaphore(concurrency)
        done = 0

        async def one(expression: str) -> Derivative | Integral | CalcertError:
            nonlocal done
            answer: Derivative | Integral | CalcertError
            async with places:
                try:
                    body = self._question(expression, fields)
                    answer = READERS[task](await self.ask(f"/{task}", body))
                except CalcertError as error:
                    answer = error
            done += 1
            if progress:
                progress(done, len(questions))
            return answer

        return list(await asyncio.gather(*map(one, questions)))

    async def ask(self, address: str, body: Mapping[str, Any] | None = None) -> Any:
        """See :meth:`Calcert.ask`."""
        return json.loads(await self.fetch(address, body))

    async def fetch(
        self, address: str, body: Mapping[str, Any] | None, accept: str = "application/json"
    ) -> bytes:
        """See :meth:`Calcert.fetch`."""
        request = self._request(address, body, accept)
        attempt = 0
        while isinstance(settled := self._settle(await self._send(request), attempt), float):
            await asyncio.sleep(settled)
            attempt += 1
        return settled

    async def _send(self, request: Mapping[str, Any]) -> httpx.Response | httpx.HTTPError:
        try:
            return await self._http.request(**request)
        except httpx.HTTPError as error:
            return error
