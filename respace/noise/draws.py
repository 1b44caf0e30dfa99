"""Random numbers without a generator: each one is a hash of (seed, row key, stream, position).

So a whole batch is drawn at once with NumPy, and still no row ever depends on its neighbours, on the batch it came in
or on the order of the work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53


def mix(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: neighbouring values become independent-looking ones."""
    out = values + _GOLDEN
    shifted = out >> np.uint64(30)
    out ^= shifted
    out *= _MIX_1
    np.right_shift(out, np.uint64(27), out=shifted)
    out ^= shifted
    out *= _MIX_2
    np.right_shift(out, np.uint64(31), out=shifted)
    out ^= shifted
    return out


def row_hashes(keys: Sequence[str], seed: int) -> Hashes:
    """One hash per row from its key and the seed."""
    salt = hashlib.blake2b(str(seed).encode(), digest_size=16).digest()
    digests = [hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest() for key in keys]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def text_hash(text: str) -> int:
    """A stable 64-bit hash of a text, the same on every machine and in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


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
    places = np.asarray(positions).astype(np.uint64) * _GOLDEN
    drawn = mix(mix(hashes ^ _stream(stream)) + places)
    drawn >>= np.uint64(11)
    return np.asarray(drawn * _TO_UNIT, dtype=np.float64)


def choose(hashes: Hashes, stream: str, weights: Sequence[float]) -> NDArray[np.uint8]:
    """For every row the index of one of the weights, drawn in their proportion."""
    limits = np.cumsum(np.asarray(weights, dtype=np.float64))
    drawn = np.searchsorted(limits / limits[-1], uniform(hashes, stream), side="right")
    return np.minimum(drawn, len(limits) - 1).astype(np.uint8)
