"""What a dictionary says of each gap: the log odds that a word begins there.

A run of letters can be cut into words in many ways. Each way is as probable as its words are frequent; words that are
in no dictionary are as probable as their letters. The sum over all ways that have a cut at a gap, against all others,
is the evidence for a space there: so neighbouring gaps are judged together, over whole words, by counts of the whole
corpus. Pure NumPy; all runs of letters of many texts take their steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.fast.features import FOLD_CASE
from models.files import ModelError, Weights
from models.words.counts import (
    LETTER,
    LETTERS,
    LONGEST_WORD,
    SortedTable,
    from_logs,
    hash_step,
    kinds_of,
    run_lengths,
    to_logs,
    unknown_word_costs,
    word_hashes,
)
from respace.gaps import Bits, Codes

# Evidence from the letters alone, and with each given space (or none) counted as evidence for itself.
KINDS = 2
GIVEN_EVIDENCE = 3.0
# Longer runs of letters are cut: a bound on how far a decision looks, and on how small probabilities can get.
LONGEST_RUN = 160
# Share of words of running text that are not in the dictionary, and how much of what three letters say is true.
_UNKNOWN_SHARE = 0.3
_LETTER_WEIGHT = 0.95
# About the evidence that each letter costs, put back so that products of probabilities stay of one size.
_PER_LETTER = 2.2
_LARGEST_ODDS = 12.0
_SCALE = 0.25
_KEYS, _COUNTS, _TOTAL, _LETTER_COSTS = "dictionary/keys", "dictionary/counts", "dictionary/total", "dictionary/letters"
_COST_STEP = 16.0


@dataclass(frozen=True, kw_only=True)
class Dictionary:
    """Words by the hash of their small letters, their counts, and the cost of letters in unknown words."""

    keys: NDArray[np.uint64]
    counts: NDArray[np.uint8]  # logarithms, see `to_logs`
    total: float
    letters: NDArray[np.uint8]  # -log p(third | two before) in sixteenths, LETTERS cubed

    @classmethod
    def of(cls, counts: dict[str, int], total: float, letter_costs: NDArray[np.float64]) -> Dictionary:
        """From counts of words in small letters."""
        keys = word_hashes(list(counts))
        order = np.argsort(keys)
        return cls(
            keys=keys[order],
            counts=to_logs(np.array(list(counts.values()), dtype=np.float64))[order],
            total=total,
            letters=np.clip(np.round(letter_costs * _COST_STEP), 0, 255).astype(np.uint8).reshape(-1),
        )

    @classmethod
    def from_weights(cls, weights: Weights) -> Dictionary:
        """From the weights of a model.

        Raises:
            ModelError: they hold no dictionary, or not a whole one.
        """
        for name in (_KEYS, _COUNTS, _TOTAL, _LETTER_COSTS):
            if name not in weights:
                raise ModelError(f"weights hold nothing for {name!r}: expected the dictionary of a FAST model")
        if len(weights[_KEYS]) != len(weights[_COUNTS]) or weights[_LETTER_COSTS].size != LETTERS**3:
            raise ModelError(f"weights hold {len(weights[_KEYS])} words and {len(weights[_COUNTS])} counts of them")
        return cls(
            keys=weights[_KEYS],
            counts=weights[_COUNTS],
            total=float(weights[_TOTAL][0]),
            letters=weights[_LETTER_COSTS],
        )

    def to_weights(self) -> Weights:
        return {
            _KEYS: self.keys,
            _COUNTS: self.counts,
            _TOTAL: np.array([self.total]),
            _LETTER_COSTS: self.letters,
        }

    @cached_property
    def _table(self) -> SortedTable:
        return SortedTable(self.keys)

    @cached_property
    def _log_shares(self) -> NDArray[np.float64]:
        return np.log(from_logs(self.counts) / self.total)

    @cached_property
    def _costs(self) -> NDArray[np.float32]:
        return (self.letters.reshape(LETTERS, LETTERS, LETTERS) * (_LETTER_WEIGHT / _COST_STEP)).astype(np.float32)

    def evidence(self, characters: NDArray[np.int32], bits: Bits, true_bits: Bits | None = None) -> NDArray[np.float32]:
        """Scaled log odds of a space for each gap; 0 for gaps that are not between two letters.

        Args:
            characters: code points of texts laid one after the other, with 0 between them.
            bits: their given gap bits.
            true_bits: in training, the correct ones: words of the text at hand are counted once less, because text that
                was never counted does not have them either.

        Returns:
            ``[positions, KINDS]``.
        """
        runs = _Runs.of(characters)
        out = np.zeros((len(characters), KINDS), dtype=np.float32)
        if not len(runs.starts):
            return out
        folded = FOLD_CASE(characters).astype(np.uint32)
        weights = self._unknown_words(folded, runs.room)
        self._add_known_words(weights, folded, runs)
        if true_bits is not None:
            self._hold_out(weights, folded, runs, true_bits)
        given = np.where(bits, np.exp(GIVEN_EVIDENCE), np.exp(-GIVEN_EVIDENCE))
        boundary = np.stack([np.ones(len(bits)), np.where(runs.inside, given, 1.0)])
        probability = _boundary_probabilities(weights, runs, boundary)
        limit = 1 / (1 + np.exp(_LARGEST_ODDS))
        probability = np.clip(probability, limit, 1 - limit)
        odds = np.log(probability) - np.log1p(-probability)
        out[runs.inside] = (_SCALE * odds[:, runs.inside]).T
        return out

    def _unknown_words(self, codes: Codes, room: NDArray[np.int64]) -> NDArray[np.float32]:
        """The weight of an unknown word of 1, 2, … letters that starts at each position."""
        weights = np.zeros((len(codes), LONGEST_WORD), dtype=np.float32)
        for length, places, costs in unknown_word_costs(self._costs, codes, room):
            weights[places, length - 1] = _UNKNOWN_SHARE * np.exp(_PER_LETTER * length - costs)
        return weights

    def _add_known_words(self, weights: NDArray[np.float32], codes: Codes, runs: _Runs) -> None:
        places = np.flatnonzero(runs.room)
        hashes = np.zeros(len(places), dtype=np.uint64)
        for length in range(1, LONGEST_WORD + 1):
            fits = runs.room[places] >= length
            places, hashes = places[fits], hashes[fits]
            hashes = hash_step(hashes, codes[places + length - 1])
            words = self._table.find(hashes)
            known = np.flatnonzero(words >= 0)
            weights[places[known], length - 1] += np.exp(self._log_shares[words[known]] + _PER_LETTER * length)

    def _hold_out(self, weights: NDArray[np.float32], codes: Codes, runs: _Runs, true_bits: Bits) -> None:
        begins = np.flatnonzero(runs.letters & (true_bits | ~runs.inside))
        ends = np.append(begins[1:], len(codes))
        lengths = np.minimum(ends - begins, runs.room[begins])
        short = lengths <= LONGEST_WORD
        begins, lengths = begins[short], lengths[short]
        hashes = np.zeros(len(begins), dtype=np.uint64)
        for place in range(LONGEST_WORD):
            longer = np.flatnonzero(lengths > place)
            hashes[longer] = hash_step(hashes[longer], codes[begins[longer] + place])
        words = self._table.find(hashes)
        known = words >= 0
        begins, lengths, words = begins[known], lengths[known], words[known]
        counts = from_logs(self.counts[words])
        # A word of the smallest count would not be in the dictionary if it had been seen once less.
        less = np.where(self.counts[words] > self.counts.min(), 1.0, counts) / self.total
        taken = (less * np.exp(_PER_LETTER * lengths)).astype(np.float32)
        weights[begins, lengths - 1] = np.maximum(weights[begins, lengths - 1] - taken, np.float32(1e-30))


@dataclass(frozen=True)
class _Runs:
    """Runs of letters: where they start, how long they are, how much of one is left at each position."""

    letters: Bits
    inside: Bits  # gaps between two letters of one run
    starts: NDArray[np.int64]  # the longest run first
    lengths: NDArray[np.int64]
    room: NDArray[np.int64]

    @classmethod
    def of(cls, characters: NDArray[np.int32]) -> _Runs:
        letters = (kinds_of(characters.astype(np.uint32)) == LETTER) & (characters > 0)
        here = np.arange(len(characters))
        first = letters.copy()
        first[1:] &= ~letters[:-1]
        run_start = np.maximum.accumulate(np.where(first, here, 0))
        first |= letters & ((here - run_start) % LONGEST_RUN == 0)
        room = run_lengths(letters, first)
        starts = np.flatnonzero(first)
        starts = starts[np.argsort(-room[starts], kind="stable")]
        return cls(letters, letters & ~first, starts, room[starts], room)


def _boundary_probabilities(
    weights: NDArray[np.float32], runs: _Runs, boundary: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The share of all ways to cut a run that have a cut at a position: forward, backward, both together.

    Args:
        weights: of the words that start at each position, by length.
        runs: the runs, the longest first.
        boundary: ``[kinds, positions]``, the weight of a cut.
    """
    kinds, size = boundary.shape
    starts, lengths = runs.starts, runs.lengths
    longest = int(lengths[0])
    # How many runs are at least so long: with the longest first, they are the first so many.
    active = np.searchsorted(-lengths, -np.arange(longest + 2), side="right")
    ending = np.zeros_like(weights)  # the same words by where they end, the longest first
    for length in range(1, min(LONGEST_WORD, longest) + 1):
        ending[length - 1 :, LONGEST_WORD - length] = weights[: size - length + 1, length - 1]
    forward = np.zeros((kinds, len(starts), longest + LONGEST_WORD + 1))
    forward[:, :, LONGEST_WORD] = 1.0
    everywhere = np.pad(boundary, ((0, 0), (0, 1)), constant_values=1.0)
    # A run's end has no weight of its own: what follows is another run's, or nothing.
    for step in range(1, longest + 1):
        count = active[step]
        place = starts[:count] + step
        reached = np.einsum("krl,rl->kr", forward[:, :count, step : step + LONGEST_WORD], ending[place - 1])
        reached *= np.where(lengths[:count] > step, everywhere[:, place], 1.0)
        forward[:, :count, step + LONGEST_WORD] = reached
    backward = np.zeros((kinds, len(starts), longest + LONGEST_WORD + 1))
    backward[:, np.arange(len(starts)), lengths] = 1.0
    total = forward[:, np.arange(len(starts)), lengths + LONGEST_WORD]
    out = np.zeros((kinds, size))
    for step in range(longest - 1, 0, -1):
        count = active[step + 1]
        place = starts[:count] + step
        left = np.einsum("krl,rl->kr", backward[:, :count, step + 1 : step + 1 + LONGEST_WORD], weights[place])
        out[:, place] = forward[:, :count, step + LONGEST_WORD] * left / total[:, :count]
        backward[:, :count, step] = left * boundary[:, place]
    return out
