"""Windows are chosen by their loss, and what they count makes up for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.fast.choice import choose, probabilities

LOSSES = st.lists(st.floats(0, 100, allow_subnormal=False), min_size=4, max_size=50)


@given(LOSSES, st.integers(1, 4))
def test_probabilities(losses: list[float], wanted: int) -> None:
    found = probabilities(np.array(losses), wanted)
    assert found.sum() == pytest.approx(wanted)
    assert 0 < found.min() <= found.max() <= 1
    assert np.all(np.diff(found[np.argsort(losses)]) >= -1e-9)


@given(LOSSES, st.integers(1, 4), st.integers(0, 100))
def test_as_many_as_wanted_and_none_twice(losses: list[float], wanted: int, seed: int) -> None:
    chosen, weights = choose(np.array(losses), wanted, np.random.default_rng(seed))
    assert len(chosen) == len(set(chosen.tolist())) == len(weights) == wanted


def test_expectations_are_those_of_all() -> None:
    random = np.random.default_rng(5)
    losses, values = random.exponential(1, 40) ** 3, random.normal(3, 1, 40)
    found = []
    for seed in range(4000):
        chosen, weights = choose(losses, 10, np.random.default_rng(seed))
        found.append((values[chosen] * weights).sum() / 10)
    assert np.mean(found) == pytest.approx(values.mean(), abs=4 * np.std(found) / np.sqrt(len(found)))
