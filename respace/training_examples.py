"""Training examples as Arrow columns: noisy characters, their true and their given gap bits, the noise, the source.

Gap bits are packed, eight to a byte, gap 0 in the lowest bit of the first byte; each row begins with a byte of its own.
Everything is done on the flat arrays of a `Corrupted` at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits
from respace.noise import NOISE_KINDS, Corrupted

SCHEMA = pa.schema(
    [
        ("characters", pa.string()),
        ("true_bits", pa.binary()),
        ("given_bits", pa.binary()),
        ("noise_kind", pa.string()),
        ("source_id", pa.string()),
    ]
)


def to_record_batch(noisy: Corrupted, source_ids: Sequence[str]) -> pa.RecordBatch:
    """The rows as Arrow columns."""
    lengths = np.diff(noisy.offsets)
    kinds = pa.array(NOISE_KINDS, pa.string()).take(pa.array(noisy.kinds.astype(np.int32)))
    columns = [
        _characters(noisy, len(lengths)),
        _packed(noisy.true_bits, noisy.offsets),
        _packed(noisy.given_bits, noisy.offsets),
        kinds,
        pa.array(source_ids, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def unpack_bits(packed: bytes, length: int) -> Bits:
    """The gap bits of one row.

    >>> unpack_bits(bytes([0b110]), 4).tolist()
    [False, True, True, False]
    """
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=length, bitorder="little").astype(bool)


def _characters(noisy: Corrupted, rows: int) -> pa.Array:
    codes = noisy.characters
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    encoded = gaps.from_code_points(codes).encode("utf-8")
    offsets = ends[noisy.offsets].astype(np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(encoded))


def _packed(bits: Bits, offsets: NDArray[np.int64]) -> pa.Array:
    lengths = np.diff(offsets)
    byte_offsets = np.concatenate([[0], np.cumsum((lengths + 7) // 8)])
    aligned = np.zeros(8 * int(byte_offsets[-1]), dtype=bool)
    aligned[np.arange(len(bits)) + np.repeat(8 * byte_offsets[:-1] - offsets[:-1], lengths)] = bits
    packed = np.packbits(aligned, bitorder="little")
    buffers = [None, pa.py_buffer(byte_offsets.astype(np.int32)), pa.py_buffer(packed.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)
