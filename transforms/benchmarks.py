"""Correct text and matched paragraphs to benchmarks: what the two stages of `pipelines.make_benchmarks` do.

*Sample* keeps the sequences of a slice whose texts have the lowest hashes; the lowest of all slices are the benchmark,
whatever the order or the cut of the input, and no text is in it twice. *Write* makes one benchmark from them, in the
public layout: ``corrupt.txt``, ``correct.txt``, ``spelling.txt``, one sequence a line. Nothing here imports Beam.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa

from respace import benchmarks, gaps
from respace.benchmark_statistics import BenchmarkStatistics, count
from respace.benchmarks import Sequences
from respace.hashing import row_hashes
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, filesystem, join_url
from respace.storage.publish import publish, publish_bytes
from transforms.formats.parquet_tables import open_parquet
from transforms.formats.rows import CleanText, Row, TextSlice
from transforms.formats.text_columns import text_values
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult
from transforms.shards.dead_letters import DeadLetter, publish_dead_letters
from transforms.shards.manifests import Manifest, finish_shard, input_fingerprint

SAMPLE, WRITE = "sample", "write"
CLEAN, PAIRS = "clean", "pairs"
EXTRACTED, TRUTH = "extracted", "truth"
# A longer one is a document, not a sequence (a sentence or a paragraph).
MAX_SEQUENCE_CHARACTERS = 4000
_SAMPLED = pa.schema([("hash", pa.uint64()), ("truth", pa.string()), ("given", pa.string())])


@dataclass(frozen=True, kw_only=True)
class SourceSlice(TextSlice):
    """One slice of one input; ``kind`` is `CLEAN` text or matched `PAIRS`."""

    kind: str


@dataclass(frozen=True, kw_only=True)
class BenchmarkShard:
    """One benchmark; ``benchmark`` is its name in the public layout."""

    name: str
    benchmark: str
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Keeps the ``sequences`` lowest of a slice."""

    output: str
    reader: CleanText
    sequences: int
    seed: int

    rules: ClassVar[int] = 1

    def fingerprint(self, part: SourceSlice) -> Fingerprint:
        return {
            **input_fingerprint(part.file),
            "kind": part.kind,
            "slice": f"{part.span[0]}:{part.span[1]}",
            "text column": self.reader.text_column if part.kind == CLEAN else None,
            "sequences": self.sequences,
            "seed": self.seed,
        }

    def __call__(self, part: SourceSlice) -> ShardResult:
        counts: Counter[str] = Counter()
        letters: list[DeadLetter] = []
        kept = _SAMPLED.empty_table()
        waiting: list[tuple[str, str | None]] = []
        for truth, given in self._sequences(part, counts, letters):
            waiting.append((truth, given))
            if len(waiting) >= 4 * self.sequences:
                kept, waiting = lowest_rows([kept, self._table(waiting)], self.sequences), []
        kept = lowest_rows([kept, self._table(waiting)], self.sequences)
        url = sampled_url(self.output, part.name)
        with publish(url) as path, pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, _SAMPLED) as writer:
            writer.write_table(kept)
        urls = [url, *publish_dead_letters(self.output, part.name, letters)]
        if letters:
            counts["dead_letters"] = len(letters)
        progress.report(documents=counts["rows"])
        return finish_shard(self, part, urls, counts)

    def _sequences(
        self, part: SourceSlice, counts: Counter[str], letters: list[DeadLetter]
    ) -> Iterator[tuple[str, str | None]]:
        for number, (key, truth, given, problem) in enumerate(self._rows(part)):
            counts["rows"] += 1
            if problem is None and given is not None and gaps.split(given)[0] != gaps.split(truth)[0]:
                problem = "extracted and true text differ in more than their spaces"
            if problem is not None:
                letters.append(Row(key, truth, problem).dead_letter(part.name, number))
            elif not truth or len(truth) > MAX_SEQUENCE_CHARACTERS:
                counts["too_long" if truth else "empty_rows"] += 1
            else:
                yield truth, given

    def _rows(self, part: SourceSlice) -> Iterator[tuple[str, str, str | None, str | None]]:
        if part.kind == CLEAN:
            for row in self.reader.rows(part.file, part.span):
                yield row.key, one_line(row.text), None, row.problem
            return
        with open_parquet(part.file) as parquet:
            row_number = 0
            for batch in parquet.iter_batches(4096, columns=[EXTRACTED, TRUTH], use_threads=False):
                table = pa.Table.from_batches([batch])
                for pair in zip(text_values(table[TRUTH]), text_values(table[EXTRACTED]), strict=True):
                    problem = f"row {row_number}: not UTF-8" if any(isinstance(one, bytes) for one in pair) else None
                    truth, extracted = (
                        one.decode("utf-8", "replace") if isinstance(one, bytes) else one or "" for one in pair
                    )
                    yield f"{part.file.name}:{row_number}", one_line(truth), one_line(extracted), problem
                    row_number += 1

    def _table(self, rows: Sequence[tuple[str, str | None]]) -> pa.Table:
        truths = [truth for truth, _ in rows]
        hashes = row_hashes(truths, self.seed) if rows else np.zeros(0, dtype=np.uint64)
        columns = [pa.array(hashes), pa.array(truths, pa.string()), pa.array([given for _, given in rows], pa.string())]
        return pa.Table.from_arrays(columns, schema=_SAMPLED)


def check_pairs(file: InputFile) -> None:
    """Raises BadFile if a file is not one of matched paragraphs."""
    with open_parquet(file) as parquet:
        missing = {EXTRACTED, TRUTH} - set(parquet.schema_arrow.names)
        if missing:
            found = ", ".join(parquet.schema_arrow.names)
            raise BadFile(f"{file.url}: no column {sorted(missing)[0]!r}, only {found}: expected output of match_arxiv")
        for name in (EXTRACTED, TRUTH):
            kind = parquet.schema_arrow.field(name).type
            if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
                raise BadFile(f"{file.url}: the column {name!r} is {kind}: expected output of match_arxiv")


def one_line(text: str) -> str:
    """
    >>> one_line(" a\\n b ")
    'a b'
    """
    return " ".join(text.split())


def lowest_rows(tables: Sequence[pa.Table], count: int) -> pa.Table:
    """The rows with the lowest hashes, each hash once, in the order of the hashes."""
    table = pa.concat_tables(tables).sort_by([("hash", "ascending"), ("given", "ascending")])
    hashes = table["hash"].to_numpy()
    first = np.unique(hashes, return_index=True)[1]
    return table.take(pa.array(first[:count], pa.int64())).combine_chunks()


@dataclass(frozen=True, kw_only=True)
class WriteBenchmark:
    """Makes one benchmark.

    Args:
        output: output directory.
        clean, pairs: names of the sampled slices.
        acl_pairs: directory of the supplied pairs.
        sequences: how many a benchmark has at most.
        typos, confusions: files of the noise.
        seed: of the noise.
        source: what the input is, in short.
    """

    output: str
    clean: tuple[str, ...]
    pairs: tuple[str, ...]
    acl_pairs: str | None
    sequences: int
    typos: str | None
    confusions: str | None
    seed: int
    source: str

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: BenchmarkShard) -> Fingerprint:
        return {
            "input": self.source,
            "sequences": self.sequences,
            "typos": self.typos,
            "confusions": self.confusions,
            "seed": self.seed,
        }

    def __call__(self, shard: BenchmarkShard) -> ShardResult:
        made = self._make(shard.benchmark)
        files = {benchmarks.CORRUPT: made.corrupt, benchmarks.CORRECT: made.correct, benchmarks.SPELLING: made.spelling}
        urls = []
        for name, lines in files.items():
            if lines is not None:
                urls.append(join_url(self.output, shard.benchmark, name))
                publish_bytes(urls[-1], "".join(f"{line}\n" for line in lines).encode())
        counts = Counter(asdict(count(made)))
        progress.report(documents=counts["sequences"])
        return finish_shard(self, shard, urls, counts)

    def _make(self, name: str) -> Sequences:
        if name == benchmarks.ACL:
            assert self.acl_pairs is not None
            return benchmarks.read_sequences(self.acl_pairs)
        sampled = self._sampled(self.pairs if name in benchmarks.FROM_PAIRS else self.clean)
        truths = sampled["truth"].to_pylist()
        if name == benchmarks.ARXIV_PDF:
            return benchmarks.from_pairs(sampled["given"].to_pylist(), truths)
        return benchmarks.inject(truths, benchmarks.recipe(name, self.typos, self.confusions), self.seed)

    def _sampled(self, names: Sequence[str]) -> pa.Table:
        kept = _SAMPLED.empty_table()
        for name in names:
            store, path = filesystem(sampled_url(self.output, name))
            with store.open(path, "rb") as stream:
                kept = lowest_rows([kept, _read_table(stream)], self.sequences)
        return kept


def statistics_of(manifest: Manifest) -> BenchmarkStatistics:
    return BenchmarkStatistics(**{name: manifest.counts.get(name, 0) for name in asdict(BenchmarkStatistics())})


def sampled_url(output: str, name: str) -> str:
    return join_url(output, "_sampled", f"{name}.arrow")


def _read_table(stream: BinaryIO) -> pa.Table:
    return pa.ipc.open_file(stream).read_all()
