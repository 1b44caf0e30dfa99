"""How much a stretch of text looks like English prose: log odds against code, markup, tables and other languages.

A linear model over hashed n-grams of the characters without spaces (spaces are what may be wrong), learnt by
``python -m training.train_prose`` from clean and misspelled English and from text of some eighty other kinds. One table
of a quarter of a megabyte; a look-up per n-gram and a running sum, so that any stretch of a text costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.features import FOLD_CASE
from models.files import ModelError, ModelFiles, Weights, load_model
from respace.gaps import Codes

PROSE_MODEL = "prose"
# Lengths of n-grams of small letters, and of shapes: of a letter only whether it is capital, of a digit nothing.
LETTER_NGRAMS = (1, 2, 3, 4, 5)
SHAPE_NGRAMS = (2, 4)
TABLE_BITS = 18
# Neighbouring n-grams say much the same: evidence grows with the root of the length, and short stretches say little.
SHORT = 16
LINE_BREAK = 10

_HIGHEST = 0x3000
_LOWER, _UPPER, _DIGIT, _SCRIPT = 1, 2, 3, 4
_MULTIPLIER = np.uint32(0x9E3779B1)


def _shape_table() -> NDArray[np.uint32]:
    shapes = np.arange(_HIGHEST + 1, dtype=np.uint32) + 8
    for code in range(_HIGHEST):
        character = chr(code)
        if character.isdigit():
            shapes[code] = _DIGIT
        elif character.isalpha():
            shapes[code] = _UPPER if character.isupper() else _LOWER
    shapes[_HIGHEST] = _SCRIPT
    return shapes


def _letter_table() -> NDArray[np.uint32]:
    folded = FOLD_CASE(np.arange(_HIGHEST + 1, dtype=np.int32)).astype(np.uint32)
    folded[[code for code in range(_HIGHEST) if chr(code).isdigit()]] = ord("0")
    return folded


_SHAPES = _shape_table()
_LETTERS = _letter_table()


def ngram_rows(codes: Codes) -> list[NDArray[np.uint32]]:
    """For each kind of n-gram the rows of those that end at each character."""
    low = np.minimum(codes, _HIGHEST)
    letters = np.where(low < _HIGHEST, _LETTERS[low], codes)
    return [*_rows(letters, LETTER_NGRAMS, 0), *_rows(_SHAPES[low], SHAPE_NGRAMS, 7)]


def _rows(values: NDArray[np.uint32], lengths: tuple[int, ...], salt: int) -> list[NDArray[np.uint32]]:
    rows = []
    hashes = np.zeros(len(values), dtype=np.uint32)
    scrambled = (values + np.uint32(1)) * np.uint32(0x85EBCA6B)
    for length in range(1, max(lengths) + 1):
        # One character more to the left; before the first there is none.
        shifted = np.zeros_like(scrambled)
        shifted[length - 1 :] = scrambled[: max(0, len(values) - length + 1)]
        hashes = (hashes ^ shifted) * _MULTIPLIER
        hashes ^= hashes >> np.uint32(15)
        if length in lengths:
            mixed = (hashes + np.uint32(salt + length)) * np.uint32(0xC2B2AE35)
            rows.append(mixed >> np.uint32(32 - TABLE_BITS))
    return rows


@dataclass(frozen=True, kw_only=True)
class ProseModel:
    """The table, in 8 bits, and the odds of a text of which nothing is known."""

    table: NDArray[np.int8]
    scale: float
    bias: float

    @classmethod
    def of(cls, table: NDArray[Any], bias: float) -> ProseModel:
        scale = max(float(np.abs(table).max()), 1e-8) / 127
        return cls(table=np.round(table / scale).astype(np.int8), scale=scale, bias=bias)

    @classmethod
    def from_files(cls, files: ModelFiles) -> ProseModel:
        if files.config.get("kind") != "prose":
            raise ModelError(f"{files.name} is a {files.config.get('kind')!r}: expected a model of prose")
        return cls(table=files.weights["table"], scale=files.config["scale"], bias=files.config["bias"])

    def to_config(self) -> dict[str, Any]:
        return {"kind": "prose", "name": PROSE_MODEL, "scale": self.scale, "bias": self.bias}

    def to_weights(self) -> Weights:
        return {"table": self.table}

    @cached_property
    def _values(self) -> NDArray[np.float32]:
        return self.table.astype(np.float32) * np.float32(self.scale)

    def evidence(self, codes: Codes) -> NDArray[np.float64]:
        """Running sums of evidence: ``out[j] - out[i]`` is what the n-grams that end in ``i:j`` say.

        Args:
            codes: characters, with a `LINE_BREAK` between lines.
        """
        out = np.zeros(len(codes) + 1)
        total = np.zeros(len(codes), dtype=np.float32)
        for rows in ngram_rows(codes):
            total += self._values[rows]
        np.cumsum(total, out=out[1:])
        return out

    def odds(self, evidence: NDArray[np.float64], lengths: NDArray[Any]) -> NDArray[np.float64]:
        """Log odds of English prose from the summed evidence of stretches and their lengths."""
        return self.bias + evidence / np.sqrt(lengths + SHORT)


@lru_cache(maxsize=2)
def load_prose_model(model: str = PROSE_MODEL) -> ProseModel:
    """The model that ships with Respace, or that of any directory; read once per process."""
    return ProseModel.from_files(load_model(model))
