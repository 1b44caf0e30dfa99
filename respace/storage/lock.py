"""One run per output: the second one stops with an error instead of writing over the first.

On a local disk the lock is the operating system's (it ends with the process, however that ends). On an object store it
is a small object, created only if it does not exist, that its owner renews; one that was not renewed for a while
belongs to a run that is dead.
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from respace.storage.errors import UserError
from respace.storage.files import filesystem, is_local, join_url, remove

_LOG = logging.getLogger(__name__)
LOCK_NAME = "_run.lock"
RENEW_SECONDS = 60.0
DEAD_AFTER_SECONDS = 300.0
# The worker processes of a run that was killed hold its lock until they notice, which takes them a moment.
_PATIENCE_SECONDS = 3.0


@contextmanager
def run_lock(output: str) -> Iterator[None]:
    """Holds the lock of an output directory.

    Raises:
        UserError: another run holds it.
    """
    with _local_lock(output) if is_local(output) else _remote_lock(output):
        yield


@contextmanager
def _local_lock(output: str) -> Iterator[None]:
    root = filesystem(output)[1]
    os.makedirs(root, exist_ok=True)
    path = os.path.join(root, LOCK_NAME)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(handle, 1000).decode(errors="replace")
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
        os.ftruncate(handle, 0)
        os.pwrite(handle, _owner().encode(), 0)
        yield
    finally:
        os.remove(path)
        os.close(handle)


def _same_file(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def _remote_lock(output: str) -> Iterator[None]:
    url = join_url(output, LOCK_NAME)
    store, path = filesystem(url)

    token = secrets.token_hex(8)

    def content() -> bytes:
        return json.dumps({"owner": _owner(), "token": token, "renewed": time.time()}).encode()

    held = _held(store, path)
    if held is not None:
        age = time.time() - held["renewed"]
        if age < DEAD_AFTER_SECONDS:
            raise _busy(output, f"{held['owner']}, last sign of life {age:.0f} s ago")
        remove(url)
    with suppress(FileExistsError):  # somebody was faster, as is seen next
        store.pipe_file(path, content(), mode="create")
    # Not every store refuses to create what exists. Who was overwritten sees it here, if both came at the same time.
    held = _held(store, path)
    if held is None or held["token"] != token:
        raise _busy(output, held["owner"] if held else "which ends just now")
    finished = threading.Event()

    def renew() -> None:
        while not finished.wait(RENEW_SECONDS):
            try:
                store.pipe_file(path, content())
            except Exception as error:  # every store has its own; the next try may succeed, and the lock is still ours
                _LOG.warning("the lock of %s could not be renewed (%s); trying again", output, error)

    renewer = threading.Thread(target=renew, name="respace-run-lock", daemon=True)
    renewer.start()
    try:
        yield
    finally:
        finished.set()
        renewer.join()
        remove(url)


def _held(store: Any, path: str) -> dict[str, Any] | None:
    try:
        held: dict[str, Any] = json.loads(store.cat_file(path))
    except FileNotFoundError:
        return None
    return held


def _owner() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _busy(output: str, owner: str) -> UserError:
    return UserError(
        f"--output {output} is in use by another run ({owner}). Wait until it ends, or choose another output. "
        f"On an object store a run that died frees it after {DEAD_AFTER_SECONDS:.0f} s"
    )
