"""Batches for training: clean text, noise, windows and features.

The stream is a function of the settings and the seed: batch ``i`` of block ``k`` is the same in every run, so training
resumes where it stopped and sees what it would have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.dictionary import Dictionary
from models.fast.features import Features
from models.fast.inputs import inputs_of
from respace.noise import Corrupted, Recipe, corrupt
from training.data.corpora import Corpus, Row, Source, block
from training.data.layouts import layout_rows
from training.data.shards import TrainingShards

# Sequences that share a window stand this far apart, so that no n-gram touches two of them.
SEPARATION = 12
# A sequence is continued in the next window only if at least this much of it still fits.
SHORTEST_START = 64
BLOCK_ROWS = 1536
NO_NOISE = Recipe.wiki(spaces_light=0.0, spaces_clean=1.0)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Arrays ``[windows, length]``; ``rows`` and ``evidence`` have a third axis. Gaps with weight 0 do not count."""

    characters: NDArray[np.int32]
    given: NDArray[np.bool_]
    true: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    rows: NDArray[np.int32]
    evidence: NDArray[np.float32]
    block: int
    last_of_block: bool


@dataclass(frozen=True, kw_only=True)
class StreamConfig:
    """Where text comes from, and what is made of it."""

    sources: tuple[Source, ...]
    recipe: Recipe
    features: Features
    dictionary: Dictionary
    layout_share: float = 0.04  # rows of tables, references, headings and the like, made up
    windows: int = 128
    length: int = 192
    seed: int = 1
    shards: str | None = None  # of pipelines.make_training_shards: their noise is in them already


def batches(config: StreamConfig, first_block: int = 0) -> Iterator[Batch]:
    """The endless stream, from the start of a block on."""
    noisy_block = blocks(config)
    number = first_block
    while True:
        noisy = noisy_block(number)
        characters, given, true, counts = pack(noisy, config.length)
        whole = len(characters) // config.windows
        if not whole:
            raise ValueError(
                f"{len(characters)} windows of text in a block: expected at least {config.windows}. Give more text"
            )
        for at in range(whole):
            part = slice(at * config.windows, (at + 1) * config.windows)
            yield _batch(config, characters[part], given[part], true[part], counts[part], number, at == whole - 1)
        number += 1


def blocks(config: StreamConfig) -> Callable[[int], Corrupted]:
    """What gives the rows of a block, by its number."""
    if config.shards is not None:
        return partial(TrainingShards(config.shards).block, rows=BLOCK_ROWS)
    corpora = [Corpus(source) for source in config.sources]
    weights = [source.weight for source in config.sources]

    def inject(number: int) -> Corrupted:
        rows = block(corpora, weights, BLOCK_ROWS, config.seed, number)
        prose = [row.text for row in rows if not row.right_as_it_is]
        rows += layout_rows(prose, config.layout_share, config.seed, number)
        np.random.default_rng([config.seed, 1, number]).shuffle(rows)  # type: ignore[arg-type]
        return corrupted(rows, config.recipe, config.seed)

    return inject


def _batch(
    config: StreamConfig,
    characters: NDArray[np.int32],
    given: NDArray[np.bool_],
    true: NDArray[np.bool_],
    counts: NDArray[np.bool_],
    number: int,
    last_of_block: bool,
) -> Batch:
    def laid_out(array: NDArray[Any]) -> NDArray[Any]:
        return np.pad(array, ((0, 0), (0, 1))).reshape(-1)

    def in_windows(array: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(array.reshape(len(characters), -1, *array.shape[1:])[:, :-1])

    inputs = inputs_of(
        config.features,
        config.dictionary,
        laid_out(characters),
        laid_out(given),
        true_bits=laid_out(true),
        salt=number,
    )
    return Batch(
        characters=in_windows(inputs.characters),
        given=given,
        true=true,
        counts=counts,
        rows=in_windows(inputs.rows),
        evidence=in_windows(inputs.evidence),
        block=number,
        last_of_block=last_of_block,
    )


def corrupted(rows: Sequence[Row], recipe: Recipe, seed: int) -> Corrupted:
    """The rows with noise, but for those that are right as they are, in the order given."""
    parts = []
    for right in (False, True):
        its_rows = [row for row in rows if row.right_as_it_is == right]
        its_recipe = NO_NOISE if right else recipe
        parts.append(corrupt([row.text for row in its_rows], [row.key for row in its_rows], its_recipe, seed))
    taken = [0, 0]
    slices: list[tuple[Corrupted, int, int, int]] = []
    for row in rows:
        part = parts[row.right_as_it_is]
        at = taken[row.right_as_it_is]
        taken[row.right_as_it_is] += 1
        slices.append((part, int(part.offsets[at]), int(part.offsets[at + 1]), int(part.kinds[at])))

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name)[start:stop] for part, start, stop, _ in slices])

    return Corrupted(
        characters=joined("characters"),
        true_bits=joined("true_bits"),
        given_bits=joined("given_bits"),
        offsets=np.concatenate([[0], np.cumsum([stop - start for _, start, stop, _ in slices])]),
        kinds=np.array([kind for *_, kind in slices], dtype=np.uint8),
    )


def pack(
    noisy: Corrupted, length: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows laid one after the other into windows: characters, given bits, true bits, and which gaps count."""
    places = _places(noisy.offsets, noisy.true_bits, length)
    count = places[-1][0] + 1 if places else 0
    characters = np.zeros((count, length), dtype=np.int32)
    given, true, counts = (np.zeros((count, length), dtype=bool) for _ in range(3))
    for window, at, start, stop in places:
        here = slice(at, at + stop - start)
        characters[window, here] = noisy.characters[start:stop]
        given[window, here] = noisy.given_bits[start:stop]
        true[window, here] = noisy.true_bits[start:stop]
        counts[window, here] = True
        # The first gap of a stretch is the edge of the sequence, or a cut of ours: nothing can be learnt there.
        given[window, at] = true[window, at] = counts[window, at] = False
    return characters, given, true, counts


def _places(
    offsets: Sequence[int] | NDArray[np.int64], true_bits: NDArray[np.bool_], length: int
) -> list[tuple[int, int, int, int]]:
    """(window, position, start, stop) for every stretch of every row.

    Rows are cut between words: what a text begins and ends with is a whole word, and should be so in training, too.
    """
    places = []
    window, at = 0, 0
    for start, stop in pairwise(offsets):
        while start < stop:
            room = length - at
            if room < min(stop - start, SHORTEST_START):
                window, at = window + 1, 0
                continue
            taken = int(stop - start)
            if taken > room:
                between_words = np.flatnonzero(true_bits[start + 1 : start + room + 1])
                taken = int(between_words[-1]) + 1 if len(between_words) else room
            places.append((window, at, int(start), int(start + taken)))
            start += taken
            at += taken + SEPARATION
    return places
