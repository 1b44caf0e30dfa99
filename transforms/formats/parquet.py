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
from transforms.formats.contract import Document, FormatOptions, Range, RepairDocuments, Retried, Slice
from transforms.formats.parquet_footers import check_footer
from transforms.formats.parquet_tables import TableChunk, TableWriter, text_values
from transforms.formats.provenance import ADDED_COLUMNS, EDITS, ORIGINAL
from transforms.formats.sidecar import reverted_text


@dataclass(frozen=True)
class ParquetFormat:
    options: FormatOptions

    has_sidecar = False
    rows_are_absolute = True

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        check_footer(file)
        with self._open(file) as parquet:
            return cut_rows(list(_row_groups(parquet, self.options.text_column)), target_bytes)

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        options = self.options
        columns = [options.text_column, *([options.id_column] if options.id_column else [])]
        with self._open(file) as parquet:
            for chunk in tables.chunks(parquet, *span, columns=columns):
                documents = tables.documents(chunk, options.text_column, options.id_column)
                yield [document.row for document in documents], documents

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        options, rows = self.options, 0
        with self._open(file) as parquet:
            schema = tables.output_schema(parquet.schema_arrow, options.added)
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                for chunk in tables.chunks(parquet, *span):
                    outcomes = repair(tables.documents(chunk, options.text_column, options.id_column))
                    table = tables.repaired_table(chunk, options.text_column, outcomes, model, options.added)
                    writer.write(table, chunk.ends_row_group)
                    rows += table.num_rows
        return rows

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        with self._open(file) as parquet:
            schema = tables.output_schema(parquet.schema_arrow, self.options.added)
            try:
                tables.verify(parquet, *span, path, self.options.text_column, schema)
            except BadFile as error:
                raise BadFile(f"{file.url}: {error}. Convert the column to another type, or leave it out") from error
        return span[1] - span[0]

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        with self._open(file) as parquet:
            schema = tables.output_schema(parquet.schema_arrow, self.options.added)
            ends = set(itertools.accumulate(rows for rows, _ in _row_groups(parquet, self.options.text_column)))
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
            writer = stack.enter_context(TableWriter(path, parquet.schema_arrow, like=parquet.metadata))
            for chunk in tables.chunks(parquet, 0, parquet.metadata.num_rows):
                writer.write(self._patched(chunk, retried), chunk.ends_row_group)

    def revert(self, file: InputFile, path: str) -> int:
        text_column = self.options.text_column
        with tables.open_parquet(file) as parquet:
            tables.check_schema(file.url, parquet.schema_arrow, text_column, None)
            schema = parquet.schema_arrow
            for name in ADDED_COLUMNS:
                if name in schema.names:
                    schema = schema.remove(schema.get_field_index(name))
            rows: int = parquet.metadata.num_rows
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                for chunk in tables.chunks(parquet, 0, rows):
                    writer.write(_reverted_table(chunk, file.url, text_column), chunk.ends_row_group)
            tables.verify(parquet, 0, rows, path, text_column, schema)
        return rows

    def _patched(self, chunk: TableChunk, retried: Retried) -> pa.Table:
        options, rows = self.options, range(chunk.first_row, chunk.first_row + chunk.table.num_rows)
        chosen = retried.chosen(rows)
        if not chosen:
            return chunk.table
        tried = TableChunk(chunk.first_row, tables.without_added(chunk.table.take(chosen)), ends_row_group=False)
        documents = tables.documents(tried, options.text_column, options.id_column)
        outcomes = retried([replace(one, row=rows[place]) for one, place in zip(documents, chosen, strict=True)])
        new = tables.repaired_table(tried, options.text_column, outcomes, retried.model, options.added)
        return tables.replaced_rows(chunk.table, chosen, new)

    @contextmanager
    def _open(self, file: InputFile) -> Iterator[pq.ParquetFile]:
        with tables.open_parquet(file) as parquet:
            schema = parquet.schema_arrow
            tables.check_schema(file.url, schema, self.options.text_column, self.options.id_column)
            if self.options.refuse_repaired:
                tables.check_not_repaired(file.url, schema)
            yield parquet


def _reverted_table(chunk: TableChunk, url: str, text_column: str) -> pa.Table:
    """Rows as they were before repair."""
    table = chunk.table
    if ORIGINAL in table.column_names:
        values = text_values(table[ORIGINAL])
    elif EDITS in table.column_names:
        values = [
            reverted_text(text, edits, f"{url}: row {row}") if isinstance(text, str) and edits else text
            for row, (text, edits) in enumerate(
                zip(text_values(table[text_column]), table[EDITS].to_pylist(), strict=True), start=chunk.first_row
            )
        ]
    else:
        raise BadFile(f"{url}: no column {EDITS!r}: it was not written with --provenance, so it cannot be reverted")
    place = table.schema.get_field_index(text_column)
    field = table.schema.field(place)
    return tables.without_added(table.set_column(place, field, tables.text_column_of(values, field.type)))


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


def _row_groups(parquet: pq.ParquetFile, text_column: str) -> Iterator[tuple[int, int]]:
    """Rows of each row group, and the bytes of its text."""
    for index in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(index)
        columns = (group.column(place) for place in range(group.num_columns))
        sizes = [column.total_uncompressed_size for column in columns if column.path_in_schema == text_column]
        yield group.num_rows, sum(sizes)
