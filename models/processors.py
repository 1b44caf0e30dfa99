"""Threads: as many as are wanted, each with its own text, and none of them sharing a product of matrices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

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


@contextmanager
def one_thread_per_product() -> Iterator[None]:
    """NumPy's products use one thread each: small ones are faster so, and texts run side by side.

    This holds for the whole process. Where several threads want it at the same time, the first decides when it ends.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
