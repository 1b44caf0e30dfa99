"""The randomization test against slow references, and how fast it is."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest

from respace.sequence_scores import SequenceScores
from respace.significance import bootstrap_interval, draw_swaps, randomization_test


def drawn(sequences: int, seed: int, quality: float = 0.7) -> SequenceScores:
    source = np.random.default_rng(seed)
    wanted = source.integers(0, 6, sequences)
    right = source.binomial(wanted, quality)
    edits = np.stack([right, source.integers(0, 3, sequences), wanted - right], axis=1).astype(np.int64)
    correct = (edits[:, 1] == 0) & (edits[:, 2] == 0)
    return SequenceScores(
        edits, np.zeros_like(edits), correct, wanted == 0, np.full(sequences, 50), np.zeros_like(edits)
    )


def slow_figure(scores: list[SequenceScores], chosen: list[int], figure: str) -> float:
    rows = [(one, number) for number, one in enumerate(chosen)]
    if figure == "sequence_accuracy":
        return sum(bool(scores[one].correct[number]) for one, number in rows) / len(rows)
    right, wrong, missed = (sum(int(scores[one].edits[number, part]) for one, number in rows) for part in range(3))
    return 2 * right / (2 * right + wrong + missed) if right + wrong + missed else 1.0


def slow_difference(scores: list[SequenceScores], swaps: list[int], figure: str) -> float:
    other = [1 - swap for swap in swaps]
    return abs(slow_figure(scores, swaps, figure) - slow_figure(scores, other, figure))


@pytest.mark.parametrize("figure", ["f_score", "sequence_accuracy"])
@pytest.mark.parametrize("seed", range(3))
def test_all_swaps_counted_one_by_one(figure: str, seed: int) -> None:
    scores = [drawn(10, seed, 0.9), drawn(10, seed + 100, 0.4)]
    observed = slow_difference(scores, [0] * 10, figure)
    every = [slow_difference(scores, list(swaps), figure) for swaps in itertools.product([0, 1], repeat=10)]
    exact = sum(one >= observed - 1e-12 for one in every) / len(every)
    assert randomization_test(scores[0], scores[1], figure=figure) == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("figure", ["f_score", "sequence_accuracy"])
def test_the_same_swaps_give_the_same_p(figure: str) -> None:
    scores = [drawn(60, 1), drawn(60, 2)]
    column = "correct" if figure == "sequence_accuracy" else "edits"
    differs = [row for row in range(60) if not np.array_equal(*(getattr(one, column)[row] for one in scores))]
    observed = slow_difference(scores, [0] * 60, figure)
    reached = 0
    for swapped in itertools.chain.from_iterable(draw_swaps(len(differs), 500, seed=7)):
        swaps = [0] * 60
        for row, swap in zip(differs, swapped, strict=True):
            swaps[row] = int(swap)
        reached += slow_difference(scores, swaps, figure) >= observed - 1e-12
    assert randomization_test(scores[0], scores[1], figure=figure, permutations=500, seed=7) == (reached + 1) / 501


def test_equal_methods_do_not_differ_and_different_ones_do() -> None:
    good, bad = drawn(500, 1, 0.95), drawn(500, 2, 0.3)
    assert randomization_test(good, good) == 1
    assert randomization_test(good, bad) < 0.001
    assert randomization_test(good, bad) == randomization_test(good, bad)


def test_ten_thousand_permutations_of_ten_thousand_sequences() -> None:
    one, other = drawn(10_000, 1), drawn(10_000, 2)
    began = time.process_time()
    randomization_test(one, other)
    assert time.process_time() - began < 5


def test_the_interval_is_that_of_a_slow_bootstrap() -> None:
    scores = drawn(200, 3)
    source = random.Random(0)
    slow = sorted(slow_figure([scores], [0] * 200, "f_score") for _ in range(1))
    resampled = []
    for _ in range(600):
        rows = np.array([source.randrange(200) for _ in range(200)])
        resampled.append(scores.subset(rows).total().f_score)
    low, high = bootstrap_interval(scores)
    assert low < slow[0] < high
    assert [low, high] == pytest.approx(list(np.quantile(resampled, [0.025, 0.975])), abs=0.015)


def test_different_sequences_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="10 and 20 sequences: expected the same"):
        randomization_test(drawn(10, 1), drawn(20, 1))
