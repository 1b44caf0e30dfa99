"""What FAST sees of a text: for every position, rows of hashed tables. Pure NumPy.

Three families of features, all computed from one prefix hash per family, so that the hash of any stretch of
characters costs one subtraction and one multiplication:

- ``ngram``: the characters that start at a position, for several lengths. The network reads them at every offset
  around a gap (left of it, right of it, straddling it).
- ``straddle``: a few characters on either side of the gap *with* the given gap bits between them.
- ``word``: what stands between given spaces: the part left of the gap, the part right of it, both together.

Digits are all alike for spacing, so they hash alike; case only matters in short n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits, Codes

Rows = NDArray[np.int32]
_Hashes = NDArray[np.uint64]

# Parts of words are hashed up to this length: a bound on how far a decision can look.
WORD_REACH = 16
_CASE_MATTERS_UP_TO = 4
_BASE = np.uint64(0x9E3779B97F4A7C15)
_BASE_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))


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

    def __call__(self, characters: NDArray[np.int32], bits: NDArray[np.bool_]) -> Rows:
        """Table rows for a batch of padded sequences.

        Args:
            characters: code points, ``[batch, length]``, 0 where there is no character.
            bits: given gap bits, of the same shape.

        Returns:
            Row numbers ``[batch, length, columns]``: n-grams that start at each position, then straddles of and words
            around the gap before each position.
        """
        length = characters.shape[1]
        starts = self.table_starts()
        # Nothing before the first character looks like nothing between two packed sequences.
        characters = np.pad(characters, ((0, 0), (self.reach, 0)))
        bits = np.pad(bits, ((0, 0), (self.reach, 0)))
        exact = _Prefix(_mix(FOLD_DIGITS(characters)))
        folded = _Prefix(_mix(FOLD_CASE(characters)))
        here = np.arange(self.reach, self.reach + length)
        columns = []
        for n, rows in self.ngrams:
            source = exact if n <= _CASE_MATTERS_UP_TO else folded
            columns.append(starts[f"ngram{n}"] + _to_rows(source.between(here, here + n), rows))
        spaced = _Prefix(_mix(FOLD_CASE(characters) * 2 + bits))
        for n, rows in self.straddles:
            around = exact.between(here - n, here - n + 1) * _BASE + spaced.between(here - n + 1, here + n)
            columns.append(starts[f"straddle{n}"] + _to_rows(around, rows))
        left, right = (edge[:, self.reach :] for edge in _word_edges(characters, bits))
        whole = folded.between(left, right) + _BASE * bits[:, self.reach :]
        for word in (folded.between(left, here), folded.between(here, right), whole):
            columns.append(starts["word"] + _to_rows(word, self.word_rows))
        return np.stack(columns, axis=-1).astype(np.int32)

    def word_row(self, word: Codes) -> int:
        """The row of one whole word."""
        rows = self(word[None].astype(np.int32), np.zeros((1, len(word)), dtype=bool))
        return int(rows[0, 0, -2])


class _Prefix:
    """Polynomial prefix hashes of the rows of a batch."""

    def __init__(self, mixed: _Hashes):
        batch, self.length = mixed.shape
        self.powers = _powers(_BASE, self.length + 1)
        self.inverse_powers = _powers(_BASE_INVERSE, self.length + 1)
        self.sums = np.zeros((batch, self.length + 1), dtype=np.uint64)
        np.cumsum(mixed * self.powers[:-1], axis=1, out=self.sums[:, 1:])

    def between(self, start: NDArray[np.intp], stop: NDArray[np.intp]) -> _Hashes:
        """Hashes of the characters ``start:stop``; what lies outside the sequence counts as nothing."""
        start, stop = np.clip(start, 0, self.length), np.clip(stop, 0, self.length)
        return (self._sums_at(stop) - self._sums_at(start)) * self.inverse_powers[start]

    def _sums_at(self, places: NDArray[np.intp]) -> _Hashes:
        return self.sums[:, places] if places.ndim == 1 else np.take_along_axis(self.sums, places, axis=1)


def _word_edges(characters: NDArray[np.int32], bits: Bits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For every gap, where the given word left of it begins and where the one right of it ends, within reach."""
    length = bits.shape[1]
    here = np.arange(length)
    nothing = characters == 0
    bits = bits | nothing
    bits[:, 1:] |= nothing[:, :-1]
    starts_here = np.where(bits, here, 0)
    last_start = np.maximum.accumulate(starts_here, axis=1)
    left = np.zeros_like(last_start)
    left[:, 1:] = last_start[:, :-1]
    ends_here = np.where(bits, here, length)
    next_start = np.minimum.accumulate(ends_here[:, ::-1], axis=1)[:, ::-1]
    right = np.full_like(next_start, length)
    right[:, :-1] = next_start[:, 1:]
    return np.maximum(left, here - WORD_REACH), np.minimum(right, here + WORD_REACH)


def _to_rows(hashes: _Hashes, rows: int) -> NDArray[np.int64]:
    """Spreads hashes over a table. The final mixing makes every bit of a polynomial hash count."""
    mixed = _finalise(hashes)
    return ((mixed >> np.uint64(32)) * np.uint64(rows) >> np.uint64(32)).astype(np.int64)


def _mix(codes: NDArray[np.int32]) -> _Hashes:
    """Spreads code points over 64 bits. No character stays 0, so that padding adds nothing to a hash."""
    return _finalise(codes.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93))


def _finalise(hashes: _Hashes) -> _Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(32))


def _powers(base: np.uint64, count: int) -> _Hashes:
    out = np.full(count, base, dtype=np.uint64)
    out[0] = 1
    return np.multiply.accumulate(out)


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
