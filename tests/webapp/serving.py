"""Applications as tests start them: in this process, or as a server of its own with a port."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from performance.web_server import running_server
from webapp.app import Settings, make_app
from webapp.workers import Loading, RepairWorkers

ADDRESS = "http://127.0.0.1:8000"


def client_of(settings: Settings, **options: Any) -> TestClient:
    return TestClient(make_app(settings), base_url=ADDRESS, **options)


@contextmanager
def loaded(*methods: str, **options: Any) -> Iterator[RepairWorkers]:
    """Processes that have loaded their models."""
    with RepairWorkers(methods, **options) as repairs:
        wait_until_ready(repairs)
        yield repairs


def wait_until_ready(repairs: RepairWorkers, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            return repairs.check()
        except Loading:
            time.sleep(0.02)
    raise TimeoutError("the models were not loaded")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(*options: str, ready: str = "/api/ready") -> Iterator[str]:
    """The address of a server of its own."""
    with running_server(*options, ready=ready) as (port, _):
        yield f"http://127.0.0.1:{port}"
