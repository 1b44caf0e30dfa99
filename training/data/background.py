"""An endless stream made ahead of time in a process of its own, so that the model never waits for its data."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from queue import Full
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class InBackground(Generic[Item]):
    """What ``function(*arguments)`` yields, made in another process.

    Args:
        function: importable by its name.
        arguments: picklable.
        ahead: how many items may wait.
    """

    def __init__(self, function: Callable[..., Iterator[Item]], *arguments: Any, ahead: int = 24):
        context = multiprocessing.get_context("spawn")
        self._queue: Any = context.Queue(maxsize=ahead)
        self._process = context.Process(target=_produce, args=(function, arguments, self._queue), daemon=True)
        self._process.start()

    def __iter__(self) -> Iterator[Item]:
        while True:
            item = self._queue.get()
            if isinstance(item, _Failure):
                raise RuntimeError(f"the process that makes the batches failed: {item.message}")
            yield item

    def close(self) -> None:
        self._process.terminate()
        self._process.join()


class _Failure:
    def __init__(self, message: str):
        self.message = message


def _produce(function: Callable[..., Iterator[Any]], arguments: tuple[Any, ...], queue: Any) -> None:
    try:
        for item in function(*arguments):
            if not _put(queue, item):
                # What is on its way to the trainer has nobody to read it; waiting for that would never end.
                queue.cancel_join_thread()
                return
    except Exception as error:
        queue.put(_Failure(f"{type(error).__name__}: {error}"))
        raise


def _put(queue: Any, item: Any) -> bool:
    """Waits for room in the queue; False if the trainer was killed, for then there will never be any."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            queue.put(item, timeout=2)
            return True
        except Full:
            continue
    return False
