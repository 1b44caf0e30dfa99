"""The way back: an output with provenance becomes the input again, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.compression import open_compressed
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, file_size, filesystem, join_url
from respace.storage.publish import publish
from transforms.formats import line_chunks as line_shards
from transforms.formats import parquet_tables as parquet_shards
from transforms.formats.contract import FormatOptions
from transforms.formats.lines import DocumentFormat, LineFormat
from transforms.formats.parquet import ParquetFormat
from transforms.formats.parquet_tables import TableChunk, TableWriter, text_values
from transforms.formats.provenance import ADDED_COLUMNS, EDITS, ORIGINAL, edits_from_python, revert_text
from transforms.formats.registry import format_of
from transforms.repair.outputs import sidecar_url
from transforms.repair.work import RepairShard, ShardResult
from transforms.shards import progress
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters
from transforms.shards.manifests import (
    Fingerprint,
    Manifest,
    input_fingerprint,
    read_manifest,
    remove_manifest,
    write_manifest,
)


@dataclass(frozen=True, kw_only=True)
class RevertWork:
    """Reverts one file of an output."""

    output: str
    formats: FormatOptions
    fingerprint: Fingerprint
    run: str

    def __call__(self, shard: RepairShard) -> ShardResult:
        file = shard.file
        manifest = read_manifest(self.output, file.name)
        if manifest is not None and manifest.run == self.run:
            return ShardResult(name=file.name)
        remove_manifest(self.output, file.name)
        kind = format_of(file.name, self.formats)
        target = join_url(self.output, file.name)
        with publish(target) as path:
            if isinstance(kind, ParquetFormat):
                rows = _revert_parquet(file, path, self.formats.text_column)
            elif isinstance(kind, LineFormat) and kind.json:
                rows = _revert_json_lines(file, path, kind)
            elif isinstance(kind, LineFormat):
                rows = _revert_text_lines(file, path, kind)
            else:
                assert isinstance(kind, DocumentFormat)
                rows = _revert_document(file, path)
        progress.report(documents=rows, bytes=file.size)
        counts = {"documents": rows}
        manifest = Manifest(
            name=file.name,
            fingerprint=self.fingerprint_of(file),
            outputs={file.name: file_size(target) or 0},
            counts=counts,
            run=self.run,
        )
        write_manifest(self.output, manifest)
        return ShardResult(name=file.name, counts=counts)

    def fingerprint_of(self, file: InputFile) -> dict[str, Any]:
        return {**self.fingerprint, **input_fingerprint(file)}


def reverted_table(chunk: TableChunk, url: str, text_column: str) -> pa.Table:
    """Rows as they were before repair."""
    table = chunk.table
    edits = table[EDITS].to_pylist() if EDITS in table.column_names else None
    originals = text_values(table[ORIGINAL]) if ORIGINAL in table.column_names else None
    texts = text_values(table[text_column])
    if edits is None and originals is None:
        raise BadFile(f"{url}: no column {EDITS!r}: it was not written with --provenance, so it cannot be reverted")
    values = originals
    if values is None:
        values = [
            _reverted_value(text, changes, f"{url}: row {chunk.first_row + place}")
            for place, (text, changes) in enumerate(zip(texts, edits or (), strict=True))
        ]
    place = table.schema.get_field_index(text_column)
    field = table.schema.field(place)
    table = table.set_column(place, field, parquet_shards.text_column_of(values, field.type))
    return table.drop_columns([name for name in ADDED_COLUMNS if name in table.column_names])


def _reverted_value(text: str | bytes | None, changes: Any, where: str) -> str | bytes | None:
    if not isinstance(text, str) or not changes:
        return text
    try:
        return revert_text(text, edits_from_python(changes))
    except ValueError as error:
        raise BadFile(f"{where}: {error}") from error


def _revert_parquet(file: InputFile, path: str, text_column: str) -> int:
    with parquet_shards.open_parquet(file) as parquet:
        parquet_shards.check_schema(file.url, parquet.schema_arrow, text_column, None)
        schema = parquet.schema_arrow
        for name in ADDED_COLUMNS:
            if name in schema.names:
                schema = schema.remove(schema.get_field_index(name))
        rows = parquet.metadata.num_rows
        with TableWriter(path, schema, like=parquet.metadata) as writer:
            for chunk in parquet_shards.chunks(parquet, 0, rows):
                writer.write(reverted_table(chunk, file.url, text_column), chunk.ends_row_group)
        parquet_shards.verify(parquet, 0, rows, path, text_column, schema)
    return rows


def _revert_json_lines(file: InputFile, path: str, kind: LineFormat) -> int:
    unchanged = _dead_rows(file)
    row = 0
    with line_shards.open_lines(file) as stream, open_compressed(path, file.name) as out:
        for chunk in kind.chunks(stream, (0, -1)):
            for line in chunk.lines:
                try:
                    out.write(line_shards.revert_json_line(line, kind.options.text_column) if line.strip() else line)
                except ValueError as error:
                    if row not in unchanged:
                        raise BadFile(f"{file.url}: line {row + 1}: {error}") from error
                    out.write(line)
                row += 1
            out.writelines(chunk.rest or ())
    return row


def _revert_text_lines(file: InputFile, path: str, kind: LineFormat) -> int:
    values = _sidecar_values(file)
    row = 0
    with line_shards.open_lines(file) as stream, open_compressed(path, file.name) as out:
        for chunk in kind.chunks(stream, (0, -1)):
            for line in chunk.lines:
                if row >= len(values):
                    raise BadFile(f"{file.url}: more lines than its provenance has. Was it changed since?")
                ending = b"\n" if line.endswith(b"\n") else b""
                out.write(_reverted_bytes(line[: len(line) - len(ending)], values[row], f"{file.url}: line {row + 1}"))
                out.write(ending)
                row += 1
            out.writelines(chunk.rest or ())
    if row != len(values):
        raise BadFile(
            f"{file.url}: {row} lines, but its provenance has {len(values)}. Is --text_unit the same as then?"
        )
    return row


def _revert_document(file: InputFile, path: str) -> int:
    values = _sidecar_values(file)
    if len(values) > 1:
        raise BadFile(f"{file.url}: its provenance has {len(values)} rows: it was repaired with --text_unit line")
    with line_shards.open_lines(file) as stream, open_compressed(path, file.name) as out:
        content = stream.read()
        out.write(_reverted_bytes(content, values[0], file.url) if values else content)
    return len(values)


def _reverted_bytes(content: bytes, added: dict[str, Any], where: str) -> bytes:
    text = _reverted_value(content.decode("utf-8"), added[EDITS], where) if added[EDITS] else content
    return text.encode("utf-8") if isinstance(text, str) else content


def _sidecar_values(file: InputFile) -> list[dict[str, Any]]:
    url = sidecar_url(_root_of(file), file.name)
    store, path = filesystem(url)
    if not store.exists(path):
        raise BadFile(f"{file.url}: {url} is missing: it was not written with --provenance, so it cannot be reverted")
    with store.open(path, "rb") as stream:
        table = pq.read_table(stream)
    if EDITS not in table.column_names:
        raise BadFile(f"{file.url}: {url} has no column {EDITS!r}: it was not written with --provenance")
    return table.select([EDITS]).to_pylist()


def _dead_rows(file: InputFile) -> frozenset[int]:
    """Rows that were left as they were, and got no provenance."""
    url = dead_letters_url(_root_of(file), file.name)
    return frozenset(read_dead_letters(url)["row"].to_pylist()) if file_size(url) else frozenset()


def _root_of(file: InputFile) -> str:
    """The output directory that a file was found in: `_provenance` and `_dead_letters` lie beside it."""
    return file.url[: -len(file.name)].rstrip("/")
