"""What would fail minutes after a job was submitted, found before: options at once, services within ten seconds.

Each problem is a `RunnerError`: the option, what is wrong with it, and what to do.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import ipaddress
import os
import re
import shutil
import socket
from collections.abc import Mapping, Sequence

from runners.engines import RunnerError, option_names, option_value, runner_of, short_name

PATIENCE_SECONDS = 10.0
_EMBEDDED = "embed"

# What each engine cannot do without, and what to write.
_NEEDED: Mapping[str, Mapping[str, str]] = {
    "DataflowRunner": {
        "project": "the Google Cloud project that pays",
        "region": "where the workers run, for instance europe-west1",
        "temp_location": "a gs:// directory for temporary files",
    },
    "PortableRunner": {"job_endpoint": "host:port of the job service"},
}
# Engines whose job server is a Java program: one that runs already, or one to start.
_JARS = {"FlinkRunner": "flink_job_server_jar", "SparkRunner": "spark_job_server_jar"}
_NO_MASTER = (None, "[auto]", "[local]")
_REGION = re.compile(r"[a-z]+-[a-z]+\d+")
_IMAGE = re.compile(r"[\w.-]+(:\d+)?(/[\w.-]+)+(:[\w.-]+|@sha256:[0-9a-f]{64})?")


def check_runner(arguments: Sequence[str]) -> None:
    """Fails where the options alone show that the runner would fail. Nothing is asked of anybody.

    Raises:
        RunnerError: with the option, what was expected and what to do.
    """
    if option_value(arguments, "direct_running_mode") == "multi_threading":
        raise RunnerError(
            "--direct_running_mode multi_threading loses rows: expected it to be left out. "
            "This machine's cores are used by --local_workers processes"
        )
    runner = runner_of(arguments)
    for option, meaning in _NEEDED.get(short_name(runner), {}).items():
        if not option_value(arguments, option):
            raise RunnerError(f"--runner={runner} needs --{option}: {meaning}")
    master = option_value(arguments, "flink_master")
    if short_name(runner) == "FlinkRunner" and option_value(arguments, "job_endpoint") and master in _NO_MASTER:
        raise RunnerError(
            "--runner=FlinkRunner with --job_endpoint needs --flink_master: host:port of Flink's REST interface, "
            "by which its job is watched and cancelled"
        )
    for option in ["job_endpoint", *(["environment_config"] if _environment(arguments) == "EXTERNAL" else [])]:
        value = option_value(arguments, option)
        if value not in (None, _EMBEDDED):
            _host_and_port(option, str(value))
    if short_name(runner) == "DataflowRunner":
        _check_dataflow(arguments)
        _check_flexible(arguments)


def _check_flexible(arguments: Sequence[str]) -> None:
    """Flexible scheduling and resource hints exclude each other: Dataflow would refuse the job, or leave out a GPU."""
    if option_value(arguments, "flexrs_goal") and "resource_hints" in option_names(arguments):
        raise RunnerError(
            "--flexrs_goal and --resource_hints (which --preset dataflow-gpu has) exclude each other. "
            "Give --preset dataflow with --flexrs_goal, or leave --flexrs_goal out"
        )


def check_paths(arguments: Sequence[str], paths: Sequence[tuple[str, str]]) -> list[str]:
    """Fails on a path that remote workers cannot read, and warns of those that they may not.

    Args:
        arguments: Beam's.
        paths: options and the local paths that they name.

    Raises:
        RunnerError: the engine's machines never have the files of this one.
    """
    runner = runner_of(arguments)
    if not paths or _works_here(arguments):
        return []
    option, path = paths[0]
    if short_name(runner) == "DataflowRunner":
        raise RunnerError(
            f"--{option} {path} is on this machine, and the workers of Dataflow are not. Copy it to a bucket and give gs://…"
        )
    named = ", ".join(f"--{option} {path}" for option, path in paths)
    return [f"every worker must have these under the same name: {named}"]


def check_services(arguments: Sequence[str]) -> None:
    """Fails if a service, a program or credentials that the engine needs are not there; within seconds.

    Raises:
        RunnerError: with the option, what was expected and what to do.
    """
    name = short_name(runner_of(arguments))
    if name in _JARS and option_value(arguments, "job_endpoint") is None:
        _check_jar(name, arguments)
    if name == "PrismRunner" and option_value(arguments, "job_endpoint") is None:
        _check_prism(arguments)
    if name == "DaskRunner":
        _check_dask(arguments)
    if name == "DataflowRunner":
        _check_credentials(arguments)
    if name in ("PortableRunner", "FlinkRunner", "SparkRunner", "PrismRunner"):
        _check_job_service(arguments)
        _check_workers(arguments)


def _works_here(arguments: Sequence[str]) -> bool:
    """Whether all workers are on this machine."""
    name = short_name(runner_of(arguments))
    if name == "DaskRunner":
        address = option_value(arguments, "dask_client_address")
        return address is None or _is_loopback(address.rpartition("://")[2].rpartition(":")[0])
    if name == "DataflowRunner":
        return False
    endpoint = option_value(arguments, "job_endpoint")
    if endpoint is None or endpoint == _EMBEDDED or _environment(arguments) == "LOOPBACK":
        return True
    return _is_loopback(endpoint.rpartition(":")[0])


def _environment(arguments: Sequence[str]) -> str:
    return (option_value(arguments, "environment_type") or "").upper()


def _check_dataflow(arguments: Sequence[str]) -> None:
    region = str(option_value(arguments, "region"))
    if not _REGION.fullmatch(region):
        raise RunnerError(
            f"--region {region}: expected a region of Google Cloud, for instance europe-west1 (not a zone)"
        )
    for option in ("temp_location", "staging_location"):
        value = option_value(arguments, option)
        if value is not None and not re.match(r"gs://[^/]+", value):
            raise RunnerError(f"--{option} {value}: expected a directory in a bucket, gs://bucket/path")
    image = option_value(arguments, "sdk_container_image")
    if image is not None and not _IMAGE.fullmatch(image):
        raise RunnerError(f"--sdk_container_image {image}: expected registry/path:tag")
    setup = option_value(arguments, "setup_file")
    if setup is not None and not os.path.isfile(setup):
        raise RunnerError(f"--setup_file {setup}: not found. Expected this project's setup.py; run from its folder")
    if setup is not None and not _can_build():
        raise RunnerError(f"--setup_file {setup}: setuptools is too old to pack it", extra="gcp")
    if image is None and not option_names(arguments) & {"setup_file", "extra_package", "extra_packages"}:
        raise RunnerError(
            "--runner=DataflowRunner: its workers have no respace. Give --sdk_container_image with an image of "
            "runners/dataflow/Dockerfile, or --setup_file ./setup.py"
        )


def _can_build() -> bool:
    """Whether Beam can pack this project: Python's own setuptools do not know the form of its metadata."""
    try:
        return int(importlib.metadata.version("setuptools").partition(".")[0]) >= 77
    except importlib.metadata.PackageNotFoundError:
        return False


def _check_jar(name: str, arguments: Sequence[str]) -> None:
    option = _JARS[name]
    jar = option_value(arguments, option)
    if jar is None:
        raise RunnerError(
            f"--runner={name} needs a job server: --job_endpoint host:port of one that runs, or --{option} with its jar"
        )
    if "://" not in jar and not os.path.isfile(jar):
        raise RunnerError(f"--{option} {jar}: not found. Expected the jar of Beam's job server")
    java = option_value(arguments, "job_server_java_launcher") or "java"
    if shutil.which(java) is None:
        raise RunnerError(f"--{option} {jar}: there is no {java} to run it. Install Java, or give --job_endpoint")


def _check_prism(arguments: Sequence[str]) -> None:
    where = option_value(arguments, "prism_location")
    if where is None or ("://" not in where and not os.path.isfile(where)):
        given = f"--prism_location {where}: not found" if where else "--runner=PrismRunner: where is prism?"
        raise RunnerError(
            f"{given}. Give --prism_location with the program (go install "
            "github.com/apache/beam/sdks/v2/go/cmd/prism@VERSION), or --job_endpoint of one that runs"
        )


def _check_dask(arguments: Sequence[str]) -> None:
    if importlib.util.find_spec("distributed") is None:
        raise RunnerError("--runner=DaskRunner: dask.distributed is not installed", extra="dask")
    address = option_value(arguments, "dask_client_address")
    if address is not None:
        _check_reachable("dask_client_address", address.rpartition("://")[2], "the scheduler of Dask")
    file = option_value(arguments, "dask_scheduler_file")
    if file is not None and not os.path.isfile(file):
        raise RunnerError(f"--dask_scheduler_file {file}: not found. Expected the file that dask scheduler wrote")


def _check_job_service(arguments: Sequence[str]) -> None:
    endpoint = option_value(arguments, "job_endpoint")
    if endpoint is None or endpoint == _EMBEDDED:
        return
    _check_reachable("job_endpoint", endpoint, "a job service of Beam")
    master = option_value(arguments, "flink_master")
    if short_name(runner_of(arguments)) == "FlinkRunner" and master is not None and "://" not in master:
        _check_reachable("flink_master", master, "the REST interface of Flink")
    import grpc

    with grpc.insecure_channel(endpoint) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=PATIENCE_SECONDS)
        except grpc.FutureTimeoutError:
            raise RunnerError(
                f"--job_endpoint {endpoint}: something answers there, but it is not a job service of Beam"
            ) from None


def _check_workers(arguments: Sequence[str]) -> None:
    """Workers in containers need a container engine; a pool on this machine must run."""
    kind = _environment(arguments)
    endpoint = option_value(arguments, "job_endpoint")
    here = endpoint is None or endpoint == _EMBEDDED or _is_loopback(endpoint.rpartition(":")[0])
    if kind == "EXTERNAL" and here:
        pool = str(option_value(arguments, "environment_config"))
        if _is_loopback(pool.rpartition(":")[0]):
            _check_reachable("environment_config", pool, "a worker pool (python -m runners.worker_pool)")
    if kind in ("", "DOCKER") and here and endpoint is not None and shutil.which("docker") is None:
        raise RunnerError(
            "--environment_type DOCKER, which is Beam's default, needs docker on this machine. Give "
            "--environment_type=LOOPBACK, or EXTERNAL with --environment_config=localhost:50000 and a worker pool there"
        )


def _check_credentials(arguments: Sequence[str]) -> None:
    if importlib.util.find_spec("google.cloud.dataflow_v1beta3") is None:
        raise RunnerError("--runner=DataflowRunner: Beam's client for it is not installed", extra="gcp")
    if "no_auth" in option_names(arguments):
        return
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        google.auth.default()
    except DefaultCredentialsError:
        raise RunnerError(
            "--runner=DataflowRunner: no credentials of Google Cloud on this machine. "
            "Run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS"
        ) from None


def _host_and_port(option: str, value: str) -> tuple[str, int]:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise RunnerError(f"--{option} {value}: expected host:port, for instance localhost:8099")
    return host.strip("[]"), int(port)


def _check_reachable(option: str, value: str, what: str) -> None:
    try:
        socket.create_connection(_host_and_port(option, value), timeout=PATIENCE_SECONDS).close()
    except OSError as error:
        raise RunnerError(
            f"--{option} {value} cannot be reached ({error.strerror or error}). Expected {what} there: is it running?"
        ) from error


def _is_loopback(host: str) -> bool:
    """
    >>> _is_loopback("localhost"), _is_loopback("127.0.0.2"), _is_loopback("[::1]"), _is_loopback("flink.example")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
