"""Threads: as many as are wanted, each with its own text, and none of them sharing a product of matrices.

And products of matrices that round alike wherever a row stands, so that a text is judged alike in whatever company.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import OpenBLASController, ThreadpoolController

# What worker processes are told, see `transforms.shards.workers`.
_TOLD = "OMP_NUM_THREADS"
_LONGEST_PERIOD = 48


def threads_to_use() -> int:
    """As many as the environment says, or as there are cores."""
    told = os.environ.get(_TOLD, "")
    return int(told) if told.isdigit() and int(told) else _available_cores()


def _available_cores() -> int:
    """Those that this process may use; all of the machine where the system does not tell (macOS, Windows)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneThread:
    """Limits products to one thread, from the first of several threads that want it to the last."""

    def __init__(self) -> None:
        self._lock, self._using = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._using += 1
            if self._using == 1:
                _take_control()
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._using -= 1
            if self._using == 0:
                _take_control()
                self._limit.restore_original_limits()
                _take_control()


def _take_control() -> None:
    """Newer threadpoolctl listens to one thread alone; the last one to leave may be another than the first to come."""
    forget = getattr(OpenBLASController, "clear_controlling_thread", None)
    if forget is not None:
        forget(force=True)


_one_thread = _OneThread()


def one_thread_per_product() -> AbstractContextManager[None]:
    """NumPy's products use one thread each: small ones are faster so, texts run side by side, and what comes out does
    not depend on the number of cores (two threads round otherwise than one). This holds for the whole process.
    """
    return _one_thread


@lru_cache(maxsize=1)
def rounding_of_rows() -> NDArray[np.intp]:
    """How a row of a product is rounded, by its place: those with the same number alike. It repeats itself.

    Libraries compute several rows at once, and the last of them otherwise than the first. How many, is found by trying:
    it depends on the library and on the processor. Where nothing is found, the longest that was tried must do.
    """
    random = np.random.default_rng(0)
    left, right = (random.normal(size=size).astype(np.float32) for size in ((16 * _LONGEST_PERIOD, 128), (128, 128)))
    with one_thread_per_product():
        product = left @ right
        for period in (1, 4, 6, 8, 12, 16, 24, 32, _LONGEST_PERIOD):
            moved = np.array_equal(left[period:] @ right, product[period:])
            if moved and np.array_equal(left[:-period] @ right, product[:-period]):
                break
        same_rows = np.concatenate([np.tile(row, (period, 1)) @ right for row in left[:8]], axis=1)
    return np.unique(same_rows, axis=0, return_inverse=True)[1].reshape(-1)
