"""Pieces of rows, and the assignment of rows to shards."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms.formats.rows import Row
from transforms.training_shards import MAX_ROW_CHARACTERS, pieces, shard_of


@given(st.lists(st.text("ab é", min_size=1, max_size=3000), max_size=8).map(" ".join))
def test_long_rows_are_cut_at_blanks_and_nothing_is_lost(text: str) -> None:
    found = list(pieces(Row("k", text)))
    assert "".join(piece for _, piece in found).replace(" ", "") == text.replace(" ", "")
    assert all(0 < len(piece) <= MAX_ROW_CHARACTERS for _, piece in found)
    assert len({key for key, _ in found}) == len(found)
    if len(text.strip()) <= MAX_ROW_CHARACTERS:
        assert [key for key, _ in found] == ["k"] * bool(text.strip())


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(1, 5000))
def test_shards_are_ranges_of_hashes(hashes: list[int], shards: int) -> None:
    found = shard_of(np.array(sorted(hashes), dtype=np.uint64), shards)
    assert found.min() >= 0
    assert found.max() < shards
    assert np.all(np.diff(found) >= 0)


def test_shards_are_of_even_size() -> None:
    hashes = np.random.default_rng(0).integers(0, 2**64, size=100_000, dtype=np.uint64)
    counts = np.bincount(shard_of(hashes, 10), minlength=10)
    assert counts.min() > 9_500
    assert counts.max() < 10_500
