"""The same application on Ray Serve, over many machines; needs the extra ``cluster``.

    serve run service.cluster:app

Replicas come and go with the number of questions in work. Each is a process with an engine
and verification workers of its own; set ``CALCERT_REDIS_URL``, so that they share one cache
and compute no question twice.
"""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict
from ray import serve

from service.app import create_app
from service.collector import settle
from service.lifecycle import FAILED
from service.logs import configure_logs
from service.settings import Settings


class ClusterSettings(BaseSettings):
    """What an operator can set, each through ``CALCERT_CLUSTER_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="CALCERT_CLUSTER_", frozen=True, extra="ignore")

    replicas_min: int = Field(2, ge=0, description="Replicas that are always there.")
    replicas_max: int = Field(8, ge=1, description="Most replicas.")
    questions: float = Field(
        8.0, gt=0, description="Questions in work for each replica that the number aims at."
    )
    cpus: float = Field(2.0, ge=0, description="Cores of a replica.")
    gpus: float = Field(0.0, ge=0, description="Share of a GPU that a replica has.")


def build() -> FastAPI:
    """The application of one replica, which takes questions once its models are loaded."""
    settings = Settings()
    configure_logs(settings)
    return create_app(settings, ready_first=True, on_ready=settle)


_cluster = ClusterSettings()


class Replica:
    """One replica; Ray starts another when it dies or says that it failed."""

    def check_health(self) -> None:
        """Raises ``RuntimeError`` when the models could not be loaded."""
        if FAILED.is_set():
            raise RuntimeError("the service could not be started; the log says why")


app = serve.deployment(
    name="calcert",
    max_ongoing_requests=Settings().in_flight,
    autoscaling_config={
        "min_replicas": _cluster.replicas_min,
        "max_replicas": max(_cluster.replicas_min, _cluster.replicas_max),
        "target_ongoing_requests": _cluster.questions,
    },
    ray_actor_options={"num_cpus": _cluster.cpus, "num_gpus": _cluster.gpus},
    health_check_period_s=2,
    health_check_timeout_s=10,
    graceful_shutdown_timeout_s=Settings().timeout_max_s,
)(serve.ingress(build)(Replica)).bind()
