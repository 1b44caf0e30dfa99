"""Clean text as input: rows of Parquet files, members of JSON lines, or lines of text; whole files or slices of them.

A row's key is its file and its place in it (row of a Parquet file, byte of a line), or the value of an id column. It
does not depend on how the file was cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.compression import COMPRESSION_SUFFIXES, compression_of, open_decompressed
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, open_input
from transforms.formats.parquet_tables import check_schema, open_parquet, text_values

_LINE_KINDS = (".jsonl", ".ndjson", ".txt", ".text")
CLEAN_TEXT_SUFFIXES = (".parquet", *(kind + packed for kind in _LINE_KINDS for packed in ("", *COMPRESSION_SUFFIXES)))
_BATCH_ROWS = 4096
_MAX_LINE_BYTES = 16 << 20

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One row, or what stands in its place and why it is none."""

    key: str
    text: str
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class CleanText:
    """How rows lie in files.

    Args:
        text_column: column or JSON member that holds the text.
        id_column: column or member that names the row.
    """

    text_column: str = "text"
    id_column: str | None = None

    def check(self, file: InputFile) -> None:
        """Fails early for a file that is not what its name says, or has other columns. Raises BadFile."""
        if file.name.lower().endswith(".parquet"):
            with open_parquet(file) as parquet:
                check_schema(file.url, parquet.schema_arrow, self.text_column, self.id_column)

    def spans(self, file: InputFile, target_bytes: int) -> list[Span]:
        """Cuts a file into slices of about so many bytes of text: rows of Parquet files, bytes of line-based ones."""
        if file.name.lower().endswith(".parquet"):
            with open_parquet(file) as parquet:
                return _cut_row_groups(parquet, self.text_column, target_bytes)
        if compression_of(file.name) or file.size <= target_bytes:
            return [(0, -1)]
        return list(pairwise([*range(0, file.size, target_bytes), file.size]))

    def rows(self, file: InputFile, span: Span) -> Iterator[Row]:
        """The rows of a slice. Raises BadFile."""
        if file.name.lower().endswith(".parquet"):
            return self._parquet_rows(file, span)
        return self._line_rows(file, span)

    def _parquet_rows(self, file: InputFile, span: Span) -> Iterator[Row]:
        columns = [self.text_column] + ([self.id_column] if self.id_column else [])
        with open_parquet(file) as parquet:
            check_schema(file.url, parquet.schema_arrow, self.text_column, self.id_column)
            first = 0
            for group in range(parquet.num_row_groups):
                last = first + parquet.metadata.row_group(group).num_rows
                if last > span[0] and first < span[1]:
                    row = first
                    for batch in parquet.iter_batches(
                        _BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False
                    ):
                        table = pa.Table.from_batches([batch])
                        texts = text_values(table[self.text_column])
                        ids = text_values(table[self.id_column]) if self.id_column else range(row, row + len(texts))
                        for place, (text, name) in enumerate(zip(texts, ids, strict=True), start=row):
                            if span[0] <= place < span[1]:
                                yield _parquet_row(f"{file.name}:{name!s}", place, text)
                        row += len(texts)
                first = last

    def _line_rows(self, file: InputFile, span: Span) -> Iterator[Row]:
        is_json = file.name.lower().removesuffix(compression_of(file.name)).endswith((".jsonl", ".ndjson"))
        start, stop = span
        with open_input(file) as raw, open_decompressed(raw, file.url) as stream:
            place = 0
            if start:
                # The line that begins before the slice belongs to the slice before.
                stream.seek(start - 1)
                place = start - 1
                while chunk := stream.readline(_MAX_LINE_BYTES):
                    place += len(chunk)
                    if chunk.endswith(b"\n"):
                        break
            while stop < 0 or place < stop:
                line = stream.readline(_MAX_LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > _MAX_LINE_BYTES:
                    raise BadFile(f"{file.url}: the line at byte {place} has more than {_MAX_LINE_BYTES} bytes")
                yield self._json_row(file, place, line) if is_json else _text_row(file, place, line)
                place += len(line)

    def _json_row(self, file: InputFile, place: int, line: bytes) -> Row:
        key = f"{file.name}@{place}"
        if not line.strip():
            return Row(key, "")
        try:
            members = json.loads(line)
            text = members[self.text_column]
            if not isinstance(text, str):
                raise ValueError(f"member {self.text_column!r} is {type(text).__name__}, expected a string")
            text.encode("utf-8")  # lone surrogates are valid in JSON, and nowhere else
            name = members[self.id_column] if self.id_column else None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = f"no member {error}" if isinstance(error, KeyError) else str(error)
            return Row(key, line.decode("utf-8", "replace"), f"byte {place}: {reason}")
        return Row(key if name is None else f"{file.name}:{name}", text)


def _parquet_row(key: str, place: int, text: str | bytes | None) -> Row:
    if isinstance(text, bytes):
        return Row(key, text.decode("utf-8", "replace"), f"row {place}: not UTF-8")
    return Row(key, text or "")


def _text_row(file: InputFile, place: int, line: bytes) -> Row:
    try:
        return Row(f"{file.name}@{place}", line.decode("utf-8").strip())
    except UnicodeDecodeError as error:
        return Row(f"{file.name}@{place}", line.decode("utf-8", "replace"), f"byte {place + error.start}: not UTF-8")


def _cut_row_groups(parquet: pq.ParquetFile, text_column: str, target_bytes: int) -> list[Span]:
    """Slices of rows, cut inside row groups where these are larger than a slice."""
    place = parquet.schema_arrow.get_field_index(text_column)
    spans, first = [], 0
    for index in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(index)
        size = group.column(place).total_uncompressed_size if group.num_columns == len(parquet.schema_arrow) else 0
        pieces = max(1, -(-(size or group.total_byte_size) // target_bytes))
        edges = [first + group.num_rows * piece // pieces for piece in range(pieces + 1)]
        spans += [edge for edge in pairwise(edges) if edge[0] < edge[1]]
        first += group.num_rows
    return _merge_small(spans, parquet, target_bytes)


def _merge_small(spans: list[Span], parquet: pq.ParquetFile, target_bytes: int) -> list[Span]:
    """Many small row groups make one slice."""
    rows = max(1, parquet.metadata.num_rows)
    bytes_per_row = sum(parquet.metadata.row_group(i).total_byte_size for i in range(parquet.num_row_groups)) / rows
    merged: list[Span] = []
    for start, stop in spans:
        if merged and (stop - merged[-1][0]) * bytes_per_row <= target_bytes:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged
