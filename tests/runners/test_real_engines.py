"""Jobs on real engines give the bytes of a local run, also where a worker dies; nobody writes beside a remote job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from respace.storage.lock import LOCK_NAME
from respace.storage.publish import TEMPORARY_SUFFIX
from runners.flink.cluster import FlinkCluster
from runners.local_cluster import Cluster, MissingPart
from runners.spark.cluster import SparkCluster
from tests.runners.clusters import DaskCluster, PortableCluster, PrismCluster
from tests.runners.corpus import write_clean_text, write_corpus
from tests.transforms.corpora import different, tree

pytestmark = pytest.mark.engine

ENGINES: dict[str, type[Cluster]] = {
    "portable": PortableCluster,
    "prism": PrismCluster,
    "dask": DaskCluster,
    "flink": FlinkCluster,
    "spark": SparkCluster,
}
# What a run leaves that tells when it was.
ASIDE = ("_manifest", "_report")
_SECONDS = 600.0


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs."""
    root = tmp_path_factory.mktemp("engines")
    write_corpus(root / "corpus", kilobytes=40)
    write_clean_text(root / "clean/text.txt", sentences=400)
    return root


@pytest.fixture(scope="session")
def local(folder: Path) -> dict[str, dict[str, bytes]]:
    """What a local run makes of them, by job."""
    made = {}
    for job in (repair_corpus, make_training_shards):
        ended = job(folder, folder / job.__name__, [])
        assert ended.returncode == 0, ended.stderr
        made[job.__name__] = tree(folder / job.__name__, without=ASIDE)
        assert made[job.__name__]
    return made


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    try:
        cluster = ENGINES[request.param](tmp_path_factory.mktemp(request.param)).__enter__()
    except MissingPart as error:
        pytest.skip(f"{request.param}: {error}")
    try:
        yield cluster
    finally:
        cluster.stop()


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("engine", names, indirect=True)


def repair_corpus(folder: Path, output: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    return _ended(_start_repair(folder, output, options))


def _start_repair(folder: Path, output: Path, options: list[str]) -> subprocess.Popen[str]:
    return _start("repair_corpus", folder / "corpus", output, "--provenance", *options)


@contextmanager
def repair_under_way(folder: Path, output: Path, engine: Cluster) -> Iterator[subprocess.Popen[str]]:
    """A repair whose workers are writing; no job is left to the next test."""
    process = _start_repair(folder, output, engine.options)
    try:
        # The client writes files of its own, before there are workers and after.
        _wait_for(lambda: bool(_unfinished(output) and _python_workers(engine)), process)
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS)


def make_training_shards(folder: Path, output: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    formats = ["--num_shards", "3", "--formats", "parquet", "tfrecord"]
    return _ended(_start("make_training_shards", folder / "clean", output, *formats, *options))


def _start(job: str, source: Path, output: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"pipelines.{job}", "--input", str(source), "--output", str(output), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    stdout, stderr = process.communicate(timeout=_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def _wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not what():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


@on(*ENGINES)
@pytest.mark.parametrize("job", [repair_corpus, make_training_shards])
def test_the_bytes_of_a_local_run(
    engine: Cluster,
    job: Callable[[Path, Path, list[str]], subprocess.CompletedProcess[str]],
    folder: Path,
    local: dict[str, dict[str, bytes]],
    tmp_path: Path,
) -> None:
    ended = job(folder, tmp_path / "out", engine.options)
    assert ended.returncode == 0, ended.stderr
    assert not different(tree(tmp_path / "out", without=ASIDE), local[job.__name__])
    if job is repair_corpus:  # three files, one of them in three parts
        assert "\n5/5 shards, " in ended.stderr


@on("dask", "flink", "spark")
def test_a_worker_is_killed(engine: Cluster, folder: Path, local: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    output = tmp_path / "out"
    with repair_under_way(folder, output, engine) as process:
        os.kill(_python_workers(engine)[0], signal.SIGKILL)
        ended = _ended(process)
    assert ended.returncode == 0, ended.stderr
    assert not different(tree(output, without=ASIDE), local["repair_corpus"])
    assert not _unfinished(output)


@on("flink", "spark")
def test_stopping_the_client_cancels_the_job(engine: Cluster, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    with repair_under_way(folder, output, engine) as process:
        process.send_signal(signal.SIGTERM)
        ended = _ended(process)
    assert ended.returncode == 143, ended.stderr
    assert "cancelling the job\n" in ended.stderr
    assert ended.stderr.endswith("stopped. Rerun the same command; finished shards are skipped\n")
    assert LOCK_NAME not in tree(output)
    left = tree(output)
    deadline = time.monotonic() + _SECONDS
    while _python_workers(engine):  # Spark ends them when they have found out that they may not publish
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not different(_published(tree(output)), _published(left))


@on("flink")
def test_a_job_that_is_left_keeps_its_output(
    engine: Cluster, folder: Path, local: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    output = tmp_path / "out"
    detached = repair_corpus(folder, output, [*engine.options, "--detach"])
    assert detached.returncode == 0, detached.stderr
    assert "detached: FlinkRunner, id " in detached.stderr
    job = json.loads((output / LOCK_NAME).read_text())["job"]
    beside = repair_corpus(folder, output, [])
    assert beside.returncode == 1
    assert f"is written by a job that is still running (FlinkRunner, id {job['id']}" in beside.stderr
    _wait_until_over(job)
    collected = repair_corpus(folder, output, [])
    assert collected.returncode == 0, collected.stderr
    assert "3 files: 3 done before, 0 in this run" in collected.stdout
    assert not different(tree(output, without=ASIDE), local["repair_corpus"])
    assert (output / "_report/index.html").exists()


def _wait_until_over(job: dict[str, str]) -> None:
    from pipelines.job.remote import is_over

    deadline = time.monotonic() + _SECONDS
    while not is_over(job):
        assert time.monotonic() < deadline
        time.sleep(0.5)


def _published(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not name.endswith(TEMPORARY_SUFFIX)}


def _unfinished(output: Path) -> list[Path]:
    return [path for path in output.rglob(f"*{TEMPORARY_SUFFIX}") if path.exists()]


def _python_workers(engine: Cluster) -> list[int]:
    """Process ids of what an engine's pools or nannies started last."""
    parents = {process.pid for name, process in engine.processes.items() if name.startswith("worker")}
    found = [pid for pid in _processes() if _parent(pid) in parents]
    return [pid for pid in found if b"python" in _command(pid) and b"resource_tracker" not in _command(pid)]


def _processes() -> list[int]:
    return sorted((int(name) for name in os.listdir("/proc") if name.isdecimal()), reverse=True)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
