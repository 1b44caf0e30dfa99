"""One run per output: the second one stops with an error instead of writing over the first.

On a local disk the lock is the operating system's (it ends with the process, however that ends). On an object store it
is a small object that its owner renews, and writes and removes only while it is still its own. It can be taken over at
once from a process of this machine that is provably gone, and from any other when it was not renewed for a while by
the clock of the store. An owner that was paused for so long finds the lock of its successor when it wakes up: it
leaves it alone, and publishes nothing any more.

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
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from respace.storage.conditional import Changed, ConditionalObject, conditional_object
from respace.storage.errors import UserError
from respace.storage.files import filesystem, is_local, join_url, read_bytes
from respace.storage.processes import gone, this_process
from respace.storage.publish import checked_by

_LOG = logging.getLogger(__name__)
LOCK_NAME = "_run.lock"
RENEW_SECONDS = 60.0
DEAD_AFTER_SECONDS = 300.0
# The worker processes of a run that was killed hold its lock until they notice, which takes them a moment.
_PATIENCE_SECONDS = 3.0
# So often others may be faster before this run gives up; each time there is a lock that was just written.
_MOST_ATTEMPTS = 20


RemoteJob = Mapping[str, str]
IsOver = Callable[[RemoteJob], bool]


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
    _hold: _Hold | None = field(default=None, repr=False)

    def note_job(self, job: RemoteJob | None, kept: bool = False) -> None:
        """Writes down which remote job writes to the output, at once: this process may be killed any time.

        Raises:
            Fenced: the lock is gone, or is another run's.
        """
        self.job, self.kept = job, kept
        self.renew()

    def renew(self) -> None:
        """Writes the lock again.

        Raises:
            Fenced: it is gone, or is another run's, which is left alone.
        """
        assert self._hold is not None
        self._hold.write(self.content())

    def content(self) -> bytes:
        job = {"job": self.job, "kept": self.kept} if self.job else {}
        known = {"owner": _owner(), **this_process(), "token": self.token, "renewed": time.time()}
        return json.dumps({**known, **job}).encode()

    @property
    def url(self) -> str:
        return join_url(self.output, LOCK_NAME)

    @property
    def fence(self) -> Fence:
        return Fence(self.output, self.token)


class Fenced(UserError):
    """The run that this work belongs to does not have its output for itself, and must not write any more."""


@dataclass(frozen=True, slots=True)
class Fence:
    """Whether a run still has its output for itself, for all who write there: they may outlive it, or wake up late.

    Args:
        output: output directory.
        token: of the run's lock.
    """

    output: str
    token: str

    def is_open(self) -> bool:
        try:
            held = _parsed(read_bytes(join_url(self.output, LOCK_NAME)))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return held.get("token") == self.token

    def check(self) -> None:
        """
        Raises:
            Fenced: the lock is gone, or is another run's.
        """
        if not self.is_open():
            raise _lost(self.output)


_locks: dict[str, RunLock] = {}


def held_lock(output: str) -> RunLock | None:
    """The lock of an output, if this process holds it."""
    return _locks.get(output)


@contextmanager
def run_lock(output: str, is_over: IsOver | None = None) -> Iterator[RunLock]:
    """Holds the lock of an output directory. What is published meanwhile is published only while it is held.

    Args:
        output: the directory.
        is_over: whether a remote job that an earlier run started has ended; raises UserError if nobody knows.

    Raises:
        UserError: another run holds it, or its remote job goes on.
        Fenced: when it ends, or before: it was removed or taken over meanwhile.
    """
    lock = RunLock(output)
    lock._hold = _take_file(lock, is_over) if is_local(output) else _take_object(lock, is_over)
    _locks[output] = lock
    failed: BaseException | None = None
    try:
        with checked_by(lock.fence.check):
            yield lock
    except BaseException as error:
        failed = error
        raise
    finally:
        if _locks.get(output) is lock:
            del _locks[output]
        if not lock._hold.release(lock.kept) and (failed is None or isinstance(failed, UserError)):
            raise _lost(output) from failed


class _Hold(Protocol):
    """How a lock is held."""

    def write(self, content: bytes) -> None:
        """
        Raises:
            Fenced: it is not held any more.
        """

    def release(self, kept: bool) -> bool:
        """Lets it go, and removes it unless it is kept. Returns whether it was still held; if not, nothing is done."""


@dataclass
class _FileHold:
    """A locked file of this machine."""

    output: str
    path: str
    handle: int

    def write(self, content: bytes) -> None:
        if not _same_file(self.handle, self.path):
            raise _lost(self.output)
        _write(self.handle, content)

    def release(self, kept: bool) -> bool:
        held = _same_file(self.handle, self.path)
        if held and not kept:
            os.remove(self.path)
        os.close(self.handle)
        return held


def _take_file(lock: RunLock, is_over: IsOver | None) -> _FileHold:
    output = lock.output
    root = filesystem(output)[1]
    os.makedirs(root, exist_ok=True)
    path = os.path.join(root, LOCK_NAME)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        handle = _opened(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _owner_of(_parsed(os.read(handle, 10_000)))
            os.close(handle)
            if not isinstance(error, BlockingIOError):
                raise UserError(f"{path}: this file system has no locks ({error.strerror}). Use another one") from error
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
    return _FileHold(output, path, handle)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise UserError(
            f"{path}: the lock of the output cannot be opened ({error.strerror}). Remove it if no run uses the output"
        ) from error


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


class _ObjectHold:
    """A lock object of this run, and the thread that renews it."""

    def __init__(self, lock: RunLock, target: ConditionalObject, tag: str):
        self._lock, self._target, self._tag = lock, target, tag
        self._writing = threading.Lock()  # two threads write: the one that renews, and who notes a job
        self._finished = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name="respace-run-lock", daemon=True)
        self._renewer.start()

    def write(self, content: bytes) -> None:
        with self._writing:
            try:
                try:
                    self._tag = self._target.write(content, self._tag)
                except Changed:
                    # By this run itself, if an answer got lost and the client asked again. Otherwise it is fenced.
                    self._tag = self._target.write(content, self._own_tag())
            except Changed as error:
                raise _lost(self._lock.output) from error

    def release(self, kept: bool) -> bool:
        self._finished.set()
        self._renewer.join()
        try:
            tag = self._own_tag()
            if not kept:
                self._target.remove(tag)
        except Changed:
            return False
        except Exception as error:  # every store has its own; the work is done, and the lock ends by itself
            _LOG.warning(
                "%s could not be removed (%s): the next run may have to wait %.0f s",
                self._lock.url,
                error,
                DEAD_AFTER_SECONDS,
            )
        return True

    def _own_tag(self) -> str:
        """
        Raises:
            Changed: the lock is gone, or is another run's.
        """
        found = self._target.read()
        if found is None or _parsed(found.content).get("token") != self._lock.token:
            raise Changed(f"{self._lock.url} is not this run's any more")
        return found.tag

    def _renew(self) -> None:
        while not self._finished.wait(RENEW_SECONDS):
            try:
                self.write(self._lock.content())
            except Fenced as error:
                _LOG.error("%s", error)
                return
            except Exception as error:  # every store has its own; the next try may succeed, and the lock is still ours
                _LOG.warning("%s could not be renewed (%s); trying again", self._lock.url, error)


def _take_object(lock: RunLock, is_over: IsOver | None) -> _ObjectHold:
    target = conditional_object(lock.url)
    for _ in range(_MOST_ATTEMPTS):
        found = target.read()
        held = _parsed(found.content) if found is not None else {}
        # Only what is read says who has the lock: an answer may get lost, and not every store refuses to overwrite.
        if found is not None and held.get("token") == lock.token:
            return _ObjectHold(lock, target, found.tag)
        if found is not None:
            _check_free(lock, target, held)
            lock.left_by = _finished_job(lock.output, held, is_over)
        try:
            target.write(lock.content(), found.tag if found is not None else None)
        except Changed:
            continue  # somebody was faster, as is seen next
    raise _busy(lock.output, "several runs that begin at the same time")


def _check_free(lock: RunLock, target: ConditionalObject, held: Mapping[str, Any]) -> None:
    """
    Raises:
        UserError: the lock is of a run that may be alive.
    """
    if held.get("kept"):
        return  # as long as its job goes on
    if gone(held):
        time.sleep(_PATIENCE_SECONDS)  # its worker processes write until they notice
        return
    age = target.age()
    if age is None:  # the store tells no time
        age = time.time() - float(held.get("renewed", time.time()))
    if age >= DEAD_AFTER_SECONDS:
        return
    if not held:
        raise UserError(
            f"{lock.url} is not a lock that can be read. Remove it if no run uses the output, or wait: "
            f"it counts for {DEAD_AFTER_SECONDS:.0f} s and is {max(age, 0):.0f} s old"
        )
    raise _busy(lock.output, f"{_owner_of(held)}, last sign of life {max(age, 0):.0f} s ago")


def _finished_job(output: str, held: Mapping[str, Any], is_over: IsOver | None) -> RemoteJob | None:
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
    """What a lock says; nothing if it is not one, for instance because whoever wrote it was killed while writing.

    >>> _parsed(b""), _parsed(b"[1]"), _parsed(b'{"token": 1}'), _parsed(b'{"token": "a", "job": {"id": 5}}')
    ({}, {}, {}, {})
    >>> _parsed(b'{"owner": "process 1 on a", "job": {"runner": "FlinkRunner", "id": "5"}}')["job"]["id"]
    '5'
    """
    try:
        held = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    job = held.get("job")
    is_job = isinstance(job, dict) and "runner" in job and all(isinstance(value, str) for value in job.values())
    texts, numbers = ("owner", "token", "machine"), ("process", "renewed")
    fits = (
        (job is None or is_job)
        and all(isinstance(held.get(name, ""), str) for name in texts)
        and all(isinstance(held.get(name, 0), int | float) for name in numbers)
    )
    return held if fits else {}


def _owner_of(held: Mapping[str, Any]) -> str:
    return str(held.get("owner", "which starts just now"))


def _owner() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _busy(output: str, owner: str) -> UserError:
    return UserError(
        f"--output {output} is in use by another run ({owner}). Wait until it ends, or choose another output. "
        f"On an object store a run that died on another machine frees it after {DEAD_AFTER_SECONDS:.0f} s"
    )


def _lost(output: str) -> Fenced:
    return Fenced(
        f"{join_url(output, LOCK_NAME)} was removed, or taken over by another run: this run has ended or was paused, "
        f"and {output} is no longer its own. Rerun the same command; finished shards are skipped"
    )
