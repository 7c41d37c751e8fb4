"""A client for Python programs and notebooks.

>>> from service.client import Calcert
>>> with Calcert("http://127.0.0.1:8000") as calcert:  # doctest: +SKIP
...     calcert.differentiate("sin(x^2)").sympy()
2*x*cos(x**2)
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import httpx

from service.heat.schema import HeatAnswer, HeatUnsolved
from service.schemas import Formula, Info, Solved, Unsolved
from service.solvers.integrate_schema import IntegralSolved, IntegralUnsolved
from tokenizer.parse import parse

if TYPE_CHECKING:
    import numpy as np
    import sympy
    from numpy.typing import NDArray

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


class CalcertError(Exception):
    """What the service said instead of an answer."""


class Refused(CalcertError):
    """A problem (RFC 9457): ``status``, ``slug`` and ``problem``, the whole object."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        hint = problem.get("hint")
        caret = problem.get("caret")
        lines = [str(problem.get("detail") or problem.get("title") or status), caret, hint]
        super().__init__("\n".join(line for line in lines if line))
        self.status = status
        self.problem = dict(problem)
        self.slug = str(problem.get("type", "")).rsplit("/", 1)[-1]


class Unreachable(CalcertError):
    """No answer came back: no connection, or none in time."""


class NotSolved(CalcertError):
    """Nothing could be verified in time; ``answer`` has what is known, such as a value."""

    def __init__(self, answer: Unsolved | IntegralUnsolved | HeatUnsolved) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class _Shown:
    """What a notebook shows, and the way to SymPy."""

    answer: Formula | None

    def sympy(self) -> sympy.Expr:
        """The answer as a SymPy expression with real symbols; nothing is evaluated.

        Raises ``ValueError`` where there is no formula.
        """
        # a client that only prints should not wait for SymPy
        from service.verification.convert import to_sympy  # noqa: PLC0415 - see above

        if self.answer is None:
            raise ValueError("there is no formula")
        expression: sympy.Expr = to_sympy(parse(self.answer.text, syntax="text"))
        return expression

    def __str__(self) -> str:
        return self.answer.text if self.answer else "no formula"


class Derivative(_Shown, Solved):
    """An answer of POST /differentiate."""

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.answer.latex}$"


class Integral(_Shown, IntegralSolved):
    """An answer of POST /integrate."""

    def _repr_latex_(self) -> str:
        if self.answer is None:
            return "$\\displaystyle \\text{divergent}$"
        return f"$\\displaystyle {self.answer.latex}{' + C' if self.constant else ''}$"


class HeatSolution(HeatAnswer):
    """An answer of POST /pde/heat."""

    def array(self) -> NDArray[np.float64]:
        """u as an array (M, Q): M times, Q points."""
        import numpy  # noqa: PLC0415 - a client that only prints should not wait for it

        return numpy.array(self.u)

    def sympy(self) -> sympy.Expr:
        """The closed form in x and t. Raises ``ValueError`` where there is none."""
        if self.closed_form is None:
            raise ValueError("there is no closed form")
        shown = _Shown()
        shown.answer = self.closed_form
        return shown.sympy()

    def _repr_latex_(self) -> str:
        if self.closed_form is None:
            return f"$u$: {len(self.times)} times, {len(self.x)} points"
        sign = "=" if self.closed_form.exact else "\\approx"
        return f"$\\displaystyle u(x, t) {sign} {self.closed_form.latex}$"


def _derivative(found: Mapping[str, Any]) -> Derivative:
    if found["status"] == "unsolved":
        raise NotSolved(Unsolved.model_validate(found))
    return Derivative.model_validate(found)


def _integral(found: Mapping[str, Any]) -> Integral:
    if found["status"] == "unsolved":
        raise NotSolved(IntegralUnsolved.model_validate(found))
    return Integral.model_validate(found)


def _heat(found: Mapping[str, Any]) -> HeatSolution:
    if found["status"] == "unsolved":
        raise NotSolved(HeatUnsolved.model_validate(found))
    return HeatSolution.model_validate(found)


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], Derivative | Integral]]] = {
    "differentiate": _derivative,
    "integrate": _integral,
}


def _body(**fields: Any) -> dict[str, Any]:
    """The fields that were given; the service has the defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def _read(response: httpx.Response) -> Any:
    """The JSON of a success. Raises :class:`Refused`."""
    if response.is_success:
        return response.json()
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
    ) -> None:
        """``timeout_s`` is the deadline of a question; ``retries`` are for 429 and 503."""
        self._timeout_s = timeout_s
        self._retries = retries
        self._options: dict[str, Any] = {
            "base_url": base_url,
            "headers": {"X-API-Key": api_key} if api_key else {},
        }

    def _question(self, expression: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        return _body(expression=expression, **{"timeout_s": self._timeout_s, **fields})

    def _patience(self, body: Mapping[str, Any] | None) -> float:
        asked = body.get("timeout_s") if body else None
        return (asked or self._timeout_s) + GRACE_S


class Calcert(_Connection):
    """A client that waits. Use it as a context manager, or call :meth:`close`.

    Every question raises :class:`Refused`, :class:`NotSolved` or :class:`Unreachable`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._http = httpx.Client(**self._options)

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
        return _derivative(self._ask("/differentiate", self._question(expression, fields)))

    def integrate(self, expression: str, **fields: Any) -> Integral:
        """An integral; ``fields`` are those of POST /integrate (variable, lower, upper, …)."""
        return _integral(self._ask("/integrate", self._question(expression, fields)))

    def heat(
        self, initial_condition: str | Sequence[Number], times: Any, **fields: Any
    ) -> HeatSolution:
        """The heat equation; ``fields`` are those of POST /pde/heat (alpha, boundary, …)."""
        body = _body(initial_condition=initial_condition, times=times, **fields)
        return _heat(self._ask("/pde/heat", {"timeout_s": self._timeout_s, **body}))

    def info(self) -> Info:
        """What answers at the other end."""
        return Info.model_validate(self._ask("/info", None))

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
                return _READERS[task](self._ask(f"/{task}", body))
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

    def _ask(self, address: str, body: Mapping[str, Any] | None) -> Any:
        method = "GET" if body is None else "POST"
        attempt = 0
        while True:
            response: httpx.Response | None = None
            failure: httpx.HTTPError | None = None
            try:
                response = self._http.request(
                    method, address, json=body, timeout=self._patience(body)
                )
            except httpx.ConnectError as error:
                failure = error
            except httpx.HTTPError as error:
                raise Unreachable(f"{type(error).__name__}: {error}") from error
            wait = _wait_s(response, attempt, self._retries)
            if wait is None:
                if response is None:
                    raise Unreachable(str(failure)) from failure
                return _read(response)
            time.sleep(wait)
            attempt += 1


class AsyncCalcert(_Connection):
    """The same for asyncio. Use it as an asynchronous context manager, or :meth:`close` it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._http = httpx.AsyncClient(**self._options)

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
        return _derivative(await self._ask("/differentiate", body))

    async def integrate(self, expression: str, **fields: Any) -> Integral:
        """See :meth:`Calcert.integrate`."""
        return _integral(await self._ask("/integrate", self._question(expression, fields)))

    async def heat(
        self, initial_condition: str | Sequence[Number], times: Any, **fields: Any
    ) -> HeatSolution:
        """See :meth:`Calcert.heat`."""
        body = _body(initial_condition=initial_condition, times=times, **fields)
        return _heat(await self._ask("/pde/heat", {"timeout_s": self._timeout_s, **body}))

    async def info(self) -> Info:
        """What answers at the other end."""
        return Info.model_validate(await self._ask("/info", None))

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
                    answer = _READERS[task](await self._ask(f"/{task}", body))
                except CalcertError as error:
                    answer = error
            done += 1
            if progress:
                progress(done, len(questions))
            return answer

        return list(await asyncio.gather(*map(one, questions)))

    async def _ask(self, address: str, body: Mapping[str, Any] | None) -> Any:
        method = "GET" if body is None else "POST"
        attempt = 0
        while True:
            response: httpx.Response | None = None
            failure: httpx.HTTPError | None = None
            try:
                response = await self._http.request(
                    method, address, json=body, timeout=self._patience(body)
                )
            except httpx.ConnectError as error:
                failure = error
            except httpx.HTTPError as error:
                raise Unreachable(f"{type(error).__name__}: {error}") from error
            wait = _wait_s(response, attempt, self._retries)
            if wait is None:
                if response is None:
                    raise Unreachable(str(failure)) from failure
                return _read(response)
            await asyncio.sleep(wait)
            attempt += 1
