"""Parquet files: stretches of rows. Everything but the text column stays as it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats import parquet_tables as tables
from transforms.formats.contract import (
    Document,
    EditedDocument,
    FormatOptions,
    Range,
    RepairDocuments,
    Retried,
    Slice,
)
from transforms.formats.parquet_footers import check_footer
from transforms.formats.parquet_tables import TableChunk, TableWriter
from transforms.formats.provenance import ADDED_COLUMNS, EDITS, ORIGINAL, fitting_edits
from transforms.formats.text_columns import TextColumn


@dataclass(frozen=True)
class ParquetFormat:
    options: FormatOptions

    title = "Parquet"
    has_sidecar = False
    rows_are_absolute = True

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        check_footer(file)
        with self._open(file) as (parquet, text):
            return cut_rows(list(_row_groups(parquet, text)), target_bytes)

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        identifier = self.options.id_column
        with self._open(file) as (parquet, text):
            columns = [text.root, *([identifier] if identifier else [])]
            for chunk in tables.chunks(parquet, *span, columns=columns):
                documents = tables.documents(chunk, text, identifier)
                yield [document.row for document in documents], documents

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        options, rows = self.options, 0
        with self._open(file) as (parquet, text):
            schema = tables.output_schema(parquet.schema_arrow, options.added, text)
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                for chunk in tables.chunks(parquet, *span):
                    outcomes = repair(tables.documents(chunk, text, options.id_column))
                    table = tables.repaired_table(chunk, text, outcomes, model, options.added)
                    writer.write(table, chunk.ends_row_group)
                    rows += table.num_rows
        return rows

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        with self._open(file) as (parquet, text):
            schema = tables.output_schema(parquet.schema_arrow, self.options.added, text)
            try:
                tables.verify(parquet, *span, path, text, schema)
            except BadFile as error:
                raise BadFile(f"{file.url}: {error}. Convert the column to another type, or leave it out") from error
        return span[1] - span[0]

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        with self._open(file) as (parquet, text):
            schema = tables.output_schema(parquet.schema_arrow, self.options.added, text)
            ends = set(itertools.accumulate(rows for rows, _ in _row_groups(parquet, text)))
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                row = 0
                for part in parts:
                    source = pq.ParquetFile(part)
                    for chunk in tables.chunks(source, 0, source.metadata.num_rows):
                        row += chunk.table.num_rows
                        writer.write(chunk.table, row in ends)

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        with ExitStack() as stack:
            parquet = stack.enter_context(tables.open_parquet(previous))
            text = tables.check_schema(previous.url, parquet.schema_arrow, self.options.text_column, None)
            writer = stack.enter_context(TableWriter(path, parquet.schema_arrow, like=parquet.metadata))
            for chunk in tables.chunks(parquet, 0, parquet.metadata.num_rows):
                writer.write(self._patched(chunk, text, retried), chunk.ends_row_group)

    def edits(self, file: InputFile) -> Iterator[EditedDocument]:
        with tables.open_parquet(file) as parquet:
            text = tables.check_schema(file.url, parquet.schema_arrow, self.options.text_column, None)
            if EDITS not in parquet.schema_arrow.names:
                raise _without_provenance(file.url)
            for chunk in tables.chunks(parquet, 0, parquet.metadata.num_rows, columns=[text.root, EDITS]):
                kept = chunk.table[EDITS].to_pylist()
                for document, values in zip(tables.documents(chunk, text, None), kept, strict=True):
                    where = f"{file.url}: row {document.row}"
                    yield EditedDocument(document, fitting_edits(document.text, values, where))

    def revert(self, file: InputFile, path: str) -> int:
        with tables.open_parquet(file) as parquet:
            text = tables.check_schema(file.url, parquet.schema_arrow, self.options.text_column, None)
            schema = parquet.schema_arrow
            for name in ADDED_COLUMNS:
                if name in schema.names:
                    schema = schema.remove(schema.get_field_index(name))
            rows: int = parquet.metadata.num_rows
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                for chunk in tables.chunks(parquet, 0, rows):
                    writer.write(_reverted_table(chunk, file.url, text), chunk.ends_row_group)
            tables.verify(parquet, 0, rows, path, text, schema)
        return rows

    def _patched(self, chunk: TableChunk, text: TextColumn, retried: Retried) -> pa.Table:
        options, rows = self.options, range(chunk.first_row, chunk.first_row + chunk.table.num_rows)
        chosen = retried.chosen(rows)
        if not chosen:
            return chunk.table
        tried = TableChunk(chunk.first_row, tables.without_added(chunk.table.take(chosen)), ends_row_group=False)
        documents = tables.documents(tried, text, options.id_column)
        outcomes = retried([replace(one, row=rows[place]) for one, place in zip(documents, chosen, strict=True)])
        new = tables.repaired_table(tried, text, outcomes, retried.model, options.added)
        return tables.replaced_rows(chunk.table, chosen, new)

    @contextmanager
    def _open(self, file: InputFile) -> Iterator[tuple[pq.ParquetFile, TextColumn]]:
        with tables.open_parquet(file) as parquet:
            schema = parquet.schema_arrow
            text = tables.check_schema(file.url, schema, self.options.text_column, self.options.id_column)
            if self.options.refuse_repaired:
                tables.check_not_repaired(file.url, schema)
            yield parquet, text


def _reverted_table(chunk: TableChunk, url: str, text: TextColumn) -> pa.Table:
    """Rows as they were before repair."""
    table = chunk.table
    if ORIGINAL in table.column_names:
        rows = TextColumn.find(table.schema, ORIGINAL).texts(table)
    elif EDITS in table.column_names:
        given = zip(text.texts(table), table[EDITS].to_pylist(), strict=True)
        rows = [
            tables.reverted_row(texts, edits, f"{url}: row {row}") if edits else texts
            for row, (texts, edits) in enumerate(given, start=chunk.first_row)
        ]
    else:
        raise _without_provenance(url)
    return tables.without_added(text.replaced(table, rows))


def _without_provenance(url: str) -> BadFile:
    return BadFile(f"{url}: no column {EDITS!r}: it was not written with --provenance, so its edits are not known")


def cut_rows(row_groups: Sequence[tuple[int, int]], target_bytes: int) -> list[Slice]:
    """Stretches of about ``target_bytes`` each, cut between row groups where these are small enough.

    >>> [one.span for one in cut_rows([(10, 100), (10, 100), (10, 500)], target_bytes=250)]
    [(0, 20), (20, 25), (25, 30)]

    Args:
        row_groups: rows and bytes of text of each.
        target_bytes: of a stretch.
    """
    pieces: list[tuple[int, float]] = []
    for rows, size in row_groups:
        number = min(rows, max(1, -(-size // max(1, target_bytes)))) if rows else 0
        edges = [rows * place // number for place in range(number + 1)] if number else []
        pieces += [(high - low, size / number) for low, high in itertools.pairwise(edges)]
    slices: list[Slice] = []
    start = row = 0
    gathered = 0.0
    for rows, share in pieces:
        if row > start and gathered + share > target_bytes:
            slices.append(Slice((start, row), round(gathered)))
            start, gathered = row, 0.0
        row += rows
        gathered += share
    return [*slices, Slice((start, row), round(gathered))]


def _row_groups(parquet: pq.ParquetFile, text: TextColumn) -> Iterator[tuple[int, int]]:
    """Rows of each row group, and the bytes of its text."""
    for index in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(index)
        columns = (group.column(place) for place in range(group.num_columns))
        sizes = [column.total_uncompressed_size for column in columns if text.is_path(column.path_in_schema)]
        yield group.num_rows, sum(sizes)
