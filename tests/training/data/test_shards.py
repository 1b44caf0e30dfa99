"""Training shards give exactly the rows that noise on the fly gives."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.paper.vocabulary import Vocabulary
from respace.noise import Recipe, corrupt, given_texts, true_texts
from respace.training_examples import to_record_batch
from tests.models.tiny import TINY_DICTIONARY, TINY_FEATURES
from training.data.shards import TrainingShards, to_corrupted
from training.data.stream import StreamConfig, batches, pack
from training.data.text_stream import TextStreamConfig, clean_recipe, text_batches

TEXTS = [f"Row number {row} of the naïve example, with some words." for row in range(50)]
KEYS = [f"key {row}" for row in range(50)]


def write(folder: Path, start: int, stop: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    noisy = corrupt(TEXTS[start:stop], KEYS[start:stop], Recipe.training(), 3)
    table = pa.Table.from_batches([to_record_batch(noisy, KEYS[start:stop])])
    pq.write_table(table, folder / f"part-{start:05}.parquet")


def test_rows_are_those_of_the_noise(tmp_path: Path) -> None:
    write(tmp_path, 0, 30)
    noisy = corrupt(TEXTS[:30], KEYS[:30], Recipe.training(), 3)
    found = to_corrupted(pq.read_table(tmp_path / "part-00000.parquet"))
    for name in ("characters", "true_bits", "given_bits", "offsets", "kinds"):
        assert np.array_equal(getattr(found, name), getattr(noisy, name)), name


def test_blocks_go_over_files_and_begin_again(tmp_path: Path) -> None:
    for start, stop in ((0, 7), (7, 30), (30, 50)):
        write(tmp_path / "parquet", start, stop)
    (tmp_path / "_manifest").mkdir()
    shards = TrainingShards(tmp_path)
    assert len(shards) == 50
    every = corrupt(TEXTS, KEYS, Recipe.training(), 3)
    expected = list(zip(given_texts(every), true_texts(every), strict=True))
    for number, rows in ((0, 20), (1, 20), (2, 20), (0, 120)):
        block = shards.block(number, rows)
        wanted = [expected[(number * rows + place) % 50] for place in range(rows)]
        assert list(zip(given_texts(block), true_texts(block), strict=True)) == wanted


def test_the_stream_of_the_papers_networks_reads_them(tmp_path: Path) -> None:
    write(tmp_path, 0, 50)
    vocabulary = Vocabulary(" abcdefghijklmnopqrstuvwxyz.,ï0123456789RN")
    config = TextStreamConfig(
        sources=(),
        recipe=clean_recipe(),
        characters=vocabulary.characters,
        with_spaces=False,
        batch=16,
        shards=str(tmp_path),
    )
    batches = list(islice(text_batches(config), 3))
    assert all(batch.ids.shape[0] == 16 for batch in batches)
    assert batches[0].bits.any()


def test_what_is_not_a_shard_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no \.parquet shard"):
        TrainingShards(tmp_path)
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="has no column characters, given_bits, noise_kind"):
        TrainingShards(tmp_path)


def test_the_stream_of_fast_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.data.stream.BLOCK_ROWS", 50)
    write(tmp_path, 0, 50)
    config = StreamConfig(
        sources=(),
        recipe=Recipe.training(),
        features=TINY_FEATURES,
        dictionary=TINY_DICTIONARY,
        windows=4,
        length=96,
        shards=str(tmp_path),
    )
    first = next(iter(batches(config)))
    noisy = corrupt(TEXTS, KEYS, Recipe.training(), 3)
    characters, given, true, _ = pack(noisy, 96)
    assert np.array_equal(first.characters, characters[:4])
    assert np.array_equal(first.given, given[:4])
    assert np.array_equal(first.true, true[:4])
