"""A counted language model of characters and spaces: how probable is the next symbol after the last few?

Symbols are bytes: the space, the frequent characters of clean text (digits are all alike), and one for all others. An
n-gram is kept where it changes the prediction (`training.count_ngrams`); where a longer one is not kept, the shorter
one is taken, times what its context leaves for others. All n-grams are in one hash table, all contexts in another; a
slot holds a 16-bit fingerprint of the hash and an 8-bit logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.features import FOLD_DIGITS
from models.files import ModelError, Weights
from respace.gaps import Bits
from respace.hashing import GOLDEN
from respace.loops import compiled

BOUNDARY, SPACE, OTHER = 0, 1, 2
FIRST_SYMBOL = 3  # of the frequent characters
_MOST_SYMBOLS = 256 - FIRST_SYMBOL  # a symbol is a byte
# Lengths of n-grams, the longest first.
ORDERS = (10, 8, 7, 6, 5, 4, 3, 2, 1)
LONGEST_CONTEXT = ORDERS[0] - 1
LOG_STEP = 16.0
NEUTRAL = 128  # a context that leaves as much as shorter ones would
# Slots that are looked at before an n-gram is not there. Of the fourteen million that ship, 462 in a row are taken.
LONGEST_PROBE = 1024
# Tables are made so that less of them is taken; in fuller ones every look-up is slow, in full ones it has no end.
_FULL = 0.95
UNSEEN = 16.0  # the cost of a symbol that was never seen
_TABLE_CODES = 0x3000
BASE = GOLDEN
PREFIX = "language_model/"

Symbols = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class LanguageModel:
    """The tables.

    Attributes:
        alphabet: code points of the frequent characters, in the order of their symbols.
        fingerprints, costs: of n-grams, -log p in sixteenths.
        context_fingerprints, context_costs: of contexts, -log of what they leave for others, in sixteenths, 128 is 0.
    """

    alphabet: NDArray[np.uint32]
    fingerprints: NDArray[np.uint16] = field(repr=False)
    costs: NDArray[np.uint8] = field(repr=False)
    context_fingerprints: NDArray[np.uint16] = field(repr=False)
    context_costs: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def from_weights(cls, weights: Weights) -> LanguageModel | None:
        """From the weights of a model; None if it has no language model.

        Raises:
            ModelError: it has half of one.
        """
        found = {name.removeprefix(PREFIX): array for name, array in weights.items() if name.startswith(PREFIX)}
        if not found:
            return None
        wanted = {"alphabet", "fingerprints", "costs", "context_fingerprints", "context_costs"}
        if set(found) != wanted:
            raise ModelError(f"weights hold {sorted(found)} of a language model: expected {sorted(wanted)}")
        kinds = {"alphabet": np.uint32, "fingerprints": np.uint16, "context_fingerprints": np.uint16}
        for name, array in found.items():  # compiled loops check nothing
            kind = np.dtype(kinds.get(name, np.uint8))
            if array.ndim != 1 or array.dtype != kind or not (len(array) or name == "alphabet"):
                raise ModelError(
                    f"weights hold {array.dtype} {list(array.shape)} for {name!r}: expected {kind} in a row"
                )
        highest = int(found["alphabet"].max(initial=0))
        if highest >= _TABLE_CODES:
            raise ModelError(f"the alphabet has {highest}: expected codes below {_TABLE_CODES}")
        if len(found["alphabet"]) > _MOST_SYMBOLS:
            raise ModelError(f"the alphabet has {len(found['alphabet'])} characters: expected at most {_MOST_SYMBOLS}")
        for fingerprints, costs in (("fingerprints", "costs"), ("context_fingerprints", "context_costs")):
            size = len(found[fingerprints])
            if size != len(found[costs]):
                raise ModelError(
                    f"weights hold {size} {fingerprints} and {len(found[costs])} {costs}: expected as many"
                )
            taken = np.count_nonzero(found[fingerprints])
            if taken > _FULL * size:
                raise ModelError(f"{taken:,} of {size:,} {fingerprints} are taken: expected at most {_FULL:.0%}")
        return cls(**found)

    def to_weights(self) -> Weights:
        return {
            f"{PREFIX}{name}": getattr(self, name)
            for name in ("alphabet", "fingerprints", "costs", "context_fingerprints", "context_costs")
        }

    @property
    def tables(self) -> tuple[Any, Any, Any, Any]:
        """What the compiled functions read."""
        return self.fingerprints, self.costs, self.context_fingerprints, self.context_costs

    @cached_property
    def _symbol_table(self) -> Symbols:
        table = np.full(_TABLE_CODES + 1, OTHER, dtype=np.uint8)
        table[self.alphabet] = np.arange(FIRST_SYMBOL, FIRST_SYMBOL + len(self.alphabet), dtype=np.uint8)
        return table

    def symbols(self, characters: NDArray[np.int32]) -> Symbols:
        """Symbols of characters; 0 stays the boundary between texts."""
        found = self._symbol_table[np.minimum(FOLD_DIGITS(characters), _TABLE_CODES)]
        found[characters == 0] = BOUNDARY
        return found

    def costs_in(self, symbols: Symbols) -> NDArray[np.float32]:
        """-log p of each symbol of a text with spaces, after those before it."""
        out = np.zeros(len(symbols), dtype=np.float32)
        costs_of(symbols, np.arange(len(symbols)), ORDERS[0], *self.tables, out)
        return out


def spaced_symbols(symbols: Symbols, bits: Bits) -> Symbols:
    """Symbols with their spaces, as they are counted: a text begins and ends with a space."""
    places = np.arange(len(symbols)) + np.cumsum(bits) + 1
    out = np.full(int(places[-1]) + 2 if len(places) else 1, SPACE, dtype=np.uint8)
    out[places] = symbols
    return out


@compiled
def extend(hashed: np.uint64, symbol: int) -> np.uint64:
    """The hash of a stretch of symbols that is one longer."""
    return hashed * BASE + np.uint64(symbol) + np.uint64(1)


@compiled
def finish(hashed: np.uint64, length: int) -> np.uint64:
    """Makes every bit of a hash count, and stretches of different lengths different."""
    hashed += np.uint64(length) * np.uint64(0xD6E8FEB86659FD93)
    hashed = (hashed ^ (hashed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return hashed ^ (hashed >> np.uint64(32))


@compiled
def look_up(fingerprints: Any, hashed: np.uint64) -> np.int64:
    """The slot of a hash, -1 where there is none."""
    size = np.uint64(len(fingerprints))
    place = ((hashed >> np.uint64(32)) * size) >> np.uint64(32)
    wanted = np.uint16(hashed & np.uint64(0xFFFF)) | np.uint16(1)
    for _ in range(LONGEST_PROBE):
        found = fingerprints[place]
        if found == wanted:
            return np.int64(place)
        if found == 0:
            return np.int64(-1)
        place += np.uint64(1)
        if place == size:
            place = np.uint64(0)
    return np.int64(-1)


@compiled
def fill(fingerprints: Any, values: Any, hashes: Any, new_values: Any) -> None:
    """Puts values into a table."""
    size = np.uint64(len(fingerprints))
    for number in range(len(hashes)):
        hashed = hashes[number]
        place = ((hashed >> np.uint64(32)) * size) >> np.uint64(32)
        while fingerprints[place] != 0:
            place += np.uint64(1)
            if place == size:
                place = np.uint64(0)
        fingerprints[place] = np.uint16(hashed & np.uint64(0xFFFF)) | np.uint16(1)
        values[place] = new_values[number]


@compiled
def hash_suffixes(history: Any, known: int, hashes: Any) -> None:
    """Hashes of the last 0, 1, …, ``known`` symbols of a history."""
    power = np.uint64(1)
    hashes[0] = np.uint64(0)
    for length in range(1, known + 1):
        hashes[length] = hashes[length - 1] + (np.uint64(history[len(history) - length]) + np.uint64(1)) * power
        power *= BASE


@compiled
def next_cost(
    hashes: Any, known: int, symbol: int, fingerprints: Any, costs: Any, context_fingerprints: Any, context_costs: Any
) -> float:
    """-log p(symbol | history), of which the hashes of its last symbols are given, at most ``known`` of them."""
    total = 0.0
    for order in ORDERS:
        length = order - 1
        if length > known:
            continue
        left_over = 0.0
        if length:
            # Contexts of which nothing is kept are the most: then there is no n-gram to look for.
            place = look_up(context_fingerprints, finish(hashes[length], length))
            if place < 0:
                continue
            left_over = (np.int64(context_costs[place]) - NEUTRAL) / LOG_STEP
        place = look_up(fingerprints, finish(extend(hashes[length], symbol), order))
        if place >= 0:
            return total + costs[place] / LOG_STEP
        total += left_over
    return total + UNSEEN


@compiled
def costs_of(
    symbols: Any,
    ends: Any,
    longest: int,
    fingerprints: Any,
    costs: Any,
    context_fingerprints: Any,
    context_costs: Any,
    out: Any,
) -> None:
    """-log p of the symbols at ``ends``, each judged by at most ``longest - 1`` symbols before it."""
    hashes = np.zeros(LONGEST_CONTEXT + 1, dtype=np.uint64)
    for number in range(len(ends)):
        at = ends[number]
        known = 0
        while known < longest - 1 and at - known - 1 >= 0 and symbols[at - known - 1] != BOUNDARY:
            known += 1
        hash_suffixes(symbols[at - known : at], known, hashes)
        out[number] = next_cost(hashes, known, symbols[at], fingerprints, costs, context_fingerprints, context_costs)
