"""Worker processes for local runs: one per core, started once, each with its own model.

Beam's in-process runner works on one core. `EachShard` in `transforms.shards.each_shard` hands its shards to these
processes instead; on every other runner it works on them itself. This module must stay cheap to import: the processes
import it, and what the work needs, but not Beam.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from transforms.shards import progress

_work: Callable[[Any], Any] | None = None


def available_cores() -> int:
    return len(os.sched_getaffinity(0))


def thread_settings(threads: int) -> dict[str, str]:
    """The environment of a process whose TensorFlow has so many threads; it is read when TensorFlow starts."""
    names = ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**dict.fromkeys(names, str(threads)), "TF_NUM_INTEROP_THREADS": "1"}


class WorkerPool:
    """Runs ``work`` on shards in several processes.

    Args:
        work: a picklable function of one shard.
        processes: how many.
    """

    def __init__(self, work: Callable[[Any], Any], processes: int):
        context = multiprocessing.get_context("spawn")
        # A report is written at once, being small: no lock is needed, which a killed process would take with it.
        self._reports, self._reporter = context.Pipe(duplex=False)
        environment = thread_settings(max(1, available_cores() // processes))
        # What TensorFlow says when it starts would break the progress line, once per process.
        environment["TF_CPP_MIN_LOG_LEVEL"] = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")
        self._executor = ProcessPoolExecutor(
            processes,
            mp_context=context,
            initializer=_start,
            initargs=(pickle.dumps(work), self._reporter, environment),
        )
        self._forwarder = threading.Thread(target=self._forward, name="respace-reports", daemon=True)
        self._forwarder.start()

    def submit(self, shard: Any) -> Future[Any]:
        """The result, or `BrokenProcessPool` if a process died: killed, perhaps because memory ran out."""
        try:
            return self._executor.submit(_run, shard)
        except BrokenProcessPool as error:
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)
        self._reporter.send(None)
        self._forwarder.join()

    def _forward(self) -> None:
        while (counts := self._reports.recv()) is not None:
            progress.report(**counts)


def _start(work: bytes, reporter: Any, environment: Mapping[str, str]) -> None:
    """Prepares a worker process. The number of threads must be known before TensorFlow is imported."""
    global _work
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_exit_with_parent, name="respace-parent", daemon=True).start()
    progress.listen(reporter.send)
    _work = pickle.loads(work)


def _exit_with_parent() -> None:
    """A run that was killed must not go on writing behind the back of the next one."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _run(shard: Any) -> Any:
    assert _work is not None
    return _work(shard)
