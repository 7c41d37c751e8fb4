"""What is counted and timed, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

#: Seconds; from a cached answer to a request at its deadline.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one application, in a registry of their own.

    Base units (seconds); labels are bounded: route templates, never paths.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "calcert_requests",
            "HTTP requests by route template, method and status.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "calcert_request_seconds",
            "Time to answer an HTTP request.",
            ["route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.answers = Counter(
            "calcert_answers",
            "Questions by task, status (solved, unsolved) and source (model, sympy, none).",
            ["task", "status", "source"],
            registry=self.registry,
        )
        self.stage_seconds = Histogram(
            "calcert_stage_seconds",
            "Time spent in one stage of a question.",
            ["task", "stage"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.verifications = Counter(
            "calcert_verifications",
            "Answers by task and how sure they are (proved, numeric).",
            ["task", "status"],
            registry=self.registry,
        )
        self.fallbacks = Counter(
            "calcert_fallbacks",
            "Questions handed to SymPy, by reason.",
            ["task", "reason"],
            registry=self.registry,
        )
        self.cache = Counter(
            "calcert_cache",
            "Look-ups in the answer cache by result (hit, miss, error).",
            ["result"],
            registry=self.registry,
        )

    def observe_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one HTTP request."""
        known = method if method in {"GET", "HEAD", "POST", "OPTIONS"} else "other"
        self.requests.labels(route, known, str(status)).inc()
        self.request_seconds.labels(route).observe(seconds)

    def exposition(self) -> bytes:
        """The text format that Prometheus scrapes."""
        return generate_latest(self.registry)
