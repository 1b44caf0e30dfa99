"""Counts the dictionary that FAST reads: words of clean text in small letters, and the letters of rare ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from models.fast.dictionary import Dictionary
from models.words.counts import LONGEST_WORD
from training.count_words import RARE, count_tokens, letter_model, units_of

# A word seen once is more often a slip of the pen than a word.
FEWEST = 2


def count_dictionary(texts: Sequence[pa.Array], most_words: int) -> Dictionary:
    """The most frequent words of clean texts, each a column of them."""
    tokens = count_tokens(texts, time.monotonic())
    words: Counter[str] = Counter()
    total = 0
    for token, number in tokens.items():
        for unit in units_of(token):
            if unit[0].isalpha():
                total += number
                folded = unit.lower()
                if len(folded) == len(unit) <= LONGEST_WORD:
                    words[folded] += number
    rare = (word for word, number in words.items() if number <= RARE)
    kept = {word: number for word, number in words.most_common(most_words) if number >= FEWEST}
    return Dictionary.of(kept, float(total), letter_model(rare))
