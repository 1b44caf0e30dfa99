"""A function that can be stopped: it runs in a process of its own, with limits on time and memory.

Parsers of hostile text can take minutes or gigabytes, in C, where no exception reaches them. Only a process can be
stopped for sure.

>>> with KillableFunction(len, seconds=10) as length:
...     length("abc")
3
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Generic, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Stopped(Exception):
    """The function took too long or too much memory, or its process died."""


class KillableFunction(Generic[Argument, Result]):
    """Calls a function of one argument in another process, which is started when it is first needed.

    Args:
        function: importable by its name, and cheap to import.
        seconds: time for one call.
        memory_bytes: address space of the process.
    """

    def __init__(self, function: Callable[[Argument], Result], *, seconds: float, memory_bytes: int = 4 << 30):
        self._function, self._seconds, self._memory_bytes = function, seconds, memory_bytes
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def __call__(self, argument: Argument) -> Result:
        """The function's result; what it raises, it raises here.

        Raises:
            Stopped: see there.
        """
        if self._process is not None and not self._process.is_alive():
            self.close()  # it was stopped between two calls, which is not this call's fault
        if self._connection is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send(argument)
            if not self._connection.poll(self._seconds):
                raise Stopped(f"took more than {self._seconds:g} s")
            error, result = self._connection.recv()
        except (EOFError, OSError) as dead:
            self.close()
            raise Stopped(
                f"the process died ({type(dead).__name__}); its limit is {self._memory_bytes} bytes"
            ) from dead
        except Stopped:
            self.close()
            raise
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
            self._process = self._connection = None

    def __enter__(self) -> KillableFunction[Argument, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._function, self._memory_bytes), name="respace-killable", daemon=True
        )
        self._process.start()
        theirs.close()
        # Starting a Python is not the function's time. A process that dies here closes its end of the pipe.
        try:
            self._connection.recv()
        except EOFError as dead:
            self.close()
            raise Stopped("the process died while it was started") from dead


def _serve(connection: Connection, function: Callable[[Any], Any], memory_bytes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to handle
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    try:
        connection.send("ready")
        while True:
            argument = connection.recv()
            try:
                answer: tuple[Exception | None, Any] = None, function(argument)
            except Exception as error:  # it is the caller's, and raised there
                answer = _picklable(error), None
            connection.send(answer)
    except (EOFError, ConnectionError):  # the caller is gone, perhaps killed: nobody to tell
        return


def _picklable(error: Exception) -> Exception:
    if isinstance(error, (RecursionError, MemoryError, ValueError)):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
