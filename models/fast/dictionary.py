"""What a dictionary says of each gap: the log odds that a word begins there.

A run of letters can be cut into words in many ways. Each way is as probable as its words are frequent; words that are
in no dictionary are as probable as their letters, each judged by the four before it. The sum over all ways that have a
cut at a gap, against all others, is the evidence for a space there: so neighbouring gaps are judged together, over
whole words, by counts of the whole corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.features import FOLD_CASE
from models.files import ModelError, Weights
from models.words.counts import (
    LETTER,
    LONGEST_WORD,
    kinds_of,
    pack,
    to_logs,
    unpack,
    word_hashes,
)
from respace.gaps import Bits
from respace.hashing import GOLDEN
from respace.loops import compiled

# Evidence from the letters alone, and with each given space (or none) counted as evidence for itself.
KINDS = 2
GIVEN_EVIDENCE = 3.0
# Longer runs of letters are cut: a bound on how far a decision looks, and on how small probabilities can get.
LONGEST_RUN = 160
# The alphabet of unknown words: a-z, all other letters, the edge of a word, and the edge before a capital letter.
SYMBOLS = 29
OTHER_SYMBOL, EDGE_SYMBOL, CAPITAL_EDGE = 26, 27, 28
CONTEXT_SYMBOLS = 4
COST_STEP = 16.0
# Rare words are left out of the dictionary in half of the training batches: text that nobody has counted has more
# words that are in no dictionary than text of which only the sentence at hand is left out.
RARE_IN_TRAINING = 12.0
# About the evidence that each letter costs, put back so that products of probabilities stay of one size.
_PER_LETTER = 2.2
_LARGEST_ODDS = 12.0
_SCALE = 0.25
_LOG_STEP = 16.0  # of `to_logs`
_FILTER_BITS = 25
_BASE, _MIX = GOLDEN, np.uint64(0xD6E8FEB86659FD93)  # of `hash_step`
# Hashes are kept to so many bits: enough for a few million words and the questions that are asked of them.
_KEY_BITS = 40
_KEYS, _COUNTS, _TOTAL = "dictionary/keys", "dictionary/counts", "dictionary/total"
_SETTINGS, _FOUR_LETTERS, _FIFTH_LETTER = "dictionary/settings", "dictionary/four_letters", "dictionary/fifth_letter"
_MOST_WORDS = 1 << 24
_RANGES = {
    "total": (1.0, 1e15),
    "unknown_share": (1e-6, 1.0),
    "letter_weight": (0.0, 10.0),
    "capital_evidence": (-20.0, 20.0),
}


@dataclass(frozen=True, kw_only=True)
class Dictionary:
    """Words by the hash of their lower-case letters, their counts, and the cost of letters in unknown words.

    Attributes:
        keys: sorted hashes, their upper `_KEY_BITS` bits.
        counts: logarithms, see `to_logs`.
        total: of all words, known and unknown.
        letter_costs: -log p(letter | four before) in sixteenths, `SYMBOLS` to the fifth power.
        unknown_share: how much of running text is words that are in no dictionary.
        letter_weight: how much of what the letters say is true.
        capital_evidence: how much a capital letter after a lower-case one speaks for a space.
    """

    keys: NDArray[np.uint64]
    counts: NDArray[np.uint8]
    total: float
    letter_costs: NDArray[np.uint8]
    unknown_share: float = 0.3
    letter_weight: float = 0.95
    capital_evidence: float = 0.0

    @classmethod
    def of(cls, counts: dict[str, int], total: float, letter_costs: NDArray[np.uint8], **settings: float) -> Dictionary:
        """From counts of words in lower case."""
        keys, first = np.unique(_shortened(word_hashes(list(counts))), return_index=True)
        logs = to_logs(np.array(list(counts.values()), dtype=np.float64))
        return cls(keys=keys, counts=logs[first], total=total, letter_costs=letter_costs, **settings)

    @classmethod
    def from_weights(cls, weights: Weights) -> Dictionary:
        """From the weights of a model.

        Raises:
            ModelError: they hold no dictionary, or not a whole one.
        """
        for name in (_KEYS, _COUNTS, _TOTAL, _SETTINGS, _FOUR_LETTERS, _FIFTH_LETTER):
            if name not in weights:
                raise ModelError(f"weights hold nothing for {name!r}: expected the dictionary of a FAST model")
        total = float(weights[_TOTAL][0])
        keys, counts = _unpacked_keys(weights[_KEYS]), unpack(weights[_COUNTS], np.uint8, _MOST_WORDS)
        names = ("unknown_share", "letter_weight", "capital_evidence")
        settings = dict(zip(names, weights[_SETTINGS].tolist(), strict=True))
        costs = _unpacked_costs(weights)
        if len(keys) and int(keys.max()) >> _KEY_BITS:
            raise ModelError(f"weights hold a key of {int(keys.max())} for a word: expected {_KEY_BITS} bits")
        if len(keys) != len(counts) or counts.dtype != np.uint8:
            raise ModelError(f"weights hold {len(keys)} words and {len(counts)} counts of them ({counts.dtype})")
        _check_numbers({"total": total, **settings})
        return cls(keys=keys, counts=counts, total=total, letter_costs=costs, **settings)

    def to_weights(self) -> Weights:
        fours, fifth = _packed_costs(self.letter_costs)
        return {
            _KEYS: _packed_keys(self.keys),
            _COUNTS: pack(self.counts),
            _TOTAL: np.array([self.total]),
            _SETTINGS: np.array([self.unknown_share, self.letter_weight, self.capital_evidence]),
            _FOUR_LETTERS: fours,
            _FIFTH_LETTER: fifth,
        }

    @cached_property
    def _index(self) -> tuple[Any, ...]:
        """What `_share` reads.

        Words are in the order of their keys; those whose keys begin alike stand together, about one on average. Of a
        word the rest of its key is kept, with its count. A filter answers most questions without them.
        """
        rest = _KEY_BITS - max(_KEY_BITS - 24, len(self.keys).bit_length())  # and the count: 32 bits
        first_of = np.zeros((1 << (_KEY_BITS - rest)) + 1, dtype=np.int32)
        begins = (self.keys >> np.uint64(rest)).astype(np.int64)
        np.cumsum(np.bincount(begins, minlength=len(first_of) - 1), out=first_of[1:])
        words = ((self.keys & np.uint64((1 << rest) - 1)) << np.uint64(8) | self.counts).astype(np.uint32)
        known = np.zeros(1 << _FILTER_BITS, dtype=bool)
        known[self.keys >> np.uint64(_KEY_BITS - _FILTER_BITS)] = True
        shares = (np.exp(np.arange(256) / _LOG_STEP) / self.total).astype(np.float32)
        return np.packbits(known, bitorder="little"), first_of, words, np.uint64(rest), shares

    @cached_property
    def _smallest_share(self) -> float:
        return float(np.exp(self.counts.min(initial=255) / _LOG_STEP) / self.total)

    def evidence(
        self, characters: NDArray[np.int32], bits: Bits, true_bits: Bits | None = None, salt: int = 0
    ) -> NDArray[np.float32]:
        """Scaled log odds of a space for each gap; 0 for gaps that are not between two letters.

        Args:
            characters: code points of texts laid one after the other, with 0 between them.
            bits: their given gap bits.
            true_bits: in training, the correct ones: words of the text at hand are counted once less, because text that
                was never counted does not have them either; and half of the rare ones not at all.
            salt: which half.

        Returns:
            ``[positions, KINDS]``.
        """
        letters = (kinds_of(characters.astype(np.uint32)) == LETTER) & (characters > 0)
        folded = FOLD_CASE(characters)
        symbols = np.where((folded >= ord("a")) & (folded <= ord("z")), folded - ord("a"), OTHER_SYMBOL)
        out = np.zeros((len(characters), KINDS), dtype=np.float32)
        _evidence(
            folded,
            symbols.astype(np.uint8),
            letters,
            characters != folded,
            bits,
            np.zeros(0, dtype=bool) if true_bits is None else true_bits,
            self._index,
            self.letter_costs,
            1.0 / self.total,
            self._smallest_share,
            np.array([self.unknown_share, self.letter_weight, self.capital_evidence]),
            np.uint64(salt),
            out,
        )
        return out


def _shortened(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return hashes >> np.uint64(64 - _KEY_BITS)


def _packed_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Differences of sorted keys, all first bytes, then all second ones, …: what is alike stands together."""
    return pack(np.ascontiguousarray(np.diff(keys, prepend=np.uint64(0)).view(np.uint8).reshape(-1, 8).T))


def _check_numbers(numbers: Mapping[str, float]) -> None:
    """
    Raises:
        ModelError: probabilities of them would not be probabilities.
    """
    for name, value in numbers.items():
        lowest, highest = _RANGES[name]
        if not lowest <= value <= highest:
            raise ModelError(f"weights hold {value:g} for the dictionary's {name}: expected {lowest:g} to {highest:g}")


def _unpacked_keys(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    planes = unpack(packed, np.uint8, 8 * _MOST_WORDS).reshape(8, -1)
    differences = np.zeros(planes.shape[1], dtype=np.uint64)
    in_bytes = differences.view(np.uint8).reshape(-1, 8)
    for place, plane in enumerate(planes):
        if plane.any():  # differences are small
            in_bytes[:, place] = plane
    return np.cumsum(differences, out=differences)


def _packed_costs(costs: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Costs after three letters, and how much the fourth one before changes them: mostly nothing."""
    by_first = costs.reshape(SYMBOLS, -1)
    fours = np.median(by_first, axis=0).astype(np.uint8)
    return pack(fours), pack(by_first - fours)


def _unpacked_costs(weights: Weights) -> NDArray[np.uint8]:
    size = SYMBOLS ** (CONTEXT_SYMBOLS + 1)
    fours, fifth = (unpack(weights[name], np.uint8, size) for name in (_FOUR_LETTERS, _FIFTH_LETTER))
    if (fours.size * SYMBOLS, fifth.size) != (size, size):
        raise ModelError(f"weights hold {fifth.size:,} costs of letters: expected {size:,}")
    return (fifth.reshape(SYMBOLS, -1) + fours).reshape(-1)


@compiled
def _may_be_known(known: Any, hashed: np.uint64) -> bool:
    """What the filter says; a function of its own, so small that it becomes part of the loops that ask."""
    bit = hashed >> np.uint64(64 - _FILTER_BITS)
    return (known[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7))) & np.uint8(1) != 0


@compiled
def _share(first_of: Any, words: Any, rest: np.uint64, shares: Any, hashed: np.uint64) -> np.float32:
    """How much of running text is a word; -1 if it is unknown."""
    key = hashed >> np.uint64(64 - _KEY_BITS)
    begin = key >> rest
    wanted = np.uint32(key & ((np.uint64(1) << rest) - np.uint64(1)))
    for place in range(first_of[begin], first_of[begin + np.uint64(1)]):
        if words[place] >> np.uint32(8) == wanted:
            return shares[words[place] & np.uint32(0xFF)]
    return np.float32(-1)


@compiled
def _evidence(
    folded: Any,
    symbols: Any,
    letters: Any,
    capital: Any,
    given: Any,
    true: Any,
    index: Any,
    costs: Any,
    once: float,
    smallest: float,
    settings: Any,
    salt: np.uint64,
    out: Any,
) -> None:
    """Run by run of letters; arguments as in `Dictionary.evidence`."""
    size = len(folded)
    weights = np.zeros((LONGEST_RUN, LONGEST_WORD + 1))
    start = 0
    while start < size:
        if not letters[start]:
            start += 1
            continue
        stop = start + 1
        while stop < size and letters[stop] and stop - start < LONGEST_RUN:
            stop += 1
        if stop - start > 1:
            _unknown_words(symbols[start:stop], capital[start:stop], costs, settings, weights)
            _add_known_words(folded[start:stop], index, weights)
            if len(true):
                _hold_out(folded[start:stop], true[start:stop], index, once, smallest, salt, weights)
            _cut(capital[start:stop], given[start:stop], settings[2], weights, out[start:stop])
        start = stop


@compiled
def _unknown_words(symbols: Any, capital: Any, costs: Any, settings: Any, weights: Any) -> None:
    """The weight of an unknown word of 1, 2, … letters that starts at each position."""
    count = len(symbols)
    scale = settings[1] / COST_STEP
    last_context = SYMBOLS**CONTEXT_SYMBOLS
    for first in range(count):
        edge = CAPITAL_EDGE if capital[first] else EDGE_SYMBOL
        context = edge
        for _ in range(CONTEXT_SYMBOLS - 1):
            context = context * SYMBOLS + edge
        cost = 0.0
        for length in range(1, min(LONGEST_WORD, count - first) + 1):
            place = context * SYMBOLS + np.int64(symbols[first + length - 1])
            cost += costs[place] * scale
            context = place % last_context
            end = costs[context * SYMBOLS + EDGE_SYMBOL] * scale
            weights[first, length] = settings[0] * np.exp(_PER_LETTER * length - cost - end)


@compiled
def _add_known_words(folded: Any, index: Any, weights: Any) -> None:
    count = len(folded)
    known, first_of, words, rest, shares = index
    unknown = np.float32(-1)
    for first in range(count):
        key = np.uint64(0)
        for length in range(1, min(LONGEST_WORD, count - first) + 1):
            key = key * _BASE + (np.uint64(folded[first + length - 1]) + np.uint64(1)) * _MIX
            share = _share(first_of, words, rest, shares, key) if _may_be_known(known, key) else unknown
            if share >= 0:
                weights[first, length] += share * np.exp(_PER_LETTER * length)


@compiled
def _hold_out(
    folded: Any,
    true: Any,
    index: Any,
    once: float,
    smallest: float,
    salt: np.uint64,
    weights: Any,
) -> None:
    """Counts the words of the text once less, and half of the rare ones not at all."""
    count = len(folded)
    known, first_of, words, rest, shares = index
    unknown = np.float32(-1)
    first = 0
    while first < count:
        end = first + 1
        while end < count and not true[end]:
            end += 1
        if end - first <= LONGEST_WORD:
            key = np.uint64(0)
            for at in range(first, end):
                key = key * _BASE + (np.uint64(folded[at]) + np.uint64(1)) * _MIX
            share = _share(first_of, words, rest, shares, key) if _may_be_known(known, key) else unknown
            if share >= 0:
                less = np.float32(once)
                # A word of the smallest count would not be in the dictionary if it had been seen once less.
                rare = share <= RARE_IN_TRAINING * once
                if share <= 1.01 * smallest or (rare and ((key ^ salt) * _MIX) >> np.uint64(63)):
                    less = share
                held = weights[first, end - first] - less * np.exp(_PER_LETTER * (end - first))
                weights[first, end - first] = max(held, 1e-30)
        first = end


@compiled
def _cut(capital: Any, given: Any, capital_evidence: float, weights: Any, out: Any) -> None:
    """The share of all ways to cut a run that have a cut at a position: forward, backward, both together."""
    count = len(given)
    limit = 1 / (1 + np.exp(_LARGEST_ODDS))
    boundary = np.ones(count + 1)
    forward = np.zeros(count + 1)
    backward = np.zeros(count + 1)
    for kind in range(KINDS):
        for at in range(1, count):
            weight = 0.0
            if capital[at] and not capital[at - 1]:
                weight += capital_evidence
            if kind == 1:
                weight += GIVEN_EVIDENCE if given[at] else -GIVEN_EVIDENCE
            boundary[at] = np.exp(weight)
        forward[0] = 1.0
        for at in range(1, count + 1):
            reached = 0.0
            for length in range(1, min(LONGEST_WORD, at) + 1):
                reached += forward[at - length] * weights[at - length, length]
            forward[at] = reached * boundary[at]
        total = forward[count]
        if total == 0.0:  # no way that is not too improbable for a number: nothing is said about the run
            continue
        backward[count] = 1.0
        for at in range(count - 1, 0, -1):
            left = 0.0
            for length in range(1, min(LONGEST_WORD, count - at) + 1):
                left += backward[at + length] * weights[at, length]
            probability = min(max(forward[at] * left / total, limit), 1 - limit)
            out[at, kind] = _SCALE * (np.log(probability) - np.log1p(-probability))
            backward[at] = left * boundary[at]
