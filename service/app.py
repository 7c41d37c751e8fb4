"""The HTTP application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline
from starlette.responses import Response

from service import problems, version
from service.heat import route as heat
from service.lifecycle import FAILED
from service.metrics import Metrics
from service.middleware import RequestBody, RequestLog
from service.resources import Resources, open_resources
from service.routes import batch, differentiate, integrate, page, parse, sample, steps, system
from service.settings import Settings
from service.shedding import Shedding
from service.singleflight import Full, SingleFlight
from service.tracing import trace

_DESCRIPTION = """\
Calculus with a certificate: Transformers answer, SymPy proves.
Every answer says how it was verified; errors are RFC 9457 problem details.
"""

_log = structlog.get_logger(__name__)


def create_app(
    settings: Settings | None = None,
    *,
    ready_first: bool = False,
    on_ready: Callable[[], None] = lambda: None,
) -> FastAPI:
    """The application; what it owns is opened and closed by its lifespan.

    With ``ready_first`` it takes no connections before it is ready; otherwise it says 503.
    ``on_ready`` is called once it is.
    """
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        stop = asyncio.Event()
        opened = asyncio.Event()
        serving = asyncio.create_task(_serve(app, settings, metrics, on_ready, opened, stop))
        if ready_first or settings.processes > 1:
            await opened.wait()  # until then the processes that are ready take all connections
            if FAILED.is_set():
                raise RuntimeError("the service could not be started")
        yield
        stop.set()
        if app.state.resources is None:
            serving.cancel()
        await asyncio.wait([serving])

    # FastAPI, with the assets of /docs served from here instead of a CDN
    app = FastAPIOffline(
        title="Calcert",
        version=version(),
        description=_DESCRIPTION,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.resources = None
    app.state.metrics = metrics
    questions = (differentiate.router, integrate.router, heat.router, batch.router, steps.router)
    for asked in questions:
        app.include_router(asked)
    app.include_router(parse.router)
    app.include_router(sample.router)
    app.include_router(system.router)
    app.include_router(page.router)
    problems.install(app)
    if settings.tracing:
        trace(app)

    def flights() -> SingleFlight | None:
        resources: Resources | None = app.state.resources
        return resources.flights if resources is not None else None

    async def on_full(request: Request, error: Exception) -> Response:
        resources: Resources = request.app.state.resources
        assert isinstance(error, Full)
        return resources.flights.refusal(error.task).response()

    app.add_exception_handler(Full, on_full)
    routes = [route for asked in questions for route in asked.routes if isinstance(route, APIRoute)]
    # the last one added is the outermost
    app.add_middleware(
        RequestBody,
        limit=settings.body_bytes,
        timeout_s=settings.body_timeout_s,
        shedding=Shedding(routes, settings.cache_items, flights),
    )
    app.add_middleware(RequestLog, observe=metrics.observe_request)
    return app


async def _serve(
    app: FastAPI,
    settings: Settings,
    metrics: Metrics,
    on_ready: Callable[[], None],
    opened: asyncio.Event,
    stop: asyncio.Event,
) -> None:
    """Open what the application owns, keep it until ``stop``, close it."""
    try:
        async with open_resources(settings, metrics) as resources:
            on_ready()
            app.state.resources = resources
            opened.set()
            _log.info("ready")
            for name, state in resources.health().models.items():
                if state == "missing":
                    _log.warning(
                        "a model is missing; SymPy and formulas answer instead",
                        model=name,
                        folder=str(settings.artifacts),
                    )
            await stop.wait()
            app.state.resources = None
    except Exception as error:
        _log.critical("the service could not be started", exc_info=error)
        FAILED.set()
        opened.set()
