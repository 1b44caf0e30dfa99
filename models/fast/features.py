"""What FAST sees of a text: for every position, rows of hashed tables.

Three families of features:

- ``ngram``: the characters that start at a position, for several lengths. The network reads them at every offset
  around a gap (left of it, right of it, straddling it).
- ``straddle``: a few characters on either side of the gap *with* the given gap bits between them.
- ``word``: what stands between given spaces: the part left of the gap, the part right of it, both together.

Digits are all alike for spacing, so they hash alike; case only matters in short n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits, Codes
from respace.hashing import GOLDEN
from respace.loops import compiled

Rows = NDArray[np.int32]
_Hashes = NDArray[np.uint64]

# Parts of words are hashed up to this length: a bound on how far a decision can look.
WORD_REACH = 16
_LONGEST_NGRAM, _MOST_ROWS = 64, 1 << 26
_CASE_MATTERS_UP_TO = 4
_BASE = GOLDEN


@dataclass(frozen=True, kw_only=True)
class Features:
    """Which features there are, and how many table rows each family member has."""

    ngrams: tuple[tuple[int, int], ...] = (
        (3, 1 << 16),
        (4, 1 << 18),
        (5, 1 << 18),
        (6, 1 << 19),
        (8, 1 << 19),
        (11, 1 << 19),
    )
    straddles: tuple[tuple[int, int], ...] = ((2, 1 << 17), (3, 1 << 18))
    word_rows: int = 1 << 19

    def __post_init__(self) -> None:
        # Compiled loops look up what these say, and check nothing.
        for name, members in (("ngrams", self.ngrams), ("straddles", self.straddles)):
            lengths = [length for length, _ in members]
            if len(set(lengths)) != len(lengths) or not all(0 < length <= _LONGEST_NGRAM for length in lengths):
                raise ValueError(f"{name} of {lengths} characters: expected different lengths up to {_LONGEST_NGRAM}")
        tables = [rows for _, rows in self.ngrams + self.straddles] + [self.word_rows]
        if not self.ngrams or not all(type(rows) is int and 0 < rows <= _MOST_ROWS for rows in tables):
            raise ValueError(f"tables of {tables} rows: expected n-grams, and from 1 to {_MOST_ROWS:,} rows in each")

    @property
    def rows(self) -> int:
        return sum(rows for _, rows in self.ngrams + self.straddles) + self.word_rows

    @property
    def reach(self) -> int:
        """How many characters on either side of a gap its features can see."""
        return max([WORD_REACH] + [length for length, _ in self.ngrams + self.straddles])

    @property
    def columns(self) -> int:
        return len(self.ngrams) + len(self.straddles) + 3

    def table_starts(self) -> dict[str, int]:
        """Where each table begins in the one large table that holds them all."""
        starts, start = {}, 0
        for name, rows in [(f"ngram{n}", r) for n, r in self.ngrams] + [(f"straddle{n}", r) for n, r in self.straddles]:
            starts[name] = start
            start += rows
        return starts | {"word": start}

    def __call__(self, characters: NDArray[np.int32], bits: Bits) -> Rows:
        """Table rows for texts laid one after the other.

        Args:
            characters: code points, 0 between two texts.
            bits: given gap bits.

        Returns:
            Row numbers ``[positions, columns]``: n-grams that start at each position, then straddles of and words
            around the gap before each position. What lies outside a text counts as nothing.
        """
        out = np.zeros((len(characters), self.columns), dtype=np.int32)
        starts = list(self.table_starts().values())
        _find_rows(
            _mix(FOLD_DIGITS(characters)),
            _mix(FOLD_CASE(characters)),
            _mix(FOLD_CASE(characters) * 2 + bits),
            characters,
            bits,
            np.array([(n, rows) for n, rows in self.ngrams], dtype=np.int64).reshape(-1, 2),
            np.array([(n, rows) for n, rows in self.straddles], dtype=np.int64).reshape(-1, 2),
            self.word_rows,
            np.array(starts, dtype=np.int64),
            out,
        )
        return out

    def word_row(self, word: Codes) -> int:
        """The row of one whole word."""
        return int(self(word.astype(np.int32), np.zeros(len(word), dtype=bool))[0, -2])


@compiled
def _find_rows(
    exact: Any,
    folded: Any,
    spaced: Any,
    characters: Any,
    bits: Any,
    ngrams: Any,
    straddles: Any,
    word_rows: int,
    starts: Any,
    out: Any,
) -> None:
    """Text by text; arguments as in `Features.__call__`, the first three spread over 64 bits."""
    size = len(characters)
    start = 0
    while start < size:
        stop = start
        while stop < size and characters[stop] != 0:
            stop += 1
        for here in range(start, stop):
            for column in range(len(ngrams)):
                n, rows = ngrams[column]
                source = exact if n <= _CASE_MATTERS_UP_TO else folded
                hashed = _between(source, here, min(here + n, stop), here)
                out[here, column] = starts[column] + _to_row(hashed, rows)
            column = len(ngrams)
            for number in range(len(straddles)):
                n, rows = straddles[number]
                first = exact[here - n] if here - n >= start else np.uint64(0)
                after = here - n + 1
                hashed = first * _BASE + _between(spaced, max(after, start), min(here + n, stop), after)
                out[here, column + number] = starts[column + number] + _to_row(hashed, rows)
            column += len(straddles)
            left, right = here, here + 1
            while left > max(start, here - WORD_REACH) and (left == here or not bits[left]):
                left -= 1
            while right < min(stop, here + WORD_REACH) and not bits[right]:
                right += 1
            before = _between(folded, left, here, left)
            behind = _between(folded, here, right, here)
            origin = left if here > start else here - 1  # at the start of a text, nothing is the word before
            both = _between(folded, left, right, origin) + (_BASE if bits[here] else np.uint64(0))
            out[here, column] = starts[column] + _to_row(before, word_rows)
            out[here, column + 1] = starts[column] + _to_row(behind, word_rows)
            out[here, column + 2] = starts[column] + _to_row(both, word_rows)
        start = stop + 1


@compiled
def _between(mixed: Any, start: int, stop: int, origin: int) -> np.uint64:
    """The polynomial hash of ``start:stop``, with the powers counted from ``origin``."""
    hashed = np.uint64(0)
    power = np.uint64(1)
    for _ in range(start - origin):
        power *= _BASE
    for at in range(start, stop):
        hashed += mixed[at] * power
        power *= _BASE
    return hashed


@compiled
def _to_row(hashed: np.uint64, rows: int) -> np.int64:
    """Spreads hashes over a table. The final mixing makes every bit of a polynomial hash count."""
    hashed = (hashed ^ (hashed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    hashed = hashed ^ (hashed >> np.uint64(32))
    return np.int64(((hashed >> np.uint64(32)) * np.uint64(rows)) >> np.uint64(32))


def _mix(codes: NDArray[np.int32]) -> _Hashes:
    """Spreads code points over 64 bits. No character stays 0, so that padding adds nothing to a hash."""
    return _finalise(codes.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93))


def _finalise(hashes: _Hashes) -> _Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(32))


class _Fold:
    """A table that maps code points, identity above its end."""

    def __init__(self, mapping: dict[int, int], size: int = 0x2000):
        self.table = np.arange(size, dtype=np.int32)
        for code, to in mapping.items():
            self.table[code] = to

    def __call__(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        inside = codes < len(self.table)
        return np.where(inside, self.table[np.where(inside, codes, 0)], codes)


_DIGITS = {code: ord("0") for code in range(ord("0"), ord("9") + 1)}
_LOWER = {code: ord(chr(code).lower()) for code in range(0x2000) if len(chr(code).lower()) == 1}
FOLD_DIGITS = _Fold(_DIGITS)
FOLD_CASE = _Fold(_LOWER | _DIGITS)
