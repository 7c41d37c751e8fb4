"""The HTTP application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from service import problems, version
from service.heat import route as heat
from service.metrics import Metrics
from service.middleware import RequestBody, RequestLog
from service.resources import open_resources
from service.routes import differentiate, integrate, page, parse, sample, system
from service.settings import Settings

_DESCRIPTION = """\
Calculus with a certificate: Transformers answer, SymPy proves.
Every answer says how it was verified; errors are RFC 9457 problem details.
"""


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; what it owns is opened and closed by its lifespan."""
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_resources(settings, metrics) as resources:
            app.state.resources = resources
            yield

    # FastAPI, with the assets of /docs served from here instead of a CDN
    app = FastAPIOffline(
        title="Calcert",
        version=version(),
        description=_DESCRIPTION,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.include_router(differentiate.router)
    app.include_router(integrate.router)
    app.include_router(heat.router)
    app.include_router(parse.router)
    app.include_router(sample.router)
    app.include_router(system.router)
    app.include_router(page.router)
    problems.install(app)
    # the last one added is the outermost
    app.add_middleware(RequestBody, limit=settings.body_bytes, timeout_s=settings.body_timeout_s)
    app.add_middleware(RequestLog, observe=metrics.observe_request)
    return app
