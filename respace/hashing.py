"""Hashes that are the same on every machine and in every process: of rows, of texts, of settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

# The base of polynomial hashes: 2^64 divided by the golden ratio.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def mix(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: neighbouring values become independent-looking ones."""
    out = values + GOLDEN
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


def stretch_hashes(codes: NDArray[np.uint32], length: int) -> Hashes:
    """A hash of the stretch of characters that begins at each position, for every stretch that fits."""
    wide = codes.astype(np.uint64)
    size = len(wide) - length + 1
    if size <= 0:
        return np.zeros(0, dtype=np.uint64)
    total = np.zeros(size, dtype=np.uint64)
    for offset in range(length):
        total = total * GOLDEN + wide[offset : offset + size]
    return total ^ (total >> np.uint64(29))


def json_digest(value: Any) -> str:
    """One word for any settings."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()
