"""Gathering things until they are too big to be handled at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def by_size(
    items: Iterable[Item], size: Callable[[Item], int], most: int, count: int | None = None
) -> Iterator[list[Item]]:
    """Groups of neighbouring items, in order, none larger than ``most`` in all; an item that is larger comes alone.

    >>> list(by_size(["a", "bcd", "e", "fghij"], len, most=4))
    [['a', 'bcd'], ['e'], ['fghij']]

    Args:
        items: what to group.
        size: of one item.
        most: of a group.
        count: at most so many items in a group.
    """
    group: list[Item] = []
    gathered = 0
    for item in items:
        its_size = size(item)
        if group and (gathered + its_size > most or len(group) == count):
            yield group
            group, gathered = [], 0
        group.append(item)
        gathered += its_size
    if group:
        yield group
