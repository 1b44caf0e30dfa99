"""Starts Beam's worker processes on this machine, for engines that ask for them (``--environment_type=EXTERNAL``).

    python -m runners.worker_pool --port 50000

It runs beside every task manager of Flink and every worker of Spark, in the environment that has this project. Beam has
one of its own, `apache_beam.runners.worker.worker_pool_main`, which listens on all interfaces and starts whatever
``python`` comes first on the path; this one listens on one address and starts the Python it runs with.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc

_LOG = logging.getLogger(__name__)
_HARNESS = (
    "import sys; from apache_beam.runners.worker.sdk_worker import SdkHarness; "
    "SdkHarness(sys.argv[1], worker_id=sys.argv[2]).run()"
)
_GRACE_SECONDS = 5.0
_LOOKS_EVERY_SECONDS = 0.2
_REQUESTS_AT_ONCE = 4


class WorkerPool(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Answers an engine's requests for workers; each worker is a process."""

    def __init__(self) -> None:
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def StartWorker(
        self, request: beam_fn_api_pb2.StartWorkerRequest, context: grpc.ServicerContext
    ) -> beam_fn_api_pb2.StartWorkerResponse:
        command = [sys.executable, "-c", _HARNESS, request.control_endpoint.url, request.worker_id]
        with self._lock:
            if request.worker_id in self._workers:  # its engine gave it up and asks for another
                _end(self._workers.pop(request.worker_id))
            self._workers[request.worker_id] = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        _LOG.warning("worker %s: process %d", request.worker_id, self._workers[request.worker_id].pid)
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(
        self, request: beam_fn_api_pb2.StopWorkerRequest, context: grpc.ServicerContext
    ) -> beam_fn_api_pb2.StopWorkerResponse:
        with self._lock:
            worker = self._workers.pop(request.worker_id, None)
        if worker is not None:
            _end(worker)
        return beam_fn_api_pb2.StopWorkerResponse()

    def close(self) -> None:
        with self._lock:
            for worker in self._workers.values():
                _end(worker)
            self._workers.clear()


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    try:
        worker.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m runners.worker_pool", description="Starts workers for an engine.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=50000, help="(default: 50000)")
    options = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    pool = WorkerPool()
    # Two pools on one port would share its requests, each knowing half of the workers.
    server = grpc.server(ThreadPoolExecutor(_REQUESTS_AT_ONCE), options=[("grpc.so_reuseport", 0)])
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    try:
        server.add_insecure_port(f"{options.host}:{options.port}")
    except RuntimeError:
        print(f"error: {options.host}:{options.port} cannot be listened on. Is a pool running there?", file=sys.stderr)
        return 2
    asked_to_end: list[int] = []  # no lock: a handler that needs one could wait for the thread that it interrupts
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: asked_to_end.append(number))
    server.start()
    print(f"worker pool on {options.host}:{options.port}, process {os.getpid()}", flush=True)
    # A signal may reach another thread of the process, and then wakes no wait without end in this one.
    while not asked_to_end:
        time.sleep(_LOOKS_EVERY_SECONDS)
    server.stop(0).wait()  # its threads must not meet the end of the interpreter
    pool.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
