"""The service on Ray Serve with two replicas; needs the extra `cluster`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.operations.load import clients
from tests.operations.process import tool
from tests.redis_server import RedisServer, free_port

pytest.importorskip("ray.serve", reason="ray is not installed (the extra `cluster`)")

#: A cluster takes a while to start, and replicas load their models one by one on a small machine.
START_S = 300


@contextmanager
def cluster(redis_url: str, folder: Path) -> Iterator[str]:
    """`serve run` of the application on this machine, at a port of its own; its URL."""
    port = free_port()
    configuration = folder / "cluster.yaml"
    configuration.write_text(
        f"http_options: {{port: {port}}}\n"
        "applications: [{name: calcert, import_path: 'service.cluster:app'}]\n"
    )
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "CALCERT_REDIS_URL": redis_url,
        "CALCERT_WORKERS": "1",
        "CALCERT_CLUSTER_CPUS": "0.5",
        "PYTHONPATH": str(root),
        "RAY_USAGE_STATS_ENABLED": "0",
        # 15 unless set: on a busy machine the proxy would not start within its minute
        "RAY_worker_niceness": "0",
    }
    process = subprocess.Popen(
        [str(tool("serve")), "run", "--app-dir", str(root), str(configuration)],
        env=environment,
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        give_up = time.monotonic() + START_S
        while len(replicas()) < 2 or not _ready(url):
            assert process.poll() is None
            assert time.monotonic() < give_up, "the cluster did not start"
            time.sleep(0.5)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        subprocess.run(
            [str(tool("ray")), "stop", "--force"], check=False, stdout=subprocess.DEVNULL
        )


def replicas() -> set[int]:
    """Process ids of the replicas."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and b"ServeReplica" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready", timeout=10).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_replica_killed_under_load(tmp_path: Path) -> None:
    """Answers go on and stay right, what was lost is asked again, and another replica comes."""
    redis = RedisServer()
    redis.start()
    try:
        with cluster(redis.url, tmp_path) as url:
            before = replicas()
            with clients(url, 4, distinct=40) as outcomes:
                while outcomes.statuses["200"] < 40:
                    time.sleep(0.05)
                victim = min(before)
                os.kill(victim, signal.SIGKILL)
                answered = outcomes.statuses["200"]
                give_up = time.monotonic() + START_S
                while len(replicas() - {victim}) < 2 or outcomes.statuses["200"] < answered + 100:
                    assert time.monotonic() < give_up
                    time.sleep(0.1)
            failed = outcomes.count - outcomes.statuses["200"]
            # what the victim was working on, and no more
            assert failed <= 4
            assert not outcomes.wrong
            assert not outcomes.broken
    finally:
        redis.stop()
