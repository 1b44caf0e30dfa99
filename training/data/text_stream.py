"""Batches for the paper's networks: correct spacing of clean or misspelled text.

As in the paper (section 4.3), sequences are cut at 256 characters and 128 of them make a batch. A cut is made before
a word, and what follows it is a sequence too. The stream is a function of the settings and the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.paper.vocabulary import Vocabulary
from respace.gaps import Bits
from respace.noise import NOISE_KINDS, Corrupted, Recipe, corrupt
from respace.noise.recipe import CHARACTER_KINDS
from training.data.corpora import Corpus, Source, block
from training.data.shards import TrainingShards

BLOCK_ROWS = 1024
NO_SPACE_ERRORS: dict[str, Any] = {f"spaces_{kind}": 0.0 for kind in NOISE_KINDS if kind != "clean"}


def clean_recipe() -> Recipe:
    """Text as it is."""
    others: dict[str, Any] = {f"characters_{kind}": 0.0 for kind in CHARACTER_KINDS if kind != "clean"}
    return Recipe(characters_clean=1.0, spaces_clean=1.0, **others, **NO_SPACE_ERRORS)


def noisy_recipe(**changes: Any) -> Recipe:
    """Misspelled and misread words in the training mixture's proportions, and no space errors."""
    return Recipe(**({"spaces_clean": 1.0} | NO_SPACE_ERRORS | changes))


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """Padded arrays ``[sequences, length]``.

    Attributes:
        ids: with spaces, for UNI: the text from its first character on; EOS is last unless the text was cut there.
            Without spaces, for BID: the characters.
        bits: true gap bits, for BID.
        lengths: how much of each row is not padding.
    """

    ids: NDArray[np.int32]
    bits: NDArray[np.bool_]
    lengths: NDArray[np.int32]
    block: int
    last_of_block: bool


@dataclass(frozen=True, kw_only=True)
class TextStreamConfig:
    """Where text comes from, and what is made of it; from ``shards``, if given, its noise is in them already."""

    sources: tuple[Source, ...]
    recipe: Recipe
    characters: str
    with_spaces: bool
    batch: int = 128
    length: int = 256
    seed: int = 1
    shards: str | None = None


def text_batches(config: TextStreamConfig, first_block: int = 0) -> Iterator[TextBatch]:
    """The endless stream, from the start of a block on."""
    noisy_block = _blocks(config)
    vocabulary = Vocabulary(config.characters)
    number = first_block
    while True:
        noisy = noisy_block(number)
        pieces = cut(noisy, vocabulary, config.length, config.with_spaces)
        groups = group(pieces, config.batch, np.random.default_rng([config.seed, 3, number]))
        for at, members in enumerate(groups):
            yield pad([pieces[member] for member in members], number, at == len(groups) - 1)
        number += 1


def _blocks(config: TextStreamConfig) -> Callable[[int], Corrupted]:
    """What gives the rows of a block, by its number."""
    if config.shards is not None:
        return partial(TrainingShards(config.shards).block, rows=BLOCK_ROWS)
    corpora = [Corpus(source) for source in config.sources]
    weights = [source.weight for source in config.sources]

    def inject(number: int) -> Corrupted:
        rows = block(corpora, weights, BLOCK_ROWS, config.seed, number)
        return corrupt([row.text for row in rows], [row.key for row in rows], config.recipe, config.seed)

    return inject


Piece = tuple[NDArray[np.int32], Bits]


def cut(noisy: Corrupted, vocabulary: Vocabulary, length: int, with_spaces: bool) -> list[Piece]:
    """Sequences of at most ``length`` characters: their numbers, and their gap bits."""
    pieces = []
    ids = vocabulary.encode(noisy.characters)
    for first, end in zip(noisy.offsets[:-1].tolist(), noisy.offsets[1:].tolist(), strict=True):
        start = first
        while start < end:
            stop = _cut_place(noisy.true_bits[start:end], length, with_spaces) + start
            bits = noisy.true_bits[start:stop].copy()
            bits[0] = False
            if with_spaces:
                text = with_blanks(ids[start:stop], bits, vocabulary.space)
                if stop == end and len(text) < length:
                    text = np.append(text, np.int32(vocabulary.end))
                pieces.append((text, bits))
            else:
                pieces.append((ids[start:stop], bits))
            start = stop
    return pieces


def with_blanks(ids: NDArray[np.int32], bits: Bits, blank: int) -> NDArray[np.int32]:
    places = np.arange(len(ids)) + np.cumsum(bits)
    text = np.full(int(places[-1]) + 1, blank, dtype=np.int32)
    text[places] = ids
    return text


def _cut_place(bits: Bits, length: int, with_spaces: bool) -> int:
    """How many characters of the rest of a row make the next sequence."""
    inner = bits.copy()
    inner[:1] = False
    places = np.arange(len(bits)) + (np.cumsum(inner) if with_spaces else 0)
    fits = int(np.searchsorted(places, length))
    if fits == len(bits):
        return fits
    words = np.flatnonzero(inner[: fits + 1])
    return int(words[-1]) if len(words) else fits


def group(pieces: list[Piece], batch: int, random: np.random.Generator) -> list[list[int]]:
    """Whole batches of pieces of about the same length, in random order."""
    order = random.permutation(len(pieces))[: len(pieces) // batch * batch]
    by_length = sorted(order.tolist(), key=lambda number: len(pieces[number][0]))
    groups = [by_length[start : start + batch] for start in range(0, len(by_length), batch)]
    return [groups[at] for at in random.permutation(len(groups)).tolist()]


def pad(pieces: list[Piece], number: int, last_of_block: bool) -> TextBatch:
    lengths = np.array([len(ids) for ids, _ in pieces], dtype=np.int32)
    ids = np.zeros((len(pieces), int(lengths.max())), dtype=np.int32)
    bits = np.zeros(ids.shape, dtype=bool)
    for row, (one, its_bits) in enumerate(pieces):
        ids[row, : len(one)] = one
        bits[row, : len(its_bits)] = its_bits
    return TextBatch(ids=ids, bits=bits, lengths=lengths, block=number, last_of_block=last_of_block)
