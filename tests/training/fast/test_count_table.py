from __future__ import annotations

import numpy as np
import pytest

from models.fast.features import Features
from respace import gaps
from training.fast.count_table import count_table

FEATURES = Features(ngrams=((3, 1 << 16),), straddles=(), word_rows=1 << 16)


def test_counts_by_hand() -> None:
    table = count_table(FEATURES, 6, ["the cat the", "the"])
    characters, bits = gaps.split("the cat the")
    rows = FEATURES(gaps.code_points(characters).astype(np.int32), bits)
    the = table[rows[0, 0]]
    assert the[-1] == pytest.approx(0.125 * np.log1p(3))
    # Three times "the", always with an edge before and after it, never with a space inside.
    assert the[0] > 0.2
    assert the[3] > 0.2
    assert the[1] < 0
    assert the[2] < 0
    assert table[FEATURES.word_row(gaps.code_points("the")), -1] == pytest.approx(0.125 * np.log1p(3))
    assert table[FEATURES.word_row(gaps.code_points("dog")), -1] == 0


def test_rows_must_be_wide_enough() -> None:
    with pytest.raises(ValueError, match="row width 4: expected at least the longest n-gram"):
        count_table(FEATURES, 4, ["a"])
