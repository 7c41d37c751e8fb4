"""What clients do, one class a scenario.

    locust -f load_tests/locustfile.py --host http://127.0.0.1:8000 Single

The mix of expressions is seeded with CALCERT_LOAD_SEED, 1 unless set; every user has
a stream of its own. What many ask is the same in every CALCERT_LOAD_ROUND, 0 unless set, and all
else is new.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from itertools import islice
from typing import Any, ClassVar

from locust import FastHttpUser, constant, constant_throughput, task

from benchmarks.expressions import expressions
from load_tests.answers import sound

_SEED = int(os.environ.get("CALCERT_LOAD_SEED", "1"))
_ROUND = 10**6 * int(os.environ.get("CALCERT_LOAD_ROUND", "0"))
_USERS = itertools.count()
_HOT = tuple(islice(expressions(_SEED - 1), 50))


def _integrand(rng: random.Random) -> str:
    """Of a kind that has an antiderivative, seldom the same twice."""
    a, b, c = (rng.randint(1, 60) for _ in range(3))
    return rng.choice(
        (
            f"x^{a % 4}*exp({b}*x + {c})",
            f"x^{a % 3 + 1}*sin({b}*x + {c})",
            f"exp({a}*x)*cos({b}*x + {c})",
            f"x*log({a}*x + {b})",
            f"({a}*x + {b})/(x^2 + {c})",
            f"1/(({a}*x + {b})*(x + {60 + c}))",
            f"{a}*x^{b % 6} + cos({c}*x)",
        )
    )


class _User(FastHttpUser):
    """Asks and looks at the answer: a right status with a wrong body is a failure."""

    abstract = True
    connection_timeout = 120
    network_timeout = 120
    #: Statuses that are no failure in this scenario, besides 200.
    also_fine: ClassVar[frozenset[int]] = frozenset()

    def on_start(self) -> None:
        number = next(_USERS)
        self.cold = expressions(_SEED + 1000 * (number + 1) + _ROUND)
        self.rng = random.Random(_SEED + number + _ROUND)

    def ask(self, address: str, body: dict[str, Any], name: str | None = None) -> None:
        with self.client.post(
            address, json=body, name=name or address, catch_response=True
        ) as answer:
            if answer.status_code in self.also_fine:
                # a row of its own, so that the accepted ones keep their percentiles
                answer.request_meta["name"] = f"{name or address} {answer.status_code}"
                answer.success()
                if answer.status_code == 429 and "Retry-After" not in (answer.headers or {}):
                    answer.failure("429 without Retry-After")
            elif answer.status_code != 200:
                answer.failure(f"{answer.status_code}")
            elif not sound(answer.json()):
                answer.failure("an answer without verification")


class Single(_User):
    """One derivative after the other, no two alike."""

    wait_time = constant(0)

    @task
    def differentiate(self) -> None:
        self.ask("/differentiate", {"expression": next(self.cold)})


class Integrals(_User):
    """One antiderivative after the other, no two alike."""

    wait_time = constant(0)

    @task
    def integrate(self) -> None:
        self.ask("/integrate", {"expression": _integrand(self.rng)})


class Batch(_User):
    """Sixteen derivatives in a request."""

    wait_time = constant(0)

    @task
    def differentiate(self) -> None:
        items = [{"expression": text} for text in islice(self.cold, 16)]
        self.ask("/differentiate/batch", {"items": items})


class Mixed(_User):
    """Nine in ten questions are ones that many ask; all three tasks."""

    wait_time = constant(0)

    @task(9)
    def hot(self) -> None:
        self.ask("/differentiate", {"expression": self.rng.choice(_HOT)}, "/differentiate hot")

    @task(1)
    def cold_question(self) -> None:
        self.ask("/differentiate", {"expression": next(self.cold)}, "/differentiate cold")

    @task(1)
    def integrate(self) -> None:
        k = self.rng.randint(1, 9)
        self.ask("/integrate", {"expression": f"x*exp({k}*x)"})

    @task(1)
    def heat(self) -> None:
        k = self.rng.randint(1, 9)
        body = {"initial_condition": f"sin({k}*pi*x)", "times": [0.01], "points": 33}
        self.ask("/pde/heat", body)


class Cached(_User):
    """100 requests/s of questions that are known, from 20 users."""

    wait_time = constant_throughput(5)

    def on_start(self) -> None:
        super().on_start()
        time.sleep(self.rng.random() / 5)  # or all of them would ask at the same moments

    @task
    def hot(self) -> None:
        self.ask("/differentiate", {"expression": self.rng.choice(_HOT)})


class Overload(_User):
    """More than the service can do: CALCERT_LOAD_RATE questions a second from each user.

    Open loop: the times are those of a Poisson process, and what the service says does not
    change them. A user who had to wait for an answer asks what is due since then at once, and
    one that is refused does not care for `Retry-After`.
    """

    also_fine = frozenset({429})
    rate = float(os.environ.get("CALCERT_LOAD_RATE", "1")) or 1.0

    def on_start(self) -> None:
        super().on_start()
        self.due = time.monotonic()
        time.sleep(self.wait_time())

    def wait_time(self) -> float:
        """Seconds until the next question is due."""
        self.due += self.rng.expovariate(self.rate)
        return max(0.0, self.due - time.monotonic())

    @task
    def question(self) -> None:
        self.ask("/differentiate", {"expression": next(self.cold)})


class OverloadIntegrals(Overload):
    """The same with integrals, which take longer."""

    @task
    def question(self) -> None:
        self.ask("/integrate", {"expression": _integrand(self.rng)})


class Slow(_User):
    """Clients that take a second to read what others read at once."""

    wait_time = constant(0)

    @task
    def differentiate(self) -> None:
        items = [{"expression": text} for text in islice(self.cold, 4)]
        headers = {"Accept": "application/x-ndjson"}
        with self.client.post(
            "/differentiate/batch",
            json={"items": items},
            headers=headers,
            stream=True,
            catch_response=True,
        ) as answer:
            while answer._response.read(64):
                time.sleep(0.02)
            if answer.status_code != 200:
                answer.failure(f"{answer.status_code}")
