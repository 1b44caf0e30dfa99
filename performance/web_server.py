"""The web application as a server of its own, for what measures it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def running_server(*options: str, ready: str = "/api/ready") -> Iterator[tuple[int, int]]:
    """Port and process id of an application that answers there; by default, one that has loaded its models."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "webapp", "--port", str(port), *options])
    try:
        _wait_until(port, server, ready)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(30)


def post(port: int, body: object, connection: http.client.HTTPConnection | None = None) -> tuple[int, dict[str, Any]]:
    """Status and answer of a repair."""
    connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/api/repair", json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def memory_megabytes(pid: int) -> int:
    with open(f"/proc/{pid}/status") as stream:
        kilobytes = next(line.split()[1] for line in stream if line.startswith("VmRSS"))
    return int(kilobytes) // 1024


def with_children(pid: int) -> list[int]:
    """A process and those that it started."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(int(one) for thread in threads for one in thread.read_text().split())]


def _wait_until(port: int, server: subprocess.Popen[bytes], ready: str) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", ready)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("the application did not start")
