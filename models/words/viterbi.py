"""Dynamic programming over words: the best way to cut text without spaces into units (see `models.words.counts`).

A unit costs -log of half its probability plus half its probability after the unit before it. A word that was never seen
may stand anywhere; it costs what its letters cost. All candidate words and pairs are looked up at once for many
sequences; what remains for each character is a handful of additions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.words.counts import (
    DIGIT,
    LETTER,
    LETTERS,
    LONGEST_WORD,
    NUMBER,
    WordCounts,
    hash_step,
    kinds_of,
    run_lengths,
    unknown_word_costs,
)
from models.words.numbers import join_numbers
from respace.gaps import Bits, Codes

# Share of words of running text that are not among the counted ones, and how much of what three letters say they cost
# is true: words are more regular than that.
UNKNOWN_SHARE = 0.3
LETTER_WEIGHT = 0.95
_DASHES = np.array([ord("–"), ord("—")], dtype=np.uint32)
# Every word has a possessive, whether it was counted or not.
_POSSESSIVE_SHARE = 0.01
_POSSESSIVES = np.array([[ord(mark), ord("s")] for mark in "'’"], dtype=np.uint32)
_NEVER = -1e30


@dataclass(frozen=True)
class Candidates:
    """Known words within texts laid one after the other: where they start and stop, and their numbers.

    A possessive has the number of its word, and a score of its own to add to the word's.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    word: NDArray[np.int64]
    more: NDArray[np.float64]


@dataclass(frozen=True)
class _Text:
    """Texts laid one after the other: what each character is, and the runs of letters that are to be cut."""

    codes: Codes
    kinds: NDArray[np.uint8]
    first: NDArray[np.bool_]
    bits: Bits
    room: NDArray[np.int64]
    run_starts: NDArray[np.int64]
    run_stops: NDArray[np.int64]


class WordSearch:
    """Cuts texts with one set of counts."""

    def __init__(self, counts: WordCounts, unknown_share: float = UNKNOWN_SHARE, letter_weight: float = LETTER_WEIGHT):
        self.counts = counts
        self.letter_weight = letter_weight
        self.log_unknown = math.log(unknown_share / 2)
        self._half = counts.word_counts / (2 * counts.total)
        self._log_half = np.log(self._half)

    @cached_property
    def _number_word(self) -> int:
        return self.counts.words.index(NUMBER) if NUMBER in self.counts.words else -1

    def best_bits(self, codes: Codes, ends: NDArray[np.int64]) -> Bits:
        """Spaces of texts laid one after the other, each up to one of the ``ends``."""
        text = self._read(codes, ends)
        text.bits[self._cuts(text)] = True
        return text.bits

    def greedy_bits(self, codes: Codes, ends: NDArray[np.int64]) -> Bits:
        """As `best_bits`, but always with the longest word."""
        text = self._read(codes, ends)
        found = self.candidates(codes, text.room)
        longest = np.zeros(len(codes), dtype=np.int64)
        np.maximum.at(longest, found.start, found.stop - found.start)
        lengths = longest.tolist()
        for start, stop in zip(text.run_starts.tolist(), text.run_stops.tolist(), strict=True):
            at = start
            while at < stop:
                text.bits[at] |= at > start and lengths[at] > 0
                at += lengths[at] or 1
        return text.bits

    def _read(self, codes: Codes, ends: NDArray[np.int64]) -> _Text:
        """What there is to decide, with the spaces beside signs decided already."""
        kinds = kinds_of(codes)
        letters = kinds == LETTER
        first = np.zeros(len(codes), dtype=bool)
        first[0], first[ends[:-1]] = True, True
        inside_run = letters & ~first
        inside_run[1:] &= letters[:-1]
        bits = self.counts.spaces_beside_signs(codes, kinds, first) & ~inside_run & ~first
        # A dash has spaces on both sides or on none; a hyphen before a number may be its sign.
        dash = np.isin(codes[:-1], _DASHES) | ((codes[:-1] == ord("-")) & (kinds[1:] != DIGIT))
        after = np.flatnonzero(dash & ~first[:-1] & ~first[1:]) + 1
        bits[after] = bits[after - 1]
        join_numbers(codes, first, bits)
        room = run_lengths(letters, first)
        run_starts = np.flatnonzero(letters & ~inside_run)
        return _Text(codes, kinds, first, bits, room, run_starts, run_starts + room[run_starts])

    def candidates(self, codes: Codes, room: NDArray[np.int64]) -> Candidates:
        """All known words; ``room`` is how many letters follow from each position on, 0 where there is none."""
        places = np.flatnonzero(room)
        hashes = np.zeros(len(places), dtype=np.uint64)
        found = []
        for length in range(1, LONGEST_WORD + 1):
            fits = room[places] >= length
            places, hashes = places[fits], hashes[fits]
            hashes = hash_step(hashes, codes[places + length - 1])
            words = self.counts.word_table.find(hashes)
            known = words >= 0
            found.append((places[known], places[known] + length, words[known]))
        start, stop, word = (np.concatenate(parts) for parts in zip(*found, strict=True))
        ended = np.pad(codes, (0, 2))
        fits = room[start] >= stop - start + 2
        possessive = fits & np.any(
            (ended[stop] == _POSSESSIVES[:, :1]) & (ended[stop + 1] == _POSSESSIVES[:, 1:]), axis=0
        )
        more = np.concatenate([np.zeros(len(start)), np.full(int(possessive.sum()), math.log(_POSSESSIVE_SHARE))])
        start = np.concatenate([start, start[possessive]])
        stop = np.concatenate([stop, stop[possessive] + 2])
        word = np.concatenate([word, word[possessive]])
        order = np.argsort(start, kind="stable")
        return Candidates(start[order], stop[order], word[order], more[order])

    def _cuts(self, text: _Text) -> list[int]:
        """Where words begin inside runs of letters."""
        found = self.candidates(text.codes, text.room)
        pairs = self._pairs(found, text.run_starts, self._units_before(text), len(text.codes))
        unknown = self._unknown_scores(text.codes, text.room)
        starts, stops = found.start.tolist(), found.stop.tolist()
        base = (self._log_half[found.word] + found.more).tolist()
        node_offsets = np.searchsorted(found.start, np.arange(len(text.codes) + 1)).tolist()
        cuts: list[int] = []
        for run_start, run_stop in zip(text.run_starts.tolist(), text.run_stops.tolist(), strict=True):
            cuts += _best_path(run_start, run_stop, starts, stops, base, node_offsets, pairs, unknown)
        return cuts

    def _units_before(self, text: _Text) -> NDArray[np.int64]:
        """The sign or number before each run, as the number of a unit; -1 where there is none or it was not counted."""
        before = np.full(len(text.run_starts), -1, dtype=np.int64)
        inner = np.flatnonzero(~text.first[text.run_starts])
        places = text.run_starts[inner] - 1
        signs = self.counts.word_table.find(hash_step(np.zeros(len(places), dtype=np.uint64), text.codes[places]))
        before[inner] = np.where(text.kinds[places] == DIGIT, self._number_word, signs)
        return before

    def _pairs(
        self, found: Candidates, run_starts: NDArray[np.int64], before: NDArray[np.int64], length: int
    ) -> list[list[tuple[int, float]]]:
        """For each candidate, those before it with which it was counted as a pair, and its score after each of them.

        The unit before a run has the number -1.
        """
        per_place = np.bincount(found.start, minlength=length + 1)
        offsets = np.concatenate([[0], np.cumsum(per_place)])
        signs = np.flatnonzero(before >= 0)
        left_node = np.concatenate([np.arange(len(found.word)), np.full(len(signs), -1)])
        left_word = np.concatenate([found.word, before[signs]])
        left_stop = np.concatenate([found.stop, run_starts[signs]])
        # A word that ends where a run begins belongs to the text before.
        begins = np.zeros(length + 1, dtype=bool)
        begins[run_starts] = True
        repeats = np.where(begins[left_stop] & (left_node >= 0), 0, per_place[left_stop])
        left = np.repeat(np.arange(len(left_node)), repeats)
        within = np.arange(len(left)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        right = offsets[left_stop[left]] + within
        numbers = self.counts.pair_table.find(self.counts.pair_keys(left_word[left], found.word[right]))
        known = numbers >= 0
        left, right, numbers = left[known], right[known], numbers[known]
        after = self.counts.pair_counts[numbers] / self.counts.word_counts[left_word[left]]
        score = np.log(self._half[found.word[right]] + np.minimum(after, 1.0) / 2) + found.more[right]
        out: list[list[tuple[int, float]]] = [[] for _ in range(len(found.word))]
        for one, its_left, its_score in zip(right.tolist(), left_node[left].tolist(), score.tolist(), strict=True):
            out[one].append((its_left, its_score))
        return out

    def _unknown_scores(self, codes: Codes, room: NDArray[np.int64]) -> list[list[float]]:
        """For each position the score of an unknown word of 1, 2, … letters that starts there."""
        scores = np.full((len(codes), LONGEST_WORD), _NEVER)
        cost = self.counts.trigrams.reshape(LETTERS, LETTERS, LETTERS)
        for length, places, costs in unknown_word_costs(cost, codes, room):
            scores[places, length - 1] = self.log_unknown - self.letter_weight * costs
        return scores.tolist()


def _best_path(
    run_start: int,
    run_stop: int,
    starts: list[int],
    stops: list[int],
    base: list[float],
    node_offsets: list[int],
    pairs: list[list[tuple[int, float]]],
    unknown: list[list[float]],
) -> list[int]:
    """Viterbi over one run of letters: where its words begin, but for the first."""
    length = run_stop - run_start
    # Best score of all ways to end at a position, and the word that ends there: a node, or (below -1) where it starts.
    best = [_NEVER] * (length + 1)
    best[0] = 0.0
    last: list[int] = [-1] * (length + 1)
    first_node = node_offsets[run_start]
    node_score = [0.0] * (node_offsets[run_stop] - first_node)
    node_before: list[int] = [-1] * len(node_score)
    for at in range(length):
        position = run_start + at
        here = best[at]
        for node in range(node_offsets[position], node_offsets[position + 1]):
            score, before = here + base[node], -1
            for left, pair_score in pairs[node]:
                # The unit before the run has no score of its own.
                other = pair_score + (node_score[left - first_node] if left >= 0 else 0.0)
                if other > score:
                    score, before = other, left
            node_score[node - first_node], node_before[node - first_node] = score, before
            stop = stops[node] - run_start
            if score > best[stop]:
                best[stop], last[stop] = score, node
        for more, score in enumerate(unknown[position][: length - at], start=at + 1):
            if here + score > best[more]:
                best[more], last[more] = here + score, -2 - at
    cuts = []
    at, node = length, last[length]
    while at > 0:
        if node < -1:  # an unknown word
            at = -2 - node
            node = last[at]
        else:
            at = starts[node] - run_start
            before = node_before[node - first_node]
            node = before if before >= 0 else last[at]
        if at > 0:
            cuts.append(run_start + at)
    return cuts
