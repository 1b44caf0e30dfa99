"""A pool, its workers and an engine that asks for them: processes, not stand-ins."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from runners.local_cluster import free_port


@pytest.fixture
def pool() -> Iterator[tuple[subprocess.Popen[str], int]]:
    port = free_port()
    command = [sys.executable, "-m", "runners.worker_pool", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == f"worker pool on 127.0.0.1:{port}, process {process.pid}\n"
    yield process, port
    process.terminate()
    assert process.wait(30) == 0


def test_workers_come_and_go(pool: tuple[subprocess.Popen[str], int]) -> None:
    import grpc
    from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc

    process, port = pool
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, socket.create_server(("127.0.0.1", 0)) as control:
        service = beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel)
        request = beam_fn_api_pb2.StartWorkerRequest(worker_id="1-1")
        request.control_endpoint.url = f"127.0.0.1:{control.getsockname()[1]}"
        assert service.StartWorker(request).error == ""
        (first,) = _children(process.pid)
        assert service.StartWorker(request).error == ""  # as after a failure: the old one goes
        (second,) = _children(process.pid)
        assert first != second
        service.StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id="1-1"))
        assert _children(process.pid) == []
        service.StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id="never"))


def test_only_loopback_is_listened_on(pool: tuple[subprocess.Popen[str], int]) -> None:
    port = f":{pool[1]:04X}"
    listening = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}") as stream:
            sockets = [line.split() for line in stream]
        listening += [one[1] for one in sockets if one[1].endswith(port) and one[3] == "0A"]
    (address,) = listening
    assert address.endswith(f"0100007F{port}")  # 127.0.0.1, also as an address of version 6


def test_a_port_that_is_taken(pool: tuple[subprocess.Popen[str], int]) -> None:
    command = [sys.executable, "-m", "runners.worker_pool", "--port", str(pool[1])]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 2
    assert f"error: 127.0.0.1:{pool[1]} cannot be listened on" in ended.stderr


def _children(parent: int) -> list[int]:
    time.sleep(0.05)
    with open(f"/proc/{parent}/task/{parent}/children") as stream:
        threads = stream.read().split()
    for thread in os.listdir(f"/proc/{parent}/task"):
        with open(f"/proc/{parent}/task/{thread}/children") as stream:
            threads += stream.read().split()
    return sorted({int(pid) for pid in threads})
