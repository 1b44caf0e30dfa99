"""Parquet files as shards: ranges of rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow.parquet as pq

from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats import parquet_tables as parquet_shards
from transforms.formats.contract import FormatOptions, Range, RepairDocuments
from transforms.formats.parquet_tables import TableWriter


@dataclass(frozen=True)
class ParquetFormat:
    options: FormatOptions

    def text_bytes(self, file: InputFile) -> int:
        with self._open(file) as parquet:
            return sum(size for _, size in _row_groups(parquet, self.options.text_column))

    def ranges(self, file: InputFile, target_bytes: int) -> list[Range]:
        with self._open(file) as parquet:
            return cut_rows(list(_row_groups(parquet, self.options.text_column)), target_bytes)

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        options, rows = self.options, 0
        with self._open(file) as parquet:
            schema = parquet_shards.output_schema(parquet.schema_arrow, options.added)
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                for chunk in parquet_shards.chunks(parquet, *span):
                    outcomes = repair(parquet_shards.documents(chunk, options.text_column, options.id_column))
                    table = parquet_shards.repaired_table(chunk, options.text_column, outcomes, model, options.added)
                    writer.write(table, chunk.ends_row_group)
                    rows += table.num_rows
        return rows

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        with self._open(file) as parquet:
            schema = parquet_shards.output_schema(parquet.schema_arrow, self.options.added)
            try:
                parquet_shards.verify(parquet, *span, path, self.options.text_column, schema)
            except BadFile as error:
                raise BadFile(f"{file.url}: {error}. Convert the column to another type, or leave it out") from error
        return span[1] - span[0]

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        with self._open(file) as parquet:
            schema = parquet_shards.output_schema(parquet.schema_arrow, self.options.added)
            ends = {row for row, _ in _row_group_ends(parquet)}
            with TableWriter(path, schema, like=parquet.metadata) as writer:
                row = 0
                for part in parts:
                    source = pq.ParquetFile(part)
                    for chunk in parquet_shards.chunks(source, 0, source.metadata.num_rows):
                        row += chunk.table.num_rows
                        writer.write(chunk.table, row in ends)

    @contextmanager
    def _open(self, file: InputFile) -> Iterator[pq.ParquetFile]:
        with parquet_shards.open_parquet(file) as parquet:
            schema = parquet.schema_arrow
            parquet_shards.check_schema(file.url, schema, self.options.text_column, self.options.id_column)
            parquet_shards.check_not_repaired(file.url, schema)
            yield parquet


def cut_rows(row_groups: Sequence[tuple[int, int]], target_bytes: int) -> list[Range]:
    """Row ranges of about ``target_bytes`` each, cut between row groups where these are small enough.

    >>> cut_rows([(10, 100), (10, 100), (10, 500)], target_bytes=250)
    [(0, 20), (20, 25), (25, 30)]
    """
    pieces: list[tuple[int, float]] = []
    for rows, size in row_groups:
        number = min(rows, max(1, -(-size // max(1, target_bytes)))) if rows else 0
        edges = [rows * place // number for place in range(number + 1)] if number else []
        pieces += [(high - low, size / number) for low, high in itertools.pairwise(edges)]
    ranges: list[Range] = []
    start = row = 0
    gathered = 0.0
    for rows, share in pieces:
        if row > start and gathered + share > target_bytes:
            ranges.append((start, row))
            start, gathered = row, 0.0
        row += rows
        gathered += share
    return [*ranges, (start, row)]


def _row_groups(parquet: pq.ParquetFile, text_column: str) -> Iterator[tuple[int, int]]:
    """Rows of each row group, and the bytes of its text."""
    for index in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(index)
        columns = (group.column(place) for place in range(group.num_columns))
        sizes = [column.total_uncompressed_size for column in columns if column.path_in_schema == text_column]
        yield group.num_rows, sum(sizes)


def _row_group_ends(parquet: pq.ParquetFile) -> Iterator[tuple[int, int]]:
    row = 0
    for index in range(parquet.num_row_groups):
        row += parquet.metadata.row_group(index).num_rows
        yield row, index
