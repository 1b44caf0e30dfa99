"""Threads: as many as are wanted, each with its own text, and none of them sharing a product of matrices."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

# What worker processes are told, see `transforms.shards.workers`.
_TOLD = "OMP_NUM_THREADS"


def threads_to_use() -> int:
    """As many as the environment says, or as there are cores."""
    told = os.environ.get(_TOLD, "")
    return int(told) if told.isdigit() and int(told) else len(os.sched_getaffinity(0))


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


_using, _changing = 0, threading.Lock()
_limited: Any = None


@contextmanager
def one_thread_per_product() -> Iterator[None]:
    """NumPy's products use one thread each: small ones are faster so, texts run side by side, and what comes out does
    not depend on the number of cores (two threads round otherwise than one).

    This holds for the whole process, from the first of several threads that want it to the last.
    """
    global _using, _limited
    with _changing:
        if not _using:
            _limited = _controller().limit(limits=1, user_api="blas")
        _using += 1
    try:
        yield
    finally:
        with _changing:
            _using -= 1
            if not _using:
                _limited.restore_original_limits()
