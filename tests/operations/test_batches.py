"""Many questions in one request."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from service.settings import Settings
from tests.service.http_server import Serving, serving

EXPRESSIONS = (
    "sin(x)^2", "x*exp(3x)", "log(x)/x", "atan(5x^2)", "sqrt(x+1)", "x^7", "cos(cos(x))",
    "exp(x)/(1+x^2)", "tan(x)*x", "sinh(2x)", "x^2*sin(x)", "1/(1+exp(-x))", "asin(x/3)",
)  # fmt: skip


@pytest.fixture(scope="module")
def service() -> Iterator[Serving]:
    """Without a cache, so that every answer is worked out."""
    with serving(Settings(workers=1, cache_items=0)) as running:
        yield running


@pytest.fixture(scope="module")
def client(service: Serving) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, timeout=120) as client:
        yield client


def questions(*expressions: str) -> dict[str, object]:
    return {"items": [{"expression": text, "variable": "x"} for text in expressions]}


def test_a_bad_question_spoils_no_other(client: httpx.Client) -> None:
    """Answers come in order, each with the status it would have had alone."""
    items = [
        {"expression": "sin(x)"},
        {"expression": "foo(x)"},
        17,
        {"expression": "x", "order": 99},
        {"expression": "x^3"},
    ]
    answer = client.post("/differentiate/batch", json={"items": items})
    assert answer.status_code == 200
    outcomes = answer.json()["items"]
    assert [outcome["index"] for outcome in outcomes] == [0, 1, 2, 3, 4]
    assert [outcome["status"] for outcome in outcomes] == [200, 422, 422, 422, 200]
    assert outcomes[0]["result"]["answer"]["text"] == "cos(x)"
    assert outcomes[1]["problem"]["code"] == "unknown-function"
    assert outcomes[3]["problem"]["errors"][0]["field"] == "order"
    assert outcomes[4]["problem"] is None


@pytest.mark.parametrize(
    ("address", "item"),
    [
        ("/differentiate/batch", {"expression": "x^3"}),
        ("/integrate/batch", {"expression": "x^3"}),
        ("/pde/heat/batch", {"initial_condition": "x*(1-x)", "times": [0.1], "points": 3}),
    ],
)
def test_lines_say_whose_they_are(client: httpx.Client, address: str, item: object) -> None:
    """As NDJSON every outcome is one line with its index, and all of them arrive."""
    accept = {"Accept": "application/x-ndjson"}
    items = [item, {"nonsense": 1}, item]
    with client.stream("POST", address, json={"items": items}, headers=accept) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        outcomes = [json.loads(line) for line in answer.iter_lines()]
    assert {outcome["index"]: outcome["status"] for outcome in outcomes} == {0: 200, 1: 422, 2: 200}
    solved = [outcome["result"]["status"] for outcome in outcomes if outcome["status"] == 200]
    assert solved == ["solved", "solved"]


@pytest.mark.parametrize("items", [[], [1] * 257, "x", None])
def test_no_batch_is_refused_in_part(client: httpx.Client, items: object) -> None:
    """A body that is no list of 1 to 256 questions is a problem of its own."""
    assert client.post("/differentiate/batch", json={"items": items}).status_code == 422


def test_the_same_answer_alone_and_in_every_batch(client: httpx.Client) -> None:
    """What is answered together changes no byte of any answer, whatever the size."""

    def without_times(result: dict[str, object]) -> str:
        kept = {name: value for name, value in result.items() if name != "timing_ms"}
        verification = kept["verification"]
        assert isinstance(verification, dict)
        kept["verification"] = {k: v for k, v in verification.items() if k != "elapsed_ms"}
        return json.dumps(kept)

    alone = {}
    for text in EXPRESSIONS:
        answer = client.post("/differentiate", json={"expression": text, "variable": "x"})
        alone[text] = without_times(answer.json())
    rng = random.Random(3)
    for size in (*range(1, 14), 32):
        texts = rng.choices(EXPRESSIONS, k=size) if size > 13 else rng.sample(EXPRESSIONS, size)
        answer = client.post("/differentiate/batch", json=questions(*texts))
        for text, outcome in zip(texts, answer.json()["items"], strict=True):
            # a question that is twice in a batch is worked out once
            expected = alone[text].replace('"cached": true', '"cached": false')
            found = without_times(outcome["result"]).replace('"cached": true', '"cached": false')
            assert found == expected, f"{text} in a batch of {size}"


def test_a_client_that_leaves_is_not_worked_for(service: Serving) -> None:
    """Closing the connection in the middle of a batch ends what was begun for it."""
    hard = [f"sin(cos(tan(x+{k})))^7/(1+x)^{k}" for k in range(1, 60)]
    body = json.dumps(questions(*hard)).encode()
    address = urlsplit(service.url)
    assert address.hostname is not None
    with socket.create_connection((address.hostname, address.port or 80), timeout=30) as connection:
        connection.sendall(
            b"POST /differentiate/batch HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        connection.sendall(body)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    limit = service.app.state.resources.flights.limit
    give_up = time.monotonic() + 60
    while limit.running and time.monotonic() < give_up:
        time.sleep(0.05)
    assert limit.running == 0


def test_batches_wait_for_each_other_and_let_others_pass() -> None:
    """Eight batches at a time are more than is worked on: none is refused, nor is one question."""
    # times that a slow machine keeps, too
    patient = Settings(workers=1, cache_items=0, in_flight_s=10, overload_s=0.05, backlog_s=60)
    with (
        serving(patient) as running,
        httpx.Client(base_url=running.url, timeout=120) as client,
        ThreadPoolExecutor(8) as clients,
    ):

        def batch(k: int) -> list[int]:
            asked = questions(*(f"sin({16 * k + i + 2}x)/x" for i in range(16)))
            answer = client.post("/differentiate/batch", json=asked)
            assert answer.status_code == 200, answer.text
            return [outcome["status"] for outcome in answer.json()["items"]]

        batches = [clients.submit(batch, k) for k in range(16)]
        singles = [
            client.post("/differentiate", json={"expression": f"x*cos({k}x)"}).status_code
            for k in range(2, 10)
        ]
        assert all(asked.result() == [200] * 16 for asked in batches)
    assert singles == [200] * 8


def test_one_batch_too_many_is_refused() -> None:
    """It is told when to come back, and let in once those before it are done."""
    with (
        serving(Settings(workers=1, cache_items=0, backlog_s=0.01)) as running,
        httpx.Client(base_url=running.url, timeout=120) as client,
        ThreadPoolExecutor(1) as other,
    ):
        many = questions(*(f"exp({k}x)*sin(x)" for k in range(2, 130)))
        first = other.submit(client.post, "/differentiate/batch", json=many)
        few = questions("x^2")
        limit = running.app.state.resources.flights.limit
        while not limit.backlogged:
            time.sleep(0.001)
        refused = client.post("/differentiate/batch", json=few)
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) >= 1
        assert {outcome["status"] for outcome in first.result().json()["items"]} == {200}
        assert client.post("/differentiate/batch", json=few).status_code == 200
