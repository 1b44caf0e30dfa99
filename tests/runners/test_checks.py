"""What is found before a job is submitted: against real sockets, not stand-ins."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners import checks
from runners.checks import check_paths, check_runner, check_services
from runners.engines import RunnerError, expand_preset

DATAFLOW = [
    "--runner=DataflowRunner",
    "--project=p",
    "--region=europe-west1",
    "--temp_location=gs://b/t",
    "--sdk_container_image=europe-docker.pkg.dev/p/r/respace:1",
]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Something that takes connections and is no service of Beam."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_take, args=(server,), daemon=True)
        thread.start()
        yield server


def _take(server: socket.socket) -> None:
    taken = []
    while True:
        try:
            taken.append(server.accept())
        except OSError:
            return


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_what_is_complete_passes() -> None:
    check_runner([])
    check_runner(DATAFLOW)
    check_runner(expand_preset("flink", []))
    check_runner([*expand_preset("dataflow", DATAFLOW), "--flexrs_goal=COST_OPTIMIZED"])
    check_runner(expand_preset("dataflow-gpu", DATAFLOW))


@pytest.mark.parametrize("left_out", ["project", "region", "temp_location"])
def test_what_dataflow_needs_is_named(left_out: str) -> None:
    given = [one for one in DATAFLOW if not one.startswith(f"--{left_out}=")]
    with pytest.raises(RunnerError, match=f"--runner=DataflowRunner needs --{left_out}: "):
        check_runner(given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--direct_running_mode=multi_threading"], "multi_threading loses rows"),
        (["--runner=PortableRunner"], "--runner=PortableRunner needs --job_endpoint: host:port of the job service"),
        (["--runner=PortableRunner", "--job_endpoint=8099"], "--job_endpoint 8099: expected host:port"),
        (["--runner=SparkRunner", "--job_endpoint=a:0"], "--job_endpoint a:0: expected host:port"),
        (["--runner=FlinkRunner", "--job_endpoint=a:1"], "with --job_endpoint needs --flink_master: host:port"),
        ([*DATAFLOW, "--region=europe-west1-b"], "--region europe-west1-b: expected a region of Google Cloud"),
        ([*DATAFLOW, "--temp_location=/tmp"], "--temp_location /tmp: expected a directory in a bucket"),
        ([*DATAFLOW, "--sdk_container_image=my image"], "--sdk_container_image my image: expected registry/path:tag"),
        ([*DATAFLOW, "--setup_file=nowhere/setup.py"], "--setup_file nowhere/setup.py: not found"),
        (
            [*expand_preset("dataflow-gpu", DATAFLOW), "--flexrs_goal=COST_OPTIMIZED"],
            "--flexrs_goal and --resource_hints (which --preset dataflow-gpu has) exclude each other",
        ),
        ([*DATAFLOW, "--flexrs_goal=X", "--resource_hint=min_ram=1GB"], "--flexrs_goal and --resource_hints"),
        (DATAFLOW[:-1], "--runner=DataflowRunner: its workers have no respace. Give --sdk_container_image"),
    ],
)
def test_options_that_cannot_work(arguments: list[str], message: str) -> None:
    with pytest.raises(RunnerError) as caught:
        check_runner(arguments)
    assert message in str(caught.value)


def test_a_local_path_is_nothing_for_dataflow() -> None:
    with pytest.raises(RunnerError, match=r"--model /models/mine is on this machine, and the workers of Dataflow"):
        check_paths(DATAFLOW, [("model", "/models/mine")])
    assert check_paths(DATAFLOW, []) == []


def test_a_local_path_may_be_shared_by_a_cluster() -> None:
    away = ["--runner=FlinkRunner", "--job_endpoint=flink.example:8099", "--environment_type=EXTERNAL"]
    assert check_paths(away, [("input", "/data"), ("output", "/out")]) == [
        "every worker must have these under the same name: --input /data, --output /out"
    ]
    assert check_paths([*away, "--environment_type=LOOPBACK"], [("input", "/data")]) == []
    assert check_paths(expand_preset("flink", []), [("input", "/data")]) == []
    dask = expand_preset("dask", ["--dask_client_address=tcp://scheduler:8786"])
    assert check_paths(dask, [("input", "/data")])
    assert check_paths(expand_preset("dask", []), [("input", "/data")]) == []


@pytest.mark.parametrize(
    ("preset", "option", "value"),
    [
        ("portable", "job_endpoint", "127.0.0.1:{port}"),
        ("flink", "job_endpoint", "localhost:{port}"),
        ("dask", "dask_client_address", "tcp://127.0.0.1:{port}"),
    ],
)
def test_a_service_that_is_not_there(preset: str, option: str, value: str) -> None:
    if preset == "dask":
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    given = value.format(port=closed_port())
    with pytest.raises(RunnerError) as caught:
        check_services(expand_preset(preset, [f"--{option}={given}"]))
    named = given.removeprefix("tcp://")
    assert str(caught.value).startswith(f"--{option} {named} cannot be reached (Connection refused). Expected ")


def test_a_service_of_another_kind(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PATIENCE_SECONDS", 1.0)
    endpoint = f"127.0.0.1:{listener.getsockname()[1]}"
    started = time.monotonic()
    with pytest.raises(RunnerError, match="something answers there, but it is not a job service of Beam"):
        check_services(["--runner=PortableRunner", f"--job_endpoint={endpoint}"])
    assert time.monotonic() - started < 10


def test_flink_and_spark_need_a_job_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunnerError, match=r"--runner=FlinkRunner needs a job server: --job_endpoint host:port"):
        check_services(["--runner=FlinkRunner"])
    with pytest.raises(RunnerError, match=r"--spark_job_server_jar no\.jar: not found"):
        check_services(["--runner=SparkRunner", "--spark_job_server_jar=no.jar"])
    jar = tmp_path / "server.jar"
    jar.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunnerError, match="there is no java to run it"):
        check_services(["--runner=SparkRunner", f"--spark_job_server_jar={jar}"])


def test_prism_must_be_somewhere() -> None:
    with pytest.raises(RunnerError, match="--prism_location no/prism: not found"):
        check_services(["--runner=PrismRunner", "--prism_location=no/prism"])
    with pytest.raises(RunnerError, match="where is prism"):
        check_services(["--runner=PrismRunner"])


def test_dataflow_without_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.cloud.dataflow", reason="Beam's client of Dataflow is not installed")
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # no metadata server is asked
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(RunnerError, match="no credentials of Google Cloud on this machine"):
        check_services(DATAFLOW)
