"""Counts of words in clean text, small enough to ship: what the word baselines know.

Running text is taken apart into *units*: words (letters, with apostrophes between them), numbers (all alike, ``0``),
and every other character on its own. Counted are units, pairs of neighbouring units, letters of rare words (for words
that nobody has seen), and how often there is a space between characters that are not both letters.

Counts are kept as logarithms in 8 bits; ``python -m training.count_words`` writes them as a model directory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.files import ModelError, ModelFiles, Weights, load_model
from respace.gaps import Bits, Codes, code_points
from respace.hashing import GOLDEN

LONGEST_WORD = 20
NUMBER = "0"
WORDS_MODEL = "words"

LETTER, DIGIT, OTHER = 0, 1, 2
_TABLE = 0x3000
_APOSTROPHE, _CURLY_APOSTROPHE = ord("'"), 0x2019
HASH_BASE, HASH_SCRAMBLE = GOLDEN, np.uint64(0xD6E8FEB86659FD93)
# Letters for words nobody has seen: a-z, A-Z, all others, and the edge of a word.
OTHER_LETTER, EDGE, LETTERS = 52, 53, 54
_LOG_STEP = 16.0
FILTER_BITS = 22
_LONGEST_NAME = 256  # bytes of a word, and what parts it from the next


def _kind_table() -> NDArray[np.uint8]:
    kinds = np.full(_TABLE + 1, OTHER, dtype=np.uint8)
    for code in range(_TABLE):
        character = chr(code)
        if character.isalpha() or 0x300 <= code < 0x370:  # accents belong to the letter they stand on
            kinds[code] = LETTER
        elif character.isdigit():
            kinds[code] = DIGIT
    kinds[_TABLE] = LETTER  # nearly all that is above is script
    return kinds


_KINDS = _kind_table()
_LETTER_NUMBERS = np.full(_TABLE + 1, OTHER_LETTER, dtype=np.int32)
_LETTER_NUMBERS[ord("a") : ord("z") + 1] = np.arange(26)
_LETTER_NUMBERS[ord("A") : ord("Z") + 1] = np.arange(26, 52)
_IS_UPPER = np.array([chr(code).isupper() for code in range(_TABLE)] + [False])


def kinds_of(codes: Codes) -> NDArray[np.uint8]:
    """LETTER, DIGIT or OTHER for each character; an apostrophe between two letters is a letter."""
    kinds = _KINDS[np.minimum(codes, _TABLE)].copy()
    inner = np.flatnonzero((codes[1:-1] == _APOSTROPHE) | (codes[1:-1] == _CURLY_APOSTROPHE)) + 1
    kinds[inner[(kinds[inner - 1] == LETTER) & (kinds[inner + 1] == LETTER)]] = LETTER
    return kinds


def between_letters(codes: Codes) -> NDArray[np.bool_]:
    """Gaps with a letter on either side."""
    letters = kinds_of(codes) == LETTER
    between: NDArray[np.bool_] = letters.copy()
    between[:1] = False
    between[1:] &= letters[:-1]
    return between


def letters_of(codes: Codes) -> NDArray[np.int32]:
    return _LETTER_NUMBERS[np.minimum(codes, _TABLE)]


def run_lengths(letters: NDArray[np.bool_], first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many letters follow from each position on, this one included, within its text."""
    size = len(letters)
    here = np.arange(size)
    # A run stops before the next position that is no letter, or that begins another text.
    stops = np.where(~letters | first, here, size)
    next_stop = np.concatenate([np.minimum.accumulate(stops[::-1])[::-1][1:], [size]]) if size else stops
    return np.where(letters, next_stop - here, 0)


def unknown_word_costs(
    cost: NDArray[Any], codes: Codes, room: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[Any]]]:
    """What the letters of words that nobody has seen cost, for each length: (length, where it fits, cost there).

    Args:
        cost: of a letter after two others, ``[LETTERS, LETTERS, LETTERS]``.
        codes: texts laid one after the other.
        room: how many letters follow from each position on, 0 where there is none.
    """
    letters = np.pad(letters_of(codes), (0, LONGEST_WORD + 2), constant_values=EDGE)
    before = np.concatenate([[EDGE, EDGE], letters])
    summed = np.concatenate([[0.0], np.cumsum(cost[before[:-2], before[1:-1], letters], dtype=np.float64)])
    for length in range(1, LONGEST_WORD + 1):
        places = np.flatnonzero(room >= length)
        first, last = letters[places], letters[places + length - 1]
        costs = cost[EDGE, EDGE, first]
        if length == 1:
            costs = costs + cost[EDGE, first, EDGE]
        else:
            middle = summed[places + length] - summed[places + 2]
            end = cost[letters[places + length - 2], last, EDGE]
            costs = costs + cost[EDGE, first, letters[places + 1]] + middle + end
        yield length, places, costs


def hash_step(hashes: NDArray[np.uint64], codes: NDArray[Any]) -> NDArray[np.uint64]:
    """Hashes of stretches that are one character longer."""
    return hashes * HASH_BASE + (codes.astype(np.uint64) + np.uint64(1)) * HASH_SCRAMBLE


def word_hashes(words: list[str]) -> NDArray[np.uint64]:
    """The hash of each word, character by character for all of them at once."""
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    codes = code_points("".join(words))
    starts = np.cumsum(lengths) - lengths
    hashes = np.zeros(len(words), dtype=np.uint64)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        hashes[longer] = hash_step(hashes[longer], codes[starts[longer] + place])
    return hashes


def gap_keys(codes: Codes, kinds: NDArray[np.uint8], first: Bits) -> list[NDArray[np.uint64]]:
    """For each gap three keys of what is around it, from the most to the least exact.

    Args:
        codes: texts laid one after the other.
        kinds: as of `kinds_of`.
        first: where texts begin.
    """
    # The same sign opens and closes a quotation: the first in a text opens, the second closes, and so on.
    quotes = codes == ord('"')
    so_far = np.cumsum(quotes)
    at_start = (so_far - quotes)[np.maximum.accumulate(np.where(first, np.arange(len(codes)), 0))]
    opening = quotes & ((so_far - at_start) % 2 == 1)
    exact = np.where(kinds == DIGIT, 2, codes.astype(np.int64) + 4)
    exact[opening] = 3
    low = np.minimum(codes, _TABLE)
    shapes = np.where(
        kinds == LETTER, _IS_UPPER[low].astype(np.int64), exact
    )  # of letters, only whether they are capital

    def key(values: NDArray[np.int64], left: int, right: int, salt: int) -> NDArray[np.uint64]:
        padded = np.pad(values + 1, (left, right))
        hashes = np.full(len(values), salt, dtype=np.uint64)
        for at in range(left + right):
            hashes = hash_step(hashes, padded[at : at + len(values)])
        return hashes

    return [key(exact, 2, 3, 1), key(shapes, 2, 2, 2), key(shapes, 1, 1, 3)]


def to_logs(counts: NDArray[Any]) -> NDArray[np.uint8]:
    """Counts from 1 to eight million as 8-bit logarithms, to 3 %."""
    return np.clip(np.round(np.log(np.maximum(counts, 1)) * _LOG_STEP), 0, 255).astype(np.uint8)


def from_logs(logs: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.exp(logs / _LOG_STEP)


def pack(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(array.tobytes(), 9), dtype=np.uint8)


def unpack(packed: NDArray[np.uint8], kind: type[np.generic], most: int) -> NDArray[Any]:
    """What was packed: at most so many numbers, because a few packed bytes can become any number of them.

    Raises:
        ModelError: it is damaged, or larger.
    """
    largest = most * np.dtype(kind).itemsize
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(np.ascontiguousarray(packed).data, largest + 1)
        if len(content) > largest:
            raise ModelError(f"packed weights hold more than {most:,} numbers: copy the model directory again")
        if not unpacking.eof:
            raise ValueError("their end is missing")
        return np.frombuffer(content, dtype=kind)
    except (zlib.error, ValueError, TypeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"packed weights are damaged ({error}): copy the model directory again") from None


class SortedTable:
    """Values by 64-bit key. Most keys one asks for are not there: a small filter says so without a search."""

    def __init__(self, keys: NDArray[np.uint64]):
        self.order = np.argsort(keys)
        self.keys = keys[self.order]
        self.filter = np.zeros(1 << FILTER_BITS, dtype=bool)
        self.filter[self._slots(self.keys)] = True

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of each key, -1 where there is none."""
        out = np.full(len(keys), -1, dtype=np.int64)
        if not len(self.keys):
            return out
        maybe = np.flatnonzero(self.filter[self._slots(keys)])
        places = np.searchsorted(self.keys, keys[maybe]).clip(max=len(self.keys) - 1)
        right = self.keys[places] == keys[maybe]
        out[maybe[right]] = self.order[places[right]]
        return out

    def _slots(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return (keys * HASH_BASE) >> np.uint64(64 - FILTER_BITS)


@dataclass(frozen=True, kw_only=True)
class WordCounts:
    """The counts, as arrays, and look-ups in them."""

    words: list[str]
    word_counts: NDArray[np.float64]
    total: float
    pair_first: NDArray[np.int64] = field(repr=False)
    pair_second: NDArray[np.int64] = field(repr=False)
    pair_counts: NDArray[np.float64] = field(repr=False)
    trigrams: NDArray[np.float64] = field(repr=False)  # -log p(third | two before), LETTERS cubed
    gap_table_keys: NDArray[np.uint64] = field(repr=False)
    gap_spaced: NDArray[np.bool_] = field(repr=False)
    sha256: str = ""

    @cached_property
    def word_table(self) -> SortedTable:
        return SortedTable(word_hashes(self.words))

    @cached_property
    def log_shares(self) -> NDArray[np.float64]:
        """Of all words of running text, the share that each one has, as a logarithm."""
        return np.log(self.word_counts / self.total)

    @cached_property
    def pair_table(self) -> SortedTable:
        return SortedTable(self.pair_keys(self.pair_first, self.pair_second))

    @cached_property
    def gap_table(self) -> SortedTable:
        return SortedTable(self.gap_table_keys)

    def pair_keys(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.uint64]:
        return (first * len(self.words) + second).astype(np.uint64)

    def spaces_beside_signs(self, codes: Codes, kinds: NDArray[np.uint8], first: Bits) -> Bits:
        """Bits of the gaps that do not lie between two letters, as they mostly are in clean text."""
        out = np.zeros(len(codes), dtype=bool)
        open_ = np.ones(len(codes), dtype=bool)
        for keys in gap_keys(codes, kinds, first):
            found = self.gap_table.find(keys)
            known = open_ & (found >= 0)
            out[known] = self.gap_spaced[found[known]]
            open_ &= ~known
        return out

    def to_weights(self) -> Weights:
        """Arrays to write, most of them packed: sorted words and neighbouring numbers are much alike."""
        order = np.lexsort((self.pair_second, self.pair_first))
        lengths = np.bincount(self.pair_first, minlength=len(self.words))
        return {
            "words": pack(np.frombuffer("\n".join(self.words).encode(), dtype=np.uint8)),
            "word_counts": to_logs(self.word_counts),
            "total": np.array([self.total]),
            "pair_lengths": pack(lengths.astype(np.int32)),
            "pair_second": pack(self.pair_second[order].astype(np.int32)),
            "pair_counts": to_logs(self.pair_counts[order]),
            "trigrams": np.clip(np.round(self.trigrams * _LOG_STEP), 0, 255).astype(np.uint8),
            "gap_keys": self.gap_table_keys,
            "gap_spaced": self.gap_spaced.astype(np.uint8),
        }

    @classmethod
    def from_files(cls, files: ModelFiles) -> WordCounts:
        if files.config.get("kind") != "words":
            raise ModelError(f"{files.name} is a {files.config.get('kind')!r}: expected counts of words")
        weights = files.weights
        counts, pairs = weights["word_counts"], weights["pair_counts"]
        words = unpack(weights["words"], np.uint8, _LONGEST_NAME * len(counts)).tobytes().decode().split("\n")
        if len(words) != len(counts):
            raise ModelError(f"{files.name}: {len(counts)} counts for {len(words)} words")
        lengths = unpack(weights["pair_lengths"], np.int32, len(words))
        if len(lengths) != len(words) or lengths.min(initial=0) < 0 or lengths.sum(dtype=np.int64) != len(pairs):
            raise ModelError(f"{files.name}: pairs of words that do not add up to {len(pairs)}")
        return cls(
            words=words,
            word_counts=from_logs(counts),
            total=float(weights["total"][0]),
            pair_first=np.repeat(np.arange(len(words)), lengths),
            pair_second=unpack(weights["pair_second"], np.int32, len(pairs)).astype(np.int64),
            pair_counts=from_logs(pairs),
            trigrams=weights["trigrams"] / _LOG_STEP,
            gap_table_keys=weights["gap_keys"],
            gap_spaced=weights["gap_spaced"].astype(bool),
            sha256=files.sha256,
        )


@lru_cache(maxsize=2)
def load_word_counts(model: str = WORDS_MODEL) -> WordCounts:
    """The counts that ship with Respace, or those of any directory; read once per process."""
    return WordCounts.from_files(load_model(model))
