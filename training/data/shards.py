"""Training shards of `pipelines.make_training_shards` as noisy rows: what a trainer reads in place of clean text.

A block is so many neighbouring rows; the shards are shuffled already. After the last row it begins again with the
first. Rows are exactly what `respace.noise.corrupt` gave, so that a trainer sees the same whether the noise was
injected beforehand or is injected on the fly. Only Parquet is read here; `training.data.datasets` reads TFRecord too.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from respace import gaps
from respace.noise import NOISE_KINDS, Corrupted
from respace.training_examples import SCHEMA, unpack_bits


class TrainingShards:
    """All rows of a directory of shards, read a file at a time.

    Raises:
        ValueError: there is no shard, or one is something else.
    """

    def __init__(self, path: str | Path):
        root = Path(path)
        below = [root] if root.is_file() else sorted(root.rglob("*.parquet"))
        self._files = [file for file in below if not any(part.startswith("_") for part in file.relative_to(root).parts)]
        if not self._files:
            raise ValueError(f"{path} holds no .parquet shard: make some with pipelines.make_training_shards")
        for file in self._files:
            missing = set(SCHEMA.names) - set(pq.read_schema(file).names)
            if missing:
                raise ValueError(f"{file} has no column {', '.join(sorted(missing))}: it is not a training shard")
        self._ends = np.cumsum([pq.read_metadata(file).num_rows for file in self._files])
        if not len(self):
            raise ValueError(f"{path}: the shards hold no rows: make some with pipelines.make_training_shards")
        self._table = lru_cache(maxsize=2)(lambda place: pq.read_table(self._files[place]))

    def __len__(self) -> int:
        return int(self._ends[-1])

    def block(self, number: int, rows: int) -> Corrupted:
        """The rows of one block."""
        start = number * rows % len(self)
        parts = []
        while rows:
            stop = min(start + rows, len(self))
            parts.append(self._rows(start, stop))
            rows -= stop - start
            start = 0
        return to_corrupted(pa.concat_tables(parts))

    def _rows(self, start: int, stop: int) -> pa.Table:
        first, last = np.searchsorted(self._ends, [start, stop - 1], side="right").tolist()
        parts = []
        for place in range(first, last + 1):
            begin = int(self._ends[place - 1]) if place else 0
            parts.append(self._table(place).slice(max(0, start - begin), stop - max(start, begin)))
        return pa.concat_tables(parts)


def to_corrupted(table: pa.Table) -> Corrupted:
    """Rows of shards as `respace.noise.corrupt` gave them; the inverse of `to_record_batch`."""
    characters = table["characters"].to_pylist()
    lengths = np.array([len(text) for text in characters], dtype=np.int64)

    def bits(column: str) -> gaps.Bits:
        packed = zip(table[column].to_pylist(), lengths.tolist(), strict=True)
        return (
            np.concatenate([unpack_bits(one, length) for one, length in packed]) if len(lengths) else np.zeros(0, bool)
        )

    kinds = {kind: number for number, kind in enumerate(NOISE_KINDS)}
    return Corrupted(
        characters=gaps.code_points("".join(characters)),
        true_bits=bits("true_bits"),
        given_bits=bits("given_bits"),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        kinds=np.array([kinds[kind] for kind in table["noise_kind"].to_pylist()], dtype=np.uint8),
    )
