"""Parts that fail under load: Redis, verification workers, the engine's process."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

from redis import Redis
from redis.exceptions import ResponseError

from service.settings import Settings
from tests.operations.load import clients
from tests.operations.process import metric, service
from tests.redis_server import RedisServer
from tests.service.http_server import serving


def test_redis_stopped_restarted_slow_and_full() -> None:
    """No request fails and no answer is wrong, and a metric and a log line tell of it."""
    redis = RedisServer("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    redis.start()

    def fill() -> None:
        redis.start()
        with Redis(port=redis.port) as connection, contextlib.suppress(ResponseError):
            for k in range(100):
                connection.set(f"filler:{k}", bytes(100_000))

    faults: list[Callable[[], object]] = [
        redis.stop,
        redis.start,
        lambda: redis.signal(signal.SIGSTOP),
        lambda: redis.signal(signal.SIGCONT),
        redis.stop,
        fill,
    ]
    try:
        with service(redis_url=redis.url, redis_rest_s=0.2) as running:
            with clients(running.url, 4, distinct=15) as outcomes:
                for fault in faults:
                    before = outcomes.count
                    fault()
                    time.sleep(0.6)  # longer than Redis is left alone
                    give_up = time.monotonic() + 60
                    while outcomes.count < before + 40 and time.monotonic() < give_up:
                        time.sleep(0.05)
            assert set(outcomes.statuses) == {"200"}
            assert outcomes.count >= 240
            assert not outcomes.broken
            assert not outcomes.wrong
            assert metric(running.url, 'calcert_cache_total{result="error"}') > 0
            assert metric(running.url, 'calcert_cache_total{result="hit"}') > 0
            assert "cache failed" in running.log()
            assert "cache left alone" in running.log()
    finally:
        redis.stop()


def test_verifiers_killed_and_hung() -> None:
    """kill -9 and a stop of verification workers hang no request and make no answer wrong."""
    with serving(Settings(workers=2, cache_items=0, timeout_default_s=5)) as running:
        pool = running.app.state.resources.pool
        with clients(running.url, 4) as outcomes:
            for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGKILL, signal.SIGKILL):
                before = outcomes.count
                give_up = time.monotonic() + 60
                while not pool.pids() and time.monotonic() < give_up:
                    time.sleep(0.05)
                os.kill(pool.pids()[0], number)
                while outcomes.count < before + 15 and time.monotonic() < give_up:
                    time.sleep(0.05)
        assert not outcomes.broken
        assert not outcomes.wrong
        assert set(outcomes.statuses) <= {"200", "unsolved"}
        assert outcomes.statuses["unsolved"] <= 4
        assert outcomes.count >= 60
        assert pool.restarts >= 3
        assert metric(running.url, "calcert_verification_worker_restarts_total") >= 3


def test_engine_killed_and_hung() -> None:
    """kill -9 and a stop of the engine's process hang no request and make no answer wrong."""
    with serving(Settings(workers=1, cache_items=0, timeout_default_s=5)) as running:
        engine = running.app.state.resources.engine
        with clients(running.url, 4) as outcomes:
            for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGKILL):
                before = outcomes.statuses["200"]
                give_up = time.monotonic() + 60
                while not engine.pid and time.monotonic() < give_up:
                    time.sleep(0.05)
                os.kill(engine.pid, number)
                while outcomes.statuses["200"] < before + 15 and time.monotonic() < give_up:
                    time.sleep(0.05)
        assert not outcomes.broken
        assert not outcomes.wrong
        # while there is no engine what is in work takes long, and more is refused
        assert set(outcomes.statuses) <= {"200", "429"}
        assert outcomes.statuses["200"] >= 45
        assert engine.restarts == 3
        assert metric(running.url, "calcert_engine_restarts_total") == 3
