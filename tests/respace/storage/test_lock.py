from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import fsspec
import pytest

from respace.storage import lock as module
from respace.storage.errors import UserError
from respace.storage.lock import LOCK_NAME, run_lock


def hold(output: Any, ready: Any) -> Any:
    with run_lock(output):
        ready.set()
        time.sleep(600)


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(str(tmp_path), ready))
    process.start()
    assert ready.wait(60)
    yield process
    process.kill()
    process.join()


def test_the_second_run_stops_and_a_killed_one_frees_the_lock(
    tmp_path: Path, holder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.1)
    with pytest.raises(UserError, match=f"in use by another run .process {holder.pid} on "), run_lock(str(tmp_path)):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with run_lock(str(tmp_path)):
        assert os.listdir(tmp_path) == [LOCK_NAME]
    assert os.listdir(tmp_path) == []


def test_a_lock_in_the_same_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.1)
    with run_lock(str(tmp_path)), pytest.raises(UserError), run_lock(str(tmp_path)):
        pass
    with run_lock(str(tmp_path)):
        pass


def test_an_object_store() -> None:
    store = fsspec.filesystem("memory")
    output = "memory://locked/out"
    with run_lock(output):
        assert store.exists(f"/locked/out/{LOCK_NAME}")
        with pytest.raises(UserError, match="last sign of life 0 s ago"), run_lock(output):
            pass
    assert not store.exists(f"/locked/out/{LOCK_NAME}")
    dead = {"owner": "a dead process", "renewed": time.time() - module.DEAD_AFTER_SECONDS - 1}
    store.pipe_file(f"/locked/out/{LOCK_NAME}", json.dumps(dead).encode())
    with run_lock(output):
        pass


def test_an_object_store_lock_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.01)
    store = fsspec.filesystem("memory")
    path = f"/locked/renewed/{LOCK_NAME}"
    with run_lock("memory://locked/renewed"):
        first = json.loads(store.cat_file(path))["renewed"]
        deadline = time.monotonic() + 30
        while json.loads(store.cat_file(path))["renewed"] == first:
            assert time.monotonic() < deadline, "the lock was not renewed"


def test_a_write_that_fails_does_not_end_the_renewing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.01)
    store = fsspec.filesystem("memory")
    path = f"/locked/failing/{LOCK_NAME}"
    write = type(store).pipe_file
    failures: list[int] = []

    def fail_three_times(self: object, *arguments: object, **options: object) -> None:
        if options.get("mode") != "create" and len(failures) < 3:
            failures.append(1)
            raise OSError("the store is away")
        write(self, *arguments, **options)

    monkeypatch.setattr(type(store), "pipe_file", fail_three_times)
    with run_lock("memory://locked/failing"):
        first = json.loads(store.cat_file(path))["renewed"]
        deadline = time.monotonic() + 30
        while json.loads(store.cat_file(path))["renewed"] == first:
            assert time.monotonic() < deadline, "the lock was not renewed after a failed write"
    assert len(failures) == 3
