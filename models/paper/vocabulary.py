"""The characters a network of the paper knows: the most frequent ones, and three symbols that are no characters.

>>> vocabulary = Vocabulary.from_counts({"a": 5, " ": 9, "b": 1}, size=2)
>>> vocabulary.characters, len(vocabulary)
(' a', 5)
>>> vocabulary.encode(code_points("a b")).tolist() == [1, vocabulary.space, vocabulary.unknown]
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.files import ModelError
from respace.gaps import Codes, code_points

Ids = NDArray[np.int32]

PAPER_CHARACTERS = 200
_SYMBOLS = 3


@dataclass(frozen=True)
class Vocabulary:
    """Characters by their number, most frequent first; then UNK, SOS and EOS."""

    characters: str

    def __post_init__(self) -> None:
        if not isinstance(self.characters, str):
            raise ModelError(f"vocabulary is {type(self.characters).__name__}: expected a text of all characters")
        if len(set(self.characters)) != len(self.characters):
            twice = sorted({one for one in self.characters if self.characters.count(one) > 1})
            raise ModelError(f"vocabulary holds {', '.join(map(repr, twice))} more than once: expected each once")
        if " " not in self.characters:
            raise ModelError("vocabulary holds no blank: expected one, the models of the paper decide about blanks")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], size: int = PAPER_CHARACTERS) -> Vocabulary:
        """The ``size`` most frequent characters; of equally frequent ones, the smaller code point."""
        if size < 1:
            raise ValueError(f"a vocabulary of {size} characters: expected at least 1")
        ordered = sorted(counts, key=lambda character: (-counts[character], character))
        return cls("".join(ordered[:size]))

    def __len__(self) -> int:
        return len(self.characters) + _SYMBOLS

    @property
    def unknown(self) -> int:
        return len(self.characters)

    @property
    def start(self) -> int:
        return len(self.characters) + 1

    @property
    def end(self) -> int:
        return len(self.characters) + 2

    @property
    def space(self) -> int:
        return self.characters.index(" ")

    def encode(self, codes: Codes) -> Ids:
        """Numbers of code points; what is not known becomes UNK."""
        places = np.searchsorted(self._sorted_codes, codes).clip(max=len(self._sorted_codes) - 1)
        known = self._sorted_codes[places] == codes
        return np.where(known, self._sorted_ids[places], self.unknown).astype(np.int32)

    @cached_property
    def _sorted_ids(self) -> NDArray[np.intp]:
        return np.argsort(code_points(self.characters))

    @cached_property
    def _sorted_codes(self) -> Codes:
        return code_points(self.characters)[self._sorted_ids]
