"""Training shards as tf.data: padding, order, and what is no shard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.noise import Recipe, corrupt
from respace.training_examples import SCHEMA, to_record_batch
from training.data.datasets import examples, padded_batches
from transforms.tf_records import ExampleWriter


def write_shards(folder: Path, texts: list[str]) -> None:
    noisy = corrupt(texts, [f"row {number}" for number in range(len(texts))], Recipe.no_spaces(misspelling_rate=0.0), 1)
    batch = to_record_batch(noisy, [f"row {number}" for number in range(len(texts))])
    for kind in ("parquet", "tfrecord"):
        (folder / kind).mkdir(parents=True)
    pq.write_table(pa.Table.from_batches([batch], SCHEMA), folder / "parquet" / "a.parquet")
    with ExampleWriter(str(folder / "tfrecord" / "a.tfrecord")) as writer:
        writer.write(batch)


@pytest.mark.parametrize("kind", ["parquet", "tfrecord"])
def test_padding_and_cutting(tmp_path: Path, kind: str) -> None:
    write_shards(tmp_path, ["é b", "one two three", "x"])
    (batch,) = padded_batches(examples(tmp_path / kind), batch_size=3, length=4).as_numpy_iterator()
    letters = [[ord(letter) for letter in row] for row in ("éb\0\0", "onet", "x\0\0\0")]
    assert batch["characters"].tolist() == letters
    assert batch["true_bits"].astype(int).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert not batch["given_bits"].any()
    assert batch["counts"].astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]


def test_a_seed_shuffles_reproducibly(tmp_path: Path) -> None:
    write_shards(tmp_path, [f"row number {number}" for number in range(40)])

    def order(seed: int | None) -> np.ndarray:
        dataset = padded_batches(examples(tmp_path / "parquet"), batch_size=40, length=16, seed=seed)
        return next(iter(dataset.as_numpy_iterator()))["characters"]

    assert np.array_equal(order(1), order(1))
    assert not np.array_equal(order(1), order(2))
    assert np.array_equal(order(None), order(None))


def test_what_is_no_shard(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no \.parquet or \.tfrecord shard"):
        examples(tmp_path)
    write_shards(tmp_path, ["a b"])
    with pytest.raises(ValueError, match=r"shards of \.parquet and \.tfrecord"):
        examples(tmp_path)
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"other\.parquet has no column characters"):
        examples(tmp_path / "other.parquet")
