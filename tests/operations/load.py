"""Clients that ask simple questions without pause and know the right answers."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx


@dataclass(slots=True)
class Outcomes:
    """What the clients got: HTTP statuses, ``solved``/``unsolved``, and what went wrong."""

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.statuses.values())


_NUMBERS = itertools.count(2)


def ask(client: httpx.Client, power: int, outcomes: Outcomes) -> int:
    """Ask for the derivative of a power and compare with the rule; the HTTP status, or 0."""
    body = {"expression": f"x^{power}", "timeout_s": 30}
    try:
        answer = client.post("/differentiate", json=body)
    except httpx.TransportError as error:
        outcomes.broken.append(repr(error))
        return 0
    outcomes.statuses[str(answer.status_code)] += 1
    if answer.status_code != 200:
        return answer.status_code
    found = answer.json()
    expected = {2: "2*x"}.get(power, f"{power}*x**{power - 1}")
    if found["status"] != "solved":
        outcomes.statuses[found["status"]] += 1
    elif found["answer"]["text"] != expected:
        outcomes.wrong.append(f"x^{power}: {found['answer']['text']}")
    return answer.status_code


@contextmanager
def clients(url: str, number: int, *, distinct: int = 10**6) -> Iterator[Outcomes]:
    """``number`` clients, until the end of the block; powers repeat after ``distinct``.

    A client that gets 503 goes elsewhere, as behind a load balancer.
    """
    outcomes = Outcomes()
    over = threading.Event()

    def client() -> None:
        # a connection each: an idle one that the server closes as a request comes is nobody's loss
        once = {"Connection": "close"}
        with httpx.Client(base_url=url, timeout=120, headers=once) as http:
            status = 0
            while not over.is_set() and status != 503:
                status = ask(http, 2 + next(_NUMBERS) % distinct, outcomes)

    threads = [threading.Thread(target=client) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        over.set()
        for thread in threads:
            thread.join(timeout=150)
    assert not any(thread.is_alive() for thread in threads), "a request hangs"
