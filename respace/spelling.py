"""Spelling after repair (§5.2.2 of the paper): which words are wrong and why, and how many of them a corrector rights.

A token of the true text is *wrong* if it is not in the longest common token subsequence of the true and the given text.
It is *corrected* if it is in that of the true and the predicted text. A token of the prediction that is in neither, of
the prediction with the true and with the given text, is a *false* correction.

>>> count_corrections("Tispa per isabout", "This paper is about", "This paper isabout")
Counts(true_positives=2, false_positives=0, false_negatives=2)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.metrics import Counts

Flags = NDArray[np.bool_]


class ErrorClass(StrEnum):
    """Why a token is wrong: its spaces, its letters, or both."""

    TOKENIZATION = "tokenization"
    SPELLING = "spelling"
    MIXED = "mixed"


@dataclass
class SpellingScore:
    """Corrections of all errors, and how many errors of each class there were and were corrected."""

    counts: Counts = field(default_factory=Counts)
    wrong: dict[ErrorClass, int] = field(default_factory=lambda: dict.fromkeys(ErrorClass, 0))
    corrected: dict[ErrorClass, int] = field(default_factory=lambda: dict.fromkeys(ErrorClass, 0))

    @property
    def f_score(self) -> float:
        return self.counts.f_score

    @property
    def misspelled_corrected(self) -> float:
        """The paper's column: the share of spelling and mixed errors that were corrected."""
        classes = (ErrorClass.SPELLING, ErrorClass.MIXED)
        whole = sum(self.wrong[one] for one in classes)
        return sum(self.corrected[one] for one in classes) / whole if whole else 1.0


def common_tokens(one: Sequence[str], other: Sequence[str]) -> tuple[Flags, Flags]:
    """Which tokens of each are in a longest common subsequence.

    >>> [flags.tolist() for flags in common_tokens("a b c".split(), "a x c".split())]
    [[True, False, True], [True, False, True]]
    """
    start, stop = 0, 0  # what is equal at both ends is common, and most texts are mostly equal
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    while stop < min(len(one), len(other)) - start and one[-1 - stop] == other[-1 - stop]:
        stop += 1
    first, second = np.ones(len(one), dtype=bool), np.ones(len(other), dtype=bool)
    inner_one, inner_other = one[start : len(one) - stop], other[start : len(other) - stop]
    first[start : len(one) - stop], second[start : len(other) - stop] = _common(inner_one, inner_other)
    return first, second


def _common(one: Sequence[str], other: Sequence[str]) -> tuple[Flags, Flags]:
    lengths = np.zeros((len(one) + 1, len(other) + 1), dtype=np.int32)
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in other], dtype=np.int64)
    for row, token in enumerate(one, start=1):
        equal = codes == numbers.get(token, -1)
        # Best of going on from the left above, or from above; what comes from the left is a running maximum.
        lengths[row, 1:] = np.maximum.accumulate(np.maximum(lengths[row - 1, 1:], lengths[row - 1, :-1] + equal))
    first, second = np.zeros(len(one), dtype=bool), np.zeros(len(other), dtype=bool)
    row, column = len(one), len(other)
    while row and column:
        if one[row - 1] == other[column - 1]:
            first[row - 1] = second[column - 1] = True
            row, column = row - 1, column - 1
        elif lengths[row - 1, column] >= lengths[row, column - 1]:
            row -= 1
        else:
            column -= 1
    return first, second


def token_errors(corrupt: str, correct: str, spelled: str) -> tuple[Flags, Flags]:
    """Which tokens of the correctly spaced text have wrong spaces in them or beside them, and which are misspelled."""
    given, true = gaps.split(corrupt)[1], gaps.split(correct)[1]
    wrong = given != true
    tokens = correct.split()
    starts = np.concatenate([[0], np.flatnonzero(true)])
    # A token is touched by the gaps before, in and after it; the gap after it is the one before the next.
    before = np.concatenate([[0], np.cumsum(wrong)])
    stops = np.concatenate([starts[1:] + 1, [len(wrong)]])
    touched = before[np.minimum(stops, len(wrong))] > before[starts] if tokens else np.zeros(0, dtype=bool)
    return touched, _misspelled(tokens, spelled.split())


def _misspelled(tokens: list[str], spelled: list[str]) -> Flags:
    if len(tokens) == len(spelled):
        return np.array([one != other for one, other in zip(tokens, spelled, strict=True)], dtype=bool)
    found = np.ones(len(tokens), dtype=bool)
    for match in SequenceMatcher(None, tokens, spelled, autojunk=False).get_matching_blocks():
        found[match.a : match.a + match.size] = False
    return found


def true_token_classes(corrupt: str, correct: str, spelled: str) -> list[ErrorClass | None]:
    """For every token of the true text (correct spaces and spelling): what is wrong with it in the given text.

    >>> [str(one) for one in true_token_classes("Tispa per is", "Tis paper is", "This paper is")]
    ['mixed', 'tokenization', 'None']
    """
    touched, misspelled = token_errors(corrupt, correct, spelled)
    tokens, truth = correct.split(), spelled.split()
    if len(tokens) == len(truth):
        return [_class(bool(t), bool(m)) for t, m in zip(touched, misspelled, strict=True)]
    found: list[ErrorClass | None] = []
    for _, a, a_end, b, b_end in SequenceMatcher(None, tokens, truth, autojunk=False).get_opcodes():
        for place in range(b_end - b):
            here = slice(a + place, a + place + 1) if a_end - a == b_end - b else slice(a, a_end)
            found.append(_class(bool(touched[here].any()), tokens[here] != truth[b + place : b + place + 1]))
    return found


def _class(touched: bool, misspelled: bool) -> ErrorClass | None:
    if touched:
        return ErrorClass.MIXED if misspelled else ErrorClass.TOKENIZATION
    return ErrorClass.SPELLING if misspelled else None


def count_corrections(given: str, truth: str, predicted: str) -> Counts:
    """Words that were wrong and are right, that were made wrong, and that are still wrong."""
    return _corrections(given, truth, predicted)[0]


def _corrections(given: str, truth: str, predicted: str) -> tuple[Counts, Flags, Flags]:
    given_tokens, true_tokens, tokens = given.split(), truth.split(), predicted.split()
    wrong = ~common_tokens(true_tokens, given_tokens)[0]
    right, matched = common_tokens(true_tokens, tokens)
    kept = common_tokens(tokens, given_tokens)[0]
    corrected = wrong & right
    false = int(np.count_nonzero(~matched & ~kept))
    return Counts(int(corrected.sum()), false, int(wrong.sum() - corrected.sum())), wrong, corrected


def score_spelling(
    corrupt: Iterable[str], correct: Iterable[str], spelled: Iterable[str], predicted: Iterable[str]
) -> SpellingScore:
    """Scores corrected texts against the true ones."""
    score = SpellingScore()
    for given, spaced, truth, done in zip(corrupt, correct, spelled, predicted, strict=True):
        counts, wrong, corrected = _corrections(given, truth, done)
        score.counts += counts
        classes = true_token_classes(given, spaced, truth)
        for place in np.flatnonzero(wrong):
            # A word between two wrong ones may be left out of the subsequence although nothing is wrong with it.
            kind = classes[place] or ErrorClass.TOKENIZATION
            score.wrong[kind] += 1
            score.corrected[kind] += bool(corrected[place])
    return score
