"""Many texts laid one after the other, so that each step is made once for all of them: thousands of short texts cost
about as much as one long text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits, Codes

# Stands between two texts: nothing that is looked for in one reaches over it.
_BETWEEN = "\n\0\n"


@dataclass(frozen=True)
class LaidTexts:
    """Texts, and their characters and gaps one after the other.

    Attributes:
        texts: one or more.
        characters: of all texts.
        bits: their gap bits.
        line_breaks: gaps that hold a line break.
        starts: the number of the first character of each text, and how many there are in all.
        joined: all texts, with something between them.
        codes: the code points of that.
        positions: where the characters stand in it.
        offsets: where each text begins in it.
    """

    texts: Sequence[str]
    characters: Codes
    bits: Bits
    line_breaks: Bits
    starts: NDArray[np.intp]
    joined: str
    codes: Codes
    positions: NDArray[np.intp]
    offsets: NDArray[np.intp]

    @classmethod
    def of(cls, texts: Sequence[str]) -> LaidTexts:
        joined = texts[0] if len(texts) == 1 else _BETWEEN.join(texts)
        codes = gaps.code_points(joined)
        offsets = np.cumsum([0, *(len(text) + len(_BETWEEN) for text in texts[:-1])])
        spaces = gaps.is_space(codes)
        for behind in range(1, len(_BETWEEN) + 1):
            spaces[offsets[1:] - behind] = True
        positions = np.flatnonzero(~spaces)
        bits, line_breaks = gaps.gap_bits(positions), gaps.line_breaks_between(codes, positions)
        starts = np.append(positions.searchsorted(offsets), len(positions))
        first = starts[starts < len(positions)]
        bits[first] = line_breaks[first] = False
        return cls(texts, codes[positions], bits, line_breaks, starts, joined, codes, positions, offsets)

    @cached_property
    def not_empty(self) -> NDArray[np.intp]:
        """As `starts`, without texts that have no characters."""
        return np.unique(self.starts)

    def text_at(self, offset: int) -> int:
        """The number of the text that stands there in `joined`."""
        return int(self.offsets.searchsorted(offset, "right")) - 1

    def by_text(self, numbers: NDArray[np.intp]) -> list[slice]:
        """Where those of each text stand among sorted numbers of characters."""
        places = numbers.searchsorted(self.starts).tolist()
        return [slice(first, last) for first, last in pairwise(places)]
