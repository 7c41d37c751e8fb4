"""More than the service can do, and the ends of its life."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from service.settings import Settings
from tests.operations.load import clients
from tests.operations.process import metric, service
from tests.service.http_server import serving


def test_what_is_too_much_is_refused_at_once() -> None:
    """Past the limit new questions get 429, what was admitted and what is known is answered.

    What is known is answered in the very words that were answered before.
    """
    with (
        serving(Settings(workers=1, in_flight=2)) as running,
        httpx.Client(base_url=running.url, timeout=120) as client,
        ThreadPoolExecutor(24) as threads,
    ):
        known = {"expression": "x^2"}
        assert client.post("/differentiate", json=known).json()["status"] == "solved"

        def ask(k: int) -> httpx.Response:
            return client.post("/differentiate", json={"expression": f"sin(x)^{k}*x/(1+x^{k})"})

        asked = [threads.submit(ask, k) for k in range(2, 60)]
        again = [client.post("/differentiate", json=known).json() for _ in range(5)]
        answers = [future.result() for future in asked]
        name = 'calcert_requests_total{method="POST",route="/differentiate",status="429"}'
        refusals = metric(running.url, name)
    refused = [answer for answer in answers if answer.status_code == 429]
    solved = [answer for answer in answers if answer.status_code == 200]
    assert refused
    assert solved
    assert len(refused) + len(solved) == len(answers)
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert all(answer.json()["type"] == "/problems/queue-full" for answer in refused)
    assert all(answer.headers["x-request-id"] for answer in refused)
    assert refusals == len(refused)
    assert all(answer.json()["status"] == "solved" for answer in solved)
    assert all(answer["cached"] for answer in again)


def test_a_full_service_reads_nothing_but_what_it_has_answered() -> None:
    """While it is full even nonsense gets 429, a body that had an answer gets it again."""
    with (
        serving(Settings(workers=1, in_flight=1)) as running,
        httpx.Client(base_url=running.url, timeout=60) as client,
    ):
        known = {"expression": "x^2"}
        assert client.post("/differentiate", json=known).json()["status"] == "solved"
        limit = running.app.state.resources.flights.limit
        ticket = limit.begin("integrate")  # a question that takes its time
        assert client.post("/differentiate", json=known).json()["cached"]
        for address in ("/differentiate", "/integrate", "/pde/heat", "/steps"):
            assert client.post(address, content=b"?").status_code == 429
        # a batch waits, and is one too many when others have long to wait already
        assert client.post("/integrate/batch", content=b"?").status_code == 415
        limit.expect("integrate", 10_000)
        assert client.post("/integrate/batch", content=b"?").status_code == 429
        limit.expect("integrate", -10_000)
        assert client.post("/parse", json=known).status_code == 200
        assert client.get("/differentiate").status_code == 405
        limit.end(ticket)
        assert client.post("/differentiate", content=b"?").status_code == 415
        assert client.post("/differentiate", json={"expression": "x**2"}).json()["cached"]


def test_rate_limits_are_for_each_key() -> None:
    """A client that asked its share gets 429 and a time; another one is answered."""
    settings = Settings(workers=1, api_keys=frozenset({"ann", "bob"}), rate_limit="3/minute")
    with serving(settings) as running, httpx.Client(base_url=running.url, timeout=60) as client:

        def ask(key: str | None, items: int = 0) -> httpx.Response:
            body: dict[str, object] = {"expression": "x^2"}
            headers = {"X-API-Key": key} if key else {}
            if items:
                body = {"items": [body] * items}
            address = "/differentiate/batch" if items else "/differentiate"
            return client.post(address, json=body, headers=headers)

        assert [ask("ann").status_code for _ in range(4)] == [200, 200, 200, 429]
        assert int(ask("ann").headers["retry-after"]) > 0
        assert ask("bob", items=4).status_code == 429
        assert ask(None).status_code == 401
        assert ask("eve").status_code == 401
        assert client.get("/health/ready").status_code == 200
        assert client.get("/metrics").status_code == 200


def test_not_ready_before_the_models_are_loaded() -> None:
    """While it loads the service is alive, says 503 to questions, and then answers."""
    with service(ready=False) as running, httpx.Client(base_url=running.url, timeout=30) as client:
        give_up = time.monotonic() + 120
        while True:
            try:
                alive = client.get("/health/live")
                break
            except httpx.TransportError:
                assert time.monotonic() < give_up
                time.sleep(0.01)
        early = client.post("/differentiate", json={"expression": "x^2"})
        assert alive.status_code == 200
        assert early.status_code == 503
        assert early.json()["type"] == "/problems/not-ready"
        assert early.headers["retry-after"] == "1"
        running.wait_until_ready()
        assert client.post("/differentiate", json={"expression": "x^2"}).status_code == 200


def test_sigterm_under_load_drops_nothing() -> None:
    """While draining new questions get 503; all that was accepted is answered; exit code 0."""
    with service(drain_s=3, cache_items=0) as running:
        with clients(running.url, 6) as outcomes:
            while outcomes.count < 12:
                time.sleep(0.05)
            ended: list[int] = []
            stopping = threading.Thread(target=lambda: ended.append(running.terminate()))
            stopping.start()
            ready = 200
            give_up = time.monotonic() + 30
            while ready == 200 and time.monotonic() < give_up:
                ready = httpx.get(f"{running.url}/health/ready", timeout=30).status_code
            stopping.join()
        assert ready == 503
        assert ended == [0]
        assert set(outcomes.statuses) == {"200", "503"}
        assert not outcomes.wrong
        assert not outcomes.broken


def test_several_processes_show_the_sum() -> None:
    """With two server processes /metrics has the requests of both, whichever answers."""
    with service(processes=2) as running:
        for k in range(2, 22):
            with httpx.Client(base_url=running.url, timeout=60) as client:
                assert client.post("/differentiate", json={"expression": f"x^{k}"}).is_success
        name = 'calcert_requests_total{method="POST",route="/differentiate",status="200"}'
        assert metric(running.url, name) == 20
        assert running.terminate() == 0


def test_every_request_is_one_line_with_its_id() -> None:
    """A JSON line a request with its id, and no expression in it."""
    with service() as running:
        answer = httpx.post(
            f"{running.url}/differentiate",
            json={"expression": "asinh(x)"},
            headers={"X-Request-ID": f"test-{os.getpid()}"},
            timeout=60,
        )
        assert answer.headers["x-request-id"] == f"test-{os.getpid()}"
        lines = [line for line in running.log().splitlines() if f"test-{os.getpid()}" in line]
        assert len(lines) == 1
        assert "asinh" not in running.log()
