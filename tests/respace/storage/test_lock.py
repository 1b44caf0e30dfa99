from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fsspec
import pytest

from respace.storage import lock as module
from respace.storage.errors import UserError
from respace.storage.lock import LOCK_NAME, Fenced, held_lock, run_lock
from respace.storage.processes import gone, this_process
from respace.storage.publish import checked_by, publish_bytes


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


def hold_remote(address: str, ready: Any) -> None:
    """Leaves the lock that a killed process would leave, in a file that the test puts into its own store."""
    output = f"memory://{address}"
    with run_lock(output):
        content = fsspec.filesystem("memory").cat_file(f"/{address}/{LOCK_NAME}")
        ready.send(content)
        time.sleep(600)


def test_a_process_that_is_provably_gone_does_not_hold_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.01)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=hold_remote, args=("locked/killed", sender))
    process.start()
    assert receiver.poll(60)
    store, output = fsspec.filesystem("memory"), "memory://locked/killed"
    content = receiver.recv()
    store.pipe_file(f"/locked/killed/{LOCK_NAME}", content)
    with pytest.raises(UserError, match=f"process {process.pid} on "), run_lock(output):
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with run_lock(output):
        assert json.loads(store.cat_file(f"/locked/killed/{LOCK_NAME}"))["process"] == os.getpid()
    assert not store.exists(f"/locked/killed/{LOCK_NAME}")
    elsewhere = {**json.loads(content), "machine": "another"}
    store.pipe_file(f"/locked/killed/{LOCK_NAME}", json.dumps(elsewhere).encode())
    with pytest.raises(UserError, match="on another machine frees it after 300 s"), run_lock(output):
        pass
    store.rm_file(f"/locked/killed/{LOCK_NAME}")


def test_another_process_with_the_same_number_is_another_process() -> None:
    held = {**this_process(), "owner": "an earlier one", "began": "1", "renewed": time.time()}
    assert gone(held)
    assert not gone({**held, "began": this_process()["began"]})
    assert not gone({"owner": "of an earlier version", "renewed": time.time()})


JOB = {"runner": "FlinkRunner", "id": "job_1", "endpoint": "localhost:8099"}


@pytest.mark.parametrize("place", ["local", "store"])
def test_a_lock_that_was_left_to_a_job(tmp_path: Path, place: str) -> None:
    output = str(tmp_path) if place == "local" else "memory://locked/left"
    with run_lock(output) as lock:
        lock.note_job(JOB, kept=True)
    with (
        pytest.raises(UserError, match=r"a job that is still running .FlinkRunner, id job_1, endpoint localhost:8099."),
        run_lock(output, is_over=lambda job: False),
    ):
        pass
    with run_lock(output, is_over=lambda job: job == JOB) as lock:
        assert lock.left_by == JOB
        assert held_lock(output) is lock
    assert held_lock(output) is None
    with run_lock(output) as lock:
        assert lock.left_by is None


def test_a_run_that_was_killed_leaves_its_job(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text(json.dumps({"owner": "process 1 on a", "job": JOB}))
    with pytest.raises(UserError, match="still running"), run_lock(str(tmp_path), is_over=lambda job: False):
        pass
    assert json.loads((tmp_path / LOCK_NAME).read_text())["job"] == JOB


def test_what_outlives_its_run_cannot_publish(tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    with run_lock(output) as lock:
        fence = lock.fence
        lock.note_job(JOB)
        lock.note_job(None)
        with checked_by(fence.check):
            publish_bytes(f"{output}/one", b"while it runs")
    for after in (nullcontext(), run_lock(output)):  # nobody has the lock, or another run
        with after, checked_by(fence.check), pytest.raises(Fenced, match="is no longer its own"):
            publish_bytes(f"{output}/two", b"too late")
    publish_bytes(f"{output}/three", b"by somebody else")
    assert sorted(os.listdir(output)) == ["one", "three"]
