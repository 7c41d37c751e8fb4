"""What is counted and timed, for Prometheus.

With ``PROMETHEUS_MULTIPROC_DIR`` set before the first import, prometheus-client keeps
all values in files there, and any of several server processes shows the sums.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

#: Seconds; from a cached answer to a request at its deadline.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

_MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"

# a second series for each, which nobody asks for
disable_created_metrics()  # type: ignore[no-untyped-call]  # not annotated


M = TypeVar("M", Counter, Histogram)


class Metrics:
    """The metrics of one application, in a registry of their own.

    Base units (seconds, items); labels are bounded: route templates, never paths.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        if _MULTIPROCESS not in os.environ:
            ProcessCollector(registry=self.registry)
        self.requests = self._counter(
            "requests", "HTTP requests by route template, method and status.",
            "route", "method", "status",
        )  # fmt: skip
        self.request_seconds = self._histogram(
            "request_seconds", "Time to answer an HTTP request.", _BUCKETS, "route"
        )
        self.answers = self._counter(
            "answers",
            "Questions by task, status (solved, unsolved) and source (model, sympy, none).",
            "task", "status", "source",
        )  # fmt: skip
        self.stage_seconds = self._histogram(
            "stage_seconds", "Time spent in one stage of a question.", _BUCKETS, "task", "stage"
        )
        self.verifications = self._counter(
            "verifications",
            "Answers by task and how sure they are (proved, numeric).",
            "task", "status",
        )  # fmt: skip
        self.fallbacks = self._counter(
            "fallbacks", "Questions handed to SymPy, by reason.", "task", "reason"
        )
        self.batch_items = self._histogram(
            "batch_request_items", "Items of one request to a /batch address.", _SIZES, "task"
        )
        self.items = self._counter(
            "batch_request_item", "Items of batches by task and HTTP status.", "task", "status"
        )

        self.in_flight = self._gauge("in_flight_questions", "Questions being worked on.")
        self.in_flight_limit = self._gauge(
            "in_flight_limit_questions", "Questions that may be worked on at a time."
        )
        self.queue_items = self._gauge(
            "queue_items", "What waits, by for what (model, verifier).", "queue"
        )
        self.queue_seconds = self._histogram(
            "queue_seconds", "Time spent waiting, by for what (model, verifier).", _BUCKETS, "queue"
        )
        self.step_items = self._histogram(
            "decoder_step_items", "Items decoded together in one step.", _SIZES
        )
        self.step_seconds = self._histogram(
            "decoder_step_seconds", "Time of one decoder step.", _BUCKETS
        )
        self.tokens = self._counter("tokens_decoded", "Tokens that searches went on by.", "model")
        self.drafted = self._counter(
            "tokens_drafted", "Those of them that were guessed and so took no step.", "model"
        )
        self.engine_restarts = self._counter(
            "engine_restarts", "Times that the process which runs the models had to be replaced."
        )
        self.model = self._gauge(
            "model_info", "1 for each model that is loaded.",
            "model", "version", "provider", "precision", most=True,
        )  # fmt: skip

        self.workers = self._gauge("verification_workers", "Verification processes that are up.")
        self.workers_wanted = self._gauge(
            "verification_workers_wanted", "Verification processes that there should be."
        )
        self.worker_requests = self._counter(
            "verification_worker_requests",
            "Requests to verification processes by outcome (completed, timeout, death, cancelled).",
            "outcome",
        )
        self.worker_restarts = self._counter(
            "verification_worker_restarts", "Verification processes that had to be replaced."
        )

        self.cache = self._counter(
            "cache",
            "Questions by what the answer cache did: hit, miss, shared (with a question in work); "
            "and its failures (error).",
            "result",
        )
        self.cache_broken = self._gauge(
            "cache_broken", "1 while the cache is left alone because it kept failing."
        )
        self.rate_limited = self._counter(
            "rate_limited", "Questions refused because their client had asked too many."
        )

    def observe_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one HTTP request."""
        known = method if method in {"GET", "HEAD", "POST", "OPTIONS"} else "other"
        self.requests.labels(route, known, str(status)).inc()
        self.request_seconds.labels(route).observe(seconds)

    def observe_step(self, items: int, seconds: float) -> None:
        """Count one decoder step."""
        self.step_items.observe(items)
        self.step_seconds.observe(seconds)

    def exposition(self) -> bytes:
        """The text format that Prometheus scrapes."""
        folder = os.environ.get(_MULTIPROCESS)
        if folder is None:
            return generate_latest(self.registry)
        _forget_the_dead(Path(folder).glob("gauge_live*.db"))
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]  # not annotated
        return generate_latest(registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return _remembering(Counter(f"calcert_{name}", text, labels, registry=self.registry))

    def _gauge(self, name: str, text: str, *labels: str, most: bool = False) -> Gauge:
        """Added up over processes, or with ``most`` their largest."""
        return Gauge(
            f"calcert_{name}",
            text,
            labels,
            registry=self.registry,
            multiprocess_mode="livemax" if most else "livesum",
        )

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return _remembering(
            Histogram(f"calcert_{name}", text, labels, registry=self.registry, buckets=buckets)
        )


def _remembering(metric: M) -> M:
    """``metric``, which finds what it counts under some labels at once when asked again."""
    metric.labels = cache(metric.labels)  # type: ignore[method-assign]  # of this one only
    return metric


def _forget_the_dead(files: Iterable[Path]) -> None:
    """A process that was killed left its gauges behind."""
    for file in files:
        pid = int(file.stem.rsplit("_", 1)[1])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]  # not annotated
        except PermissionError:
            pass
