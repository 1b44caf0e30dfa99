"""Held-out parts of a collection, chosen by hash: exact sizes, and the same parts whatever the order of reading.

Every item has a hash of its own. The items with the lowest hashes are the first part, the next ones the second, and so
on; the rest is for training. All that must be known of the whole collection is where the hashes are cut.

>>> splits = choose_splits(np.array([50, 10, 40, 20, 30], dtype=np.uint64), {"development": 1, "test": 2})
>>> [splits.name(hash) for hash in (10, 20, 30, 40)]
['development', 'test', 'test', 'train']
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REST = "train"
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Splits:
    """Part ``names[i]`` has the hashes below ``bounds[i]`` that no earlier part has."""

    names: tuple[str, ...] = ()
    bounds: tuple[int, ...] = ()

    def name(self, item_hash: int) -> str:
        place = bisect_right(self.bounds, item_hash)
        return self.names[place] if place < len(self.names) else REST


def lowest(hashes: Hashes, count: int) -> Hashes:
    """The ``count`` lowest different hashes, sorted. What is lowest among parts is found again among their lowest."""
    return np.unique(hashes)[:count]


def choose_splits(hashes: Hashes, sizes: Mapping[str, int]) -> Splits:
    """Cuts a collection, given all hashes or at least the lowest ``sum(sizes.values())`` of them.

    Raises:
        ValueError: there are fewer items than are to be held out.
    """
    wanted = sum(sizes.values())
    ordered = lowest(hashes, wanted)
    if len(ordered) < wanted:
        raise ValueError(f"{wanted} items are to be held out, and there are {len(ordered)}")
    cuts = np.cumsum(list(sizes.values()), dtype=np.int64)
    bounds = tuple(int(ordered[cut - 1]) + 1 if cut else 0 for cut in cuts)
    return Splits(tuple(sizes), bounds)
