"""Brings numbers that others keep into the metrics."""

from __future__ import annotations

import asyncio
from collections import Counter

from service.cache import Cache
from service.engine import Engine
from service.heat.served import ServedHeatModel
from service.heat.sessions import PRECISION
from service.metrics import Metrics
from service.singleflight import SingleFlight
from service.verification.pool import WorkerPool

#: Seconds between looks. Prometheus asks one of several processes for the numbers of all.
EVERY_S = 0.5

_OUTCOMES = {
    "completed": "completed",
    "timeouts": "timeout",
    "deaths": "death",
    "cancellations": "cancelled",
}


class Gauges:
    """Queues, workers and the cache of one application, as they are now."""

    def __init__(
        self,
        metrics: Metrics,
        engine: Engine,
        pool: WorkerPool,
        cache: Cache,
        flights: SingleFlight,
        heat: ServedHeatModel | None,
    ) -> None:
        self._metrics = metrics
        self._engine = engine
        self._pool = pool
        self._cache = cache
        self._flights = flights
        self._counted: Counter[tuple[object, str]] = Counter()
        for model in engine.models.values():
            labels = (model.name, model.version, model.provider, model.variant)
            metrics.model.labels(*labels).set(1)
        if heat is not None:
            manifest = heat.manifest
            metrics.model.labels(manifest.name, manifest.version, heat.provider, PRECISION).set(1)

    def update(self) -> None:
        """Look once."""
        metrics, pool = self._metrics, self._pool
        metrics.in_flight.set(self._flights.limit.running)
        metrics.in_flight_limit.set(self._flights.limit.value)
        metrics.queue_items.labels("model").set(self._engine.waiting)
        metrics.queue_items.labels("verifier").set(pool.waiting)
        metrics.workers.set(pool.alive)
        metrics.workers_wanted.set(pool.size)
        metrics.cache_broken.set(self._cache.broken)
        metrics.engine_restarts.inc(self._new(self._engine, "restarts"))
        metrics.worker_restarts.inc(self._new(pool, "restarts"))
        for name, outcome in _OUTCOMES.items():
            metrics.worker_requests.labels(outcome).inc(self._new(pool, name))

    async def keep_updating(self) -> None:
        """Look again and again until cancelled."""
        while True:
            self.update()
            await asyncio.sleep(EVERY_S)

    def _new(self, owner: Engine | WorkerPool, name: str) -> int:
        """How much a count of ``owner`` has grown since the last look."""
        total: int = getattr(owner, name)
        grown = total - self._counted[owner, name]
        self._counted[owner, name] = total
        return grown
