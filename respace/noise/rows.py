"""Many rows of text as flat arrays, and the one operation that changes their characters: `splice`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits, Codes
from respace.hashing import Hashes, row_hashes
from respace.noise import draws

Indices = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows ``offsets[i]:offsets[i + 1]`` of characters with their gap bits; the first gap of a row has no space."""

    characters: Codes
    bits: Bits
    offsets: Indices
    hashes: Hashes

    @classmethod
    def of(cls, texts: Sequence[str], keys: Sequence[str], seed: int) -> Rows:
        if len(texts) != len(keys):
            raise ValueError(f"{len(texts)} texts with {len(keys)} keys: expected one key for each text")
        codes = gaps.code_points("".join(texts))
        positions = np.flatnonzero(~gaps.is_space(codes))
        ends = np.cumsum(np.fromiter((len(text) for text in texts), dtype=np.int64, count=len(texts)))
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        offsets[1:] = np.searchsorted(positions, ends)
        bits = gaps.gap_bits(positions)
        bits[offsets[:-1][offsets[:-1] < len(bits)]] = False
        hashes = row_hashes(keys, seed)
        return cls(characters=codes[positions].astype(np.uint32), bits=bits, offsets=offsets, hashes=hashes)

    def __len__(self) -> int:
        return len(self.hashes)

    @cached_property
    def lengths(self) -> Indices:
        return np.diff(self.offsets)

    @cached_property
    def row(self) -> Indices:
        """The row of every character."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def position(self) -> Indices:
        """The position of every character in its row."""
        return np.arange(len(self.characters)) - self.offsets[self.row]

    @cached_property
    def starts_token(self) -> Bits:
        starts = self.bits.copy()
        starts[self.offsets[:-1][self.lengths > 0]] = True
        return starts

    @cached_property
    def token_start(self) -> Indices:
        return np.flatnonzero(self.starts_token)

    @cached_property
    def token_end(self) -> Indices:
        return np.append(self.token_start[1:], len(self.characters)) if len(self.token_start) else self.token_start

    @cached_property
    def token_row(self) -> Indices:
        return self.row[self.token_start]

    @cached_property
    def tokens_per_row(self) -> Indices:
        return np.bincount(self.token_row, minlength=len(self))

    @cached_property
    def token_number(self) -> Indices:
        """The number of every token in its row, from 0."""
        first = np.cumsum(self.tokens_per_row) - self.tokens_per_row
        return np.arange(len(self.token_start)) - first[self.token_row]

    def uniform(self, stream: str, characters: Indices) -> NDArray[np.float64]:
        """A random number for each of these characters."""
        return draws.uniform(self.hashes[self.row[characters]], stream, self.position[characters])

    def uniform_by_token(self, stream: str, tokens: Indices) -> NDArray[np.float64]:
        """A random number for each of these tokens."""
        return draws.uniform(self.hashes[self.token_row[tokens]], stream, self.token_number[tokens])


@dataclass(frozen=True, kw_only=True)
class Replacements:
    """``removed`` characters from ``start`` give way to ``added`` ones: the next ``length`` of the flat codes.

    With nothing removed it is an insertion before ``start``. A replacement never removes more than one gap's space,
    the one before its first character; that space then stands before whatever comes in its place.
    """

    start: Indices
    removed: Indices
    length: Indices
    added: Codes
    mark: NDArray[np.uint8]

    @classmethod
    def of(cls, start: Indices, removed: Indices, length: Indices, added: Codes, mark: int = 0) -> Replacements:
        marks = np.full(len(start), mark, dtype=np.uint8)
        return cls(start=start, removed=removed, length=length, added=added.astype(np.uint32), mark=marks)

    @classmethod
    def from_strings(cls, changes: Sequence[tuple[int, int, str]]) -> Replacements:
        """From (start, removed, added) triples."""
        start, removed, length = (
            np.array(column, dtype=np.int64)
            for column in ([c[0] for c in changes], [c[1] for c in changes], [len(c[2]) for c in changes])
        )
        return cls.of(start, removed, length, gaps.code_points("".join(c[2] for c in changes)))

    def take(self, chosen: Indices) -> Replacements:
        """Some of them, in the order asked for."""
        first = np.cumsum(self.length) - self.length
        length = self.length[chosen]
        return Replacements(
            start=self.start[chosen],
            removed=self.removed[chosen],
            length=length,
            added=self.added[ragged_ranges(first[chosen], length)],
            mark=self.mark[chosen],
        )


def ragged_ranges(starts: Indices, lengths: Indices) -> Indices:
    """The numbers of all ranges ``start:start + length``, one range after the other.

    >>> ragged_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def merge(parts: Sequence[Replacements]) -> Replacements:
    """All replacements in the order of the text. Of two that overlap the later one is dropped."""
    joined = Replacements(
        start=np.concatenate([part.start for part in parts]),
        removed=np.concatenate([part.removed for part in parts]),
        length=np.concatenate([part.length for part in parts]),
        added=np.concatenate([part.added for part in parts]),
        mark=np.concatenate([part.mark for part in parts]),
    )
    order = np.argsort(joined.start, kind="stable")
    kept = []
    free_from = 0
    for index, start, end in zip(
        order.tolist(), joined.start[order].tolist(), (joined.start + joined.removed)[order].tolist(), strict=True
    ):
        if start >= free_from:
            kept.append(index)
            # An insertion takes its place too: two at one place would not have a defined order.
            free_from = max(end, start + 1)
    return joined.take(np.array(kept, dtype=np.int64))


def splice(rows: Rows, changes: Replacements) -> tuple[Rows, Indices, Indices]:
    """Rows after these replacements, which must be in order and not overlap (see `merge`).

    Returns:
        the rows; for every new character the old character it stands for (so that what is known about a character
        can be carried over); the place of every replacement in the new characters.
    """
    count = len(rows.characters)
    if not len(changes.start):
        return rows, np.arange(count), changes.start
    copies = np.ones(count, dtype=np.int64)
    copies[ragged_ranges(changes.start, changes.removed)] = 0
    copies[changes.start] += changes.length
    after = np.cumsum(copies)
    source = np.repeat(np.arange(count), copies)
    place = after[changes.start] - copies[changes.start]
    characters = rows.characters[source]
    characters[ragged_ranges(place, changes.length)] = changes.added

    # A space before something that vanished goes to the next character that is still there.
    next_place = after - copies
    offsets = np.zeros(len(rows.offsets), dtype=np.int64)
    offsets[1:] = np.append(0, after)[rows.offsets[1:]]
    bits = np.zeros(len(characters), dtype=bool)
    spaces = np.flatnonzero(rows.bits)
    # Something inserted at a space belongs to the word before it or to the one after it, in turn.
    to_the_left = np.zeros(count, dtype=np.int64)
    pure = (changes.removed == 0) & rows.bits[changes.start] & (rows.position[changes.start] % 2 == 0)
    to_the_left[changes.start[pure]] = changes.length[pure]
    targets = next_place[spaces] + to_the_left[spaces]
    inside = targets < offsets[rows.row[spaces] + 1]
    bits[targets[inside]] = True
    bits[offsets[:-1][np.diff(offsets) > 0]] = False
    return Rows(characters=characters, bits=bits, offsets=offsets, hashes=rows.hashes), source, place
