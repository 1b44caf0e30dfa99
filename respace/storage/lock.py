"""One run per output: the second one stops with an error instead of writing over the first.

On a local disk the lock is the operating system's (it ends with the process, however that ends). On an object store it
is a small object, created only if it does not exist, that its owner renews. It can be taken over at once from a process
of this machine that is provably gone, and from any other when it was not renewed for a while.

A run may have a *remote job* write its output: the lock then names it, and outlives a run that was killed or that left
the job to itself. Whoever comes next asks whether that job is over.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from respace.storage.errors import UserError
from respace.storage.files import filesystem, is_local, join_url, remove
from respace.storage.processes import gone, this_process

_LOG = logging.getLogger(__name__)
LOCK_NAME = "_run.lock"
RENEW_SECONDS = 60.0
DEAD_AFTER_SECONDS = 300.0
# The worker processes of a run that was killed hold its lock until they notice, which takes them a moment.
_PATIENCE_SECONDS = 3.0


RemoteJob = Mapping[str, str]


@dataclass
class RunLock:
    """The lock of an output that this process holds.

    Args:
        output: output directory.
        job: the remote job that writes there.
        left_by: the remote job of an earlier run, which is over.
        kept: the lock stays when this process lets it go, because the job goes on.
        token: tells this lock from that of another process.
    """

    output: str
    job: RemoteJob | None = None
    left_by: RemoteJob | None = None
    kept: bool = False
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    def note_job(self, job: RemoteJob | None, kept: bool = False) -> None:
        """Writes down which remote job writes to the output, at once: this process may be killed any time."""
        self.job, self.kept = job, kept
        url = join_url(self.output, LOCK_NAME)
        if is_local(url):
            handle = os.open(filesystem(url)[1], os.O_RDWR)
            try:
                _write(handle, self.content())
            finally:
                os.close(handle)
        else:
            store, path = filesystem(url)
            store.pipe_file(path, self.content())

    def content(self) -> bytes:
        job = {"job": self.job, "kept": self.kept} if self.job else {}
        known = {"owner": _owner(), **this_process(), "token": self.token, "renewed": time.time()}
        return json.dumps({**known, **job}).encode()

    @property
    def fence(self) -> Fence:
        return Fence(self.output, self.token)


class Fenced(Exception):
    """The run that this work belongs to has ended, and must not write any more."""


@dataclass(frozen=True, slots=True)
class Fence:
    """Whether a run still has its output for itself, for workers elsewhere: an engine may not end them at once.

    Args:
        output: output directory.
        token: of the run's lock.
    """

    output: str
    token: str

    def check(self) -> None:
        """
        Raises:
            Fenced: the lock is gone, or is another run's.
        """
        store, path = filesystem(join_url(self.output, LOCK_NAME))
        held = _held(store, path)
        if held is None or held.get("token") != self.token:
            raise Fenced(f"the run that this shard belongs to has ended, and {self.output} is no longer its own")


_locks: dict[str, RunLock] = {}


def held_lock(output: str) -> RunLock | None:
    """The lock of an output, if this process holds it."""
    return _locks.get(output)


@contextmanager
def run_lock(output: str, is_over: Callable[[RemoteJob], bool] | None = None) -> Iterator[RunLock]:
    """Holds the lock of an output directory.

    Args:
        output: the directory.
        is_over: whether a remote job that an earlier run started has ended; raises UserError if nobody knows.

    Raises:
        UserError: another run holds it, or its remote job goes on.
    """
    lock = RunLock(output)
    with _local_lock(lock, is_over) if is_local(output) else _remote_lock(lock, is_over):
        _locks[output] = lock
        try:
            yield lock
        finally:
            del _locks[output]


@contextmanager
def _local_lock(lock: RunLock, is_over: Callable[[RemoteJob], bool] | None) -> Iterator[None]:
    output = lock.output
    root = filesystem(output)[1]
    os.makedirs(root, exist_ok=True)
    path = os.path.join(root, LOCK_NAME)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _described(os.read(handle, 1000))
            os.close(handle)
            if time.monotonic() > deadline:
                raise _busy(output, owner) from error
            time.sleep(0.05)
            continue
        # The last owner removes the file on its way out: a lock on a removed file protects nothing.
        if _same_file(handle, path):
            break
        os.close(handle)
    try:
        lock.left_by = _finished_job(output, _parsed(os.pread(handle, 10_000, 0)), is_over)
        _write(handle, lock.content())
    except BaseException:
        os.close(handle)
        raise
    try:
        yield
    finally:
        if not lock.kept:
            os.remove(path)
        os.close(handle)


def _finished_job(
    output: str, held: Mapping[str, Any], is_over: Callable[[RemoteJob], bool] | None
) -> RemoteJob | None:
    """The remote job that a lock names, if it is over.

    Raises:
        UserError: it is not.
    """
    job: RemoteJob | None = held.get("job")
    if job is not None and is_over is not None and not is_over(job):
        raise UserError(
            f"--output {output} is written by a job that is still running ({job_name(job)}). "
            "Wait until it ends and rerun the same command, or cancel it there"
        )
    return job


def job_name(job: RemoteJob) -> str:
    """
    >>> job_name({"runner": "FlinkRunner", "id": "job_1", "endpoint": "localhost:8099"})
    'FlinkRunner, id job_1, endpoint localhost:8099'
    """
    return ", ".join([job["runner"], *(f"{key} {value}" for key, value in job.items() if key != "runner")])


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        held = json.loads(content or b"{}")
    except ValueError:  # whoever wrote it was killed while writing
        return {}
    return held if isinstance(held, dict) else {}


def _described(content: bytes) -> str:
    return str(_parsed(content).get("owner", "which starts just now"))


def _write(handle: int, content: bytes) -> None:
    """Replaces the content in one go, old and new: whoever reads at any time sees the one or the other whole.

    JSON may be followed by spaces, so the longer of the two decides the size.
    """
    os.pwrite(handle, content.ljust(os.fstat(handle).st_size), 0)


def _same_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def _remote_lock(lock: RunLock, is_over: Callable[[RemoteJob], bool] | None) -> Iterator[None]:
    output = lock.output
    url = join_url(output, LOCK_NAME)
    store, path = filesystem(url)

    held = _held(store, path)
    if held is not None:
        age = time.time() - held["renewed"]
        if age < DEAD_AFTER_SECONDS and not held.get("kept"):
            if not gone(held):
                raise _busy(output, f"{held['owner']}, last sign of life {age:.0f} s ago")
            time.sleep(_PATIENCE_SECONDS)  # its worker processes write until they notice
        lock.left_by = _finished_job(output, held, is_over)
        remove(url)
    with suppress(FileExistsError):  # somebody was faster, as is seen next
        store.pipe_file(path, lock.content(), mode="create")
    # Not every store refuses to create what exists. Who was overwritten sees it here, if both came at the same time.
    held = _held(store, path)
    if held is None or held["token"] != lock.token:
        raise _busy(output, held["owner"] if held else "which ends just now")
    finished = threading.Event()

    def renew() -> None:
        while not finished.wait(RENEW_SECONDS):
            try:
                store.pipe_file(path, lock.content())
            except Exception as error:  # every store has its own; the next try may succeed, and the lock is still ours
                _LOG.warning("the lock of %s could not be renewed (%s); trying again", output, error)

    renewer = threading.Thread(target=renew, name="respace-run-lock", daemon=True)
    renewer.start()
    try:
        yield
    finally:
        finished.set()
        renewer.join()
        if not lock.kept:
            remove(url)


def _held(store: Any, path: str) -> dict[str, Any] | None:
    try:
        return _parsed(store.cat_file(path))
    except FileNotFoundError:
        return None


def _owner() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _busy(output: str, owner: str) -> UserError:
    return UserError(
        f"--output {output} is in use by another run ({owner}). Wait until it ends, or choose another output. "
        f"On an object store a run that died on another machine frees it after {DEAD_AFTER_SECONDS:.0f} s"
    )
