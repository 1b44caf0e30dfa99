"""Clean text to shuffled, noisy training shards: what the two stages of `pipelines.make_training_shards` do.

A global shuffle without holding the corpus, and without a shuffle of Beam's, which the local runner keeps in memory:
every row has a hash, which says in which output shard it goes and where in it. *Scatter* reads one slice of the input
and writes one file with a record batch for each output shard. *Gather* reads its batch from each of these files, sorts
by the hash, injects the noise and writes one output shard. Memory is that of one slice, or of one output shard; the
output does not depend on how the input was cut, nor on who did what when. Nothing here imports Beam.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from respace.hashing import row_hashes
from respace.noise import Recipe, corrupt
from respace.storage.files import filesystem, join_url
from respace.storage.publish import publish
from respace.training_examples import SCHEMA, to_record_batch
from transforms.formats.rows import CleanText, Row, TextSlice
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult
from transforms.shards.dead_letters import DeadLetter, publish_dead_letters
from transforms.shards.manifests import finish_shard, input_fingerprint
from transforms.tf_records import ExampleWriter, count_records

SCATTER, GATHER = "scatter", "gather"
# A longer row is cut at a blank: examples are sentences and paragraphs, and a batch of them must stay small.
MAX_ROW_CHARACTERS = 4000
_BATCH_CHARACTERS = 1 << 20
_ROW_GROUP_ROWS = 1 << 14
_SCATTERED = pa.schema([("hash", pa.uint64()), ("key", pa.string()), ("text", pa.string())])


@dataclass(frozen=True, kw_only=True)
class OutputShard:
    """One shard of the output."""

    name: str
    number: int
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Distributes the rows of a slice over the output shards.

    Args:
        output: output directory.
        reader: how to read rows.
        copies: how often each row is to appear.
        shards: how many output shards there are.
        seed: of the shuffle.
    """

    output: str
    reader: CleanText
    copies: int
    shards: int
    seed: int

    rules: ClassVar[int] = 1

    def fingerprint(self, part: TextSlice) -> Fingerprint:
        return {
            **input_fingerprint(part.file),
            "slice": f"{part.span[0]}:{part.span[1]}",
            "text column": self.reader.text_column,
            "id column": self.reader.id_column,
            "copies": self.copies,
            "shards": self.shards,
            "seed": self.seed,
        }

    def __call__(self, part: TextSlice) -> ShardResult:
        counts: Counter[str] = Counter()
        letters: list[DeadLetter] = []
        keys: list[str] = []
        texts: list[str] = []
        for number, row in enumerate(self.reader.rows(part.file, part.span)):
            counts["rows"] += 1
            if row.problem is not None:
                letters.append(row.dead_letter(part.name, number))
                continue
            for key, text in pieces(row):
                counts["text_bytes"] += len(text.encode())
                keys.append(key)
                texts.append(text)
            if not row.text.strip():
                counts["empty_rows"] += 1
        counts["pieces"] = len(texts)
        url = scattered_url(self.output, part.name)
        with publish(url) as path:
            self._write(path, keys, texts)
        urls = [url, *publish_dead_letters(self.output, part.name, letters)]
        if letters:
            counts["dead_letters"] = len(letters)
        progress.report(documents=counts["rows"], bytes=counts["text_bytes"])
        return finish_shard(self, part, urls, counts)

    def _write(self, path: str, keys: list[str], texts: list[str]) -> None:
        every_key = [copy_key(key, copy) for copy in range(self.copies) for key in keys]
        hashes = row_hashes(every_key, self.seed) if every_key else np.zeros(0, dtype=np.uint64)
        places = np.tile(np.arange(len(texts)), self.copies)
        # The high bits choose the shard, so that a shard is a range of hashes and the shards in a row are sorted.
        shards = shard_of(hashes, self.shards)
        order = np.argsort(shards, kind="stable")
        edges = np.searchsorted(shards[order], np.arange(self.shards + 1))
        every_text, every_name = pa.array(texts, pa.string()), pa.array(every_key, pa.string())
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, _SCATTERED, options=options) as writer:
            for shard in range(self.shards):
                rows = order[edges[shard] : edges[shard + 1]]
                names = every_name.take(pa.array(rows))
                columns = [pa.array(hashes[rows]), names, every_text.take(pa.array(places[rows]))]
                writer.write_batch(pa.record_batch(columns, schema=_SCATTERED))


def copy_key(key: str, copy: int) -> str:
    """Each copy of a row has a key, and so a noise, of its own."""
    return key if copy == 0 else f"{key} copy {copy}"


def shard_of(hashes: np.ndarray, shards: int) -> np.ndarray:
    """Which output shard: equal ranges of the hashes."""
    return ((hashes >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32)).astype(np.int64)


def pieces(row: Row) -> Iterator[tuple[str, str]]:
    """A row as examples: itself, or cut at blanks if it is very long; nothing if it is blank.

    >>> list(pieces(Row("a:1", " short ")))
    [('a:1', 'short')]
    """
    text = row.text.strip()
    if len(text) <= MAX_ROW_CHARACTERS:
        if text:
            yield row.key, text
        return
    number = 0
    while text:
        cut = len(text)
        if cut > MAX_ROW_CHARACTERS:
            blank = text.rfind(" ", 1, MAX_ROW_CHARACTERS)
            cut = blank if blank > 0 else MAX_ROW_CHARACTERS
        yield f"{row.key}#{number}", text[:cut].strip()
        text = text[cut:].strip()
        number += 1


@dataclass(frozen=True, kw_only=True)
class Gather:
    """Writes one output shard.

    Args:
        output: output directory.
        slices: names of all slices.
        recipe: the noise.
        seed: of the noise.
        shards: how many output shards there are.
        formats: ``parquet``, ``tfrecord``, or both.
        source: what the input is, in short: the fingerprints of all slices and the contents of the noise's files.
    """

    output: str
    slices: tuple[str, ...]
    recipe: Recipe
    seed: int
    shards: int
    formats: tuple[str, ...]
    source: str

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: OutputShard) -> Fingerprint:
        return {
            "input": self.source,
            "recipe": self.recipe.to_json(),
            "seed": self.seed,
            "shards": self.shards,
            "formats": ", ".join(self.formats),
        }

    def __call__(self, shard: OutputShard) -> ShardResult:
        rows = self._read(shard.number)
        counts: Counter[str] = Counter(examples=rows.num_rows)
        urls = [shard_url(self.output, kind, shard.number, self.shards) for kind in self.formats]
        with ExitStack() as stack:
            paths = [
                stack.enter_context(publish(url, _verifier(kind, rows.num_rows)))
                for url, kind in zip(urls, self.formats, strict=True)
            ]
            with ExitStack() as writers:
                sinks = [
                    writers.enter_context(_writer(kind, path)) for kind, path in zip(self.formats, paths, strict=True)
                ]
                for batch in self._noisy(rows, counts):
                    for sink in sinks:
                        sink.write(batch)
        return finish_shard(self, shard, urls, counts)

    def _read(self, number: int) -> pa.Table:
        batches = []
        for name in self.slices:
            store, path = filesystem(scattered_url(self.output, name))
            with store.open(path, "rb") as stream:
                batches.append(pa.ipc.open_file(stream).get_batch(number))
        return pa.Table.from_batches(batches, _SCATTERED).sort_by([("hash", "ascending"), ("key", "ascending")])

    def _noisy(self, rows: pa.Table, counts: Counter[str]) -> Iterator[pa.RecordBatch]:
        sizes = pa.compute.binary_length(rows["text"]).to_numpy()
        limits = np.arange(0, int(sizes.sum()) + _BATCH_CHARACTERS, _BATCH_CHARACTERS)
        edges = np.searchsorted(np.cumsum(sizes), limits)
        for start, stop in pairwise(edges.tolist()):
            if start == stop:
                continue
            part = rows.slice(start, stop - start)
            keys = part["key"].to_pylist()
            noisy = corrupt(part["text"].to_pylist(), keys, self.recipe, self.seed)
            counts["characters"] += len(noisy.characters)
            counts["space_errors"] += int(np.sum(noisy.true_bits != noisy.given_bits))
            batch = to_record_batch(noisy, keys)
            for entry in batch.column("noise_kind").value_counts().to_pylist():
                counts[f"noise:{entry['values']}"] += entry["counts"]
            progress.report(documents=len(keys), bytes=int(sizes[start:stop].sum()))
            yield batch


def scattered_url(output: str, name: str) -> str:
    return join_url(output, "_scattered", f"{name}.arrow")


def shard_url(output: str, kind: str, number: int, shards: int) -> str:
    return join_url(output, kind, f"part-{number:05}-of-{shards:05}.{kind}")


class _ParquetSink:
    def __init__(self, path: str):
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []

    def __enter__(self) -> _ParquetSink:
        return self

    def __exit__(self, *_: Any) -> None:
        self._flush()
        self._writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        if sum(one.num_rows for one in self._waiting) >= _ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []


def _writer(kind: str, path: str) -> Any:
    return _ParquetSink(path) if kind == "parquet" else ExampleWriter(path)


def _verifier(kind: str, expected: int) -> Any:
    def verify(path: str) -> None:
        rows = pq.ParquetFile(path).metadata.num_rows if kind == "parquet" else count_records(path)
        if rows != expected:
            raise OSError(f"{path}: {rows} examples written, {expected} expected")

    return verify
