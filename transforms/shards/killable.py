"""A function that can be stopped: it runs in a process of its own, with limits on time and memory.

Parsers of hostile text can take minutes or gigabytes, in C, where no exception reaches them. Only a process can be
stopped for sure.

>>> with KillableFunction(len, seconds=10) as length:
...     length("abc")
3
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import Any, Generic, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")
# Not `multiprocessing`: it would import the program of this process again, and daemons (Dask's workers) may not use it.
_PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # Ctrl-C is the caller's to handle
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from transforms.shards.killable import serve_at; serve_at(int(sys.argv[2]))"
)
_PARENT_SECONDS = 1.0
# How long a function goes on that its caller should have stopped, and did not, because it is gone.
_GRACE_SECONDS = 30.0


class Stopped(Exception):
    """The function took too long or too much memory, or its process died."""


class TookTooLong(Stopped):
    """The function took more than its time."""


class NotStarted(Stopped):
    """The process died before it could be given anything."""


class KillableFunction(Generic[Argument, Result]):
    """Calls a function of one argument in another process, which is started when it is first needed.

    Threads may share it; their calls are made one after the other.

    Args:
        function: picklable, importable by its name, and cheap to import.
        seconds: time for one call.
        memory_bytes: address space of the process; None sets no limit.
        quiet: what the process says on its way out, which is in the error already, is not shown.
    """

    def __init__(
        self,
        function: Callable[[Argument], Result],
        *,
        seconds: float,
        memory_bytes: int | None = 4 << 30,
        quiet: bool = False,
    ) -> None:
        self._function, self._seconds, self._memory_bytes = function, seconds, memory_bytes
        self._stderr = subprocess.DEVNULL if quiet else None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lock = threading.RLock()

    def __call__(self, argument: Argument, seconds: float | None = None) -> Result:
        """The function's result; what it raises, it raises here.

        Args:
            argument: of the function.
            seconds: time for this call, if it has another than most.

        Raises:
            Stopped: see there.
        """
        with self._lock:
            error, result = self._ask(argument, self._seconds if seconds is None else seconds)
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    @property
    def is_running(self) -> bool:
        """Whether there is a process that the next call will use."""
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        with self._lock:
            if self._process is not None and self._connection is not None:
                self._connection.close()
                self._process.kill()
                self._process.wait()
                self._process = self._connection = None

    def __enter__(self) -> KillableFunction[Argument, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, argument: Argument, seconds: float) -> tuple[Exception | None, Any]:
        if not self.is_running:
            self.close()  # it was stopped between two calls, which is not this call's fault
        if self._connection is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send((argument, seconds))
            if not self._connection.poll(seconds):
                raise TookTooLong(f"took more than {seconds:g} s")
            answer: tuple[Exception | None, Any] = self._connection.recv()
        except (EOFError, OSError) as dead:
            self.close()
            limit = "" if self._memory_bytes is None else f"; its limit is {self._memory_bytes} bytes"
            raise Stopped(f"the process died ({type(dead).__name__}){limit}") from dead
        except BaseException:  # also an interrupt: what it answers later would be taken for the next answer
            self.close()
            raise
        return answer

    def _start(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=self._stderr, pass_fds=[theirs.fileno()]
            )
        weakref.finalize(self, _end, self._process)
        # Starting a Python is not the function's time. A process that dies here closes its end of the pipe.
        try:
            self._connection.send((self._function, self._memory_bytes))
            self._connection.recv()
        except (EOFError, OSError) as dead:
            self.close()
            raise NotStarted("the process died while it was started") from dead


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def serve_at(handle: int) -> None:
    """What the other process does."""
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), name="respace-parent", daemon=True).start()
    with Connection(handle) as connection:
        try:
            function, memory_bytes = connection.recv()
        except (EOFError, ConnectionError):
            return
        _serve(connection, function, memory_bytes)


def _serve(connection: Connection, function: Callable[[Any], Any], memory_bytes: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    try:
        connection.send("ready")
        while True:
            argument, seconds = connection.recv()
            with _watchdog(seconds + _GRACE_SECONDS):
                try:
                    answer: tuple[Exception | None, Any] = None, function(argument)
                except Exception as error:  # it is the caller's, and raised there
                    answer = _picklable(error), None
            connection.send(answer)
    except (EOFError, ConnectionError):  # the caller is gone, perhaps killed: nobody to tell
        return


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    """Ends this process after some seconds, even if its interpreter is held by compiled code all the time.

    It is for a process whose caller is gone; a caller that is there stops it before.
    """
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _exit_with_parent(parent: int) -> None:
    """Who computes for somebody who is gone stops at once."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os._exit(1)


def _picklable(error: Exception) -> Exception:
    if isinstance(error, (RecursionError, MemoryError, ValueError)):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
