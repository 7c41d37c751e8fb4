"""What an operator can set, each through an environment variable ``CALCERT_<NAME>``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from limits import parse
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from redis.connection import parse_url

import models
from service.cores import cores


class Settings(BaseSettings):
    """Every setting of the service, with a default that suits a laptop.

    Raises ``pydantic.ValidationError`` naming the variable when a value is
    out of its range.
    """

    model_config = SettingsConfigDict(env_prefix="CALCERT_", frozen=True, extra="ignore")

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="TCP port to listen on.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least level that is logged; expressions appear at debug only."
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="`auto` writes for people on a terminal and JSON lines elsewhere."
    )

    artifacts: Path = Field(
        Path(models.__file__).parent / "artifacts",
        description="Folder with one subfolder of ONNX graphs and a manifest for each model.",
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="Where models run. `cuda` fails at start-up when there is none to be had.",
    )
    threads: int = Field(
        1,
        ge=1,
        le=256,
        description="Threads that one model step uses. The models are small: a second thread "
        "speeds up large batches only, and takes its core from the verifiers.",
    )
    beam: int = Field(
        4,
        ge=1,
        le=16,
        description="Hypotheses kept by the beam search, "
        "which follows where the likeliest derivative does not hold.",
    )
    batch_items: int = Field(
        32,
        ge=1,
        le=1024,
        description="Most items that share the steps of a model; 1 turns batching off.",
    )
    batch_tokens: int = Field(
        16_384, ge=1, description="Most tokens decoded together, padding counted."
    )
    queue_items: int = Field(
        512, ge=1, description="Items that may wait for a model; one more is answered with 429."
    )
    in_flight: int = Field(
        40,
        ge=1,
        le=256,
        description="Most questions worked on at a time, waiting included; one more is answered "
        "with 429. What the cache answers is not counted.",
    )
    in_flight_s: float = Field(
        0.75,
        gt=0,
        description="Questions are let in while those in work are expected to be done within "
        "this time, in seconds, going by what others of the same task took lately.",
    )
    overload_s: float = Field(
        0.08,
        gt=0,
        description="The same while more is asked than can be done: from the first question "
        "that is refused until none had to be for a second.",
    )
    backlog_s: float = Field(
        20.0,
        gt=0,
        description="A batch is let in while the questions of those before it are expected to "
        "be done within this time, in seconds; one more batch is answered with 429.",
    )
    precision: Literal["auto", "float32", "int8", "float16"] = Field(
        "auto",
        description="Variant of the models; `auto` is the default of each model's manifest.",
    )

    workers: int = Field(default_factory=cores, ge=1, le=256, description="Verification processes.")
    worker_memory_mb: int = Field(
        2048, ge=256, description="Address space one verification process may use, in MiB."
    )

    timeout_default_s: float = Field(
        10.0, gt=0, description="Deadline of a request that names none, in seconds."
    )
    timeout_max_s: float = Field(
        60.0, gt=0, description="Longest deadline that a request gets, in seconds."
    )
    body_bytes: int = Field(
        1_048_576, ge=1024, description="Largest request body; a larger one is answered with 413."
    )
    body_timeout_s: float = Field(
        10.0, gt=0, description="Time a client has to send its body, in seconds; then 408."
    )

    cache_items: int = Field(
        10_000, ge=0, description="Answers kept by the in-process cache; 0 turns it off."
    )
    cache_ttl_s: float = Field(
        86_400.0, gt=0, description="How long an answer is kept, in seconds, in either cache."
    )
    redis_url: str | None = Field(
        None, description="`redis://host:port/db`: keep answers there instead of in the process."
    )
    redis_timeout_s: float = Field(
        0.1, gt=0, description="Time Redis has for one command, in seconds; then we go without."
    )
    redis_rest_s: float = Field(
        5.0, gt=0, description="How long Redis is left alone after failing repeatedly, in seconds."
    )

    api_keys: Annotated[frozenset[str], NoDecode] = Field(
        frozenset(),
        description="Comma-separated keys; when there are any, questions need one of them in "
        "`X-API-Key` and get 401 without.",
    )
    rate_limit: str | None = Field(
        None,
        description="Questions that one client may ask, such as `100/minute`; then 429. A client "
        "is a key, or an address where there are no keys.",
    )

    processes: int = Field(
        1, ge=1, le=256, description="Server processes, each with an engine and workers."
    )
    drain_s: float = Field(
        0.0,
        ge=0,
        le=600,
        description="After SIGTERM, seconds to answer new questions with 503 before the service "
        "stops listening, so that load balancers notice; what runs is finished after that. "
        "0 with several processes.",
    )
    tracing: bool = Field(
        False,
        description="Send OpenTelemetry traces where OTEL_EXPORTER_OTLP_ENDPOINT says; needs the "
        "extra `tracing`.",
    )

    @field_validator("api_keys", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return frozenset(key.strip() for key in value.split(",") if key.strip())
        return value

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, value: str | None) -> str | None:
        if value is not None:
            # its ValueError names what is wrong
            parse_url(value)  # type: ignore[no-untyped-call]  # redis has no types for it
        return value

    @field_validator("rate_limit")
    @classmethod
    def _is_rate(cls, value: str | None) -> str | None:
        if value is not None:
            parse(value)  # ValueError names what is wrong
        return value
