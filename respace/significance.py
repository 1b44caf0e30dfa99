"""Is a difference between two methods more than chance? The paper's test, and intervals.

Two-sided paired randomization test: if two methods were equally good, it would not matter which of the two made which
prediction. So the predictions of each sequence are swapped or not, at random, many times; p is the share of these draws
in which the scores differ at least as much as they really do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from respace.sequence_scores import SequenceScores

PERMUTATIONS = 10_000
RESAMPLES = 1_000
LEVEL = 0.01  # what the paper calls significant
_DRAWN_AT_ONCE = 1 << 22
Sums = NDArray[np.float64]
Statistic = Callable[[Sums], Sums]


def f_score(sums: Sums) -> Sums:
    """Micro F-score of rows of true positives, false positives, false negatives."""
    right, wrong, missed = np.moveaxis(sums, -1, 0)
    whole = 2 * right + wrong + missed
    return np.where(whole > 0, 2 * right / np.maximum(whole, 1), 1.0)


def mean(sums: Sums) -> Sums:
    """A mean over sequences, whose number is the last column."""
    return np.asarray(sums[..., 0] / np.maximum(sums[..., -1], 1))


def columns(scores: SequenceScores, figure: str) -> tuple[NDArray[np.float64], Statistic]:
    """What is added up over sequences for a figure, and how the figure is made of the sums."""
    ones = np.ones(len(scores))
    if figure == "f_score":
        return scores.edits.astype(np.float64), f_score
    if figure == "sequence_accuracy":
        return np.stack([scores.correct, ones], axis=1), mean
    if figure == "mean_f_score":
        return np.stack([scores.f_scores, ones], axis=1), mean
    raise ValueError(f"unknown figure {figure!r}: expected f_score, sequence_accuracy or mean_f_score")


def randomization_test(
    one: SequenceScores, other: SequenceScores, figure: str = "f_score", permutations: int = PERMUTATIONS, seed: int = 0
) -> float:
    """The p-value of the difference between two methods on the same sequences.

    Raises:
        ValueError: the two are not about the same sequences.
    """
    if len(one) != len(other):
        raise ValueError(f"{len(one)} and {len(other)} sequences: expected the same sequences for both methods")
    (first, statistic), (second, _) = columns(one, figure), columns(other, figure)
    difference = second - first
    differs = np.flatnonzero(difference.any(axis=1))  # swapping equals changes nothing
    sums, changes = np.stack([first.sum(axis=0), second.sum(axis=0)]), difference[differs]
    observed = _distance(statistic, sums[0], sums[1])
    reached = 0
    for swapped in draw_swaps(len(differs), permutations, seed):
        moved = swapped @ changes
        reached += int(np.sum(_distance(statistic, sums[0] + moved, sums[1] - moved) >= observed - 1e-12))
    return (reached + 1) / (permutations + 1)


def draw_swaps(sequences: int, permutations: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Which sequences are swapped: rows of zeros and ones, some draws at a time."""
    random = np.random.default_rng(seed)
    at_once = max(1, _DRAWN_AT_ONCE // max(1, sequences))
    for start in range(0, permutations, at_once):
        draws = min(at_once, permutations - start)
        packed = random.integers(0, 256, size=(draws, (sequences + 7) // 8), dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=sequences).astype(np.float64)


def bootstrap_interval(
    scores: SequenceScores,
    figure: str = "f_score",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """Where a figure would lie if other sequences of the same kind had been drawn."""
    rows, statistic = columns(scores, figure)
    if not len(rows):
        return (0.0, 1.0)
    # Which of several equal sequences was drawn does not matter, only how many of them.
    kinds, numbers = np.unique(rows, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(rows), numbers / len(rows), size=resamples)
    low, high = np.quantile(statistic(drawn @ kinds), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _distance(statistic: Statistic, one: Sums, other: Sums) -> Sums:
    return np.abs(statistic(one) - statistic(other))
