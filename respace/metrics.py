"""The paper's two metrics: micro F-score over space edits, and sequence accuracy; and counts per kind of edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from respace.gaps import Bits, split


@dataclass(frozen=True, slots=True)
class Counts:
    """Edits that were right, wrong and missed. Counts of many sequences add up."""

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.true_positives + other.true_positives,
            self.false_positives + other.false_positives,
            self.false_negatives + other.false_negatives,
        )

    @property
    def precision(self) -> float:
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f_score(self) -> float:
        """Harmonic mean of precision and recall; 1 where there was nothing to find and nothing was done."""
        return _ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)


@dataclass(frozen=True, slots=True)
class Score:
    """How well sequences were repaired."""

    insertions: Counts = Counts()
    deletions: Counts = Counts()
    sequences: int = 0
    correct_sequences: int = 0
    characters: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.insertions + other.insertions,
            self.deletions + other.deletions,
            self.sequences + other.sequences,
            self.correct_sequences + other.correct_sequences,
            self.characters + other.characters,
        )

    @property
    def edits(self) -> Counts:
        return self.insertions + self.deletions

    @property
    def f_score(self) -> float:
        return self.edits.f_score

    @property
    def sequence_accuracy(self) -> float:
        return _ratio(self.correct_sequences, self.sequences)

    @property
    def false_edits_per_10000_characters(self) -> float:
        return 1e4 * self.edits.false_positives / self.characters if self.characters else 0.0


def score_bits(given: Bits, correct: Bits, predicted: Bits) -> Score:
    """Scores one sequence by its gap bits."""

    def count(wanted: Bits, done: Bits) -> Counts:
        return Counts(int(np.sum(wanted & done)), int(np.sum(done & ~wanted)), int(np.sum(wanted & ~done)))

    return Score(
        insertions=count(~given & correct, ~given & predicted),
        deletions=count(given & ~correct, given & ~predicted),
        sequences=1,
        correct_sequences=int(np.array_equal(correct, predicted)),
        characters=len(given),
    )


def score_texts(corrupt: Iterable[str], correct: Iterable[str], predicted: Iterable[str]) -> Score:
    """Scores predictions against the truth.

    Raises:
        ValueError: the three texts of a sequence do not have the same characters; repair may only move spaces.
    """
    total = Score()
    for number, texts in enumerate(zip(corrupt, correct, predicted, strict=True), start=1):
        (characters, given), (correct_characters, truth), (predicted_characters, bits) = map(split, texts)
        if not characters == correct_characters == predicted_characters:
            raise ValueError(f"sequence {number}: corrupt, correct and predicted text differ in more than their spaces")
        total += score_bits(given, truth, bits)
    return total


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 1.0
