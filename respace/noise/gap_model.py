"""Space errors as PDF extractors make them: they depend on what stands around the gap.

The model is a table of P(the space bit of this gap is wrong | context). A context is the class (lower-case letter,
digit, opening bracket, comma, ...) of a few characters on either side, together with the correct space bits of the gap
itself and of its neighbours. Wide contexts are rare, so every estimate backs off to that of the next narrower context.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits, Codes
from respace.noise.rows import Rows

Keys = NDArray[np.uint64]

# Every one of these behaves in its own way in formulas; the other characters share a class by their category.
_ALONE = ",.;:=+-/|*'\"<>^_~%&$#@!?×−–—\\"
_OUTSIDE, _LOWER, _UPPER, _FOREIGN, _DIGIT, _OPEN, _CLOSE, _RELATION, _SYMBOL, _MARK = range(10)
_BITS_PER_CLASS = 6
_REACH = 3
# (classes on the left, classes on the right, bits on either side), from the narrowest context to the widest.
LEVELS = ((0, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 3, 2))


def _class_of(code: int) -> int:
    character = chr(code)
    if character in _ALONE:
        return _MARK + 1 + _ALONE.index(character)
    category = unicodedata.category(character)
    if category.startswith("L"):
        if code < 0x250:
            return _UPPER if category == "Lu" else _LOWER
        return _FOREIGN
    by_category = {"Nd": _DIGIT, "Ps": _OPEN, "Pi": _OPEN, "Pe": _CLOSE, "Pf": _CLOSE, "Sm": _RELATION}
    return by_category.get(category, _MARK if category.startswith(("M", "C")) else _SYMBOL)


_LAST_CLASSED = 0xFFFF
_CLASSES = np.array([_class_of(code) for code in range(_LAST_CLASSED + 1)], dtype=np.uint8)


def classes(characters: Codes) -> NDArray[np.uint8]:
    """The context class of every character."""
    out = _CLASSES[np.minimum(characters, _LAST_CLASSED)]
    beyond = characters > _LAST_CLASSED
    if beyond.any():
        # The mathematical alphabets are all that is common up there.
        mathematical = (characters >= 0x1D400) & (characters <= 0x1D7FF)
        out[beyond] = np.where(mathematical[beyond], _FOREIGN, _SYMBOL)
    return out


def context_keys(rows: Rows) -> list[Keys]:
    """For every level the context of every gap as one number."""
    count, rows_apart = len(rows.characters), 2 * _REACH
    # Rows are laid out with empty places between them, so that a context never reads over the end of its row.
    place = np.arange(count) + (rows.row + 1) * rows_apart
    size = count + (len(rows) + 2) * rows_apart
    kind = np.zeros(size, dtype=np.uint64)
    kind[place] = classes(rows.characters)
    bit = np.zeros(size, dtype=np.uint64)
    bit[place] = rows.bits
    inner = size - 2 * _REACH

    def shifted(values: Keys, distance: int) -> Keys:
        return values[_REACH + distance : _REACH + distance + inner]

    keys = []
    for left, right, around in LEVELS:
        # In place, and on neighbouring slices: this is where most of the time goes.
        key = shifted(bit, 0).copy()
        for distance in range(1, around + 1):
            for neighbour in (-distance, distance):
                key <<= np.uint64(1)
                key |= shifted(bit, neighbour)
        for distance in [*range(-left, 0), *range(right)]:
            key <<= np.uint64(_BITS_PER_CLASS)
            key |= shifted(kind, distance)
        keys.append(key[place - _REACH])
    return keys


@dataclass(frozen=True, kw_only=True)
class GapModel:
    """P(the space bit is wrong) for every context that is worth an entry, sorted by key, one table per level."""

    keys: tuple[Keys, ...]
    probabilities: tuple[NDArray[np.float64], ...]

    @classmethod
    def fit(cls, rows: Rows, given: Bits, *, weight_of_narrower: float = 2.0, worth: float = 0.2) -> GapModel:
        """Learns from rows with correct bits and the bits that an extractor gave.

        Args:
            rows: the correct text.
            given: the gap bits as extracted.
            weight_of_narrower: the narrower context's estimate counts like this many observations.
            worth: an entry is kept if it changes the expected number of errors on the pairs by this much.
        """
        inner = np.flatnonzero(rows.position > 0)
        wrong = (rows.bits != given)[inner].astype(np.float64)
        narrower = np.zeros(len(inner))
        kept_keys, kept_probabilities = [], []
        for level, all_keys in enumerate(context_keys(rows)):
            found, inverse = np.unique(all_keys[inner], return_inverse=True)
            seen = np.bincount(inverse)
            errors = np.bincount(inverse, weights=wrong)
            # All gaps of one context share the narrower context, hence its estimate too.
            prior = np.zeros(len(found))
            prior[inverse] = narrower
            prior_weight = weight_of_narrower if level else 0.0
            estimate = (errors + prior_weight * prior) / (seen + prior_weight)
            worthy = np.abs(estimate - prior) * seen >= (worth if level else 0.0)
            estimate = np.where(worthy, estimate, prior)
            kept_keys.append(found[worthy])
            kept_probabilities.append(estimate[worthy])
            narrower = estimate[inverse]
        return cls(keys=tuple(kept_keys), probabilities=tuple(kept_probabilities))

    def error_probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """P(the space bit of this gap is wrong) for every gap; 0 for the first gap of a row."""
        out = np.zeros(len(rows.characters))
        for keys, known, probabilities in zip(context_keys(rows), self.keys, self.probabilities, strict=True):
            if len(known):
                place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
                hit = known[place] == keys
                out[hit] = probabilities[place[hit]]
        out[rows.offsets[:-1][rows.lengths > 0]] = 0.0
        return out

    def to_json(self) -> dict[str, Any]:
        return {
            "levels": [list(level) for level in LEVELS],
            "keys": [keys.tolist() for keys in self.keys],
            "probabilities": [[float(f"{p:.3g}") for p in table.tolist()] for table in self.probabilities],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GapModel:
        if [tuple(level) for level in data["levels"]] != list(LEVELS):
            raise ValueError(
                f"gap model with context levels {data['levels']}: expected {[list(level) for level in LEVELS]}. "
                f"Estimate it again with `{sys.executable} -m training.estimate_noise`"
            )
        return cls(
            keys=tuple(np.array(keys, dtype=np.uint64) for keys in data["keys"]),
            probabilities=tuple(np.array(table, dtype=np.float64) for table in data["probabilities"]),
        )
