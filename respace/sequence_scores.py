"""Scores sequence by sequence: what averages, significance tests and intervals are computed from.

>>> found = score_sequences(["thec at", "a b"], ["the cat", "a b"], ["the cat", "ab"])
>>> found.f_scores.tolist(), round(found.mean_f_score, 2), found.harm
([1.0, 0.0], 0.5, 5000.0)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits
from respace.metrics import Counts, Score

Numbers = NDArray[np.int64]
_SHOWN_LINES = 5


class CharactersDiffer(ValueError):
    """Predictions that change more than spaces; ``lines`` are their numbers, from 1."""

    def __init__(self, lines: Sequence[int], total: int):
        shown = ", ".join(map(str, lines[:_SHOWN_LINES])) + (", …" if len(lines) > _SHOWN_LINES else "")
        super().__init__(
            f"{len(lines)} of {total} predictions differ from the given text in more than their spaces: line {shown}. "
            "Expected the same characters in every line; correct or leave out these predictions"
        )
        self.lines = list(lines)


@dataclass(frozen=True)
class SequenceScores:
    """One row for each sequence.

    Attributes:
        insertions: true positives, false positives, false negatives.
        deletions: the same.
        correct: whether the whole prediction is right.
        was_correct: whether the given text was right already.
        characters: how many it has.
        words: those of the prediction that are words of the true text at the same place, those that are not, and those
            of the true text that the prediction does not have.
    """

    insertions: Numbers
    deletions: Numbers
    correct: NDArray[np.bool_]
    was_correct: NDArray[np.bool_]
    characters: Numbers
    words: Numbers

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def edits(self) -> Numbers:
        return self.insertions + self.deletions

    @property
    def f_scores(self) -> NDArray[np.float64]:
        """The F-score of each sequence; 1 where there was nothing to find and nothing was done."""
        right, wrong, missed = self.edits.T
        whole = 2 * right + wrong + missed
        return np.where(whole > 0, 2 * right / np.maximum(whole, 1), 1.0)

    @property
    def mean_f_score(self) -> float:
        """Averaged over sequences: a long one counts as much as a short one."""
        return float(self.f_scores.mean()) if len(self) else 1.0

    @property
    def harm(self) -> float:
        """False edits per 10,000 characters of the sequences that were right already."""
        characters = self.characters_of_correct_sequences
        return 1e4 * self.edits_in_correct_sequences / characters if characters else 0.0

    @property
    def edits_in_correct_sequences(self) -> int:
        return int(self.edits[self.was_correct, 1].sum())

    @property
    def characters_of_correct_sequences(self) -> int:
        return int(self.characters[self.was_correct].sum())

    def total(self) -> Score:
        return Score(
            insertions=Counts(*map(int, self.insertions.sum(axis=0))),
            deletions=Counts(*map(int, self.deletions.sum(axis=0))),
            sequences=len(self),
            correct_sequences=int(self.correct.sum()),
            characters=int(self.characters.sum()),
        )

    @property
    def total_words(self) -> Counts:
        return Counts(*map(int, self.words.sum(axis=0)))

    def subset(self, which: NDArray[np.intp]) -> SequenceScores:
        return SequenceScores(
            self.insertions[which],
            self.deletions[which],
            self.correct[which],
            self.was_correct[which],
            self.characters[which],
            self.words[which],
        )


def score_sequences(corrupt: Sequence[str], correct: Sequence[str], predicted: Sequence[str]) -> SequenceScores:
    """Scores predictions, whoever made them.

    Raises:
        ValueError: not as many predictions as sequences.
        CharactersDiffer: predictions that change characters.
    """
    if not len(corrupt) == len(correct) == len(predicted):
        raise ValueError(
            f"{len(corrupt)} given sequences, {len(correct)} correct ones, {len(predicted)} predictions: "
            "expected as many of each, one in a line"
        )
    insertions, deletions, words = (np.zeros((len(corrupt), 3), dtype=np.int64) for _ in range(3))
    right, was_right = (np.zeros(len(corrupt), dtype=bool) for _ in range(2))
    characters = np.zeros(len(corrupt), dtype=np.int64)
    changed = []
    for row, texts in enumerate(zip(corrupt, correct, predicted, strict=True)):
        (letters, given), (true_letters, true), (done_letters, done) = map(gaps.split, texts)
        if not letters == true_letters == done_letters:
            changed.append(row + 1)
            continue
        wanted, made = given != true, given != done
        for counts, kind in ((insertions, ~given), (deletions, given)):
            counts[row] = (
                np.count_nonzero(wanted & made & kind),
                np.count_nonzero(made & ~wanted & kind),
                np.count_nonzero(wanted & ~made & kind),
            )
        right[row], was_right[row] = np.array_equal(true, done), not wanted.any()
        characters[row] = len(given)
        words[row] = count_words(true, done)
    if changed:
        raise CharactersDiffer(changed, len(corrupt))
    return SequenceScores(insertions, deletions, right, was_right, characters, words)


def count_words(true: Bits, predicted: Bits) -> tuple[int, int, int]:
    """Words that are in both texts at the same place, in the predicted one only, and in the true one only.

    >>> count_words(gaps.split("the cat sat")[1], gaps.split("the catsat")[1])
    (1, 1, 2)
    """
    one, other = _words(true), _words(predicted)
    common = len(one & other)
    return common, len(other) - common, len(one) - common


def _words(bits: Bits) -> set[tuple[int, int]]:
    """Where each word begins and ends."""
    if not len(bits):
        return set()
    edges = [0, *np.flatnonzero(bits).tolist(), len(bits)]
    return set(itertools.pairwise(edges))
