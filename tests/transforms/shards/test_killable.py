"""A function in a process of its own can be stopped, and the next call works."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from transforms.shards.killable import KillableFunction, Stopped, TookTooLong, _serve

ROOT = Path(__file__).parents[3]


def act(what: str) -> str:
    if what == "hang":
        while True:
            time.sleep(1)
    if what == "hold the interpreter":
        re.fullmatch("(a|a)*b", "a" * 50)
    if what == "die":
        os._exit(3)
    if what == "raise":
        raise ValueError("no good")
    if what == "odd":
        raise StopIteration("not ours")
    if what == "eat":
        return str(len(bytes(8 << 30)))
    return what.upper()


def test_results_errors_and_limits() -> None:
    with KillableFunction(act, seconds=5.0) as function:
        assert function("a") == "A"
        with pytest.raises(ValueError, match="no good"):
            function("raise")
        with pytest.raises(RuntimeError, match="StopIteration: not ours"):
            function("odd")
        with pytest.raises(MemoryError):
            function("eat")
        with pytest.raises(Stopped, match="the process died"):
            function("die")
        assert function("b") == "B"


def test_a_hanging_call_is_killed() -> None:
    with KillableFunction(act, seconds=2.0) as function:
        assert function("a") == "A"
        process = function._process
        assert process is not None
        with pytest.raises(Stopped, match="took more than 2 s"):
            function("hang")
        assert process.poll() is not None
        assert function("b") == "B"


def test_compiled_code_that_holds_the_interpreter_is_killed() -> None:
    """No signal handler and no other thread of its process would run."""
    with KillableFunction(act, seconds=60.0) as function:
        assert function("a") == "A"
        process = function._process
        assert process is not None
        with pytest.raises(TookTooLong, match=r"took more than 0\.5 s"):
            function("hold the interpreter", seconds=0.5)
        assert process.poll() is not None
        assert function("b") == "B"


def test_one_that_lost_its_caller_ends_by_itself() -> None:
    script = """if True:
        import os
        from tests.transforms.shards.test_killable import act
        from transforms.shards import killable
        killable._PROGRAM = killable._PROGRAM.replace(
            "from transforms", "import transforms.shards.killable as k; k._GRACE_SECONDS = 0.5; from transforms"
        )
        function = killable.KillableFunction(act, seconds=60)
        function("a")
        function._connection.send(("hold the interpreter", 1.0))
        print(function._process.pid, flush=True)
        os._exit(0)
    """
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{int(ended.stdout)}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_threads_share_a_process() -> None:
    with KillableFunction(act, seconds=20.0) as function, ThreadPoolExecutor(4) as pool:
        texts = [f"t{number}" for number in range(40)]
        assert list(pool.map(function, texts)) == [text.upper() for text in texts]


def test_a_daemon_may_have_one() -> None:
    """Dask's workers are daemons, to which multiprocessing gives no children."""
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    process = context.Process(target=ask, args=(answers,), daemon=True)
    process.start()
    assert answers.get() == "A"
    process.join()


def ask(answers: Any) -> None:
    with KillableFunction(act, seconds=20.0) as function:
        answers.put(function("a"))


def test_a_process_that_was_killed_between_two_calls_is_started_again() -> None:
    with KillableFunction(act, seconds=5.0) as function:
        assert function("a") == "A"
        process = function._process
        assert process is not None
        process.kill()
        process.wait()
        assert function("b") == "B"


@pytest.mark.parametrize("when", ["at the start", "during a call"])
def test_a_caller_that_is_gone_is_no_stack_trace(when: str) -> None:
    ours, theirs = multiprocessing.Pipe()

    def leave(what: str) -> str:
        ours.close()
        return what

    if when == "at the start":
        ours.close()
    else:
        ours.send(("a", 5.0))
    before = signal.getsignal(signal.SIGINT)
    try:
        _serve(theirs, leave, resource.RLIM_INFINITY)
    finally:
        signal.signal(signal.SIGINT, before)
