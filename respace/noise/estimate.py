"""Estimates the parameters of the noise from counted errors and from pairs of corrupt and correct text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from respace import gaps
from respace.noise.confusions import MAX_LENGTH, Confusion
from respace.noise.errors import ErrorCounts
from respace.noise.gap_model import GapModel
from respace.noise.parameters import HYPHEN_FORMS, OcrParameters
from respace.noise.rows import Rows

_ROUNDS = 3
# A factor of a character starts as if it had been seen this often with nothing special about it.
_PRIOR = 3.0


def insertion_factors(counts: ErrorCounts) -> tuple[dict[str, float], dict[str, float]]:
    """How much more often a space is inserted after a character and before one; about 1 where little was seen."""
    seen, inserted = counts.gaps_inside_words, counts.insertions_inside_words
    mean = inserted.total() / max(1, seen.total())
    factors: tuple[dict[str, float], dict[str, float]] = ({}, {})
    # Each side is fitted with the other held fixed; a few rounds are enough for two factors to settle.
    for side in (1, 0) * _ROUNDS:
        other = factors[1 - side]
        expected: dict[str, float] = {}
        found: Counter[str] = Counter()
        for pair, times in seen.items():
            before = expected.get(pair[side], 0.0)
            expected[pair[side]] = before + times * mean * other.get(pair[1 - side], 1.0)
        for pair, times in inserted.items():
            found[pair[side]] += times
        factors[side].clear()
        for character, count in expected.items():
            factors[side][character] = (found[character] + _PRIOR) / (count + _PRIOR)
    return factors


def occurrences(texts: Iterable[str], sides: Iterable[str]) -> dict[str, float]:
    """How often each of these strings occurs inside the words of a text, per character."""
    wanted = {side for side in sides if side}
    counts: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for text in texts:
        words.update(text.split())
    for word, times in words.items():
        for length in range(1, MAX_LENGTH + 1):
            for start in range(len(word) - length + 1):
                counts[word[start : start + length]] += times
    total = sum(len(word) * times for word, times in words.items())
    return {side: counts[side] / total for side in sorted(wanted) if counts[side]}


def estimate_ocr(
    counts: ErrorCounts, more_confusions: Iterable[Confusion], texts: Iterable[str], *, most_frequent: int = 4000
) -> OcrParameters:
    """The error model of these counts.

    Args:
        counts: of `count_errors`.
        more_confusions: of another source; both are added up.
        texts: ordinary correct text, to tell how often what can be misread occurs.
        most_frequent: so many confusions are kept.
    """
    table = Counter(counts.confusions)
    for correct, wrong, frequency in more_confusions:
        table[correct, wrong] += frequency
    frequent = sorted(table.items(), key=lambda entry: (-entry[1], entry[0]))[:most_frequent]
    confusions = tuple(Confusion(correct, wrong, frequency) for (correct, wrong), frequency in frequent)
    return OcrParameters(
        hyphenation_rate=counts.hyphenation_rate,
        hyphen_forms=tuple(counts.hyphens[form] for form in HYPHEN_FORMS),
        span_start_rate=counts.span_start_rate,
        span_lengths=np.array([span.tokens for span in counts.spans], dtype=np.int64),
        span_insertion_rates=np.array([span.insertion_rate for span in counts.spans]),
        span_deletion_rates=np.array([span.deletion_rate for span in counts.spans]),
        span_replacement_rates=np.array([span.replacement_rate for span in counts.spans]),
        insertion_factors=insertion_factors(counts),
        confusions=confusions,
        occurrences=occurrences(texts, (confusion.correct for confusion in confusions)),
    )


def fit_gap_model(pairs: Sequence[tuple[str, str]]) -> GapModel:
    """The gap model of (corrupt text, correct text) pairs that differ only in spaces."""
    for number, (corrupt, correct) in enumerate(pairs, start=1):
        if gaps.split(corrupt)[0] != gaps.split(correct)[0]:
            raise ValueError(
                f"pair {number}: {corrupt[:60]!r} and {correct[:60]!r} differ in more than spaces. "
                "The gap model needs pairs with the same characters"
            )
    keys = [""] * len(pairs)
    rows = Rows.of([correct for _, correct in pairs], keys, seed=0)
    return GapModel.fit(rows, Rows.of([corrupt for corrupt, _ in pairs], keys, seed=0).bits)
