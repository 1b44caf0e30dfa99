"""Submissions to Dataflow, up to the job that the service would get.

Beam's own client submits to a server on this machine that has the service's methods and keeps what it is sent; files
are staged in an emulator of Cloud Storage. No part of Beam or of the job is replaced.
"""

from __future__ import annotations

import http.server
import io
import json
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from respace.storage.lock import LOCK_NAME
from tests.object_stores import gcs_store

pytest.importorskip("google.cloud.dataflow", reason="Beam's client of Dataflow is not installed")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
IMAGE = "europe-docker.pkg.dev/project/respace/worker:1"
PRIVATE_ADDRESSES = 2  # WORKER_IP_PRIVATE
BY_THROUGHPUT = 2  # AUTOSCALING_ALGORITHM_BASIC


class Service(http.server.ThreadingHTTPServer):
    """Takes jobs, and says of all of them what ``state`` is."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.jobs: list[dict[str, Any]] = []
        self.updates: list[dict[str, Any]] = []
        self.state = "JOB_STATE_RUNNING"
        self.refusal: tuple[int, str] | None = None


class _Answers(http.server.BaseHTTPRequestHandler):
    server: Service

    def _answer(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        status, answer = 200, {"id": "job-7", "currentState": self.server.state}
        if self.command == "POST":
            self.server.jobs.append(content)
            if self.server.refusal is not None:
                status, message = self.server.refusal
                answer = {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}  # type: ignore[dict-item]
        elif self.command == "PUT":
            self.server.updates.append(content)
            self.server.state = "JOB_STATE_CANCELLED"
            answer["currentState"] = self.server.state
        elif "messages" in self.path:
            answer = {}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: pytest shows what matters."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[fsspec.AbstractFileSystem]:
    with gcs_store(monkeypatch, "bucket") as store:
        store.pipe_file("bucket/in/a.jsonl", b'{"text": "one ofthe others"}\n')
        yield store


def start(service: Service, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pipelines.repair_corpus", "--input=gs://bucket/in", "--output=gs://bucket/out"]
    command += ["--model=do_nothing", "--project=project", "--region=europe-west1", "--temp_location=gs://bucket/tmp"]
    command += ["--no_auth", f"--dataflow_endpoint=http://localhost:{service.server_address[1]}", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def run(service: Service, *options: str) -> subprocess.CompletedProcess[str]:
    process = start(service, *options)
    stdout, stderr = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def staged(store: fsspec.AbstractFileSystem, name: str) -> bytes:
    (found,) = [path for path in store.find("bucket/tmp") if path.endswith(f"/{name}")]
    return bytes(store.cat_file(found))


def test_a_job_with_an_image_is_left_and_keeps_its_output(service: Service, bucket: fsspec.AbstractFileSystem) -> None:
    options = ["--preset=dataflow", f"--sdk_container_image={IMAGE}", "--max_num_workers=40"]
    ended = run(service, *options, "--detach")
    assert ended.returncode == 0, ended.stderr
    (pool,) = service.jobs[0]["environment"]["workerPools"]
    assert pool["workerHarnessContainerImage"] == IMAGE
    assert [one["containerImage"] for one in pool["sdkHarnessContainerImages"]] == [IMAGE]
    assert (pool["machineType"], pool["diskSizeGb"]) == ("n2-standard-8", 50)
    assert pool["autoscalingSettings"] == {"algorithm": BY_THROUGHPUT, "maxNumWorkers": 40}
    assert pool["numWorkers"] == 1
    assert pool["ipConfiguration"] == PRIVATE_ADDRESSES
    assert pool["numThreadsPerWorker"] == 1
    assert "use_multiple_sdk_containers" in service.jobs[0]["environment"]["experiments"]

    assert "detached: DataflowRunner, id job-7, project project, region europe-west1" in ended.stderr
    assert json.loads(bucket.cat_file(f"bucket/out/{LOCK_NAME}"))["job"]["id"] == "job-7"
    beside = run(service, *options)
    assert beside.returncode == 1
    assert "is written by a job that is still running (DataflowRunner, id job-7" in beside.stderr
    assert len(service.jobs) == 1


def test_a_gpu_is_a_hint_for_the_whole_pipeline(service: Service, bucket: fsspec.AbstractFileSystem) -> None:
    from apache_beam.portability.api import beam_runner_api_pb2

    service.state = "JOB_STATE_DONE"
    ended = run(service, "--preset=dataflow-gpu", f"--sdk_container_image={IMAGE}")
    assert ended.stderr.endswith("error: 1 shards were not finished, a.jsonl among them. Rerun the same command\n")
    pipeline = beam_runner_api_pb2.Pipeline.FromString(staged(bucket, "pipeline.pb"))
    (environment,) = pipeline.components.environments.values()
    assert list(environment.resource_hints.values()) == [b"type:nvidia-l4;count:1;install-nvidia-driver"]
    (pool,) = service.jobs[0]["environment"]["workerPools"]
    assert (pool["machineType"], pool["numThreadsPerWorker"]) == ("g2-standard-8", 4)
    assert "no_use_multiple_sdk_containers" in service.jobs[0]["environment"]["experiments"]


def test_the_setup_file_ships_everything(service: Service, bucket: fsspec.AbstractFileSystem) -> None:
    service.state = "JOB_STATE_DONE"
    ended = run(service, "--preset=dataflow", "--setup_file=./setup.py")
    assert "shards were not finished" in ended.stderr, ended.stderr
    (pool,) = service.jobs[0]["environment"]["workerPools"]
    assert "workflow.tar.gz" in [package["name"] for package in pool["packages"]]
    with tarfile.open(fileobj=io.BytesIO(staged(bucket, "workflow.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    shipped = (path for package in ("respace", "models", "transforms") for path in (ROOT / package).rglob("*"))
    wanted = {str(path.relative_to(ROOT)) for path in shipped if path.is_file() and "__pycache__" not in path.parts}
    assert wanted - names == set()


def test_stopping_the_client_cancels_the_job(service: Service, bucket: fsspec.AbstractFileSystem) -> None:
    process = start(service, "--preset=dataflow", f"--sdk_container_image={IMAGE}")
    while not service.jobs:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    time.sleep(2)  # the client has its answer, and waits
    process.send_signal(signal.SIGTERM)
    stderr = process.communicate(timeout=600)[1]
    assert process.returncode == 143, stderr
    assert [update["requestedState"] for update in service.updates] == [5]  # JOB_STATE_CANCELLED
    assert not bucket.exists(f"bucket/out/{LOCK_NAME}")


def test_a_job_that_is_not_taken_is_one_line(service: Service, bucket: fsspec.AbstractFileSystem) -> None:
    service.refusal = (400, "The workflow could not be created: europe-west1 is not available")
    ended = run(service, "--preset=dataflow", f"--sdk_container_image={IMAGE}")
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("error: --runner=DataflowRunner: the job was not taken: 400 ")
    assert "europe-west1 is not available" in last
    assert "Check --project, --region, --temp_location" in last
    assert "Traceback" not in ended.stderr
