"""The best way to cut runs of letters into known words: evidence that spaces were lost.

Plainer than `models.words.viterbi` (no pairs, no signs) and many times faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.words.counts import (
    FILTER_BITS,
    HASH_BASE,
    HASH_SCRAMBLE,
    LETTER,
    LONGEST_WORD,
    WordCounts,
    kinds_of,
    run_lengths,
)
from respace.gaps import Bits, Codes
from respace.loops import compiled

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
    lengths = np.minimum(room[starts], LONGEST_RUN)
    numbers = _known_words(counts, codes, room)
    scores = np.where(numbers >= 0, counts.log_shares[numbers], _NEVER)
    found_starts, found_lengths = np.empty((2, len(codes)), dtype=np.int64)
    count = _cheapest(scores, starts, lengths, found_starts, found_lengths)
    found_starts, found_lengths = found_starts[:count], found_lengths[:count]
    return Cut(found_starts, found_lengths, numbers[found_starts, found_lengths - 1].astype(np.int64))


def _known_words(counts: WordCounts, codes: Codes, room: NDArray[np.int64]) -> NDArray[np.int32]:
    """Numbers of the known words that start at each position, by length; -1 where there is none."""
    numbers = np.full((len(codes), LONGEST_WORD), -1, dtype=np.int32)
    table = counts.word_table
    _find_words(codes, room, table.keys, table.order, table.filter, numbers)
    return numbers


@compiled
def _find_words(codes: Any, room: Any, keys: Any, order: Any, known: Any, out: Any) -> None:
    """As `SortedTable.find` for all stretches of letters, with the hashes of `hash_step`."""
    for start in range(len(codes)):
        hashed = np.uint64(0)
        for length in range(1, min(LONGEST_WORD, room[start]) + 1):
            hashed = hashed * HASH_BASE + (np.uint64(codes[start + length - 1]) + np.uint64(1)) * HASH_SCRAMBLE
            if known[(hashed * HASH_BASE) >> np.uint64(64 - FILTER_BITS)]:
                place = np.searchsorted(keys, hashed)
                if place < len(keys) and keys[place] == hashed:
                    out[start, length - 1] = order[place]


@compiled
def _cheapest(scores: Any, starts: Any, lengths: Any, found_starts: Any, found_lengths: Any) -> int:
    """Viterbi over each run; writes the known words of the best ways, in order, and returns how many there are."""
    best = np.zeros(LONGEST_RUN + 1)
    length_of = np.zeros(LONGEST_RUN + 1, dtype=np.int64)
    is_known = np.zeros(LONGEST_RUN + 1, dtype=np.bool_)
    found = 0
    for run in range(len(starts)):
        start = starts[run]
        for end in range(1, lengths[run] + 1):
            best[end] = 2 * _NEVER
            for length in range(1, min(LONGEST_WORD, end) + 1):
                word = scores[start + end - length, length - 1]
                unknown = -(_UNKNOWN_WORD + _UNKNOWN_LETTER * length)
                total = best[end - length] + max(word, unknown)
                if total > best[end]:
                    best[end], length_of[end], is_known[end] = total, length, word > unknown
        first_found = found
        end = lengths[run]
        while end > 0:
            if is_known[end]:
                found_starts[found], found_lengths[found] = start + end - length_of[end], length_of[end]
                found += 1
            end -= length_of[end]
        found_starts[first_found:found] = found_starts[first_found:found][::-1].copy()
        found_lengths[first_found:found] = found_lengths[first_found:found][::-1].copy()
    return found
