"""Counts words for the word baselines: ``python -m training.count_words --sources $RESPACE_DATA/corpora/*.parquet``.

What ships was written by

    python -m training.count_words --output models/pretrained/words \\
        --sources $RESPACE_DATA/corpora/wikipedia.parquet $RESPACE_DATA/corpora/scientific.parquet
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.files import save_model
from models.words.counts import (
    DIGIT,
    EDGE,
    LETTER,
    LETTERS,
    LONGEST_WORD,
    NUMBER,
    WordCounts,
    gap_keys,
    kinds_of,
    letters_of,
)
from respace.gaps import code_points, gap_bits, is_space
from training.data.corpora import Corpus, Source

_ROWS_AT_ONCE = 200_000
_ASCII_UNIT = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*|[0-9]+|.", re.DOTALL)
_FEWEST_GAPS = 20
# Words seen at most so often teach what unknown words look like.
RARE = 20


def units_of(token: str) -> list[str]:
    """
    >>> units_of("don't(3.14),"), units_of("naïve")
    (["don't", '(', '0', '.', '0', ')', ','], ['naïve'])
    """
    if token.isascii():  # the same, only faster
        return [NUMBER if unit[0] in "0123456789" else unit for unit in _ASCII_UNIT.findall(token)]
    kinds = kinds_of(code_points(token)).tolist()
    units: list[str] = []
    last = None
    for character, kind in zip(token, kinds, strict=True):
        if kind == LETTER and last == LETTER:
            units[-1] += character
        elif not (kind == DIGIT and last == DIGIT):
            units.append(NUMBER if kind == DIGIT else character)
        last = kind
    return units


@dataclass
class _Tally:
    """Counts of pairs by key, added up in chunks so that memory stays bounded."""

    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=list)

    def add(self, keys: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> None:
        unique, inverse = np.unique(keys, return_inverse=True)
        summed = np.bincount(inverse, weights=counts, minlength=len(unique)).astype(np.int64)
        self.waiting.append((unique, summed))
        if sum(len(one) for one, _ in self.waiting) > 4_000_000:
            self.merge()

    def merge(self) -> None:
        keys = np.concatenate([self.keys, *(one for one, _ in self.waiting)])
        counts = np.concatenate([self.counts, *(one for _, one in self.waiting)])
        self.waiting = []
        self.keys, inverse = np.unique(keys, return_inverse=True)
        self.counts = np.bincount(inverse, weights=counts, minlength=len(self.keys)).astype(np.int64)


def count(texts: Sequence[pa.Array], most_words: int, most_pairs: int) -> WordCounts:
    """Counts everything in chunks of texts."""
    began = time.monotonic()
    tokens = count_tokens(texts, began)
    token_units = [units_of(token) for token in tokens]
    units: Counter[str] = Counter()
    for its_units, number in zip(token_units, tokens.values(), strict=True):
        for unit in its_units:
            units[unit] += number
    print(f"{len(tokens):,} different tokens, {len(units):,} units, {time.monotonic() - began:.0f} s", flush=True)
    kept = sorted([unit for unit, _ in units.most_common() if len(unit) <= LONGEST_WORD][:most_words])
    numbers = {unit: number for number, unit in enumerate(kept)}
    pairs = _count_pairs(texts, tokens, token_units, numbers, began)
    top = np.sort(np.argsort(-pairs.counts, kind="stable")[:most_pairs])
    keys, spaced = _count_gaps(texts)
    return WordCounts(
        words=kept,
        word_counts=np.array([units[unit] for unit in kept], dtype=np.float64),
        total=float(sum(units.values())),
        pair_first=pairs.keys[top] // len(kept),
        pair_second=pairs.keys[top] % len(kept),
        pair_counts=pairs.counts[top].astype(np.float64),
        trigrams=letter_model(unit for unit, number in units.items() if number <= RARE and len(unit) <= LONGEST_WORD),
        gap_table_keys=keys,
        gap_spaced=spaced,
    )


def _chunks(texts: Sequence[pa.Array]) -> Iterator[pa.Array]:
    for column in texts:
        for start in range(0, len(column), _ROWS_AT_ONCE):
            yield column[start : start + _ROWS_AT_ONCE]


def count_tokens(texts: Sequence[pa.Array], began: float) -> Counter[str]:
    tokens: Counter[str] = Counter()
    seen = 0
    for chunk in _chunks(texts):
        for one in pc.value_counts(pc.utf8_split_whitespace(chunk).flatten()).to_pylist():
            tokens[one["values"]] += one["counts"]
        seen += chunk.nbytes
        print(f"counted tokens of {seen / 1e6:.0f} MB, {time.monotonic() - began:.0f} s", flush=True)
    tokens.pop("", None)
    return tokens


def _count_pairs(
    texts: Sequence[pa.Array],
    tokens: Counter[str],
    token_units: list[list[str]],
    numbers: dict[str, int],
    began: float,
) -> _Tally:
    """Pairs of units, within tokens and across the space between two tokens."""
    first = np.array([numbers.get(units[0], -1) for units in token_units], dtype=np.int64)
    last = np.array([numbers.get(units[-1], -1) for units in token_units], dtype=np.int64)
    tally = _Tally()
    inner: Counter[int] = Counter()
    for units, number in zip(token_units, tokens.values(), strict=True):
        for left, right in pairwise(units):
            if left in numbers and right in numbers:
                inner[numbers[left] * len(numbers) + numbers[right]] += number
    if inner:
        tally.add(np.array(list(inner), dtype=np.int64), np.array(list(inner.values()), dtype=np.int64))
    known = pa.array(list(tokens), type=pa.large_string())
    seen = 0
    for chunk in _chunks(texts):
        split = pc.utf8_split_whitespace(chunk)
        flat = split.flatten()
        ids = pc.index_in(flat, value_set=known).fill_null(-1).to_numpy().astype(np.int64)
        rows = np.repeat(np.arange(len(split)), np.diff(split.offsets.to_numpy()))
        left, right = ids[:-1], ids[1:]
        good = (rows[:-1] == rows[1:]) & (left >= 0) & (right >= 0)
        left, right = last[left[good]], first[right[good]]
        good = (left >= 0) & (right >= 0)
        tally.add(left[good] * len(numbers) + right[good])
        seen += chunk.nbytes
        print(f"counted pairs of {seen / 1e6:.0f} MB, {time.monotonic() - began:.0f} s", flush=True)
    tally.merge()
    return tally


def letter_model(words: Iterable[str]) -> NDArray[np.float64]:
    """-log p(letter | two letters before), each rare word counted once; smoothed towards one letter before."""
    text = [letters for word in words if word.isalpha() for letters in ([EDGE, EDGE], letters_of(code_points(word)))]
    flat = np.concatenate([*map(np.asarray, text), [EDGE]]).astype(np.int64) if text else np.array([EDGE] * 3)
    keys = (flat[:-2] * LETTERS + flat[1:-1]) * LETTERS + flat[2:]
    # An edge after an edge is the beginning of the next word, not a letter of this one.
    keys = keys[~((flat[1:-1] == EDGE) & (flat[2:] == EDGE)) & ~((flat[:-2] != EDGE) & (flat[1:-1] == EDGE))]
    threes = np.bincount(keys, minlength=LETTERS**3).reshape(LETTERS, LETTERS, LETTERS).astype(np.float64)
    twos = threes.sum(0) + 0.1
    twos /= twos.sum(-1, keepdims=True)
    strength = 5.0
    smooth = (threes + strength * twos[None]) / (threes.sum(-1, keepdims=True) + strength)
    return -np.log(smooth)


def _count_gaps(texts: Sequence[pa.Array]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Which contexts beside signs mostly have a space."""
    seen, spaced = _Tally(), _Tally()
    for chunk in _chunks(texts):
        # There are few contexts: a fifth of a large text has them all.
        codes = code_points("\n".join(chunk[: max(1000, len(chunk) // 5)].to_pylist()))
        positions = np.flatnonzero(~is_space(codes))
        characters, bits = codes[positions], gap_bits(positions)
        lines = np.cumsum(codes == ord("\n"))[positions]
        first = np.diff(lines, prepend=-1) > 0
        kinds = kinds_of(characters)
        beside_sign = ~first
        beside_sign[1:] &= (kinds[1:] != LETTER) | (kinds[:-1] != LETTER)
        for keys in gap_keys(characters, kinds, first):
            as_numbers = keys[beside_sign].view(np.int64)
            seen.add(as_numbers)
            spaced.add(as_numbers, bits[beside_sign].astype(np.int64))
    seen.merge()
    spaced.merge()
    often = seen.counts >= _FEWEST_GAPS
    return seen.keys[often].view(np.uint64), 2 * spaced.counts[often] > seen.counts[often]


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", required=True, nargs="+", help="Parquet files of clean text, column text")
    parser.add_argument("--output", required=True, type=Path, help="model directory to write")
    parser.add_argument("--words", type=int, default=400_000, help="keep the most frequent (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=800_000, help="keep the most frequent (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        corpora = [Corpus(Source(path=path)) for path in options.sources]
    except (OSError, ValueError) as error:
        print(f"training.count_words: {error}", file=sys.stderr)
        return 2
    counts = count([corpus.texts for corpus in corpora], options.words, options.pairs)
    weights = counts.to_weights()
    names = [Path(path).name for path in options.sources]
    config = {"kind": "words", "name": "words", "training": {"sources": names, "units": int(counts.total)}}
    sha256 = save_model(options.output, config, weights)
    size = sum(array.nbytes for array in weights.values())
    print(
        f"{len(counts.words):,} words, {len(counts.pair_first):,} pairs, {len(counts.gap_spaced):,} gap contexts, "
        f"{size / 1e6:.1f} MB, sha256 {sha256}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
