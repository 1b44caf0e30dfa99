"""Engines on this machine, to try a job on them and for tests: fetched once, started on loopback, stopped together.

What is fetched is kept in ``$RESPACE_ENGINES``, or in ``respace/engines`` of the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol

LOOPBACK = "127.0.0.1"
_START_SECONDS = 300.0  # seconds, unless the machine is very busy
_STOP_SECONDS = 10.0
# What Java 17 hides by default and both engines use.
JAVA_OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.io",
        "java.net",
        "java.nio",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "sun.nio.ch",
        "sun.nio.cs",
        "sun.security.action",
        "sun.util.calendar",
    )
]


class MissingPart(RuntimeError):
    """A part of an engine is not on this machine and cannot be fetched; the message says which, and why."""


class DidNotStart(RuntimeError):
    """A part of an engine is there and does not run; the message says where its log is."""


def cache_folder() -> Path:
    named = os.environ.get("RESPACE_ENGINES")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(named) if named else cache / "respace" / "engines").absolute()


def program(name: str) -> str:
    """
    Raises:
        MissingPart: there is no such program on the path.
    """
    found = shutil.which(name)
    if found is None:
        raise MissingPart(f"{name} is not installed")
    return found


def fetch_jars(pom: Path) -> Path:
    """The folder with the jars that a Maven file names; fetched if this file was never asked for before.

    Raises:
        MissingPart: they cannot be fetched.
    """
    name = f"{pom.parent.name}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    return _fetched(name, lambda folder: _maven(pom, folder))


def fetch_prism(version: str) -> Path:
    """The program Prism, built from its source.

    Raises:
        MissingPart: it cannot be built.
    """
    package = f"github.com/apache/beam/sdks/v2/go/cmd/prism@v{version}"

    def build(folder: Path) -> None:
        _run([program("go"), "install", package], {**os.environ, "GOBIN": str(folder)})

    return _fetched(f"prism-{version}", build) / "prism"


class _Fetch(Protocol):
    def __call__(self, folder: Path, /) -> None: ...


def _fetched(name: str, fetch: _Fetch) -> Path:
    """A folder of the cache. It appears when it is complete, so whoever sees it can use it."""
    root = cache_folder()
    folder = root / name
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=f".{name}-") as unfinished:
            fetch(Path(unfinished, name))
            if not folder.is_dir():
                os.rename(Path(unfinished, name), folder)
    return folder


def _maven(pom: Path, folder: Path) -> None:
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
    with tempfile.TemporaryDirectory() as project:
        shutil.copy(pom, project)
        program("java")
        _run([program("mvn"), "--quiet", "--batch-mode", "--file", f"{project}/pom.xml", *goal], dict(os.environ))


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = next(filter(None, (ended.stdout + ended.stderr).splitlines()), "it did not say why")
        raise MissingPart(f"{Path(command[0]).name} failed: {said[:300]}")


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as free:
        return int(free.getsockname()[1])


class Cluster(ABC):
    """Processes that are started one by one and stopped together.

    Subclasses start theirs in `start` and say with `options` how a job gets there.

    Args:
        folder: for logs and configuration; a temporary one if it is not given.
    """

    def __init__(self, folder: Path | None = None):
        self.folder = folder or Path(tempfile.mkdtemp(prefix="respace-cluster-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @abstractmethod
    def start(self) -> None:
        """Starts its processes."""

    @property
    @abstractmethod
    def options(self) -> list[str]:
        """What a job is told to run here."""

    def __enter__(self) -> Cluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def launch(self, name: str, command: Sequence[str], port: int, host: str = LOOPBACK, **environment: str) -> None:
        """Starts a process and waits until it listens.

        Raises:
            DidNotStart: it ended, or does not listen in time.
        """
        log = self.folder / f"{name}.log"
        with log.open("wb") as stream:
            # A session of its own, so that it can be stopped with everything that it starts.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **environment},
                cwd=self.folder,
            )
        self.processes[name] = process
        deadline = time.monotonic() + _START_SECONDS
        while not _listens(host, port):
            if process.poll() is not None or time.monotonic() > deadline:
                state = "did not start in time" if process.poll() is None else f"ended with {process.returncode}"
                raise DidNotStart(f"{name} {state}; its log is {log}")
            time.sleep(0.1)

    def launch_pool(self, name: str, host: str, port: int) -> None:
        """A worker pool with the Python and the modules of this process."""
        command = [sys.executable, "-m", "runners.worker_pool", "--host", host, "--port", str(port)]
        self.launch(name, command, port, host, PYTHONPATH=os.pathsep.join(one or os.getcwd() for one in sys.path))

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            _signal(process, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            _signal(process, signal.SIGKILL)  # also what it started and left behind
            process.wait()
        self.processes.clear()


def run_until_stopped(cluster: Cluster) -> int:
    """Starts a cluster, says how a job gets there, and stops it with Ctrl-C."""
    try:
        with cluster:
            print(f"python -m pipelines.repair_corpus --input … --output … {' '.join(cluster.options)}")
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            print(f"logs: {cluster.folder}; Ctrl-C stops it", flush=True)
            signal.pause()
    except (MissingPart, DidNotStart) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return  # all of it has ended


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False
