"""The monitoring stack: rules, dashboard, and the real Prometheus against the real service."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.operations.load import clients
from tests.operations.process import service, tool
from tests.redis_server import free_port

FOLDER = Path(__file__).parents[2] / "monitoring"
DASHBOARD = FOLDER / "grafana" / "dashboards" / "calcert.json"

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="prometheus and promtool are not installed (Debian, Ubuntu: apt install prometheus)",
)


def queries() -> list[tuple[str, str]]:
    """Title and expression of every target of the dashboard."""
    dashboard = json.loads(DASHBOARD.read_text())
    return [
        (panel["title"], target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


@needs_prometheus
def test_alert_rules_pass_their_tests() -> None:
    """promtool accepts configuration and rules, and their unit tests pass."""
    for arguments in (
        ("check", "config", "--syntax-only", "prometheus.yml"),
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
    ):
        done = subprocess.run(
            ["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """A Prometheus with our configuration, which scrapes ``target`` every half second."""
    configuration = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    configuration["global"] = {"scrape_interval": "500ms", "evaluation_interval": "1s"}
    job = configuration["scrape_configs"][0]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": [target]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    shutil.copy(FOLDER / "alerts.yml", folder)
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        give_up = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"http://{address}/-/ready").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert time.monotonic() < give_up, "Prometheus did not start"
            time.sleep(0.1)
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


def ask(url: str, expression: str) -> list[Any]:
    answer = httpx.get(f"{url}/api/v1/query", params={"query": expression}, timeout=30).json()
    assert answer["status"] == "success", f"{expression}: {answer}"
    found: list[Any] = answer["data"]["result"]
    return found


@needs_prometheus
def test_every_query_of_the_dashboard_has_data_under_load(tmp_path: Path) -> None:
    """The real Prometheus scrapes the real service; no panel stays empty, no rule is broken."""
    with (
        service() as running,
        prometheus(tmp_path, running.url.removeprefix("http://")) as url,
        clients(running.url, 2, distinct=40),
        httpx.Client(base_url=running.url, timeout=120) as client,
    ):
        waiting = dict.fromkeys(queries())
        give_up = time.monotonic() + 150
        k = 0
        while waiting and time.monotonic() < give_up:
            k += 1
            client.post("/integrate", json={"expression": f"x^{k}"})
            # the model does not know it: a fallback
            client.post("/differentiate", json={"expression": f"gamma({k}*x)"})
            client.post("/differentiate/batch", json={"items": [{"expression": f"sin({k}*x)"}]})
            for title, expression in list(waiting):
                results = ask(url, expression.replace("$__rate_interval", "1m"))
                if any(not math.isnan(float(result["value"][1])) for result in results):
                    del waiting[title, expression]
            time.sleep(0.5)
        assert not waiting
        rules = httpx.get(f"{url}/api/v1/rules").json()["data"]["groups"]
        states = {rule["name"]: rule["health"] for group in rules for rule in group["rules"]}
        assert set(states.values()) == {"ok"}
        firing = ask(url, 'ALERTS{alertstate="firing"}')
        assert not firing


def test_rules_and_dashboard_use_metrics_that_exist() -> None:
    """Every name of ours in a rule or a query is one that the service gives out."""
    from service.metrics import Metrics

    known = {
        sample
        for family in Metrics().registry.collect()
        for sample in (
            family.name,
            *(f"{family.name}_{suffix}" for suffix in ("total", "bucket", "sum", "count")),
        )
    }
    text = (FOLDER / "alerts.yml").read_text() + " ".join(query for _, query in queries())
    used = set(re.findall(r"\b(calcert_\w+)", text))
    assert used
    assert used <= known


def test_the_dashboard_and_its_source_are_provisioned() -> None:
    """Every panel reads from the data source that Grafana is provisioned with."""
    sources = yaml.safe_load(
        (FOLDER / "grafana" / "provisioning" / "datasources" / "prometheus.yml").read_text()
    )
    uids = {source["uid"] for source in sources["datasources"]}
    dashboard = json.loads(DASHBOARD.read_text())
    used = {panel["datasource"]["uid"] for panel in dashboard["panels"] if "datasource" in panel}
    assert used == uids


def test_compose_pins_and_checks_everything() -> None:
    """Images are pinned; every service has limits and a health check."""
    compose = yaml.safe_load((FOLDER.parent / "docker-compose.yml").read_text())
    assert set(compose["services"]) >= {"calcert", "calcert-gpu", "redis", "prometheus", "grafana"}
    for name, one in compose["services"].items():
        assert re.search(r":v?\d+\.\d+", one["image"]), name
        assert one["deploy"]["resources"]["limits"]["memory"], name
        assert "healthcheck" in one or "build" in one, name
    assert "HEALTHCHECK" in (FOLDER.parent / "Dockerfile").read_text()


@pytest.mark.skipif(tool("hadolint") is None, reason="hadolint is not installed (the extra `dev`)")
def test_the_dockerfile_passes_hadolint() -> None:
    """The linter has nothing to say."""
    dockerfile = FOLDER.parent / "Dockerfile"
    done = subprocess.run(
        [str(tool("hadolint")), dockerfile], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
