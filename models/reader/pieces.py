"""Word pieces: a word is cut into the longest known beginning, the longest known continuation, and so on (WordPiece).

Letters count without case and accents, each sign is a piece of its own, ligatures are read as the letters they stand
for.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.files import ModelError, Weights
from respace.hashing import GOLDEN
from respace.loops import compiled

UNKNOWN, START, STOP, GAP = "[UNK]", "[CLS]", "[SEP]", "[MASK]"
CONTINUES = "##"
LONGEST_PIECE = 18
# Characters above have no letters that a piece knows, except for ligatures.
_HIGHEST = 0x3000
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_SOFT_HYPHEN = 0xAD
_EMPTY = np.uint64(0)
_CONTINUATION_SEED, _BEGINNING_SEED = np.uint64(7), np.uint64(3)

Places = NDArray[np.int64]


@dataclass(frozen=True)
class PieceTable:
    """Hashes of word pieces in open addressing, and the numbers of the pieces."""

    keys: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    unknown: int
    start: int
    stop: int
    gap: int

    @classmethod
    def of(cls, pieces: Sequence[str]) -> PieceTable:
        """
        Args:
            pieces: by number; those that continue a word begin with `CONTINUES`.
        """
        size = 1 << max(4, (2 * len(pieces)).bit_length())
        encoded = [piece.removeprefix(CONTINUES) if piece != CONTINUES else piece for piece in pieces]
        continues = np.array([piece != text for piece, text in zip(pieces, encoded, strict=True)])
        codes = np.frombuffer("".join(encoded).encode("utf-32-le"), dtype="<i4").astype(np.int32)
        ends = np.cumsum([len(text) for text in encoded])
        keys, numbers = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int32)
        _fill(codes, ends, continues, keys, numbers)
        special = {piece: number for number, piece in enumerate(pieces) if piece in (UNKNOWN, START, STOP, GAP)}
        return cls(keys, numbers, special[UNKNOWN], special[START], special[STOP], special[GAP])

    @classmethod
    def from_weights(cls, weights: Weights) -> PieceTable:
        """
        Raises:
            ModelError: the weights hold no table that can be searched.
        """
        keys, numbers, special = (weights.get(f"piece_{name}") for name in ("keys", "numbers", "special"))
        if keys is None or numbers is None or special is None:
            raise ModelError("weights hold no table of word pieces: expected piece_keys, piece_numbers, piece_special")
        size, count = len(keys), len(weights.get("pieces", ()))
        kinds_fit = keys.dtype == np.uint64 and numbers.dtype == np.int32 and special.dtype == np.int32
        if not kinds_fit or keys.ndim != 1 or numbers.shape != keys.shape or special.shape != (4,):
            raise ModelError("weights hold a table of word pieces of another form")
        if size & (size - 1) or not size or np.count_nonzero(keys) > size // 2:
            raise ModelError(f"the table of word pieces has {size} slots: expected a power of two, half of them empty")
        for found in (numbers, special):
            if found.min() < 0 or found.max() >= count:
                raise ModelError(f"the table of word pieces has numbers up to {found.max()}: expected below {count}")
        return cls(keys, numbers, *special.tolist())

    def to_weights(self) -> Weights:
        special = np.array([self.unknown, self.start, self.stop, self.gap], dtype=np.int32)
        return {"piece_keys": self.keys, "piece_numbers": self.numbers, "piece_special": special}


@compiled
def _slot(hashed: np.uint64, size: int) -> np.int64:
    hashed = (hashed ^ (hashed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = hashed ^ (hashed >> np.uint64(29))
    return np.int64(hashed & np.uint64(size - 1))


@compiled
def _fill(codes: Any, ends: Any, continues: Any, keys: Any, numbers: Any) -> None:
    begin = 0
    for number in range(len(ends)):
        hashed = _CONTINUATION_SEED if continues[number] else _BEGINNING_SEED
        for at in range(begin, ends[number]):
            hashed = hashed * GOLDEN + np.uint64(codes[at]) + np.uint64(1)
        begin = ends[number]
        slot = _slot(hashed, len(keys))
        while keys[slot] != _EMPTY:
            slot = (slot + 1) % len(keys)
        keys[slot] = hashed
        numbers[slot] = number


@compiled
def _find(hashed: np.uint64, keys: Any, numbers: Any) -> np.int64:
    """The number of a piece, -1 if there is none."""
    slot = _slot(hashed, len(keys))
    while keys[slot] != _EMPTY:
        if keys[slot] == hashed:
            return np.int64(numbers[slot])
        slot = (slot + 1) % len(keys)
    return np.int64(-1)


@compiled
def cut_word(
    letters: Any,
    signs: Any,
    start: int,
    stop: int,
    keys: Any,
    numbers: Any,
    unknown: int,
    out: Any,
    places: Any,
    at: int,
) -> int:
    """Writes the pieces of ``letters[start:stop]`` and where each begins, from ``at`` on; returns where they end."""
    here = start
    while here < stop and at < len(out):
        if signs[here]:
            found = _find(_BEGINNING_SEED * GOLDEN + np.uint64(letters[here]) + np.uint64(1), keys, numbers)
            out[at] = unknown if found < 0 else found
            places[at] = here
            at += 1
            here += 1
            continue
        hashed = _BEGINNING_SEED if here == start or signs[here - 1] else _CONTINUATION_SEED
        longest, number = 0, np.int64(unknown)
        for length in range(1, min(LONGEST_PIECE, stop - here) + 1):
            if signs[here + length - 1]:
                break
            hashed = hashed * GOLDEN + np.uint64(letters[here + length - 1]) + np.uint64(1)
            found = _find(hashed, keys, numbers)
            if found >= 0:
                longest, number = length, found
        out[at] = number
        places[at] = here
        at += 1
        here += max(1, longest)
    return at


@lru_cache(maxsize=1)
def _tables() -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Characters as pieces spell them, and which are signs."""
    letters, signs = np.arange(_HIGHEST + 1, dtype=np.int32), np.zeros(_HIGHEST + 1, dtype=bool)
    for code in range(_HIGHEST):
        character = chr(code)
        plain = [one for one in unicodedata.normalize("NFD", character.lower()) if unicodedata.category(one) != "Mn"]
        letters[code] = ord(plain[0]) if plain else code
        signs[code] = unicodedata.category(character)[0] in "PS"
    return letters, signs


def spelled(characters: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.bool_], Places]:
    """Letters as pieces spell them, which are signs, and where each character begins (one more than characters)."""
    letters, signs = _tables()
    special = (characters >= 0xFB00) & (characters <= 0xFB06) | (characters == _SOFT_HYPHEN)
    folded = np.minimum(characters, _HIGHEST)
    codes, is_sign = np.where(characters < _HIGHEST, letters[folded], characters), signs[folded]
    if not special.any():
        return codes, is_sign, np.arange(len(characters) + 1)
    widths = np.ones(len(characters), dtype=np.int64)
    widths[special] = [len(_LIGATURES.get(code, "")) for code in characters[special].tolist()]
    begins = np.concatenate([[0], np.cumsum(widths)])
    codes, is_sign = np.repeat(codes, widths), np.repeat(is_sign, widths)
    for place in np.flatnonzero(special).tolist():
        text = _LIGATURES.get(int(characters[place]), "")
        codes[begins[place] : begins[place + 1]] = [ord(one) for one in text]
    return codes, is_sign, begins
