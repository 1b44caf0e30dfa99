"""How much a stretch of text looks like English prose: log odds against code, markup, tables and other languages.

A linear model over hashed n-grams of the characters without spaces (spaces are what may be wrong), learnt by
``python -m training.train_prose`` from clean and misspelled English and from text of some eighty other kinds. One table
of a quarter of a megabyte; a look-up per n-gram and a running sum, so that any stretch of a text costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.features import FOLD_CASE
from models.files import ModelError, ModelFiles, Weights, load_model
from respace.gaps import Codes
from respace.loops import compiled

PROSE_MODEL = "prose"
# Lengths of n-grams of small letters, and of shapes: of a letter only whether it is capital, of a digit nothing.
LETTER_NGRAMS = (1, 2, 3, 4, 5)
SHAPE_NGRAMS = (2, 4)
_LETTER_LENGTHS, _SHAPE_LENGTHS = np.array(LETTER_NGRAMS), np.array(SHAPE_NGRAMS)
TABLE_BITS = 18
# Neighbouring n-grams say much the same: evidence grows with the root of the length, and short stretches say little.
SHORT = 16
LINE_BREAK = 10

_HIGHEST = 0x3000
_LOWER, _UPPER, _DIGIT, _SCRIPT = 1, 2, 3, 4
_MULTIPLIER = np.uint32(0x9E3779B1)
_SHAPE_SALT = 7


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


def ngram_rows(codes: Codes) -> NDArray[np.uint32]:
    """For each kind of n-gram, ``[kinds, characters]``, the rows of those that end at each character."""
    out = np.empty((len(LETTER_NGRAMS) + len(SHAPE_NGRAMS), len(codes)), dtype=np.uint32)
    letters, shapes = _letters_and_shapes(codes)
    _fill_rows(letters, _LETTER_LENGTHS, 0, out[: len(LETTER_NGRAMS)])
    _fill_rows(shapes, _SHAPE_LENGTHS, _SHAPE_SALT, out[len(LETTER_NGRAMS) :])
    return out


def _letters_and_shapes(codes: Codes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    low = np.minimum(codes, _HIGHEST)
    return np.where(low < _HIGHEST, _LETTERS[low], codes).astype(np.uint32), _SHAPES[low]


@compiled
def _row(hashed: np.uint32, length: int, salt: int) -> np.uint32:
    mixed = np.uint32((hashed + np.uint32(salt + length)) * np.uint32(0xC2B2AE35))
    return mixed >> np.uint32(32 - TABLE_BITS)


@compiled
def _one_more(hashed: np.uint32, value: np.uint32) -> np.uint32:
    """The hash of an n-gram that is one character longer to the left; before the first there is none."""
    hashed = np.uint32((hashed ^ value) * _MULTIPLIER)
    return hashed ^ (hashed >> np.uint32(15))


@compiled
def _fill_rows(values: Any, lengths: Any, salt: int, out: Any) -> None:
    for at in range(len(values)):
        hashed = np.uint32(0)
        kind = 0
        for length in range(1, lengths[-1] + 1):
            value = np.uint32(0)
            if at - length + 1 >= 0:
                value = np.uint32((values[at - length + 1] + np.uint32(1)) * np.uint32(0x85EBCA6B))
            hashed = _one_more(hashed, value)
            if length == lengths[kind]:
                out[kind, at] = _row(hashed, length, salt)
                kind += 1


@compiled
def _sum_evidence(
    codes: Any,
    starts: Any,
    letters: Any,
    shapes: Any,
    letter_lengths: Any,
    shape_lengths: Any,
    table: Any,
    scale: float,
    out: Any,
) -> None:
    """Running sums, times ``scale``, of what the n-grams that end at each character say; text by text."""
    letter_values, shape_values = np.empty(len(codes), dtype=np.uint32), np.empty(len(codes), dtype=np.uint32)
    for at in range(len(codes)):
        low = min(codes[at], np.uint32(_HIGHEST))
        letter = letters[low] if low < _HIGHEST else codes[at]
        letter_values[at] = np.uint32((letter + np.uint32(1)) * np.uint32(0x85EBCA6B))
        shape_values[at] = np.uint32((shapes[low] + np.uint32(1)) * np.uint32(0x85EBCA6B))
    said = np.zeros(len(codes), dtype=np.int32)
    for text in range(len(starts) - 1):
        start, stop = starts[text], starts[text + 1]
        _add_evidence(letter_values[start:stop], letter_lengths, np.int64(0), table, said[start:stop])
        _add_evidence(shape_values[start:stop], shape_lengths, np.int64(_SHAPE_SALT), table, said[start:stop])
        total = np.int64(0)
        out[start + text] = 0.0
        for at in range(start, stop):
            total += said[at]
            out[at + text + 1] = total * scale


@compiled
def _add_evidence(values: Any, lengths: Any, salt: Any, table: Any, said: Any) -> None:
    """Length by length, so that the processor makes several hashes at once."""
    hashes = np.zeros(len(values), dtype=np.uint32)
    kind = 0
    for length in range(1, lengths[-1] + 1):
        for at in range(min(length - 1, len(values))):
            hashes[at] = _one_more(hashes[at], np.uint32(0))
        for at in range(length - 1, len(values)):
            hashes[at] = _one_more(hashes[at], values[at - length + 1])
        if length == lengths[kind]:
            kind += 1
            for at in range(len(values)):
                said[at] += table[_row(hashes[at], length, salt)]


@compiled
def odds_of_prose(bias: float, evidence: float, length: float) -> float:
    """Log odds of English prose from the summed evidence of a stretch and its length."""
    return bias + evidence / np.sqrt(length + SHORT)


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

    def evidence(self, codes: Codes, starts: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Running sums of evidence: ``out[j] - out[i]`` is what the n-grams that end in ``i:j`` say.

        Args:
            codes: characters, with a `LINE_BREAK` between lines.
            starts: where texts begin, and the number of characters; each text has one sum more than characters.
        """
        if starts is None:
            starts = np.array([0, len(codes)])
        out = np.empty(len(codes) + len(starts) - 1)
        _sum_evidence(codes, starts, _LETTERS, _SHAPES, _LETTER_LENGTHS, _SHAPE_LENGTHS, self.table, self.scale, out)
        return out


@lru_cache(maxsize=2)
def load_prose_model(model: str = PROSE_MODEL) -> ProseModel:
    """The model that ships with Respace, or that of any directory; read once per process."""
    return ProseModel.from_files(load_model(model))
