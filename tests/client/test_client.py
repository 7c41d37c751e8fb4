"""The Python client against the real service, and against a server that is busy."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import sympy

from service.client import AsyncCalcert, Calcert, NotSolved, Refused, Unreachable
from tests.redis_server import free_port

x, t = sympy.symbols("x t", real=True)


@pytest.fixture
def calcert(base_url: str) -> Iterator[Calcert]:
    with Calcert(base_url, timeout_s=30) as client:
        yield client


class Busy(ThreadingHTTPServer):
    """Answers with each of ``statuses`` in turn, then with an answer of the service."""

    def __init__(self, statuses: list[int], retry_after: str, answer: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = list(statuses)
        self.retry_after = retry_after
        self.answer = answer
        self.times: list[float] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Busy

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.times.append(time.monotonic())
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        body = self.server.answer if status == 200 else b'{"type": "/problems/queue-full"}'
        self.send_response(status)
        if status != 200:
            self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests look at ``times``."""


@pytest.fixture
def answer(base_url: str) -> bytes:
    """What the service really says to a question."""
    with Calcert(base_url, timeout_s=30) as client:
        return client.differentiate("x^2").model_dump_json().encode()


def busy(statuses: list[int], retry_after: str, answer: bytes) -> Busy:
    server = Busy(statuses, retry_after, answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_answers_become_sympy_expressions(calcert: Calcert) -> None:
    """A derivative, an antiderivative and a closed form are SymPy's own objects."""
    assert sympy.simplify(calcert.differentiate("sin(x^2)").sympy() - 2 * x * sympy.cos(x**2)) == 0
    found = calcert.integrate("x*exp(x)")
    assert sympy.simplify(found.sympy().diff(x) - x * sympy.exp(x)) == 0
    u = calcert.heat("sin(pi*x)", [0.1], points=9)
    assert sympy.simplify(u.sympy().diff(t) - u.sympy().diff(x, 2)) == 0
    assert u.array().shape == (1, 9)
    assert np.allclose(u.array()[0, 4], np.exp(-0.1 * np.pi**2))


def test_a_notebook_shows_latex(calcert: Calcert) -> None:
    """The constant of an antiderivative is shown, that of a derivative is not there."""
    assert calcert.integrate("2x")._repr_latex_() == r"$\displaystyle x^{2} + C$"
    assert calcert.differentiate("x^2")._repr_latex_() == r"$\displaystyle 2 x$"
    assert str(calcert.differentiate("x^2")) == "2*x"


def test_fields_are_passed_on(calcert: Calcert) -> None:
    """Order, variable and bounds reach the service."""
    assert str(calcert.differentiate("a t^3", variable="t", order=2)) == "6*a*t"
    assert calcert.integrate("x^2", lower="0", upper="3").value == pytest.approx(9)


def test_refusals_say_what_is_wrong(calcert: Calcert) -> None:
    """The error has the type, the place and the words of the problem."""
    with pytest.raises(Refused, match="unknown function foo") as caught:
        calcert.differentiate("1+foo(x)")
    assert (caught.value.slug, caught.value.status) == ("unknown-function", 422)
    assert caught.value.problem["position"] == 2


def test_no_answer_is_an_error_with_what_is_known(calcert: Calcert) -> None:
    """Nothing verified raises, and carries the reason."""
    with pytest.raises(NotSolved) as caught:
        calcert.differentiate("gamma(x)", engine="model")
    assert caught.value.answer.status == "unsolved"
    assert str(caught.value)


def test_many_keep_their_order_and_their_errors(calcert: Calcert) -> None:
    """One bad question spoils no other; progress counts to the end."""
    seen: list[tuple[int, int]] = []
    found = calcert.many(
        "differentiate", ["x^2", "x^", "sin(x)"], progress=lambda *step: seen.append(step)
    )
    assert [str(found[0]), str(found[2])] == ["2*x", "cos(x)"]
    assert isinstance(found[1], Refused)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_same_with_asyncio(base_url: str) -> None:
    """The asynchronous client gives the same answers, also many at a time."""

    async def ask() -> list[str]:
        async with AsyncCalcert(base_url, timeout_s=30) as client:
            one = await client.differentiate("x^3")
            more = await client.many("integrate", ["2x", "cos(x)"])
            heat = await client.heat("0", 0.1, points=5)
            models = (await client.info()).models
            assert heat.array().max() == 0
            assert "differentiate" in models
            return [str(one), *map(str, more)]

    assert asyncio.run(ask()) == ["3*x**2", "x**2", "sin(x)"]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again_when_it_says(status: int, answer: bytes) -> None:
    """Retry-After in seconds is waited for, then the answer is taken."""
    with busy([status], "1", answer) as server, Calcert(server.url) as client:
        assert str(client.differentiate("x^2")) == "2*x"
        server.shutdown()
    assert len(server.times) == 2
    assert server.times[1] - server.times[0] >= 1


def test_a_date_in_retry_after_is_understood(answer: bytes) -> None:
    """The header may be an HTTP date."""
    date = formatdate(time.time() + 2, usegmt=True)
    with busy([503], date, answer) as server:

        async def ask() -> str:
            async with AsyncCalcert(server.url) as client:
                return str(await client.differentiate("x^2"))

        assert asyncio.run(ask()) == "2*x"
        server.shutdown()
    assert server.times[1] - server.times[0] >= 0.8


def test_patience_ends(answer: bytes) -> None:
    """After the last retry the refusal is raised; a wait without end is not begun."""
    with busy([429] * 9, "0", answer) as server, Calcert(server.url, retries=1) as client:
        with pytest.raises(Refused) as caught:
            client.differentiate("x^2")
        server.shutdown()
    assert (caught.value.slug, len(server.times)) == ("queue-full", 2)
    with busy([503], "99999", answer) as server, Calcert(server.url) as client:
        with pytest.raises(Refused):
            client.differentiate("x^2")
        server.shutdown()
    assert len(server.times) == 1


def test_nobody_there_is_told() -> None:
    """A closed port is an error of its own, after the retries."""
    with (
        Calcert(f"http://127.0.0.1:{free_port()}", retries=1) as client,
        pytest.raises(Unreachable),
    ):
        client.differentiate("x")
