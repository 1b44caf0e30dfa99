"""Held-out parts have exact sizes, and do not depend on how the collection was read."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace.splits import choose_splits, lowest


@given(
    hashes=st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=60),
    sizes=st.lists(st.integers(0, 10), min_size=1, max_size=4),
    parts=st.integers(1, 5),
)
def test_exact_sizes_from_the_lowest_of_each_part(hashes: set[int], sizes: list[int], parts: int) -> None:
    named = {f"part {number}": size for number, size in enumerate(sizes)}
    everything = np.array(sorted(hashes), dtype=np.uint64)
    if sum(sizes) > len(hashes):
        with pytest.raises(ValueError, match="to be held out"):
            choose_splits(everything, named)
        return
    pieces = [lowest(everything[start::parts], sum(sizes)) for start in range(parts)]
    splits = choose_splits(np.concatenate(pieces), named)
    assert splits == choose_splits(everything, named)
    found = Counter(splits.name(one) for one in hashes)
    assert {name: found[name] for name in named} == named
    assert found["train"] == len(hashes) - sum(sizes)
