"""Errors over HTTP: one shape, the right status, quickly, whatever is sent."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest

REQUIRED = {"type", "title", "status", "detail", "request_id"}

#: name -> (method, path, headers, body, status)
MISTAKES: dict[str, tuple[str, str, dict[str, str], bytes, int]] = {
    "nothing there": ("GET", "/nowhere", {}, b"", 404),
    "wrong method": ("GET", "/differentiate", {}, b"", 405),
    "empty body": ("POST", "/differentiate", {}, b"", 422),
    "not JSON": ("POST", "/differentiate", {}, b"{expression: x}", 400),
    "cut off": ("POST", "/differentiate", {}, b'{"expression": "x', 400),
    "not UTF-8": ("POST", "/differentiate", {}, b'{"expression": "\xff\xfe"}', 400),
    "half a surrogate pair": ("POST", "/differentiate", {}, b'{"expression": "\\ud800"}', 422),
    "surrogate as a name": ("POST", "/differentiate", {}, b'{"\\ud800": 1}', 422),
    "depth bomb": ("POST", "/differentiate", {}, b"[" * 200_000, 400),
    "depth bomb inside": (
        "POST",
        "/differentiate",
        {},
        b'{"expression": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
        400,
    ),
    "huge integer": ("POST", "/differentiate", {}, b'{"order": ' + b"9" * 10_000 + b"}", 400),
    "NaN": ("POST", "/differentiate", {}, b'{"expression": "x", "timeout_s": NaN}', 422),
    "infinity": ("POST", "/differentiate", {}, b'{"expression": "x", "timeout_s": Infinity}', 422),
    "large float": ("POST", "/differentiate", {}, b'{"expression": "x", "timeout_s": 1e999}', 422),
    "negative time": ("POST", "/differentiate", {}, b'{"expression": "x", "timeout_s": -1}', 422),
    "unknown field": ("POST", "/differentiate", {}, b'{"expression": "x", "evil": 1}', 422),
    "wrong type": ("POST", "/differentiate", {}, b'{"expression": 5}', 422),
    "bool for a number": ("POST", "/differentiate", {}, b'{"expression": "x", "order": true}', 422),
    "order out of range": ("POST", "/differentiate", {}, b'{"expression": "x", "order": 0}', 422),
    "unknown engine": (
        "POST",
        "/differentiate",
        {},
        b'{"expression": "x", "engine": "oracle"}',
        422,
    ),
    "a list": ("POST", "/differentiate", {}, b"[1, 2]", 422),
    "a form": (
        "POST",
        "/differentiate",
        {"Content-Type": "application/x-www-form-urlencoded"},
        b"expression=x",
        415,
    ),
    "too large": ("POST", "/differentiate", {}, b"x" * 2_000_000, 413),
    "not understood": ("POST", "/differentiate", {}, b'{"expression": "1 + foo(x)"}', 422),
    "expression too long": (
        "POST",
        "/differentiate",
        {},
        json.dumps({"expression": "+".join(["x"] * 100_000)}).encode(),
        422,
    ),
    "variable unclear": ("POST", "/differentiate", {}, b'{"expression": "a*b"}', 422),
    "an integral": ("POST", "/differentiate", {}, b'{"expression": "\\\\int x dx"}', 422),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_every_error_has_the_one_shape(client: httpx.Client, name: str) -> None:
    """A mistake of any kind comes back as problem details with the documented status."""
    method, path, headers, body, status = MISTAKES[name]
    headers = {"Content-Type": "application/json", "X-Request-ID": "abc-1", **headers}
    answer = client.request(method, path, headers=headers, content=body)
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(problem) >= REQUIRED
    assert problem["type"].startswith("/problems/")
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"] == "abc-1"
    assert "Traceback" not in answer.text
    assert len(answer.content) < 10_000


def test_parse_errors_point_at_the_place(client: httpx.Client) -> None:
    """Position, caret, code and hint are there, and the caret is under the position."""
    answer = client.post("/differentiate", json={"expression": "1 + foo(x)"})
    problem = answer.json()
    line, caret = problem["caret"].split("\n")
    assert problem["code"] == problem["type"].removeprefix("/problems/")
    assert line == "1 + foo(x)"
    assert caret.index("^") == problem["position"]
    assert isinstance(problem["hint"], str)


def test_an_unclear_variable_lists_the_symbols(client: httpx.Client) -> None:
    """The client learns which names it can choose from."""
    problem = client.post("/differentiate", json={"expression": "a*b + sin(c)"}).json()
    assert problem["symbols"] == ["a", "b", "c"]
    assert all(name in problem["detail"] for name in "abc")


def test_invalid_fields_are_named(client: httpx.Client) -> None:
    """Each wrong field is listed with what is wrong with it."""
    body = {"expression": "x", "order": 99, "evil": 1}
    problem = client.post("/differentiate", json=body).json()
    assert {entry["field"] for entry in problem["errors"]} == {"order", "evil"}


def test_request_ids_are_made_when_the_offered_one_is_no_word(client: httpx.Client) -> None:
    """A client cannot put anything odd into our logs and headers."""
    offered = "x" * 65
    answer = client.get("/health/live", headers={"X-Request-ID": offered})
    assert answer.headers["x-request-id"] not in ("", offered)


def test_a_large_body_is_refused_before_it_is_sent(base_url: str) -> None:
    """A declared length over the limit is answered though no byte of the body came."""
    address = urlsplit(base_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(
            b"POST /differentiate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 99999999999\r\n\r\n"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_large_body_without_a_length_is_refused(client: httpx.Client) -> None:
    """Chunks are counted: nothing makes the service hold more than the limit."""
    answer = client.post(
        "/differentiate",
        content=(b"x" * 65_536 for _ in range(64)),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 413
