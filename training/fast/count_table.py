"""First values for FAST's table, counted instead of learnt.

How often an n-gram has a space before, inside and after it can simply be counted in clean text, in minutes and over all
of it. Training then starts from a table that knows the whole corpus; gradients only refine it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.features import Features
from models.fast.inputs import quotes_told_apart
from respace import gaps
from respace.loops import compiled

_CHUNK_CHARACTERS = 1 << 20
# Log odds and log counts are brought to about the size of learnt values.
_ODDS_SCALE, _COUNT_SCALE = 0.25, 0.125
_LARGEST_ODDS = 8.0


def count_table(features: Features, row_width: int, texts: Iterable[str]) -> NDArray[np.float32]:
    """Counts spaces around the n-grams, and words, of clean texts.

    Returns:
        A table ``[rows, row_width]``: for n-grams, dimension ``o`` holds the log odds of a space at offset ``o``
        against the mean; for n-grams and words, the last dimension holds the log count.
    """
    if row_width < max(n for n, _ in features.ngrams) + 2:
        raise ValueError(f"row width {row_width}: expected at least the longest n-gram + 2")
    lengths = np.array([n for n, _ in features.ngrams], dtype=np.int64)
    starts = features.table_starts()
    # Of each row of an n-gram, in how many places it stood, and with a space at which of its offsets.
    counts = np.zeros((starts["word"], row_width), dtype=np.int32)
    words = np.zeros(features.word_rows, dtype=np.int64)
    seen, began, last_print = 0, time.monotonic(), 0.0
    total_spaces = 0
    for characters, bits in _chunks(texts, features.reach):
        characters = quotes_told_apart(characters, np.zeros(len(bits), dtype=bool))
        rows = features(characters, bits)
        valid = characters > 0
        # The edges of a text are edges of words.
        word_starts = valid & (bits | np.concatenate([[True], ~valid[:-1]]))
        _count(rows, word_starts, valid, lengths, counts)
        words += np.bincount(rows[word_starts, -2] - starts["word"], minlength=features.word_rows)
        seen += int(valid.sum())
        total_spaces += int((bits & valid).sum())
        elapsed = time.monotonic() - began
        if elapsed - last_print > 10:
            last_print = elapsed
            print(f"counted {seen / 1e6:.0f} M characters, {seen / elapsed / 1e6:.2f} M/s", flush=True)
    rate = total_spaces / max(1, seen)
    table = np.zeros((features.rows, row_width), dtype=np.float32)
    for n, size in features.ngrams:
        part = slice(starts[f"ngram{n}"], starts[f"ngram{n}"] + size)
        table[part, : n + 1] = _log_odds(counts[part, : n + 1], counts[part, -1:], rate)
        table[part, -1] = _COUNT_SCALE * np.log1p(counts[part, -1])
    table[starts["word"] :, -1] = _COUNT_SCALE * np.log1p(words)
    return table


@compiled
def _count(rows: Any, word_starts: Any, valid: Any, lengths: Any, counts: Any) -> None:
    size = len(valid)
    last = counts.shape[1] - 1
    for at in range(size):
        if not valid[at]:
            continue
        for column in range(len(lengths)):
            row = rows[at, column]
            counts[row, last] += 1
            for offset in range(lengths[column] + 1):
                place = at + offset
                # What lies behind a text counts as the edge of a word.
                if place >= size or not valid[place] or word_starts[place]:
                    counts[row, offset] += 1


def _log_odds(spaces: NDArray[np.int32], counts: NDArray[np.int32], rate: float) -> NDArray[np.float64]:
    """Log odds of a space against the overall rate, drawn towards 0 where little was seen."""
    odds = np.log((spaces + rate) / (counts - spaces + 1 - rate)) - np.log(rate / (1 - rate))
    return _ODDS_SCALE * np.clip(odds, -_LARGEST_ODDS, _LARGEST_ODDS)


def _chunks(texts: Iterable[str], separation: int) -> Iterable[tuple[NDArray[np.int32], NDArray[np.bool_]]]:
    """Texts one after the other as long rows, with room between them so that nothing straddles two texts."""
    characters: list[NDArray[np.int32]] = []
    bits: list[NDArray[np.bool_]] = []
    size = 0
    for text in texts:
        codes = gaps.code_points(text)
        positions = np.flatnonzero(~gaps.is_space(codes))
        characters += [codes[positions].astype(np.int32), np.zeros(separation, dtype=np.int32)]
        bits += [gaps.gap_bits(positions), np.zeros(separation, dtype=bool)]
        size += len(positions)
        if size >= _CHUNK_CHARACTERS:
            yield np.concatenate(characters), np.concatenate(bits)
            characters, bits, size = [], [], 0
    if size:
        yield np.concatenate(characters), np.concatenate(bits)
