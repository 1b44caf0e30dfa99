from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from contextvars import copy_context
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from respace.storage import lock as module
from respace.storage.errors import UserError
from respace.storage.lock import LOCK_NAME, Fenced, held_lock, run_lock
from respace.storage.processes import gone, this_process
from respace.storage.publish import checked_by, publish_bytes
from tests.object_stores import gcs_store, s3_store


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
    dead = {"owner": "a dead process", "renewed": time.time()}
    path = f"/locked/out/{LOCK_NAME}"
    store.pipe_file(path, json.dumps(dead).encode())
    store.store[path].modified -= timedelta(seconds=module.DEAD_AFTER_SECONDS + 1)
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


@pytest.fixture(params=["memory", "s3", "gs"])
def shared_output(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """An output on an object store, and its store."""
    monkeypatch.setattr(module, "RENEW_SECONDS", 600.0)  # tests renew by themselves
    if request.param == "memory":
        yield "memory://corpus/out", fsspec.filesystem("memory")
        fsspec.filesystem("memory").store.clear()
        return
    with (s3_store if request.param == "s3" else gcs_store)(monkeypatch) as store:
        yield f"{request.param}://corpus/out", store


def lock_in(store: Any) -> dict[str, Any] | None:
    try:
        held: dict[str, Any] = json.loads(store.cat_file(f"corpus/out/{LOCK_NAME}"))
    except FileNotFoundError:
        return None
    return held


class Run:
    """A run that goes on until it is told to end. It has a context of its own, as a process has."""

    def __init__(self, output: str):
        self._context, self._stack = copy_context(), ExitStack()
        self.lock = self.do(lambda: self._stack.enter_context(run_lock(output)))

    def do(self, action: Callable[[], Any]) -> Any:
        return self._context.run(action)

    def end(self) -> None:
        self._stack.close()


def test_a_run_that_slept_too_long(shared_output: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It wakes up when another one has taken over: it neither renews, publishes, notes a job, nor removes."""
    output, store = shared_output
    slept = Run(output)
    with monkeypatch.context() as later:
        later.setattr(module, "DEAD_AFTER_SECONDS", -60.0)  # as if so much time had passed
        successor = Run(output)
    late = lambda: publish_bytes(f"{output}/late", b"late")  # noqa: E731
    for write in (slept.lock.renew, lambda: slept.lock.note_job(JOB), late, slept.end):
        with pytest.raises(Fenced, match="was removed, or taken over by another run"):
            slept.do(write)
        held = lock_in(store)
        assert held is not None
        assert held["token"] == successor.lock.token
    successor.do(lambda: publish_bytes(f"{output}/in time", b"in time"))
    successor.lock.renew()
    successor.do(successor.end)
    assert lock_in(store) is None
    store.invalidate_cache()
    assert [path.rpartition("/")[2] for path in store.find("corpus/out")] == ["in time"]


def test_a_lock_that_was_released_meanwhile(shared_output: tuple[str, Any]) -> None:
    """Taken over and released: nobody has it now, but the work of the one who slept is over all the same."""
    output, store = shared_output
    slept = Run(output)
    store.rm_file(f"corpus/out/{LOCK_NAME}")
    for write in (slept.lock.renew, slept.end):
        with pytest.raises(Fenced):
            slept.do(write)
    assert lock_in(store) is None


def test_a_lost_answer_is_not_a_lost_lock(shared_output: tuple[str, Any]) -> None:
    """The store wrote what the run sent, and the run does not know: it finds its own token."""
    output, store = shared_output
    with run_lock(output) as lock:
        store.pipe_file(f"corpus/out/{LOCK_NAME}", lock.content())
        lock.renew()
        assert lock.fence.is_open()
    assert lock_in(store) is None


def test_a_clock_that_is_ahead(shared_output: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes ahead of the machine that renews, and of the store."""
    output, _ = shared_output
    with run_lock(output):
        ahead = SimpleNamespace(time=lambda: time.time() + 600, monotonic=time.monotonic, sleep=time.sleep)
        monkeypatch.setattr(module, "time", ahead)
        with pytest.raises(UserError, match=r"last sign of life \d s ago"), run_lock(output):
            pass


@pytest.mark.parametrize("content", [b"", b"no JSON", b"[]", b"{}", b'{"token": 7}', b"[" * 100_000, b"\xff"])
def test_a_lock_that_is_none(content: bytes, shared_output: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    output, store = shared_output
    store.pipe_file(f"corpus/out/{LOCK_NAME}", content)
    with pytest.raises(UserError, match=f"{LOCK_NAME} is not a lock that can be read. Remove it if"), run_lock(output):
        pass
    monkeypatch.setattr(module, "DEAD_AFTER_SECONDS", -60.0)
    with run_lock(output) as lock:
        assert lock.fence.is_open()


@pytest.mark.parametrize(
    "said",
    [
        {"machine": True},
        {"process": "x"},
        {"process": None, "began": "1"},
        {"renewed": "now"},
        {"job": 7},
        {"job": {}},
        {"job": {"runner": 1}},
    ],
)
def test_a_lock_with_odd_values(said: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"owner": "process 1 on a", **this_process(), "token": "a", "renewed": time.time(), "kept": "job" in said}
    output = "memory://corpus/odd"
    fsspec.filesystem("memory").pipe_file(f"/corpus/odd/{LOCK_NAME}", json.dumps({**known, **said}).encode())
    with pytest.raises(UserError), run_lock(output, is_over=lambda job: True):
        pass
    monkeypatch.setattr(module, "DEAD_AFTER_SECONDS", -60.0)
    with run_lock(output, is_over=lambda job: True):
        pass


def test_one_of_many_takes_a_dead_lock(shared_output: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """All find it dead at the same time; whoever is not the first finds another one when it writes."""
    output, store = shared_output
    if output.startswith("memory"):
        pytest.skip("a store without conditions")
    store.pipe_file(f"corpus/out/{LOCK_NAME}", b'{"owner": "a dead one", "token": "dead"}')
    runs = 6
    together = threading.Barrier(runs)
    monkeypatch.setattr(module, "_check_free", all_see_it_dead(together))

    def take(_: int) -> module.RunLock | None:
        lock = module.RunLock(output)
        try:
            lock._hold = module._take_object(lock, None)
        except UserError:
            return None
        return lock

    with ThreadPoolExecutor(runs) as pool:
        holders = [lock for lock in pool.map(take, range(runs)) if lock is not None]
    (holder,) = holders
    assert holder.fence.is_open()
    assert holder._hold is not None
    assert holder._hold.release(kept=False)
    assert lock_in(store) is None


def all_see_it_dead(together: threading.Barrier) -> Any:
    """`_check_free`, which all have passed for the dead lock before anybody goes on."""
    check = module._check_free

    def checked(lock: Any, target: Any, held: Any) -> None:
        if held["token"] == "dead":
            together.wait(60)
        else:
            check(lock, target, held)

    return checked


def test_a_lock_that_was_overwritten_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a run that began at the same time, on a store that does not refuse to overwrite."""
    store = fsspec.filesystem("memory")
    write = type(store).pipe_file

    def both_write(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
        write(self, path, value, mode=mode)
        if mode == "create":
            write(self, path, json.dumps({"owner": "the other one", "token": "b", "renewed": time.time()}).encode())

    monkeypatch.setattr(type(store), "pipe_file", both_write)
    with pytest.raises(UserError, match=r"in use by another run .the other one, last"), run_lock("memory://both/o"):
        pytest.fail("two runs have the lock")
    assert json.loads(store.cat_file(f"/both/o/{LOCK_NAME}"))["token"] == "b"


def test_a_local_lock_whose_file_is_removed(tmp_path: Path) -> None:
    """It counts no more: another run can begin, the first one publishes nothing, and ends with one line."""
    output = str(tmp_path)
    first = Run(output)
    os.remove(tmp_path / LOCK_NAME)
    late = lambda: publish_bytes(f"{output}/late", b"late")  # noqa: E731
    with pytest.raises(Fenced):
        first.do(late)
    successor = Run(output)
    for write in (lambda: first.lock.note_job(JOB), late, first.end):
        with pytest.raises(Fenced, match=f"{LOCK_NAME} was removed, or taken over by another run"):
            first.do(write)
        assert json.loads((tmp_path / LOCK_NAME).read_text())["token"] == successor.lock.token
    successor.do(successor.end)
    assert os.listdir(tmp_path) == []


def test_a_lock_that_is_removed_while_another_run_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last owner removes the file, and lets it go: what the other run has locked then protects nothing."""
    real, calls = fcntl.flock, []

    def late(handle: int, operation: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            os.remove(tmp_path / LOCK_NAME)
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with run_lock(str(tmp_path)) as lock:
        assert len(calls) == 2
        assert json.loads((tmp_path / LOCK_NAME).read_text())["token"] == lock.token


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_lock_that_is_no_file(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "precious"
    other.write_text("precious")
    (tmp_path / "out").mkdir()
    if kind == "link":
        (tmp_path / "out" / LOCK_NAME).symlink_to(other)
    else:
        (tmp_path / "out" / LOCK_NAME).mkdir()
    with (
        pytest.raises(UserError, match=f"{LOCK_NAME}: the lock of the output cannot be opened"),
        run_lock(str(tmp_path / "out")),
    ):
        pass
    assert other.read_text() == "precious"


def test_a_zombie_is_gone() -> None:
    """Killed, and not waited for: it has a number still, but writes nothing any more."""
    with subprocess.Popen(
        [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        held = {**this_process(), "process": process.pid, "began": began}
        assert not gone(held)
        process.kill()
        process.stdout.read()  # to its end
        deadline = time.monotonic() + 10
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline
        assert gone(held)


def test_an_error_of_the_run_is_not_hidden_by_its_lock(tmp_path: Path) -> None:
    def fail() -> None:
        with run_lock(str(tmp_path)):
            os.remove(tmp_path / LOCK_NAME)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()


def test_a_store_that_is_away_at_the_end(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise OSError("the store is away")

    with monkeypatch.context() as away, run_lock("memory://locked/away"):
        away.setattr(type(fsspec.filesystem("memory")), "cat_file", fail)
    assert f"memory://locked/away/{LOCK_NAME} could not be removed (the store is away)" in caplog.text
