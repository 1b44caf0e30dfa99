"""Training shards as `tf.data`: the Parquet and the TFRecord files of `pipelines.make_training_shards`, alike.

    dataset = padded_batches(examples("shards/parquet"), batch_size=128, length=256, seed=1)

An example is a dictionary: ``characters`` (code points), ``true_bits`` and ``given_bits`` (one per character),
``noise_kind`` and ``source_id``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import tensorflow as tf

COLUMNS = ("characters", "true_bits", "given_bits", "noise_kind", "source_id")
_ROWS_AT_ONCE = 1024
_BIT_PLACES = np.arange(8, dtype=np.uint8)


def examples(path: str | Path) -> tf.data.Dataset:
    """All examples of a directory of shards, or of one shard; in the order of the shards, which are shuffled.

    Raises:
        FileNotFoundError: there is no shard.
        ValueError: shards of both formats, or a file with other columns.
    """
    files = _shards(Path(path))
    kinds = {file.suffix for file in files}
    if len(kinds) > 1:
        raise ValueError(f"{path} holds shards of {' and '.join(sorted(kinds))}: name the directory of one of them")
    raw = _parquet_columns(files) if kinds == {".parquet"} else _tfrecord_columns(files)
    return raw.unbatch().map(_decode, num_parallel_calls=2, deterministic=True)


def padded_batches(
    dataset: tf.data.Dataset, *, batch_size: int, length: int, seed: int | None = None, shuffle_examples: int = 4096
) -> tf.data.Dataset:
    """Batches ``[batch_size, length]`` of ``characters``, ``true_bits``, ``given_bits`` and ``counts``.

    Longer examples are cut, shorter ones padded with 0; ``counts`` is False where there is padding.

    Args:
        dataset: of `examples`.
        batch_size: examples in a batch; an incomplete last batch is dropped.
        length: characters of an example.
        seed: shuffle, within a window of ``shuffle_examples``; the shards themselves are shuffled already.
        shuffle_examples: size of that window.
    """

    def cut(example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        arrays = {name: example[name][:length] for name in ("characters", "true_bits", "given_bits")}
        return arrays | {"counts": tf.ones_like(arrays["characters"], dtype=tf.bool)}

    if seed is not None:
        dataset = dataset.shuffle(shuffle_examples, seed=seed, reshuffle_each_iteration=True)
    shapes = {name: [length] for name in ("characters", "true_bits", "given_bits", "counts")}
    return dataset.map(cut).padded_batch(batch_size, shapes, drop_remainder=True).prefetch(2)


def _shards(path: Path) -> list[Path]:
    files = [path] if path.is_file() else sorted([*path.rglob("*.parquet"), *path.rglob("*.tfrecord")])
    files = [file for file in files if not any(part.startswith("_") for part in file.relative_to(path).parts)]
    if not files:
        raise FileNotFoundError(f"{path} holds no .parquet or .tfrecord shard: make some with make_training_shards")
    return files


def _parquet_columns(files: Sequence[Path]) -> tf.data.Dataset:
    for file in files:
        missing = set(COLUMNS) - set(pq.read_schema(file).names)
        if missing:
            raise ValueError(f"{file} has no column {', '.join(sorted(missing))}: it is not a training shard")

    def batches() -> Iterator[dict[str, list[str] | list[bytes]]]:
        for file in files:
            with pq.ParquetFile(file) as parquet:
                for batch in parquet.iter_batches(_ROWS_AT_ONCE, columns=list(COLUMNS), use_threads=False):
                    yield {name: batch.column(name).to_pylist() for name in COLUMNS}

    signature = {name: tf.TensorSpec([None], tf.string) for name in COLUMNS}
    return tf.data.Dataset.from_generator(batches, output_signature=signature)


def _tfrecord_columns(files: Sequence[Path]) -> tf.data.Dataset:
    features = {name: tf.io.FixedLenFeature([], tf.string) for name in COLUMNS}
    records = tf.data.TFRecordDataset([str(file) for file in files])
    return records.batch(_ROWS_AT_ONCE).map(lambda batch: tf.io.parse_example(batch, features))


def _decode(example: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    characters = tf.strings.unicode_decode(example["characters"], "UTF-8")
    length = tf.size(characters)

    def bits(packed: tf.Tensor) -> tf.Tensor:
        octets = tf.io.decode_raw(packed, tf.uint8)
        spread = tf.bitwise.bitwise_and(tf.bitwise.right_shift(octets[:, None], _BIT_PLACES[None, :]), 1)
        return tf.cast(tf.reshape(spread, [-1])[:length], tf.bool)

    return {
        "characters": characters,
        "true_bits": bits(example["true_bits"]),
        "given_bits": bits(example["given_bits"]),
        "noise_kind": example["noise_kind"],
        "source_id": example["source_id"],
    }
