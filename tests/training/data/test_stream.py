from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.noise import Recipe, corrupt
from tests.models.tiny import TINY_DICTIONARY, TINY_FEATURES
from training.data.background import InBackground
from training.data.corpora import Corpus, Source, block
from training.data.layouts import layout_rows
from training.data.stream import SEPARATION, Batch, StreamConfig, batches, pack

WORDS = "the quick brown fox jumps over a lazy dog while seven wizards quietly brew bitter coffee".split()


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Source, ...]:
    random = np.random.default_rng(1)
    found = []
    for name, count, length in (("short", 4000, 6), ("long", 500, 60)):
        texts = [" ".join(random.choice(WORDS, length)) for _ in range(count)]
        pq.write_table(pa.table({"text": texts}), tmp_path / f"{name}.parquet")
        found.append(Source(path=str(tmp_path / f"{name}.parquet"), weight=1.0))
    return tuple(found)


@pytest.fixture
def config(sources: tuple[Source, ...]) -> StreamConfig:
    return StreamConfig(
        sources=sources,
        recipe=Recipe.training(),
        features=TINY_FEATURES,
        dictionary=TINY_DICTIONARY,
        windows=16,
        length=128,
    )


def same(first: Batch, second: Batch) -> bool:
    arrays = ("characters", "given", "true", "counts", "rows", "evidence")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays)


def test_weights_are_shares_of_characters(sources: tuple[Source, ...]) -> None:
    corpora = [Corpus(source) for source in sources]
    rows = block(corpora, [1.0, 1.0], 1000, seed=1, number=0)
    short = sum(len(row.text) for row in rows if row.key.startswith("short"))
    total = sum(len(row.text) for row in rows)
    assert 0.4 < short / total < 0.6
    assert block(corpora, [1.0, 1.0], 1000, seed=1, number=0) == rows
    assert block(corpora, [1.0, 1.0], 1000, seed=1, number=1) != rows


def test_only_rows_of_some_sources_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mixed.parquet"
    pq.write_table(pa.table({"source": ["a", "b", "a"], "text": ["one", "two", "three"]}), path)
    assert Corpus(Source(path=str(path), only=("a",))).texts.to_pylist() == ["one", "three"]
    with pytest.raises(ValueError, match="no row has a source among c"):
        Corpus(Source(path=str(path), only=("c",)))


def test_the_stream_is_the_same_every_time_and_can_be_taken_up_at_any_block(config: StreamConfig) -> None:
    first = list(islice(batches(config), 70))
    assert all(same(a, b) for a, b in zip(first, islice(batches(config), 70), strict=True))
    block_one = [batch for batch in first if batch.block == 1]
    assert block_one
    assert all(same(a, b) for a, b in zip(block_one, batches(config, first_block=1), strict=False))


def test_the_background_stream_is_that_stream(config: StreamConfig) -> None:
    background = InBackground(batches, config)
    assert all(same(a, b) for a, b in zip(islice(background, 3), batches(config), strict=False))
    background.close()


def test_a_failure_in_the_background_is_told(config: StreamConfig, tmp_path: Path) -> None:
    (tmp_path / "short.parquet").unlink()
    background = InBackground(batches, config)
    with pytest.raises(RuntimeError, match=r"the process that makes the batches failed: FileNotFoundError"):
        next(iter(background))
    background.close()


def test_packing_keeps_every_character_and_separates_rows() -> None:
    texts = ["first row", "a second row that is longer than one whole window can be " * 4, "last"]
    noisy = corrupt(texts, ["1", "2", "3"], Recipe.no_spaces(misspelling_rate=0.0), seed=1)
    characters, given, true, counts = pack(noisy, 96)
    assert "".join(map(chr, characters[characters > 0])) == "".join("".join(texts).split())
    assert not given.any()
    assert not (counts & (characters == 0)).any()
    flat = characters[0]
    assert not flat[8 : 8 + SEPARATION].any()
    assert flat[8 + SEPARATION] == ord("a")
    assert true[0, 5]
    assert not counts[0, 0]
    assert not counts[1, 0]


def test_rows_are_cut_between_words() -> None:
    noisy = corrupt([" ".join(WORDS * 4)], ["1"], Recipe.wiki(spaces_light=0.0, spaces_clean=1.0), seed=1)
    characters, _, true, _ = pack(noisy, 64)
    assert len(characters) > 3
    for window, bits in zip(characters, true, strict=True):
        text = "".join(" " * int(bit) + chr(code) for code, bit in zip(window[window > 0], bits, strict=False))
        assert set(text.split()) <= set(WORDS)


def test_what_has_no_word_that_fits_is_cut_anywhere() -> None:
    noisy = corrupt(["x" * 150], ["1"], Recipe.wiki(spaces_light=0.0, spaces_clean=1.0), seed=1)
    characters, *_ = pack(noisy, 64)
    assert (characters > 0).sum(axis=1).tolist() == [64, 64, 22]


def test_made_up_rows_depend_on_seed_and_number_alone() -> None:
    texts = [" ".join(WORDS)] * 300
    assert layout_rows(texts, 0.1, 1, 7) == layout_rows(texts, 0.1, 1, 7)
    assert len(layout_rows(texts, 0.1, 1, 7)) == 30
    assert layout_rows(texts, 0.1, 1, 7) != layout_rows(texts, 0.1, 1, 8)
    assert layout_rows(["123"], 0.1, 1, 7) == []
