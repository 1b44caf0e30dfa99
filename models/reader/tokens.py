"""What the reader reads of a passage: word pieces of the likeliest reading and, for each gap to decide, a token that
asks and the pieces of the other reading.

The pieces of the other reading stand where the pieces that they replace stand. They are seen by the token that asks
for them and by each other alone (`visible` in `models.reader.network`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.reader.config import CHARACTER_ROWS, FREQUENT_CODES, GAP_SCALARS, NEAR_CHARACTERS, TOKEN_FEATURES
from models.reader.passages import Passages
from models.reader.pieces import PieceTable, cut_word, spelled
from respace.loops import compiled

# Of words that an uncertain gap cuts, so many characters to either side are read again.
LONGEST_HALF = 20
# Kinds of tokens.
TEXT, ASKS, OTHER = 0, 1, 2
_LOGIT_SCALES = 4.0, 16.0

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens of passages one after the other: passage i has tokens ``offsets[i]:offsets[i + 1]``.

    Attributes:
        offsets: where the tokens of each passage begin, and the end of the last.
        pieces: numbers of word pieces.
        kinds: TEXT, ASKS or OTHER.
        groups: 0 for the text, and for tokens of gaps the number of the gap in its passage, from 1 on.
        positions: in the passage, in tokens of the text.
        features: ``[tokens, TOKEN_FEATURES]``.
        asks: the token of each gap.
        gap_numbers: what is known of each gap besides its characters.
        gap_codes: rows of the embedding for the characters around each gap.
    """

    offsets: Places
    pieces: NDArray[np.int32]
    kinds: NDArray[np.int32]
    groups: NDArray[np.int32]
    positions: NDArray[np.int32]
    features: Floats
    asks: Places
    gap_numbers: Floats
    gap_codes: NDArray[np.int32]


def tokens_of(passages: Passages, table: PieceTable, most_positions: int) -> Tokens:
    """The tokens of passages."""
    characters, logits = passages.characters, passages.logits.astype(np.float32)
    begins = logits > 0
    begins[passages.offsets[:-1]] = True
    letters, signs, starts = spelled(characters)
    room = len(letters) + 2 * len(passages) + len(passages.gaps) * (2 + 2 * LONGEST_HALF)
    arrays = [np.empty(room, dtype=np.int32) for _ in range(5)]
    offsets, asks = np.zeros(len(passages) + 1, dtype=np.int64), np.empty(len(passages.gaps), dtype=np.int64)
    _cut(
        passages.offsets, passages.gaps, begins, letters, signs, starts, table.keys, table.numbers,
        table.unknown, table.start, table.stop, table.gap, most_positions, offsets, asks, *arrays,
    )  # fmt: skip
    pieces, places, kinds, groups, positions = (array[: offsets[-1]] for array in arrays)
    return Tokens(
        offsets=offsets,
        pieces=pieces,
        kinds=kinds,
        groups=groups,
        positions=positions,
        features=_token_features(passages, letters, starts, places, kinds, logits, begins),
        asks=asks,
        gap_numbers=_gap_numbers(passages, logits),
        gap_codes=_gap_codes(passages),
    )


@compiled
def _cut(
    passages: Any,
    gaps: Any,
    begins: Any,
    letters: Any,
    signs: Any,
    starts: Any,
    keys: Any,
    numbers: Any,
    unknown: int,
    start_piece: int,
    stop_piece: int,
    gap_piece: int,
    most: int,
    offsets: Any,
    asks: Any,
    pieces: Any,
    places: Any,
    kinds: Any,
    groups: Any,
    positions: Any,
) -> None:
    at, gap = 0, 0
    for passage in range(len(passages) - 1):
        first, stop = passages[passage], passages[passage + 1]
        text = at
        pieces[at], places[at] = start_piece, -1
        at += 1
        here = first
        while here < stop:
            end = here + 1
            while end < stop and not begins[end]:
                end += 1
            at = cut_word(letters, signs, starts[here], starts[end], keys, numbers, unknown, pieces, places, at)
            here = end
        pieces[at], places[at] = stop_piece, -1
        at += 1
        for token in range(text, at):
            kinds[token], groups[token], positions[token] = TEXT, 0, min(token - text, most - 1)
        last_of_text = at - 1
        token, number = text + 1, 0
        while gap < len(gaps) and gaps[gap] < stop:
            number += 1
            place = gaps[gap]
            # The piece of the text that holds the gap, and those where the words around it begin.
            while token + 1 < last_of_text and places[token + 1] <= starts[place]:
                token += 1
            left, right = place - 1, place + 1
            while left > first and not begins[left] and left > place - LONGEST_HALF:
                left -= 1
            while right < stop and not begins[right] and right < place + LONGEST_HALF:
                right += 1
            back = token
            while back > text + 1 and places[back] > starts[left]:
                back -= 1
            asks[gap] = at
            pieces[at], places[at], kinds[at], groups[at] = gap_piece, starts[place], ASKS, number
            positions[at] = min(token - text, most - 1)
            at += 1
            other = at
            if begins[place]:
                at = cut_word(letters, signs, starts[left], starts[right], keys, numbers, unknown, pieces, places, at)
            else:
                at = cut_word(letters, signs, starts[left], starts[place], keys, numbers, unknown, pieces, places, at)
                at = cut_word(letters, signs, starts[place], starts[right], keys, numbers, unknown, pieces, places, at)
            for new in range(other, at):
                kinds[new], groups[new] = OTHER, number
                positions[new] = min(back - text + new - other, most - 1)
            gap += 1
        offsets[passage + 1] = at


def _token_features(
    passages: Passages,
    letters: NDArray[np.int32],
    starts: Places,
    places: NDArray[np.int32],
    kinds: NDArray[np.int32],
    logits: Floats,
    begins: NDArray[np.bool_],
) -> Floats:
    """Whether a word begins with a token, was a space given there, the logit on two scales, two letters' case."""
    character_of = np.searchsorted(starts, np.maximum(places, 0), side="right") - 1
    character_of = np.minimum(character_of, len(passages.characters) - 1)
    upper = passages.characters != np.where(
        starts[1:] > starts[:-1], letters[np.minimum(starts[:-1], len(letters) - 1)], 0
    )
    next_upper = np.append(upper[1:], False)
    next_upper[passages.offsets[1:] - 1] = False
    small, large = _LOGIT_SCALES
    columns = [
        begins[character_of],
        passages.given[character_of],
        np.tanh(logits[character_of] / small),
        np.tanh(logits[character_of] / large),
        upper[character_of],
        next_upper[character_of],
    ]
    assert len(columns) == TOKEN_FEATURES
    features = np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)
    features[places < 0] = 0
    features[kinds == OTHER, :4] = 0
    return features


def _gap_numbers(passages: Passages, logits: Floats) -> Floats:
    small, large = _LOGIT_SCALES
    here = logits[passages.gaps]
    scalars = [
        passages.given[passages.gaps],
        np.tanh(passages.network_logits.astype(np.float32) / small),
        np.tanh(here / small),
        np.tanh(here / large),
    ]
    assert len(scalars) == GAP_SCALARS
    numbers = np.stack([np.asarray(one, dtype=np.float32) for one in scalars], axis=1)
    return np.concatenate([passages.layer, passages.evidence, numbers], axis=1, dtype=np.float32)


def _gap_codes(passages: Passages) -> NDArray[np.int32]:
    """Rows of the embedding of the characters around each gap; 0 beyond the passage."""
    characters = passages.characters
    codes = np.where(
        characters < FREQUENT_CODES, characters, FREQUENT_CODES + characters % (CHARACTER_ROWS - FREQUENT_CODES)
    )
    around = passages.gaps[:, None] + np.arange(-NEAR_CHARACTERS, NEAR_CHARACTERS)
    inside = np.clip(around, 0, max(0, len(codes) - 1))
    passage = np.searchsorted(passages.offsets, passages.gaps, side="right") - 1
    low, high = passages.offsets[passage][:, None], passages.offsets[passage + 1][:, None]
    return np.where((around >= low) & (around < high), codes[inside], 0).astype(np.int32)
