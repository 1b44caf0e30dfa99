"""The best way to cut runs of letters into known words, for many runs at once: evidence that spaces were lost.

Plainer than `models.words.viterbi` (no pairs, no signs) and many times faster: all runs take their steps together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.words.counts import LETTER, LONGEST_WORD, WordCounts, hash_step, kinds_of, run_lengths
from respace.gaps import Bits, Codes

# Longer runs are cut off here: whether there are words in them is clear by then.
LONGEST_RUN = 64
# What an unknown word costs, and each letter of it, in logarithms of probabilities.
_UNKNOWN_WORD, _UNKNOWN_LETTER = 2.0, 3.0
_NEVER = -1e9


@dataclass(frozen=True)
class Cut:
    """Known words that were found, in order: where each starts, how long it is, its number among the counted ones."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    words: NDArray[np.int64]


def cut_into_words(counts: WordCounts, codes: Codes, first: Bits) -> Cut:
    """The known words of the cheapest way to cut every run of letters.

    Args:
        counts: which words are known, and how frequent they are.
        codes: texts laid one after the other.
        first: where texts begin.
    """
    letters = kinds_of(codes) == LETTER
    room = run_lengths(letters, first)
    begins = letters.copy()
    begins[1:] &= ~letters[:-1] | first[1:]
    starts = np.flatnonzero(begins)
    if not len(starts):
        return Cut(starts, starts, starts)
    starts = starts[np.argsort(-room[starts], kind="stable")]
    lengths = np.minimum(room[starts], LONGEST_RUN)
    numbers = _known_words(counts, codes, room)
    scores = np.where(numbers >= 0, counts.log_shares[numbers], _NEVER)
    found_starts, found_lengths = _cheapest(scores, starts, lengths)
    return Cut(found_starts, found_lengths, numbers[found_starts, found_lengths - 1].astype(np.int64))


def _known_words(counts: WordCounts, codes: Codes, room: NDArray[np.int64]) -> NDArray[np.int32]:
    """Numbers of the known words that start at each position, by length; -1 where there is none."""
    numbers = np.full((len(codes), LONGEST_WORD), -1, dtype=np.int32)
    places = np.flatnonzero(room)
    hashes = np.zeros(len(places), dtype=np.uint64)
    for length in range(1, LONGEST_WORD + 1):
        fits = room[places] >= length
        places, hashes = places[fits], hashes[fits]
        hashes = hash_step(hashes, codes[places + length - 1])
        numbers[places, length - 1] = counts.word_table.find(hashes)
    return numbers


def _cheapest(
    scores: NDArray[np.float64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Viterbi over all runs, the longest first; the known words of the best ways, as (starts, lengths)."""
    longest = int(lengths[0])
    active = np.searchsorted(-lengths, -np.arange(longest + 2), side="right")
    unknown = -(_UNKNOWN_WORD + _UNKNOWN_LETTER * np.arange(1, LONGEST_WORD + 1))
    best = np.full((len(starts), longest + LONGEST_WORD + 1), 2 * _NEVER)
    best[:, LONGEST_WORD] = 0.0
    length_of = np.zeros((len(starts), longest + 1), dtype=np.int64)
    is_known = np.zeros((len(starts), longest + 1), dtype=bool)
    back = np.arange(1, LONGEST_WORD + 1)
    for step in range(1, longest + 1):
        count = active[step]
        at = np.maximum(starts[:count, None] + step - back, 0)
        words = scores[at, back - 1]
        known = words > unknown
        total = best[:count, step + LONGEST_WORD - back] + np.where(known, words, unknown)
        choice = total.argmax(1)
        rows = np.arange(count)
        best[:count, step + LONGEST_WORD] = total[rows, choice]
        length_of[:count, step] = choice + 1
        is_known[:count, step] = known[rows, choice]
    found_starts, found_lengths = [], []
    at = lengths.copy()
    rows = np.arange(len(starts))
    while len(rows):
        ends = at[rows]
        length = length_of[rows, ends]
        known = is_known[rows, ends]
        found_starts.append((starts[rows] + ends - length)[known])
        found_lengths.append(length[known])
        at[rows] = ends - length
        rows = rows[at[rows] > 0]
    order = np.argsort(np.concatenate(found_starts), kind="stable")
    return np.concatenate(found_starts)[order], np.concatenate(found_lengths)[order]
