"""OpenTelemetry traces, with the extra `tracing`; OTEL_EXPORTER_OTLP_ENDPOINT says where to."""

from __future__ import annotations

from fastapi import FastAPI


class MissingExtra(RuntimeError):
    """The packages of the extra ``tracing`` are not installed."""


def trace(app: FastAPI) -> None:
    """Send one span a request. Raises :class:`MissingExtra`."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,  # an extra
        )
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"CALCERT_TRACING is on, and the package {error.name} is missing: "
            "pip install '.[tracing]' in a checkout of Calcert"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "calcert"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    FastAPIInstrumentor.instrument_app(
        app, tracer_provider=provider, excluded_urls="health/.*,metrics"
    )
