"""The reader: the same in TensorFlow and on CPUs, in any company, and only where there is doubt."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.files import ModelError, ModelFiles
from models.processors import one_thread_per_product
from models.reader.model import (
    PIECES_PREFIX,
    PREFIX,
    REACH,
    Doubt,
    Reader,
    check_effort,
    quantised,
    restored,
    uncertain_gaps,
)
from models.reader.passages import MOST_GAPS, Passages, spans_around
from models.reader.processor import ReaderOnCpu
from models.reader.tokens import ASKS, OTHER, TEXT, tokens_of
from respace import gaps
from tests.models.reader.tiny import PIECES, TABLE, tiny_reader, tiny_reader_weights
from training.reader.batches import batches_of
from training.reader.passage_shards import PassageShard

CONFIG = tiny_reader()
TEXTS = ["the quick brown fox", "a lazy dog. the fox, the dog", "quickbrownfox", "the dog"]


def passages(texts: list[str], seed: int = 1) -> Passages:
    random = np.random.default_rng(seed)
    split = [gaps.split(text) for text in texts]
    lengths = [len(bits) for _, bits in split]
    offsets = np.cumsum([0, *lengths])
    asked = np.concatenate([start + np.arange(2, length, 4) for start, length in zip(offsets, lengths, strict=False)])
    bits = np.concatenate([one for _, one in split])
    return Passages(
        offsets=offsets,
        characters=np.array([ord(one) for characters, _ in split for one in characters], dtype=np.int32),
        given=bits,
        logits=np.where(bits, 3, -3).astype(np.float32),
        gaps=asked,
        layer=random.normal(size=(len(asked), 8)).astype(np.float32),
        evidence=random.normal(size=(len(asked), 7)).astype(np.float32),
        network_logits=random.normal(size=len(asked)).astype(np.float32),
    )


def test_a_gap_is_asked_with_its_other_reading() -> None:
    one = dataclasses.replace(passages(["the fox"]), gaps=np.array([3]))
    tokens = tokens_of(one, TABLE, 128)
    read = [(PIECES[piece], kind) for piece, kind in zip(tokens.pieces.tolist(), tokens.kinds.tolist(), strict=True)]
    text = [("[CLS]", TEXT), ("the", TEXT), ("fox", TEXT), ("[SEP]", TEXT)]
    assert read == [*text, ("[MASK]", ASKS), ("the", OTHER), ("##f", OTHER), ("##ox", OTHER)]
    assert tokens.positions.tolist() == [0, 1, 2, 3, 2, 1, 2, 3]
    within = dataclasses.replace(passages(["thefox"]), gaps=np.array([3]))
    tokens = tokens_of(within, TABLE, 128)
    assert [PIECES[piece] for piece in tokens.pieces[tokens.kinds == OTHER]] == ["the", "fox"]


def test_tensorflow_and_cpu_agree_and_company_does_not_matter() -> None:
    tf = pytest.importorskip("tensorflow")
    from models.reader.network import TokenBatch, corrections
    from training.reader.trainer import tensors_of

    weights = tiny_reader_weights(CONFIG)
    reader = ReaderOnCpu(CONFIG, weights, TABLE)
    together = passages(TEXTS)
    found = reader_corrections(reader, together)
    shard = PassageShard(passages=together, true=np.zeros(len(together.gaps), dtype=bool))
    (batch,) = batches_of(shard, tokens_of(together, TABLE, 128), 4096)
    tensors = {name: tf.constant(array) for name, array in weights.items()}
    by_tensorflow = corrections(CONFIG, tensors, TokenBatch(**tensors_of(batch))).numpy()
    order = np.argsort(np.diff(tokens_of(together, TABLE, 128).offsets), kind="stable")
    bounds = np.searchsorted(together.gaps, together.offsets)
    sorted_found = np.concatenate([found[bounds[one] : bounds[one + 1]] for one in order])
    np.testing.assert_allclose(sorted_found, by_tensorflow, atol=1e-5)
    assert np.abs(found).max() > 0.05
    alone = [reader_corrections(reader, shard.select(np.array([number])).passages) for number in range(len(TEXTS))]
    assert np.array_equal(np.concatenate(alone), found)


def reader_corrections(reader: ReaderOnCpu, of: Passages) -> NDArray[np.float32]:
    with one_thread_per_product():
        return reader.corrections(of)


def test_weights_are_kept_in_eight_bits() -> None:
    weights = tiny_reader_weights(CONFIG)
    kept = quantised(weights)
    assert kept["layer0/qkv"].dtype == np.int8
    again = restored(kept)
    assert again.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_allclose(again[name], array, atol=0.01)


def test_only_the_most_uncertain_gaps_near_each_other_are_read() -> None:
    """Random letters make every gap uncertain: what is read of them is bounded by their number."""
    random = np.random.default_rng(1)
    logits = random.uniform(-1, 1, 20_000).astype(np.float32)
    given = np.zeros(len(logits), dtype=bool)
    doubt = Doubt(low=-4.0, high=4.0, most_near=6)
    chosen = uncertain_gaps(doubt, given, logits, np.ones(len(logits), dtype=bool))
    assert 0 < np.count_nonzero(chosen) <= 2 * doubt.most_near * len(logits) / REACH
    # A function of what is near alone.
    part = slice(3000, 9000)
    again = uncertain_gaps(doubt, given[part], logits[part], np.ones(6000, dtype=bool))
    middle = slice(2 * REACH, 6000 - 2 * REACH)
    assert np.array_equal(again[middle], chosen[part][middle])


def test_no_gap_is_left_out_and_spans_are_bounded() -> None:
    random = np.random.default_rng(2)
    reading = random.random(3000) < 0.2
    uncertain = np.flatnonzero(random.random(3000) < 0.1)
    spans = spans_around(uncertain, reading, context=40, longest=120)
    decided = [gap for span in spans for gap in uncertain.tolist() if span.first <= gap <= span.last]
    assert decided == uncertain.tolist()
    assert all(span.stop - span.start <= 121 for span in spans)
    assert all(np.count_nonzero((uncertain >= span.first) & (uncertain <= span.last)) <= MOST_GAPS for span in spans)


def files(**changes: Any) -> ModelFiles:
    weights = tiny_reader_weights(CONFIG)
    pieces = weights.pop("pieces")
    scales = np.abs(pieces).max(0) / 127
    table = TABLE.to_weights() | {"pieces": np.round(pieces / scales).astype(np.int8), "piece_scales": scales}
    stored = {f"{PREFIX}{name}": array for name, array in quantised(weights).items()}
    stored |= {f"{PIECES_PREFIX}{name}": array for name, array in table.items()}
    doubt = {"low": -2.0, "high": 3.0, "most_near": 8}
    config = {"reader": {"network": CONFIG.to_json(), "doubt": doubt}}
    return ModelFiles(name="tiny", config=config, weights=stored | changes, sha256="0" * 64)


def test_effort_says_how_much_is_read() -> None:
    assert Reader.from_files(files(), "fast") is None
    default, thorough = Reader.from_files(files()), Reader.from_files(files(), "thorough")
    assert default is not None
    assert thorough is not None
    assert default.doubt.high < thorough.doubt.high
    with pytest.raises(ValueError, match="effort 'much': expected one of fast, default, thorough"):
        check_effort("much")


def test_a_model_without_a_reader_has_none() -> None:
    assert Reader.from_files(ModelFiles(name="old", config={}, weights={}, sha256="0" * 64)) is None


def test_weights_that_do_not_fit_are_told() -> None:
    with pytest.raises(ModelError, match="'gap/bias' of the reader"):
        Reader.from_files(files(**{f"{PREFIX}gap/bias": np.zeros(3, dtype=np.float16)}))
