"""Runs of the repair job on one output, killed, paused, and several at once, with clocks set apart.

    python -m tests.pipelines.disturbed_driver INPUT UNDISTURBED DISTURBED KILLS SEED

What is disturbed may be a URL. Of the runs some are stopped (SIGSTOP) for about as long as their lock counts, while
another one begins; then they go on. Where this process was started with libfaketime, the clocks of runs are up to a day
apart. Every run notes when it takes the lock and when it lets it go: whoever had it before must be dead, or paused.
As in `kill_driver`, every run is a fork of this process.
"""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.job import stages
from pipelines.repair_corpus import main
from respace.storage import lock as locks
from respace.storage.files import filesystem, is_local
from tests.pipelines.kill_driver import check_same, finish
from tests.transforms.corpora import RULES, tree

# Instead of 300, 60 and 3 s: a pause of the tests is longer than a lock counts.
DEAD_AFTER, RENEW, PATIENCE = 6.0, 0.5, 0.3
LONGEST_WAIT = 15.0  # until something happens to a run, also where the machine is busy
CLOCKS = ("+0", "+600", "-600", "+86400", "-86400")
REFUSED = re.compile(r"error: .*(is in use by another run|is no longer its own|is not a lock that can be read)")
OUR_STACK = re.compile(r'File ".*/(respace|models|transforms|pipelines)/')


class Notes:
    """What happened when, by the clock that all processes of this machine share."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._file = folder / "events"
        self._file.touch()

    def add(self, process: int, event: str) -> None:
        with self._file.open("a") as stream:
            stream.write(f"{time.monotonic()} {process} {event}\n")

    def events(self) -> list[tuple[float, int, str]]:
        lines = [line.split() for line in self._file.read_text().splitlines()]
        return sorted((float(at), int(process), event) for at, process, event in lines)

    def log(self, process: int) -> Path:
        return self.folder / f"{process}.log"


def check_one_owner(events: list[tuple[float, int, str]]) -> int:
    """How often the lock was taken. Whoever takes it, those that had it have let it go, are dead, or were paused."""
    holders: dict[int, str] = {}
    paused_until: dict[int, float] = {}
    taken = 0
    for at, process, event in events:
        if event == "took":
            taken += 1
            for holder, state in holders.items():
                alive = state == "runs" and at > paused_until.get(holder, 0.0)
                if holder != process and alive:
                    raise SystemExit(f"{process} took the lock of {holder} at {at}: {events}")
            holders[process] = "runs"
        elif event in ("let-go", "killed"):
            holders.pop(process, None)
        elif event == "paused" and process in holders:
            holders[process] = "paused"
        elif event == "went-on" and process in holders:
            holders[process] = "runs"
            paused_until[process] = at + DEAD_AFTER  # somebody may be about to take the lock of a paused run
    return taken


def start(source: str, output: str, workers: int, clock: str, notes: Notes) -> int:
    process = os.fork()
    if process:
        return process
    try:
        os.setpgid(0, 0)
        log = os.open(notes.log(os.getpid()), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        set_clock(clock)
        locks.DEAD_AFTER_SECONDS, locks.RENEW_SECONDS, locks._PATIENCE_SECONDS = DEAD_AFTER, RENEW, PATIENCE
        stages.run_lock = noted(notes)
        arguments = ["--input", source, "--output", output, "--model", RULES, "--max_error_fraction", "1"]
        os._exit(main([*arguments, "--provenance", "--local_workers", str(workers)]))
    except BaseException:
        traceback.print_exc()
    os._exit(70)


def set_clock(clock: str) -> None:
    """Of this process. Its workers have that of the machine: they judge no age."""
    if os.environ.pop("LD_PRELOAD", None) is not None:
        os.environ["FAKETIME"] = clock


def sleep(seconds: float) -> None:
    """Python's own is a system call that libfaketime 0.9.10 breaks where only the time of day is faked."""
    select.select([], [], [], seconds)


def noted(notes: Notes) -> Any:
    @contextmanager
    def run_lock(*arguments: Any) -> Iterator[locks.RunLock]:
        with locks.run_lock(*arguments) as lock:
            notes.add(os.getpid(), "took")
            try:
                yield lock
            finally:
                notes.add(os.getpid(), "let-go")

    return run_lock


def apart(action: Callable[[], object]) -> None:
    """Does something in a process of its own: clients of stores have threads, and this process is to be forked."""
    process = os.fork()
    if not process:
        try:
            action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if finish(process):
        raise SystemExit("a store could not be read")


def fetched(output: str, folder: str) -> str:
    """An output on this machine."""
    if is_local(output):
        return output
    shutil.rmtree(folder, ignore_errors=True)

    def fetch() -> None:
        store, path = filesystem(output)
        for found in store.find(path):
            target = Path(folder, found.removeprefix(f"{path}/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(store.cat_file(found))

    apart(fetch)
    return folder


def removed(output: str) -> None:
    if is_local(output):
        shutil.rmtree(output, ignore_errors=True)
        return

    def remove() -> None:
        store, path = filesystem(output)
        if store.exists(path):
            store.rm(path, recursive=True)

    apart(remove)


def ended_well(process: int, code: int, notes: Notes) -> bool:
    """Whether a run that ended by itself did its work; otherwise it was refused, or its lock was taken."""
    said = notes.log(process).read_text()
    if code == 0:
        return True
    if code != 1 or not REFUSED.search(said) or OUR_STACK.search(said):
        raise SystemExit(f"run {process} ended with {code}:\n{said}")
    return False


def play_round(source: str, output: str, seconds: float, chosen: random.Random, notes: Notes) -> tuple[int, bool]:
    """One to three runs, until they have ended or are killed: how many were killed, and whether one was done."""

    def begin() -> int:
        return start(source, output, chosen.choice([1, 1, 2]), chosen.choice(CLOCKS), notes)

    runs = [begin()]
    time.sleep(chosen.uniform(0, seconds))
    kind = chosen.choice(["kill", "kill", "second", "pause", "pause"])
    if kind == "pause":
        notes.add(runs[0], "paused")
        os.kill(runs[0], signal.SIGSTOP)
        runs.append(begin())
        time.sleep(chosen.uniform(0, DEAD_AFTER + seconds))
        if chosen.random() < 0.5:  # the one that was refused at first comes again
            runs.append(begin())
            time.sleep(chosen.uniform(0, seconds))
        os.kill(runs[0], signal.SIGCONT)
        notes.add(runs[0], "went-on")
        time.sleep(chosen.uniform(0, seconds))
    elif kind == "second":
        runs.append(begin())
        time.sleep(chosen.uniform(0, seconds))
    killed, done = 0, False
    for process in chosen.sample(runs, len(runs)):
        notes.add(process, "killed")  # before it is: whoever sees it dead may take its lock at once
        os.kill(process, signal.SIGKILL)
        code = finish(process)
        if code == -signal.SIGKILL:
            killed += 1
        else:
            done = ended_well(process, code, notes) or done
    for process in runs:
        try:
            os.killpg(process, signal.SIGKILL)  # the workers: they may still be writing, and all is removed next
        except ProcessLookupError:
            continue
    return killed, done


def drive(source: str, undisturbed: str, disturbed: str, kills: int, seed: int) -> None:
    # Not at the top of the module, which the worker processes of the job import too.
    from transforms import shards  # noqa: F401  it imports Beam, for all forks

    time.sleep = sleep  # type: ignore[assignment]  # here, and in all forks
    chosen = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="disturbed-"))
    os.environ["TMPDIR"] = str(folder)  # what killed runs leave there goes with it
    notes, copy = Notes(folder), str(folder / "copy")
    seconds = 0.0
    for output in (undisturbed, disturbed):
        started = time.monotonic()
        process = start(source, output, 1, "+0", notes)
        if finish(process):
            raise SystemExit(f"the undisturbed run failed:\n{notes.log(process).read_text()}")
        seconds = min(time.monotonic() - started, LONGEST_WAIT)
    check_same(undisturbed, fetched(disturbed, copy))
    removed(disturbed)
    killed = 0
    while killed < kills:
        more, done = play_round(source, disturbed, seconds, chosen, notes)
        killed += more
        taken = check_one_owner(notes.events())
        print(f"killed {killed}; the lock was taken {taken} times{', all is done' if done else ''}", flush=True)
        # Who was killed after all was done may leave its lock: the next run goes on from there.
        if done and not more:
            check_same(undisturbed, fetched(disturbed, copy))
            removed(disturbed)
    deadline = time.monotonic() + 10 * DEAD_AFTER
    while not ended_well(last := start(source, disturbed, 2, "+0", notes), finish(last), notes):
        if time.monotonic() > deadline:
            raise SystemExit(f"the last run was refused:\n{notes.log(last).read_text()}")
    check_one_owner(notes.events())
    found = fetched(disturbed, copy)
    check_same(undisturbed, found)
    left = [name for name in tree(found) if "respace-tmp" in name or name.startswith(("_parts", "_run", "_failed"))]
    if left:
        raise SystemExit(f"left behind: {left}")
    print(f"done: {killed} killed, {sum(event == 'paused' for _, _, event in notes.events())} paused")
    shutil.rmtree(folder)


if __name__ == "__main__":
    drive(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
