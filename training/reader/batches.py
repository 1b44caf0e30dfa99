"""Shards of passages as batches for the trainer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.reader.pieces import PieceTable
from models.reader.tokens import Tokens, tokens_of
from training.reader.passage_shards import PassageShard, shuffled_shards
from training.reader.practice import with_practice

Floats = NDArray[np.float32]
# Passages with more uncertain gaps are mostly garbled: nothing is learnt from them.
MOST_GAPS = 9
# Numbers of tokens are rounded up to multiples of it, so that there are few shapes.
STEP = 16


@dataclass(frozen=True, kw_only=True)
class ReaderBatch:
    """Padded tokens as in `models.reader.network.TokenBatch`, logits and true bits of the gaps."""

    pieces: NDArray[np.int32]
    kinds: NDArray[np.int32]
    groups: NDArray[np.int32]
    positions: NDArray[np.int32]
    features: Floats
    asks: NDArray[np.int32]
    gap_numbers: Floats
    gap_codes: NDArray[np.int32]
    logits: Floats
    true: Floats
    practice: NDArray[np.bool_]
    characters: int
    block: int
    last_of_block: bool


def batches_of(
    shard: PassageShard,
    tokens: Tokens,
    size: int,
    random: np.random.Generator | None = None,
    block: int = 0,
    practice: NDArray[np.bool_] | None = None,
) -> Iterator[ReaderBatch]:
    """All passages in batches of about so many tokens; those of about the same length go together.

    Args:
        shard: with passages and truth.
        tokens: of its passages.
        size: of a batch, in tokens with those that fill up.
        random: gives the order, if not that of the lengths.
        block: the number that the batches bear.
        practice: which gaps are practice, see `training.reader.practice`.
    """
    practice = np.zeros(len(shard.true), dtype=bool) if practice is None else practice
    counts = np.diff(tokens.offsets)
    noise = random.uniform(0, 8, len(counts)) if random is not None else 0
    order = np.argsort(counts + noise, kind="stable")
    groups, at = [], 0
    while at < len(order):
        longest = _rounded(int(counts[order[at]]))
        stop = min(len(order), at + max(1, size // longest))
        longest = _rounded(int(counts[order[at:stop]].max()))
        stop = min(stop, at + max(1, size // longest))
        groups.append(order[at:stop])
        at = stop
    numbers = random.permutation(len(groups)) if random is not None else np.arange(len(groups))
    for done, number in enumerate(numbers.tolist()):
        yield _batch(shard, tokens, practice, groups[number], block, done == len(groups) - 1)


def _rounded(count: int) -> int:
    return -(-count // STEP) * STEP


def _batch(
    shard: PassageShard,
    tokens: Tokens,
    practice: NDArray[np.bool_],
    chosen: NDArray[np.intp],
    block: int,
    last_of_block: bool,
) -> ReaderBatch:
    starts, stops = tokens.offsets[chosen], tokens.offsets[chosen + 1]
    length = _rounded(int((stops - starts).max()))
    inside = np.arange(length) < (stops - starts)[:, None]
    flat = np.concatenate([np.arange(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)])
    bounds = np.searchsorted(shard.passages.gaps, shard.passages.offsets)
    gaps = np.concatenate([np.arange(bounds[one], bounds[one + 1]) for one in chosen.tolist()])
    row = np.repeat(np.arange(len(chosen)), np.diff(bounds)[chosen])

    def padded(array: NDArray[Any], nothing: int = 0) -> NDArray[Any]:
        out = np.full((len(chosen), length, *array.shape[1:]), nothing, dtype=array.dtype)
        out[inside] = array[flat]
        return out

    return ReaderBatch(
        pieces=padded(tokens.pieces),
        kinds=padded(tokens.kinds),
        groups=padded(tokens.groups, -1),
        positions=padded(tokens.positions),
        features=padded(tokens.features),
        asks=np.stack([row, tokens.asks[gaps] - starts[row]], axis=1).astype(np.int32),
        gap_numbers=np.where(practice[gaps, None], np.float32(0), tokens.gap_numbers[gaps]),
        gap_codes=tokens.gap_codes[gaps],
        logits=np.where(practice[gaps], 0, shard.passages.logits[shard.passages.gaps[gaps]]).astype(np.float32),
        true=shard.true[gaps].astype(np.float32),
        practice=practice[gaps],
        characters=int(np.diff(shard.passages.offsets)[chosen].sum()),
        block=block,
        last_of_block=last_of_block,
    )


def passage_batches(
    files: Sequence[Path], table: PieceTable, most_positions: int, size: int, seed: int, first: int = 0
) -> Iterator[ReaderBatch]:
    """Batches without end."""
    for number, shard in shuffled_shards(files, seed, first):
        random = np.random.default_rng([seed, 7, number])
        counts = np.diff(np.searchsorted(shard.passages.gaps, shard.passages.offsets))
        shard, practice = with_practice(shard.select(np.flatnonzero(counts <= MOST_GAPS)), random)
        tokens = tokens_of(shard.passages, table, most_positions)
        yield from batches_of(shard, tokens, size, random, number, practice)
