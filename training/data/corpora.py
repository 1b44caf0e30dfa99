"""Clean text from Parquet, in an order that depends on the seed alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from training.data.held_out import FITTING_ROW, kept_for_measuring


@dataclass(frozen=True, kw_only=True)
class Source:
    """Clean text, and its share of the training characters: a Parquet file, a directory of them, or a text file.

    Attributes:
        path: where it is; of a text file (``.txt``) every line is a row.
        weight: its share.
        column: the column with the text.
        only: if given, rows are read whose column ``source`` has one of these values.
        right_as_it_is: text that must stay as it is, not prose: no noise is injected, and a fifth of it is kept for
            measuring (`training.data.held_out`).
    """

    path: str
    weight: float = 1.0
    column: str = "text"
    only: tuple[str, ...] = ()
    right_as_it_is: bool = False

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Source:
        return cls(**dict(values) | {"only": tuple(values.get("only", ()))})


class Corpus:
    """All rows of one source that are trained on, in memory as one Arrow column; or those that are kept for fitting."""

    def __init__(self, source: Source, kept_for_fitting: bool = False):
        path = Path(source.path)
        # Directories that begin with an underscore hold what jobs write beside their output.
        below = (file.relative_to(path) for file in path.glob("**/*.parquet"))
        shards = (path / file for file in below if not any(part.startswith("_") for part in file.parts))
        files = sorted(shards) if path.is_dir() else [path]
        if not files:
            raise FileNotFoundError(f"{source.path} holds no .parquet file: expected clean text in Parquet")
        tables = []
        for file in files:
            if file.suffix == ".txt":
                tables.append(_lines(file))
                continue
            names = pq.read_schema(file).names
            for column in [source.column] + (["source"] if source.only else []):
                if column not in names:
                    raise ValueError(f"{file} has no column {column!r}; it has {', '.join(names)}")
            chosen = [("source", "in", source.only)] if source.only else None
            table = pq.read_table(file, columns=[source.column], filters=chosen)
            tables.append(table.column(0).cast(pa.large_string()))
        chunks = [chunk for table in tables for chunk in table.chunks]
        texts = pa.chunked_array(chunks, pa.large_string()).combine_chunks()
        chosen_rows = _trained_on(texts, source.right_as_it_is)
        self.texts = texts.filter(pa.array(~chosen_rows if kept_for_fitting else chosen_rows))
        self.right_as_it_is = source.right_as_it_is
        if source.only and not len(self.texts):
            raise ValueError(f"{source.path}: no row has a source among {', '.join(source.only)}")
        self.name = "-".join([path.stem, *source.only])

    def __len__(self) -> int:
        return len(self.texts)

    @lru_cache(maxsize=2)  # noqa: B019 - a corpus lives as long as the process
    def order(self, seed: int, epoch: int) -> NDArray[np.int64]:
        return np.random.default_rng([seed, epoch]).permutation(len(self))

    def take(self, rows: NDArray[np.int64]) -> list[str]:
        return self.texts.take(pa.array(rows)).to_pylist()


def _lines(file: Path) -> pa.ChunkedArray:
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return pa.chunked_array([[line for line in lines if line]], pa.large_string())


def _trained_on(texts: pa.Array, right_as_it_is: bool) -> NDArray[np.bool_]:
    """Which rows are trained on and counted."""
    if right_as_it_is:
        return np.array([not kept_for_measuring(text) for text in texts.to_pylist()], dtype=bool)
    return np.arange(len(texts)) % FITTING_ROW != FITTING_ROW - 1


@dataclass(frozen=True, slots=True)
class Row:
    """A text, the key of its noise, and whether it gets any."""

    key: str
    text: str
    right_as_it_is: bool = False


def block(corpora: Sequence[Corpus], weights: Sequence[float], rows: int, seed: int, number: int) -> list[Row]:
    """One block of rows, with every corpus in proportion to its weight; a function of seed and number alone.

    Weights are shares of characters; rows differ in length, so they are turned into shares of rows by the mean length.
    """
    lengths = [max(1.0, corpus.texts.nbytes / max(1, len(corpus))) for corpus in corpora]
    shares = np.array([weight / length for weight, length in zip(weights, lengths, strict=True)])
    per_block = np.maximum(1, np.round(rows * shares / shares.sum())).astype(int)
    chosen: list[Row] = []
    for corpus, count in zip(corpora, per_block.tolist(), strict=True):
        for epoch, places in _places(corpus, count, seed, number):
            keys = [f"{corpus.name}/{place}/{epoch}" for place in places.tolist()]
            texts = corpus.take(places)
            chosen += [Row(key, text, corpus.right_as_it_is) for key, text in zip(keys, texts, strict=True)]
    if not chosen:
        raise ValueError(f"{', '.join(corpus.name for corpus in corpora)}: no text to train on. Give more rows")
    return chosen


def _places(corpus: Corpus, count: int, seed: int, number: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The rows of a block, by epoch: a part of one, or several where the corpus has fewer rows than the block."""
    size = len(corpus)
    if 0 < size < count:
        epochs = -(-count // size)
        yield from ((epoch, corpus.order(seed, epoch)) for epoch in range(number * epochs, (number + 1) * epochs))
        return
    epoch, at = divmod(number, max(1, size // count))
    yield epoch, corpus.order(seed, epoch)[at * count : (at + 1) * count]
