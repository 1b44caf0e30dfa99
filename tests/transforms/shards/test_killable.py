"""A function in a process of its own can be stopped, and the next call works."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time

import pytest

from transforms.shards.killable import KillableFunction, Stopped, _serve


def act(what: str) -> str:
    if what == "hang":
        while True:
            time.sleep(1)
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
        assert not process.is_alive()
        assert function("b") == "B"


def test_a_process_that_was_killed_between_two_calls_is_started_again() -> None:
    with KillableFunction(act, seconds=5.0) as function:
        assert function("a") == "A"
        process = function._process
        assert process is not None
        process.kill()
        process.join()
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
        ours.send("a")
    before = signal.getsignal(signal.SIGINT)
    try:
        _serve(theirs, leave, resource.RLIM_INFINITY)
    finally:
        signal.signal(signal.SIGINT, before)
