"""Dead letters tried again: only those documents go through the model, everything else is taken from the output."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.compression import open_compressed
from respace.storage.files import InputFile, describe
from transforms.formats import line_chunks as line_shards
from transforms.formats import parquet_tables as parquet_shards
from transforms.formats.contract import RepairDocuments
from transforms.formats.json_line import parse_line, without_members
from transforms.formats.lines import DocumentFormat, LineFormat
from transforms.formats.parquet import ParquetFormat
from transforms.formats.parquet_tables import TableChunk, TableWriter
from transforms.formats.provenance import ADDED_COLUMNS
from transforms.formats.registry import format_of
from transforms.formats.sidecar import sidecar_table
from transforms.repair.documents import Document, DocumentRepair, Outcome
from transforms.repair.edit_statistics import KEPT_SAMPLES, Statistics
from transforms.repair.outputs import OutputFiles, local_copy
from transforms.repair.work import CountedRepair, RepairShard, RepairWork, ShardResult, shared_repairer
from transforms.shards.dead_letters import DeadLetterWriter, read_dead_letters
from transforms.shards.manifests import Manifest, read_manifest, write_manifest


@dataclass(frozen=True, kw_only=True)
class RetryWork:
    """Tries the dead letters of one file again. The file is done already, with the options of ``repair``."""

    repair: RepairWork

    def __call__(self, shard: RepairShard) -> ShardResult:
        work = self.repair
        manifest = read_manifest(work.output, shard.file.name)
        if manifest is None or manifest.run == work.run or not manifest.counts["dead_letters"]:
            return ShardResult(name=shard.name)
        started = time.monotonic()
        repairer = shared_repairer(work.model)
        files = OutputFiles(work.output, shard.file.name, work.formats)
        retried = frozenset(read_dead_letters(files.dead_letters)["row"].to_pylist())
        counted = CountedRepair(
            DocumentRepair(repairer, shard.file.name, work.batch_characters, work.formats.max_document_bytes)
        )
        previous = describe(files.target, shard.file.name)
        kind = format_of(shard.file.name, work.formats)
        patch = _Patch(retried, counted, repairer.method.identity)
        with files.replaced() as paths, DeadLetterWriter(files.dead_letters) as letters:
            counted.dead_letters = letters
            if isinstance(kind, ParquetFormat):
                _patch_parquet(kind, previous, paths[0], patch)
            elif isinstance(kind, LineFormat):
                _patch_lines(kind, previous, paths[0], patch)
            else:
                assert isinstance(kind, DocumentFormat)
                kind.repair(previous, (0, -1), paths[0], None, patch, patch.model)
            if files.sidecar:
                _patch_sidecar(files, paths[1], patch, work)
            kind.verify(shard.file, kind.ranges(shard.file, 1 << 62)[0], paths[0])
        return self._finish(manifest, files, counted.statistics, time.monotonic() - started)

    def _finish(self, old: Manifest, files: OutputFiles, new: Statistics, seconds: float) -> ShardResult:
        tried: Mapping[str, Any] = {**new.to_json(), "seconds": seconds}
        merged = Statistics.merge([(old.counts, old.details), (new.counts, tried)], samples=KEPT_SAMPLES)
        counts = {**merged.counts, "documents": old.counts["documents"], "bytes": old.counts["bytes"]}
        counts["dead_letters"] = new.counts["dead_letters"]
        details = {**merged.to_json(), "seconds": round(old.details["seconds"] + seconds, 3)}
        outputs = files.sizes(bool(counts["dead_letters"]))
        write_manifest(
            self.repair.output,
            replace(old, outputs=outputs, counts=dict(sorted(counts.items())), details=details, run=self.repair.run),
        )
        return ShardResult(name=old.name, counts=new.counts)


class _Patch:
    """Repairs the chosen rows, and remembers what became of them."""

    def __init__(self, rows: frozenset[int], repair: RepairDocuments, model: str):
        self.rows, self.model = rows, model
        self._repair = repair
        self.documents: list[Document] = []
        self.outcomes: list[Outcome] = []

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        outcomes = self._repair(documents)
        self.documents += documents
        self.outcomes += outcomes
        return outcomes

    def chosen(self, first_row: int, rows: int) -> list[int]:
        return [place for place in range(rows) if first_row + place in self.rows]


def _patch_parquet(kind: ParquetFormat, previous: InputFile, path: str, patch: _Patch) -> None:
    options = kind.options
    with ExitStack() as stack:
        parquet = stack.enter_context(parquet_shards.open_parquet(previous))
        writer = stack.enter_context(TableWriter(path, parquet.schema_arrow, like=parquet.metadata))
        for chunk in parquet_shards.chunks(parquet, 0, parquet.metadata.num_rows):
            table = chunk.table
            chosen = patch.chosen(chunk.first_row, table.num_rows)
            if chosen:
                bare = table.take(chosen).drop_columns([name for name in ADDED_COLUMNS if name in table.column_names])
                tried = TableChunk(chunk.first_row, bare, ends_row_group=False)
                documents = parquet_shards.documents(tried, options.text_column, options.id_column)
                outcomes = patch(_renumbered(documents, chunk.first_row, chosen))
                new = parquet_shards.repaired_table(tried, options.text_column, outcomes, patch.model, options.added)
                table = _replaced_rows(table, chosen, new)
            writer.write(table, chunk.ends_row_group)


def _patch_lines(kind: LineFormat, previous: InputFile, path: str, patch: _Patch) -> None:
    lines = kind.lines(patch.model)
    with ExitStack() as stack:
        stream = stack.enter_context(line_shards.open_lines(previous))
        out = stack.enter_context(open_compressed(path, previous.name))
        for chunk in kind.chunks(stream, (0, -1)):
            chosen = patch.chosen(chunk.rows[0], len(chunk.lines))
            new = list(chunk.lines)
            if chosen:
                bare = [_bare_line(chunk.lines[place], kind) for place in chosen]
                tried = line_shards.LineChunk([chunk.rows[place] for place in chosen], bare, chunk.rest)
                outcomes = patch(lines.documents(tried))
                repaired = lines.repaired(replace(tried, rest=None), outcomes)
                for place, line in zip(chosen, repaired, strict=True):
                    new[place] = line
            out.writelines(new)
            out.writelines(chunk.rest or ())


def _patch_sidecar(files: OutputFiles, path: str, patch: _Patch, work: RepairWork) -> None:
    with tempfile.TemporaryDirectory(prefix="respace-") as folder:
        old = pq.read_table(local_copy(files.sidecar, folder))
    new = sidecar_table(patch.documents, patch.outcomes, work.formats, patch.model)
    with TableWriter(path, old.schema) as writer:
        writer.write(_replaced_rows(old, [document.row for document in patch.documents], new), ends_row_group=True)


def _renumbered(documents: Sequence[Document], first_row: int, chosen: Sequence[int]) -> list[Document]:
    return [replace(document, row=first_row + place) for document, place in zip(documents, chosen, strict=True)]


def _replaced_rows(table: pa.Table, places: Sequence[int], new: pa.Table) -> pa.Table:
    order = list(range(table.num_rows))
    for number, place in enumerate(places):
        order[place] = table.num_rows + number
    return pa.concat_tables([table, new.cast(table.schema)]).take(order)


def _bare_line(line: bytes, kind: LineFormat) -> bytes:
    """A line of the output as it was in the input. What failed was left as it was, but for what was added."""
    if not kind.json:
        return line
    try:
        text = line.decode("utf-8")
        bare = without_members(parse_line(text.rstrip("\n"), kind.options.text_column))
    except ValueError:
        return line
    return (bare + text[len(text.rstrip("\n")) :]).encode("utf-8")
