"""Random numbers without a generator: each one is a hash of (seed, row key, stream, position).

So a whole batch is drawn at once with NumPy, and still no row ever depends on its neighbours, on the batch it came in
or on the order of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from respace.hashing import GOLDEN, Hashes, mix, text_hash

_TO_UNIT = 2.0**-53


@lru_cache(maxsize=256)
def _stream(name: str) -> np.uint64:
    return np.uint64(text_hash(name))


def uniform(hashes: Hashes, stream: str, positions: NDArray[np.integer] | int = 0) -> NDArray[np.float64]:
    """Numbers in [0, 1): one per element, from the element's row hash and its position in the row.

    Args:
        hashes: the row hash of every element.
        stream: what the number is for; two streams are independent of each other.
        positions: where in the row each element stands.
    """
    places = np.asarray(positions).astype(np.uint64) * GOLDEN
    drawn = mix(mix(hashes ^ _stream(stream)) + places)
    drawn >>= np.uint64(11)
    return np.asarray(drawn * _TO_UNIT, dtype=np.float64)


def choose(hashes: Hashes, stream: str, weights: Sequence[float]) -> NDArray[np.uint8]:
    """For every row the index of one of the weights, drawn in their proportion."""
    limits = np.cumsum(np.asarray(weights, dtype=np.float64))
    drawn = np.searchsorted(limits / limits[-1], uniform(hashes, stream), side="right")
    return np.minimum(drawn, len(limits) - 1).astype(np.uint8)
