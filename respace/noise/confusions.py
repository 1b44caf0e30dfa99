"""Character confusions of OCR: up to three characters read as up to three others, by frequency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Codes
from respace.noise.rows import Indices, Replacements, Rows, ragged_ranges

MAX_LENGTH = 3
_BITS_PER_CHARACTER = 21


class Confusion(NamedTuple):
    correct: str
    wrong: str
    frequency: int


def read_confusions(path: str | Path) -> list[Confusion]:
    """Reads a file of tab-separated lines: correct characters, wrong characters (each 0 to 3), frequency."""
    confusions = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip("\r"):
            continue
        fields = line.rstrip("\r").split("\t")
        if len(fields) < 3 or not fields[2].isdecimal() or max(len(fields[0]), len(fields[1])) > MAX_LENGTH:
            raise ValueError(
                f"{path}, line {number}: {line!r}: expected correct, wrong (each 0 to {MAX_LENGTH} characters), "
                "frequency, separated by tabs"
            )
        confusions.append(Confusion(fields[0], fields[1], int(fields[2])))
    if not confusions:
        raise ValueError(f"{path}: no confusion in it. Expected lines of correct, wrong, frequency (tabs between)")
    return confusions


def as_number(codes: Sequence[int]) -> int:
    """Up to three code points as one number; no two strings give the same."""
    packed = 0
    for code in codes:
        packed = packed << _BITS_PER_CHARACTER | (code + 1)
    return packed


class ConfusionTable:
    """Draws confusions so that over a long text each is as frequent as in the table.

    At a place in the text only what stands there can be misread. A confusion's weight there is its count divided by
    how often its correct side occurs in ordinary text: `h` is misread more often than its frequency
    alone would make it.
    """

    def __init__(self, confusions: Iterable[Confusion], occurrences: dict[str, float]) -> None:
        """``occurrences``: how often per character of ordinary text each correct side occurs."""
        usable = [c for c in confusions if c.correct != c.wrong and not any(map(str.isspace, c.correct + c.wrong))]
        # What is not in the sample of ordinary text is rarer than its rarest member.
        rarest = min(occurrences.values(), default=1.0)
        total = sum(c.frequency for c in usable)
        usable.sort(key=lambda c: (as_number(tuple(map(ord, c.correct))), c.wrong))
        share = np.array([c.frequency / total for c in usable])
        frequency = np.array([occurrences.get(c.correct, rarest) if c.correct else 1.0 for c in usable])
        weights = np.minimum(share / frequency, _HEAVIEST)
        # The mean weight of a place in ordinary text is 1, so that a rate means what it says.
        weights /= sum(
            w * (occurrences.get(c.correct, 0.0) if c.correct else 1.0) for w, c in zip(weights, usable, strict=True)
        )
        self._limits = np.cumsum(weights)
        sides = np.array([as_number(tuple(map(ord, c.correct))) for c in usable], dtype=np.int64)
        self._sides, first = np.unique(sides, return_index=True)
        before = np.append(0.0, self._limits)
        self._low = before[first]
        self._high = before[np.append(first[1:], len(usable))]
        self._wrong = gaps.code_points("".join(c.wrong for c in usable))
        self._wrong_length = np.array([len(c.wrong) for c in usable], dtype=np.int64)
        self._wrong_start = np.cumsum(self._wrong_length) - self._wrong_length
        self._removed = np.array([len(c.correct) for c in usable], dtype=np.int64)

    def replacements(self, rows: Rows, places: Indices, rates: NDArray[np.float64]) -> Replacements:
        """Misreads characters at these places, each with its rate (the mean over ordinary text).

        No two confusions touch each other: they would count as one, and the rates are counted in that way.
        """
        # A place next to a confusion is taken; among the free places the rate must be that much higher.
        rates = rates / np.maximum(1.0 - rates, 0.1)
        strings = _strings_at(rows, places)
        ranges = [self._range(key) for key in strings]
        widths = np.stack([high - low for low, high in ranges])
        cumulative = np.cumsum(widths, axis=0)
        drawn = rows.uniform("confusion", places) / np.maximum(rates, 1e-12)
        # A rate is a mean; where it would push a place beyond certainty, the draw stays within what stands there.
        certain = rates * cumulative[-1] > 1.0
        drawn = np.where(certain, drawn * rates * cumulative[-1], drawn)
        hit = np.flatnonzero((drawn < cumulative[-1]) & (rates > 0) & (cumulative[-1] > 0))
        drawn = drawn[hit]
        length = (drawn >= cumulative[:, hit]).sum(axis=0)
        length = np.minimum(length, MAX_LENGTH)
        before = np.where(length > 0, cumulative[np.maximum(length - 1, 0), hit], 0.0)
        low = np.stack([low for low, _ in ranges])[length, hit]
        entry = np.minimum(np.searchsorted(self._limits, low + drawn - before, side="right"), len(self._limits) - 1)
        apart = _keep_apart(places[hit], self._removed[entry], rows)
        entry, start = entry[apart], places[hit][apart]
        added_length = self._wrong_length[entry]
        added: Codes = self._wrong[ragged_ranges(self._wrong_start[entry], added_length)]
        return Replacements.of(start, self._removed[entry], added_length, added)

    def _range(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        place = np.minimum(np.searchsorted(self._sides, keys), len(self._sides) - 1)
        known = self._sides[place] == keys
        return np.where(known, self._low[place], 0.0), np.where(known, self._high[place], 0.0)


# A correct side that hardly occurs in ordinary text would otherwise be misread nearly always.
_HEAVIEST = 8.0


def _keep_apart(starts: Indices, removed: Indices, rows: Rows) -> list[int]:
    """Those that leave at least one character between them and the one before."""
    kept = []
    free_from = 0
    row_ends = rows.offsets[rows.row[starts] + 1].tolist()
    for number, (start, length, row_end) in enumerate(zip(starts.tolist(), removed.tolist(), row_ends, strict=True)):
        if start >= free_from:
            kept.append(number)
            free_from = min(start + length + 1, row_end)
    return kept


def _strings_at(rows: Rows, places: Indices) -> list[NDArray[np.int64]]:
    """For lengths 0 to 3 the string that begins at each place, packed; -1 where it would leave its word."""
    strings = [np.zeros(len(places), dtype=np.int64)]
    packed = strings[0]
    within = np.ones(len(places), dtype=bool)
    for distance in range(MAX_LENGTH):
        there = np.minimum(places + distance, len(rows.characters) - 1)
        if distance:
            within = within & (places + distance < len(rows.characters)) & ~rows.starts_token[there]
        packed = packed << _BITS_PER_CHARACTER | (rows.characters[there].astype(np.int64) + 1)
        strings.append(np.where(within, packed, -1))
    return strings
