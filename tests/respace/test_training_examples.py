"""Arrow columns of examples hold exactly what the noise made."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from respace.gaps import code_points
from respace.noise import NOISE_KINDS, Corrupted
from respace.training_examples import SCHEMA, to_record_batch, unpack_bits


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=8), st.randoms(use_true_random=False))
def test_columns_and_back(texts: list[str], random) -> None:  # type: ignore[no-untyped-def]
    codes = code_points("".join(texts))
    true_bits = np.array([random.random() < 0.5 for _ in codes], dtype=bool)
    given_bits = np.array([random.random() < 0.5 for _ in codes], dtype=bool)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    kinds = np.array([number % len(NOISE_KINDS) for number in range(len(texts))], dtype=np.uint8)
    noisy = Corrupted(characters=codes, true_bits=true_bits, given_bits=given_bits, offsets=offsets, kinds=kinds)
    batch = to_record_batch(noisy, [f"row {number}" for number in range(len(texts))])
    batch.validate(full=True)
    assert batch.schema == SCHEMA
    for number, row in enumerate(batch.to_pylist()):
        part = slice(offsets[number], offsets[number + 1])
        assert row["characters"] == texts[number]
        assert np.array_equal(unpack_bits(row["true_bits"], len(texts[number])), true_bits[part])
        assert np.array_equal(unpack_bits(row["given_bits"], len(texts[number])), given_bits[part])
        assert row["noise_kind"] == NOISE_KINDS[number % len(NOISE_KINDS)]
        assert row["source_id"] == f"row {number}"
