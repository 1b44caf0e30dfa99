"""Examples are what TensorFlow reads, and their bytes do not depend on the process that wrote them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from transforms.tf_records import ExampleWriter, count_records


def test_examples_in_the_order_of_the_columns(tmp_path: Path) -> None:
    import tensorflow as tf

    path = str(tmp_path / "a.tfrecord")
    long = "é" * 20_000
    names = ["zeta", "alpha", "mid"]
    batch = pa.RecordBatch.from_arrays([pa.array(["a", long]), pa.array([b"\0\xff", b""]), pa.array(["x", "y"])], names)
    with ExampleWriter(path) as writer:
        writer.write(batch)
        writer.write(batch.slice(1))
    records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
    assert len(records) == count_records(path) == 3
    for record, row in zip(records, [*batch.to_pylist(), batch.to_pylist()[1]], strict=True):
        features = tf.train.Example.FromString(record).features.feature
        read = {name: features[name].bytes_list.value[0] for name in names}
        assert read == {name: value.encode() if isinstance(value, str) else value for name, value in row.items()}
        assert record.index(b"zeta") < record.index(b"alpha") < record.index(b"mid")
        canonical = tf.train.Example.FromString(record).SerializeToString()
        assert len(canonical) == len(record)


def test_a_truncated_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with ExampleWriter(str(path)) as writer:
        writer.write(pa.RecordBatch.from_arrays([pa.array(["a", "b"])], ["text"]))
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    with pytest.raises(OSError, match="ends inside record 1"):
        count_records(str(path))


@pytest.mark.slow
def test_tensorflow_does_not_greet_the_user(tmp_path: Path) -> None:
    code = f"from transforms.tf_records import ExampleWriter\nwith ExampleWriter({str(tmp_path / 'a')!r}): pass"
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
