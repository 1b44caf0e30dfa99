"""Counts the dictionary that FAST reads: words of clean text in lower case, and the letters of rare ones."""

from __future__ import annotations

import lzma
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.fast.dictionary import (
    CAPITAL_EDGE,
    CONTEXT_SYMBOLS,
    COST_STEP,
    EDGE_SYMBOL,
    OTHER_SYMBOL,
    SYMBOLS,
    Dictionary,
)
from models.words.counts import LONGEST_WORD
from training.count_words import RARE, count_tokens, units_of

_DISCOUNT = 0.75
# The share of unknown words, the weight of letters and of capitals: the best of a few on text that was not counted.
SETTINGS = {"unknown_share": 0.1, "letter_weight": 0.95, "capital_evidence": 4.0}


def count_dictionary(
    texts: Sequence[pa.Array], most_words: int, word_lists: Sequence[str] = (), letters_of: Sequence[str] = ()
) -> Dictionary:
    """The most frequent words of clean texts.

    Args:
        texts: columns of text.
        most_words: how many to keep.
        word_lists: files of words that were counted elsewhere, see `read_word_list`.
        letters_of: words that are not counted but show what letters unknown words have, misspelled ones for instance.
    """
    words: Counter[str] = Counter()
    for token, number in _tokens(texts, word_lists):
        for unit in units_of(token):
            if unit[0].isalpha() and len(unit.lower()) == len(unit):
                words[unit] += number
    lower: Counter[str] = Counter()
    for word, number in words.items():
        if len(word) <= LONGEST_WORD:
            lower[word.lower()] += number
    rare = (word for word in words if len(word) <= LONGEST_WORD and lower[word.lower()] <= RARE)
    costs = letter_costs([*rare, *letters_of])
    return Dictionary.of(dict(lower.most_common(most_words)), float(words.total()), costs, **SETTINGS)


def _tokens(texts: Sequence[pa.Array], word_lists: Sequence[str]) -> Iterator[tuple[str, int]]:
    for path in word_lists:
        yield from read_word_list(path)
    yield from count_tokens(texts, time.monotonic()).items()


def read_word_list(path: str) -> Iterator[tuple[str, int]]:
    """Words and counts of a file of lines ``word<tab>count``; ``.xz`` is unpacked."""
    open_file = lzma.open if path.endswith(".xz") else open
    with open_file(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            word, tab, count = line.rstrip("\n").partition("\t")
            if not tab or not count.isdigit():
                raise ValueError(f"{path}, line {number}: {line.strip()!r}: expected a word, a tab and a count")
            yield word, int(count)


def letter_costs(words: Iterable[str]) -> NDArray[np.uint8]:
    """-log p(letter | four before) in sixteenths, each word counted once; smoothed by absolute discounting."""
    keys = _contexts_and_letters(words)
    probability = np.full(SYMBOLS, 1 / SYMBOLS)
    for order in range(1, CONTEXT_SYMBOLS + 2):
        counts = np.bincount(keys % SYMBOLS**order, minlength=SYMBOLS**order).reshape(-1, SYMBOLS)
        total = counts.sum(1, keepdims=True)
        left_over = _DISCOUNT * (counts > 0).sum(1, keepdims=True)
        shorter = np.broadcast_to(probability.reshape(1, -1, SYMBOLS), (SYMBOLS, probability.size // SYMBOLS, SYMBOLS))
        shorter = shorter.reshape(-1, SYMBOLS) if order > 1 else probability[None]
        seen = np.maximum(counts - _DISCOUNT, 0) + left_over * shorter
        probability = np.where(total > 0, seen / np.maximum(total, 1), shorter).reshape(-1)
    return np.clip(np.round(-np.log(probability) * COST_STEP), 0, 255).astype(np.uint8)


def _contexts_and_letters(words: Iterable[str]) -> NDArray[np.int64]:
    """Each letter, and each end of a word, with the four symbols before it, as one number."""
    chosen = [word for word in words if word]
    lengths = np.array([len(word) for word in chosen], dtype=np.int64)
    room = CONTEXT_SYMBOLS + 1  # before each word its edges, behind it the end
    flat = np.full(int((lengths + room).sum()), EDGE_SYMBOL, dtype=np.int64)
    starts = np.cumsum(lengths + room) - lengths - 1
    codes = np.frombuffer("".join(chosen).lower().encode("utf-32-le", "replace"), dtype="<u4").astype(np.int64)
    if len(codes) != lengths.sum():
        raise ValueError("a word changes its length in lower case: expected words that do not")
    is_basic = (codes >= ord("a")) & (codes <= ord("z"))
    word_of = np.repeat(np.arange(len(chosen)), lengths)
    places = np.arange(len(codes)) - (np.cumsum(lengths) - lengths)[word_of] + starts[word_of]
    flat[places] = np.where(is_basic, codes - ord("a"), OTHER_SYMBOL)
    capital = starts[np.array([word[0] != word[0].lower() for word in chosen], dtype=bool)]
    for before in range(1, CONTEXT_SYMBOLS + 1):
        flat[capital - before] = CAPITAL_EDGE
    ends = np.concatenate([places, starts + lengths])
    keys = np.zeros(len(ends), dtype=np.int64)
    for before in range(CONTEXT_SYMBOLS, -1, -1):
        keys = keys * SYMBOLS + flat[ends - before]
    return keys
