"""Applications as tests start them: in this process, or as a server of its own with a port."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

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
def running(*options: str, ready: str = "/data/index.json", **more: Any) -> Iterator[str]:
    """The address of an application that answers."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "webapp", "--port", str(port), *options], **more)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(address + ready, timeout=5).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def post(address: str, body: object, **headers: str) -> tuple[int, Any]:
    data = json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
