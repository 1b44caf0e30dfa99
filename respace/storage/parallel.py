"""Many questions at once: stores answer slowly, but many at a time.

>>> list(in_parallel(len, ["a", "bb"]))
[1, 2]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_AT_ONCE = 16
_AHEAD = 64
# Handing an item to a thread costs more than many questions to a local disk: of many items, several go together.
_TOGETHER = 16


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], together: int = _TOGETHER
) -> Iterator[Result]:
    """The results in the order of the items, of which only some are under way or waiting at any time.

    Args:
        function: what to ask.
        items: about what.
        together: how many of many go to a thread at once; 1 where results are large.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting: deque[Future[list[Result]]] = deque()
        source, handed_over = iter(items), 0
        while group := list(islice(source, 1 if handed_over < 4 * _AHEAD else together)):
            waiting.append(pool.submit(lambda some=group: [function(item) for item in some]))  # type: ignore[misc]
            handed_over += len(group)
            if len(waiting) == _AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def do_in_parallel(function: Callable[[Item], object], items: Iterable[Item]) -> None:
    """The same for what gives no result."""
    for _ in in_parallel(function, items):
        pass
