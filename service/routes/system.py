"""What operators ask: health, what is running, metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from service import version
from service.heat.schema import LIMITS as HEAT_LIMITS
from service.lifecycle import DRAINING
from service.problems import Problem, responses
from service.resources import ResourcesOf
from service.schemas import Health, Info, ModelInfo

router = APIRouter(tags=["service"])


@router.get("/health/live", summary="Is the process alive?")
async def live() -> dict[str, str]:
    """Always 200 while the process answers at all."""
    return {"status": "alive"}


@router.get("/health/ready", responses=responses(503), summary="Can the service be used?")
async def ready(resources: ResourcesOf) -> Health:
    """`ready`; `degraded` when a model is missing and SymPy answers alone.

    503 while models are loaded, without verification workers, and while being stopped."""
    if DRAINING.is_set():
        raise Problem("draining", "The service is being stopped.")
    health = resources.health()
    if health.status == "not ready":
        raise Problem(
            "not-ready",
            "The verification workers are not up.",
            headers={"Retry-After": "1"},
            **health.model_dump(exclude={"status"}),
        )
    return health


@router.get("/info", responses=responses(503), summary="Models, versions, providers and limits")
async def info(resources: ResourcesOf) -> Info:
    """What answers here, and what it can take."""
    settings = resources.settings
    models = {
        name: ModelInfo(version=model.version, provider=model.provider, limits=dict(model.limits))
        for name, model in resources.engine.models.items()
    }
    if resources.heat is not None:
        models[resources.heat.manifest.name] = ModelInfo(
            version=resources.heat.manifest.version,
            provider=resources.heat.provider,
            limits=HEAT_LIMITS,
        )
    return Info(
        name="calcert",
        version=version(),
        models=models,
        limits={
            "body_bytes": settings.body_bytes,
            "beam": settings.beam,
            "queue_items": settings.queue_items,
            "timeout_default_s": settings.timeout_default_s,
            "timeout_max_s": settings.timeout_max_s,
            **HEAT_LIMITS,
        },
        cache=resources.cache.name,
    )


@router.get("/metrics", response_class=Response, summary="Prometheus metrics")
async def metrics(request: Request) -> Response:
    """Counters and histograms in the Prometheus text format."""
    if request.app.state.resources is not None:
        request.app.state.resources.gauges.update()
    return Response(request.app.state.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
