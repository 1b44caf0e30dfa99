"""Everything FAST reads of a text, gap by gap: table rows, characters, given bits, and evidence.

Evidence is what the network would have to count, and cannot see within its reach: what the dictionary says
(`models.fast.dictionary`), how far it is to the next given space on either side, how many spaces there are around, and
how often the dictionary contradicts what is given around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.dictionary import LONGEST_RUN, Dictionary
from models.fast.features import Features
from respace.gaps import Bits
from respace.loops import compiled

# What is read beside the dictionary's evidence: two distances, one density, two rates of contradiction.
SURROUNDINGS = 5
# How far spaces and contradictions are counted to either side.
NEAR, FAR = 64, 256
LOOKS_AHEAD = LONGEST_RUN + FAR
_LONGEST_DISTANCE = 40
_SENTENCE_SIGNS = np.zeros(128, dtype=bool)
_SENTENCE_SIGNS[[ord(sign) for sign in ".,;:!?"]] = True
_STRAIGHT_QUOTE, _OPENING_QUOTE, _CLOSING_QUOTE = ord('"'), 0x201C, 0x201D


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Of texts laid one after the other: ``rows`` and ``evidence`` have a second axis.

    ``margin`` is not read by the network: it says how much evidence an edit needs, so how much is worth computing.
    """

    rows: NDArray[np.int32]
    characters: NDArray[np.int32]
    bits: Bits
    evidence: NDArray[np.float32]
    margin: NDArray[np.float32]


def inputs_of(
    features: Features,
    dictionary: Dictionary,
    characters: NDArray[np.int32],
    bits: Bits,
    line_starts: Bits | None = None,
    true_bits: Bits | None = None,
    salt: int = 0,
    margin: NDArray[np.float32] | None = None,
) -> Inputs:
    """What the network reads of texts.

    Args:
        features: which rows of the table.
        dictionary: of the model.
        characters: texts laid one after the other, with 0 between them.
        bits: their given gap bits.
        line_starts: where lines begin, beside the beginnings of texts.
        true_bits, salt: in training, see `Dictionary.evidence`.
        margin: evidence that an edit of each gap needs beyond the penalties; none where it is not given.
    """
    evidence = dictionary.evidence(characters, bits, true_bits, salt)
    starts = np.zeros(len(bits), dtype=bool) if line_starts is None else line_starts
    characters = quotes_told_apart(characters, starts)
    evidence = np.concatenate([evidence, surroundings(characters, bits, evidence[:, 0])], axis=1)
    if margin is None:
        margin = np.zeros(len(bits), dtype=np.float32)
    return Inputs(rows=features(characters, bits), characters=characters, bits=bits, evidence=evidence, margin=margin)


def quotes_told_apart(characters: NDArray[np.int32], line_starts: Bits) -> NDArray[np.int32]:
    """Straight quotation marks as curly ones: in each line the first opens, the second closes, and so on; but what a
    line ends with closes, though it began in the line before.

    >>> text = 'a"b"c"d'
    >>> codes = np.array([ord(character) for character in text], dtype=np.int32)
    >>> "".join(map(chr, quotes_told_apart(codes, np.zeros(7, dtype=bool))))
    'a“b”c“d'
    >>> "".join(map(chr, quotes_told_apart(codes[:6], np.zeros(6, dtype=bool))))
    'a“b”c”'
    """
    quotes = characters == _STRAIGHT_QUOTE
    if not quotes.any():
        return characters
    so_far = np.cumsum(quotes)
    first = line_starts | (np.concatenate([[0], characters[:-1]]) == 0)
    before_line = np.maximum.accumulate(np.where(first, so_far - quotes, 0))
    ends = np.append(first[1:] | (characters[1:] == 0), True)
    # Up to two signs may stand behind the last one.
    for _ in range(2):
        ends[:-1] |= ends[1:] & _SENTENCE_SIGNS[np.minimum(characters[1:], 127)]
    opens = ((so_far - before_line) % 2 == 1) & ~(ends & ~first)
    out = characters.copy()
    out[quotes] = np.where(opens[quotes], _OPENING_QUOTE, _CLOSING_QUOTE)
    return out


def surroundings(characters: NDArray[np.int32], bits: Bits, odds: NDArray[np.float32]) -> NDArray[np.float32]:
    """Distances, density and contradictions, ``[positions, SURROUNDINGS]``, each between 0 and about 1."""
    out = np.zeros((len(characters), SURROUNDINGS), dtype=np.float32)
    _surroundings(characters, bits, odds, out)
    return out


@compiled
def _surroundings(characters: Any, bits: Any, odds: Any, out: Any) -> None:
    size = len(characters)
    largest = np.log1p(_LONGEST_DISTANCE)
    spaces = np.zeros(size + 1)
    missing = np.zeros(size + 1)
    spurious = np.zeros(size + 1)
    start = 0
    while start < size:
        stop = start
        while stop < size and characters[stop] != 0:
            stop += 1
        # From nothing: what came before would change how the sums are rounded.
        spaces[start], missing[start], spurious[start] = 0.0, 0.0, 0.0
        for at in range(start, stop):
            spaces[at + 1] = spaces[at] + bits[at]
            missing[at + 1] = missing[at] + (max(0.0, odds[at]) if not bits[at] else 0.0)
            spurious[at + 1] = spurious[at] + (max(0.0, -odds[at]) if bits[at] else 0.0)
        distance = 0
        for at in range(start, stop):
            out[at, 0] = np.log1p(min(distance, _LONGEST_DISTANCE)) / largest
            distance = 1 if bits[at] else distance + 1
        distance = 1
        for at in range(stop - 1, start - 1, -1):
            out[at, 1] = np.log1p(min(distance, _LONGEST_DISTANCE)) / largest
            distance = 1 if bits[at] else distance + 1
        for at in range(start, stop):
            low, high = max(start, at - NEAR), min(stop, at + NEAR + 1)
            out[at, 2] = 4 * (spaces[high] - spaces[low]) / (high - low)
            low, high = max(start, at - FAR), min(stop, at + FAR + 1)
            out[at, 3] = min(2.0, 20 * (missing[high] - missing[low]) / (high - low))
            out[at, 4] = min(2.0, 20 * (spurious[high] - spurious[low]) / (high - low))
        start = stop + 1
