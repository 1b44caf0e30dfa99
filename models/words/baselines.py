"""Methods without a network, to compare with. The word methods read the characters alone, as in the paper.

They do not know how certain they are: the confidence of all their decisions is one half.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from models.words.counts import WORDS_MODEL, WordCounts, load_word_counts
from models.words.viterbi import WordSearch
from respace import gaps
from respace.batching import by_size
from respace.extras import missing
from respace.gaps import Bits, Codes
from respace.method import Decision, GivenSequence

_CHARACTERS_AT_ONCE = 1 << 16
_RECURSING = threading.Lock()
# What stands before a word without a space: a space between two words goes before it.
_OPENING = set("([{<“‘«„‹¡¿$£€#@")


class DoNothing:
    """Leaves every space as it is."""

    identity = "do_nothing"
    context = 0

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        return [Decision(one.bits.copy(), np.ones(len(one.bits), dtype=np.float32)) for one in sequences]


class _WordMethod(ABC):
    """Decides texts laid one after the other, as many at once as are worth it."""

    name: str
    # A word before and one after a gap, and what the choice of those two depends on.
    context = 64

    def __init__(self, counts: WordCounts):
        self.counts = counts
        self.search = WordSearch(counts)

    @classmethod
    def load(cls, model: str = WORDS_MODEL) -> _WordMethod:
        return cls(load_word_counts(model))

    @property
    def identity(self) -> str:
        return f"{self.name}@{self.counts.sha256[:16]}"

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        out: list[Decision] = []
        for group in by_size(sequences, lambda one: len(one.bits), _CHARACTERS_AT_ONCE):
            ends = np.cumsum([len(one.bits) for one in group])
            codes = np.concatenate([one.characters for one in group])
            # A text without characters has no beginning either.
            bits = self.bits(codes, np.unique(ends[ends > 0])) if len(codes) else np.zeros(0, dtype=bool)
            out += [_undecided_confidence(part) for part in np.split(bits, ends[:-1])]
        return out

    @abstractmethod
    def bits(self, codes: Codes, ends: np.ndarray) -> Bits:
        """Gap bits of texts laid one after the other, each up to one of the ``ends``."""


class DynamicProgramming(_WordMethod):
    """The paper's word baseline: Viterbi over words of at most 20 letters, p = (unigram + bigram) / 2."""

    name = "dynamic_programming"

    def bits(self, codes: Codes, ends: np.ndarray) -> Bits:
        return self.search.best_bits(codes, ends)


class Greedy(_WordMethod):
    """From left to right, always the longest known word; letters that begin none stay with what is before them."""

    name = "greedy"

    def bits(self, codes: Codes, ends: np.ndarray) -> Bits:
        return self.search.greedy_bits(codes, ends)


class WordSegment:
    """The package ``wordsegment``, its words mapped back onto the original characters."""

    context = 64

    def __init__(self) -> None:
        try:
            import wordsegment
        except ImportError as error:
            raise ValueError(str(missing("wordsegment", "the method wordsegment"))) from error
        self._wordsegment = wordsegment
        if not wordsegment.UNIGRAMS:
            wordsegment.load()
        self._alphabet = set("abcdefghijklmnopqrstuvwxyz0123456789")

    @property
    def identity(self) -> str:
        return f"wordsegment {self._wordsegment.__version__}"

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        with _room_to_recurse():
            return [_undecided_confidence(self._bits(one.characters)) for one in sequences]

    def _bits(self, codes: Codes) -> Bits:
        characters = gaps.from_code_points(codes)
        kept = [place for place, character in enumerate(characters) if character.lower() in self._alphabet]
        bits = np.zeros(len(codes), dtype=bool)
        at = 0
        for word in self._wordsegment.segment("".join(characters[place] for place in kept))[:-1]:
            at += len(word)
            bits[space_between(characters, kept[at - 1], kept[at])] = True
        return bits


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """The package calls itself for every word of 250 letters, and in formulas words have one letter."""
    # The limit is the whole process's: nobody may put it back while another thread still needs it.
    with _RECURSING:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, 20_000))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def space_between(characters: str, left: int, right: int) -> int:
    """The gap for a space between two words, with what stands between them in mind.

    >>> space_between("said(the", 3, 5), space_between("end.The", 2, 4), space_between("atom", 1, 2)
    (4, 4, 2)
    """
    for place in range(left + 1, right):
        if characters[place] in _OPENING:
            return place
    return right


def _undecided_confidence(bits: Bits) -> Decision:
    return Decision(bits, np.full(len(bits), 0.5, dtype=np.float32))
