"""Processes that have the models loaded and can be ended: a request that takes too long costs its process, not more.

Compiled code and regular expressions hold the interpreter, so that no time limit inside of a process stops them. The
server therefore never repairs anything itself.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType

from webapp.bounded import Busy, TooSlow
from webapp.repair_service import BadRequest, RepairRequest, RepairService

_LOADED, _ANSWER, _REFUSED, _FAILED = "loaded", "answer", "refused", "failed"
_LONGEST_PAUSE = 60.0  # between two attempts to load where processes die while they load
_ORPHAN_SECONDS = 5  # beyond the time limit, after which a process whose server is gone ends by itself


class Loading(Exception):
    """No process has loaded its models yet, or again."""


class NotLoadable(Exception):
    """The models cannot be loaded; the message says why."""


class RepairFailed(Exception):
    """An error of the program, not of the request; it has been printed."""


class _Ended(Exception):
    """The process is gone."""


@dataclass(frozen=True)
class _Job:
    request: RepairRequest
    answer: Future[bytes]


class RepairWorkers:
    """Repairs requests in processes of their own, each with the models loaded, and replaces those that had to be ended.

    Args:
        methods: names that requests may choose from.
        processes: how many; each repairs one request at a time.
        waiting: requests that may be there at once.
        seconds: time for one request. Its process is killed then.
    """

    def __init__(self, methods: tuple[str, ...], *, processes: int = 1, waiting: int = 16, seconds: float = 30.0):
        self.methods, self.waiting, self.seconds = methods, waiting, seconds
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._changing = threading.Lock()
        self._closing = threading.Event()
        self._loaded: set[_ModelProcess] = set()
        self._places = 0
        self._failure = ""
        self._threads = [threading.Thread(target=self._keep_a_process, daemon=True) for _ in range(processes)]

    def __enter__(self) -> RepairWorkers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for process in list(self._loaded):
            process.kill()
        for thread in self._threads:
            thread.join()

    @property
    def process_ids(self) -> list[int]:
        """Of the processes that are ready."""
        return [process.pid for process in list(self._loaded)]

    def check(self) -> None:
        """
        Raises:
            Loading: there is nobody yet who could repair.
            NotLoadable: and there never will be.
        """
        if self._failure:
            raise NotLoadable(self._failure)
        if not self._loaded:
            raise Loading

    async def answer(self, request: RepairRequest) -> bytes:
        """The answer as JSON.

        Raises:
            Loading, NotLoadable: see `check`; also where the process died while the request waited.
            Busy: too many requests are waiting.
            TooSlow: it took more than the allowed seconds.
            BadRequest: it cannot be repaired as it was asked.
            RepairFailed: a fault of the program.
        """
        self.check()
        if self._places >= self.waiting:
            raise Busy
        job = _Job(request, Future())
        self._places += 1
        try:
            with self._changing:
                if not self._loaded:
                    raise Loading
                self._jobs.put(job)
            return await asyncio.wrap_future(job.answer)
        finally:
            self._places -= 1

    def _keep_a_process(self) -> None:
        """What each thread does: one process after the other, and requests for it."""
        pause = 0.0
        while not self._closing.wait(pause):
            try:
                was_loaded = self._use_a_process()
            except NotLoadable as error:
                self._failure = str(error)
                print(f"error: {error}", file=sys.stderr, flush=True)
                return
            # What died while it loaded, out of memory perhaps, is not started again and again without a pause.
            pause = 0.0 if was_loaded else min(_LONGEST_PAUSE, 2 * pause or 1.0)

    def _use_a_process(self) -> bool:
        """Until it has ended; whether it had loaded its models."""
        try:
            process = _ModelProcess(self.methods, self.seconds)
        except OSError:
            return False
        was_loaded = False
        try:
            process.wait_until_loaded(self._closing)
            was_loaded = True
            with self._changing:
                self._loaded.add(process)
            self._repair_with(process)
        except _Ended:
            pass
        finally:
            self._remove(process)
        return was_loaded

    def _repair_with(self, process: _ModelProcess) -> None:
        while not self._closing.is_set():
            try:
                job = self._jobs.get(timeout=0.5)
            except queue.Empty:
                process.check_alive()
                continue
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                job.answer.set_result(process.answer(job.request))
            except (BadRequest, RepairFailed) as error:
                job.answer.set_exception(error)
            except (TooSlow, _Ended) as error:
                self._remove(process)  # first, so that nobody who hears of it is told that it is ready
                job.answer.set_exception(error if isinstance(error, TooSlow) else Loading())
                raise _Ended from None

    def _remove(self, process: _ModelProcess) -> None:
        """Ends a process. Where it was the last one, those who wait are told to come back."""
        process.close()
        with self._changing:
            self._loaded.discard(process)
            if not self._loaded:
                self._send_all_away()

    def _send_all_away(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job.answer.set_running_or_notify_cancel():
                job.answer.set_exception(Loading())


class _ModelProcess:
    """One process, seen from the server."""

    def __init__(self, methods: tuple[str, ...], seconds: float):
        context = multiprocessing.get_context("spawn")
        self._seconds = seconds
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, methods, seconds), name="respace-models", daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def wait_until_loaded(self, closing: threading.Event) -> None:
        while not self._connection.poll(0.2):
            if closing.is_set():
                raise _Ended
        status, content = self._receive()
        if status != _LOADED:
            raise NotLoadable(content.decode())

    def answer(self, request: RepairRequest) -> bytes:
        until = time.monotonic() + self._seconds
        try:
            self._connection.send(request)
            if not self._connection.poll(max(0.0, until - time.monotonic())):
                raise TooSlow(f"no answer within {self._seconds:g} s. Send less text at a time")
        except OSError as error:
            raise _Ended from error
        status, content = self._receive()
        if status == _REFUSED:
            raise BadRequest(content.decode())
        if status == _FAILED:
            raise RepairFailed
        return content

    def check_alive(self) -> None:
        if not self._process.is_alive():
            raise _Ended

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self.kill()
        self._process.join()
        self._connection.close()

    def _receive(self) -> tuple[str, bytes]:
        try:
            return self._connection.recv_bytes().decode(), self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise _Ended from error


def _serve(connection: Connection, methods: tuple[str, ...], seconds: float) -> None:
    """What the process does: load, then repair until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to handle

    def send(status: str, content: bytes = b"") -> None:
        connection.send_bytes(status.encode())
        connection.send_bytes(content)

    try:
        service = RepairService(methods)
        try:
            service.load()
        except Exception as error:  # of whatever kind: without a model there is nothing to do
            send(_FAILED, f"{', '.join(methods)}: cannot be loaded ({error})".encode())
            return
        send(_LOADED)
        while True:
            request = connection.recv()
            # The kernel ends this process if its server was killed meanwhile and cannot do it.
            signal.setitimer(signal.ITIMER_REAL, seconds + _ORPHAN_SECONDS)
            send(*_answer(service, request))
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (EOFError, ConnectionError):  # the server is gone: there is nobody to tell
        return


def _answer(service: RepairService, request: RepairRequest) -> tuple[str, bytes]:
    try:
        return _ANSWER, service.answer(request)
    except BadRequest as error:
        return _REFUSED, str(error).encode()
    except Exception:
        traceback.print_exc()
        return _FAILED, b""
