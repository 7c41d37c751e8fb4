"""What the application owns while it runs: engine, verification workers, cache, metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends, Request

from service.access import Access
from service.cache import Cache, open_cache
from service.concurrency import ConcurrencyLimit
from service.engine import Engine
from service.gauges import Gauges
from service.heat.served import ServedHeatModel
from service.logs import configure_logs
from service.metrics import Metrics
from service.problems import Problem
from service.schemas import Health
from service.settings import Settings
from service.singleflight import SingleFlight
from service.tasks import CPU_S
from service.verification.pool import WorkerPool
from tokenizer.parse import parse

#: The models that the service's tasks ask for.
MODELS = ("differentiate", "integrate")


@dataclass(frozen=True, slots=True)
class Resources:
    """Opened by :func:`open_resources`, shared by all requests."""

    settings: Settings
    engine: Engine
    pool: WorkerPool
    cache: Cache
    flights: SingleFlight
    metrics: Metrics
    gauges: Gauges
    access: Access
    heat: ServedHeatModel | None

    def health(self) -> Health:
        """The state of each part; a missing model degrades, missing processes disable."""
        models = {name: "loaded" if name in self.engine.models else "missing" for name in MODELS}
        models["heat"] = "loaded" if self.heat else "missing"
        degraded = "missing" in models.values()
        usable = self.pool.alive and self.engine.ready
        return Health(
            status="not ready" if not usable else "degraded" if degraded else "ready",
            models=models,
            verification=f"{self.pool.alive} of {self.pool.size} workers up",
            cache=f"{self.cache.name}, failing" if self.cache.broken else self.cache.name,
        )


@asynccontextmanager
async def open_resources(settings: Settings, metrics: Metrics) -> AsyncIterator[Resources]:
    """Everything a question needs, warm; closed again at the end of the block."""
    cache = open_cache(settings, metrics.cache.labels("error").inc)
    pool = WorkerPool(
        settings.workers,
        memory_mib=settings.worker_memory_mb,
        preload=(
            "service.verification.derivative",
            "service.integration.warmup",
            "service.heat.warmup",
        ),
        on_wait=metrics.queue_seconds.labels("verifier").observe,
    )
    engine = Engine(
        settings.artifacts,
        device=settings.device,
        threads=settings.threads,
        batch_items=settings.batch_items,
        batch_tokens=settings.batch_tokens,
        queue_items=settings.queue_items,
        variant="" if settings.precision == "auto" else settings.precision,
        on_step=metrics.observe_step,
        prepare=partial(configure_logs, settings),
    )
    heat = ServedHeatModel.find(
        settings.artifacts,
        engine,
        device=settings.device,
        threads=settings.threads,
        batch_items=settings.batch_items,
    )
    flights = SingleFlight(
        cache,
        metrics,
        ConcurrencyLimit(
            settings.in_flight,
            cores=settings.workers,
            assumed_s=CPU_S,
            burst_s=settings.in_flight_s,
            overload_s=settings.overload_s,
            backlog_s=settings.backlog_s,
        ),
    )
    access = Access(settings, cache, metrics)
    # grammars are built at first use, which no request should pay for
    for syntax in ("text", "latex"):
        parse("x", syntax=syntax)
    starting = asyncio.create_task(engine.start())  # beside the pool, which takes as long
    try:
        async with pool:
            await starting
            gauges = Gauges(metrics, engine, pool, cache, flights, heat)
            updating = asyncio.create_task(gauges.keep_updating())
            try:
                yield Resources(
                    settings, engine, pool, cache, flights, metrics, gauges, access, heat
                )
            finally:
                updating.cancel()
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await engine.stop()
        await cache.close()


async def _resources(request: Request) -> Resources:
    # async though it waits for nothing: FastAPI sends other functions to a thread
    resources = request.app.state.resources
    if resources is None:
        raise Problem("not-ready", "The models are being loaded.", headers={"Retry-After": "1"})
    assert isinstance(resources, Resources)
    return resources


#: A route's parameter of this type is given the application's resources.
ResourcesOf = Annotated[Resources, Depends(_resources)]
