"""Parquet shards: read row group by row group, written back with everything but the text column as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from respace import gaps
from respace.repairer import CharactersChanged
from respace.storage.compression import Limits
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, open_input
from transforms.formats.contract import Document, Outcome
from transforms.formats.elements import RowText, joined, split_edits
from transforms.formats.provenance import (
    ADDED_COLUMNS,
    EDITS,
    ORIGINAL,
    ORIGINAL_TEXT,
    ORIGINALS,
    PLAIN_COLUMNS,
    added_fields,
    edits_from_python,
    provenance_arrays,
    revert_text,
    with_whitespace,
)
from transforms.formats.text_columns import NoSuchColumn, TextColumn, text_values

# What is held at once, and what may gather before it is written as one row group.
CHUNK_BYTES = 16 << 20
CHUNK_ROWS = 16384
# How many rows are decoded at once: a row group's size does not tell how large they become, since all of them may
# refer to one large value. That can be as large as the row group, and then should fit some times.
_DECODED_ROWS = (1, 256)
_DECODED_BYTES = 1 << 28
ROW_GROUP_BYTES = 64 << 20
# Larger ones are refused before a byte is read: their footer is damaged, or they are made to fill the memory.
MAX_ROW_GROUP_BYTES = 64 << 30
# Codecs of columns, and what the writer calls them.
_CODECS = {"UNCOMPRESSED": "none", **{name: name.lower() for name in ("SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")}}
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TableChunk:
    """Some rows of a file, and whether they end a row group."""

    first_row: int
    table: pa.Table
    ends_row_group: bool


@contextmanager
def open_parquet(file: InputFile) -> Iterator[pq.ParquetFile]:
    """A Parquet file whose errors name it.

    Raises:
        BadFile: it is truncated, damaged, or no Parquet.
    """
    with open_input(file) as stream, parquet_errors(file.url):
        parquet = pq.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
        _check_footer(parquet)
        yield parquet


class _Refused(Exception):
    """What is wrong with a file, and what to do; `parquet_errors` adds its name."""


class _CannotWrite(Exception):
    """What was read cannot be written: a limit of the writer, not damage of the file."""


def _check_footer(parquet: pq.ParquetFile) -> None:
    """A footer must agree with itself, before a byte of the data is read."""
    rows = 0
    for index in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(index)
        if not 0 <= group.total_byte_size <= MAX_ROW_GROUP_BYTES:
            raise _Refused(
                f"row group {index} claims {group.total_byte_size} bytes: expected at most {MAX_ROW_GROUP_BYTES}. "
                "The footer is damaged: fetch or write the file again"
            )
        for place in range(group.num_columns):
            column = group.column(place)
            flat = parquet.schema.column(place).max_repetition_level == 0
            if group.num_rows < 0 or (flat and column.num_values != group.num_rows):
                raise _rows_differ(index, group.num_rows, f"{column.num_values} in {column.path_in_schema}")
        rows += group.num_rows
    if rows != parquet.metadata.num_rows:
        raise _Refused(
            f"its footer claims {parquet.metadata.num_rows} rows, and {rows} in all row groups. "
            "The footer is damaged: fetch or write the file again"
        )


def _rows_differ(group: int, claimed: int, found: str) -> _Refused:
    return _Refused(
        f"row group {group} claims {claimed} rows and has {found}. It is damaged: fetch or write the file again"
    )


@contextmanager
def parquet_errors(url: str) -> Iterator[None]:
    try:
        yield
    except _Refused as error:
        raise BadFile(f"{url}: {error}") from error
    except _CannotWrite as error:
        raise BadFile(
            f"{url}: can be read, but not be written as Parquet ({error}). "
            "Convert it to other types or another codec, or leave it out"
        ) from error
    except UnicodeDecodeError as error:
        raise BadFile(
            f"{url}: a name in it is not valid UTF-8 ({error}). Rename the column and write it again"
        ) from error
    except pa.ArrowException as error:  # also the memory that a damaged size asks for
        raise BadFile(
            f"{url}: cannot be read as Parquet ({error}). Is it truncated? Fetch or write it again"
        ) from error
    except OSError as error:
        # Arrow reports damaged pages as OSError without a number; those with one are the system's, and may pass.
        if error.errno is not None or type(error) is not OSError:
            raise
        raise BadFile(
            f"{url}: cannot be read as Parquet ({error}). Is it truncated? Fetch or write it again"
        ) from error


def check_schema(url: str, schema: pa.Schema, text_column: str, id_column: str | None) -> TextColumn:
    """Where the text is.

    Raises:
        BadFile: a column is missing or of another type.
    """
    columns = ", ".join(f"{name} ({kind})" for name, kind in zip(schema.names, schema.types, strict=True))
    if id_column is not None and schema.names.count(id_column) != 1:
        found = "no" if id_column not in schema.names else "more than one"
        raise BadFile(
            f"{url}: {found} column {id_column!r}. The columns are {columns or 'none'}; choose with --id_column"
        )
    try:
        return TextColumn.find(schema, text_column)
    except NoSuchColumn as error:
        raise BadFile(f"{url}: {error}. The columns are {columns or 'none'}; {error.advice}") from error


def check_not_repaired(url: str, schema: pa.Schema) -> None:
    ours = [name for name in ADDED_COLUMNS if name in schema.names]
    if ours:
        raise BadFile(
            f"{url}: has a column {ours[0]!r} already: it is an output of this job. "
            "Take it back with pipelines.revert_corpus"
        )


def chunks(
    parquet: pq.ParquetFile, start: int, stop: int, columns: Sequence[str] | None = None
) -> Iterator[TableChunk]:
    """The rows from ``start`` to ``stop`` (of all columns or of some), a bounded number of bytes at a time."""
    schema = parquet.schema_arrow if columns is None else None
    first = 0
    for index in range(parquet.num_row_groups):
        last = first + parquet.metadata.row_group(index).num_rows
        if last > start and first < stop:
            waiting: list[pa.RecordBatch] = []
            size, row, begin = 0, first, max(start, first)
            for batch in _batches(parquet, index, columns):
                low, high = max(start, row), min(stop, row + batch.num_rows)
                if low < high:
                    waiting.append(batch.slice(low - row, high - low))
                    size += _decoded_bytes(batch)
                    ends = high == min(stop, last)
                    if ends or size >= CHUNK_BYTES or high - begin >= CHUNK_ROWS:
                        yield TableChunk(begin, pa.Table.from_batches(waiting, schema), ends)
                        waiting, size, begin = [], 0, high
                row += batch.num_rows
            if row != last:
                raise _rows_differ(index, last - first, str(row - first))
        first = last


def _batches(parquet: pq.ParquetFile, index: int, wanted: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """A row group, some rows at a time; an error if it grows as only a bomb does."""
    group, limits = parquet.metadata.row_group(index), Limits()
    columns = [group.column(place) for place in range(group.num_columns)]
    packed = sum(column.total_compressed_size for column in columns)
    largest = max((column.total_uncompressed_size for column in columns), default=0)
    least, most = _DECODED_ROWS
    at_once = min(most, max(least, _DECODED_BYTES // max(1, largest)))
    size = 0
    for batch in parquet.iter_batches(at_once, row_groups=[index], columns=wanted, use_threads=False):
        size += _decoded_bytes(batch)
        if size > limits.ratio_matters_from and size > limits.max_ratio * packed:
            raise _Refused(
                f"row group {index} grows more than {limits.max_ratio:g}-fold when decoded: a decompression bomb? "
                "If it is a real text, write it without compression and dictionary encoding"
            )
        yield batch


def _decoded_bytes(batch: pa.RecordBatch) -> int:
    """The size of some rows without dictionaries: a text is needed once for every row that has it."""
    return sum(_plain_bytes(column) if pa.types.is_dictionary(column.type) else column.nbytes for column in batch)


def _plain_bytes(column: pa.DictionaryArray) -> int:
    kind = column.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return int(column.nbytes)
    return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)


def documents(chunk: TableChunk, column: TextColumn, id_column: str | None) -> list[Document]:
    ids = text_values(chunk.table[id_column]) if id_column is not None else [None] * chunk.table.num_rows
    found = []
    for place, (row, identifier) in enumerate(zip(column.texts(chunk.table), ids, strict=True)):
        text = joined(row) if isinstance(row, list) else row
        name = identifier.decode("utf-8", "backslashreplace") if isinstance(identifier, bytes) else identifier
        name = None if name is None else str(name)
        if isinstance(text, bytes):
            problem = _utf8_error(text)
            found.append(Document(chunk.first_row + place, None, name, problem, text))
        else:
            found.append(Document(chunk.first_row + place, text, name))
    return found


def repaired_table(
    chunk: TableChunk, column: TextColumn, outcomes: Sequence[Outcome], model: str, added: Sequence[str]
) -> pa.Table:
    """The rows with the repaired text, and with the columns that are to be added."""
    table, given = chunk.table, column.texts(chunk.table)
    if any(outcome.edits for outcome in outcomes):
        table = column.replaced(
            table, [_repaired_row(row, out) if out.edits else row for row, out in zip(given, outcomes, strict=True)]
        )
    if added:
        texts = [joined(row) if isinstance(row, list) else row for row in given]
        edits = [
            with_whitespace(text, out.edits) if isinstance(text, str) else []
            for text, out in zip(texts, outcomes, strict=True)
        ]
        arrays = provenance_arrays(edits, given, model, added, original_type(column))
        for name, array in arrays.items():
            table = table.append_column(pa.field(name, array.type), array)
    return table


def _repaired_row(row: RowText, outcome: Outcome) -> RowText:
    if not isinstance(row, list):
        return outcome.text
    return [
        gaps.apply(text, gaps.apply_edits(gaps.split(text)[1], edits)) if isinstance(text, str) else text
        for text, edits in zip(row, split_edits(row, outcome.edits), strict=True)
    ]


def reverted_row(row: RowText, edits: Any, where: str) -> RowText:
    """The texts of a row before these edits. Raises BadFile if they are not theirs."""
    texts = row if isinstance(row, list) else [row]
    try:
        parts = split_edits(texts, edits_from_python(edits))
        back = [
            revert_text(text, own) if isinstance(text, str) else text for text, own in zip(texts, parts, strict=True)
        ]
    except ValueError as error:
        raise BadFile(f"{where}: {error}") from error
    return back if isinstance(row, list) else back[0]


def replaced_rows(table: pa.Table, places: Sequence[int], new: pa.Table) -> pa.Table:
    """The table with other rows at some places."""
    order = list(range(table.num_rows))
    for number, place in enumerate(places):
        order[place] = table.num_rows + number
    return pa.concat_tables([table, new.cast(table.schema)]).take(order)


def without_added(table: pa.Table) -> pa.Table:
    return table.drop_columns([name for name in ADDED_COLUMNS if name in table.column_names])


def original_type(column: TextColumn) -> pa.DataType:
    """The type of the column that keeps a text as it was."""
    return ORIGINALS if column.has_lists else ORIGINAL_TEXT


def output_schema(schema: pa.Schema, added: Sequence[str], column: TextColumn) -> pa.Schema:
    for field in added_fields(added, original_type(column)):
        schema = schema.append(field)
    return schema


class TableWriter:
    """Writes tables as row groups: one where the input has one, unless it would be too large to hold.

    Args:
        path: local file.
        schema: of the output.
        like: the file whose compression to keep.
    """

    def __init__(self, path: str, schema: pa.Schema, like: pq.FileMetaData | None = None):
        with _writing():
            self._writer = pq.ParquetWriter(path, schema, compression=_compression(like, schema))
        self._schema = schema
        self._waiting: list[pa.Table] = []
        self._bytes = 0

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with _writing():
            try:
                if kind is None:
                    self._flush()
            finally:
                self._writer.close()

    def write(self, table: pa.Table, ends_row_group: bool) -> None:
        self._waiting.append(table)
        self._bytes += table.nbytes
        if ends_row_group or self._bytes > ROW_GROUP_BYTES:
            with _writing():
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.concat_tables(self._waiting).cast(self._schema)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting, self._bytes = [], 0


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise _CannotWrite(str(error)) from error
    except OSError as error:
        if error.errno is not None or type(error) is not OSError:
            raise  # the disk's, not Arrow's
        raise _CannotWrite(str(error)) from error


def verify(source: pq.ParquetFile, start: int, stop: int, path: str, text: TextColumn, schema: pa.Schema) -> None:
    """Re-reads what was written and compares it with the input, row by row.

    Args:
        source: the input.
        start: first row that was to be written.
        stop: first row that was not.
        path: what was written.
        text: of which only the characters must be the same.
        schema: what must have been written; all other columns that are in both must be the same.

    Raises:
        BadFile: a column other than the text came back different: it cannot be kept, so nothing is published.
        CharactersChanged: a text differs in more than its spaces.
    """
    written = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
    if written.metadata.num_rows != stop - start:
        raise CharactersChanged(f"{written.metadata.num_rows} rows written for {stop - start} rows read")
    if not written.schema_arrow.equals(schema, check_metadata=True):
        raise BadFile(f"its schema does not survive being written: {schema} became {written.schema_arrow}")
    verify_rows(chunks(source, start, stop), chunks(written, 0, stop - start), text, source.schema_arrow, schema)


def verify_rows(
    source: Iterator[TableChunk], written: Iterator[TableChunk], text: TextColumn, schema: pa.Schema, new: pa.Schema
) -> int:
    """Compares rows that were written with those that were read, and gives their number. It raises as `verify` does.

    Args:
        source: what was read.
        written: what was written.
        text: of which only the characters must be the same.
        schema: of the source.
        new: of what was written.
    """
    # By their places: only the text column need have a name of its own.
    others = list(zip(_other_columns(schema, text), _other_columns(new, text), strict=True))
    rows = 0
    for before, after in _side_by_side(source, written):
        rows += before.num_rows
        for old_place, new_place in others:
            name, column = before.column_names[old_place], before.column(old_place)
            if not _same(column, after.column(new_place)):
                raise BadFile(f"the column {name!r} ({column.type}) does not survive being written by pyarrow")
        old_rows, new_rows = text.texts(before), text.texts(after)
        for old, new in zip(old_rows, new_rows, strict=True):
            if old != new and _unchangeable(old) != _unchangeable(new):
                raise CharactersChanged("a text that was read back differs from the input in more than its spaces")
        # What is beside the text in the same column must be the same, too.
        if (text.fields or text.has_lists) and not _same(before[text.root], text.replaced(after, old_rows)[text.root]):
            raise BadFile(f"the column {text.root!r} ({text.kind}) does not survive being written by pyarrow")
    return rows


def _other_columns(schema: pa.Schema, text: TextColumn) -> list[int]:
    """Places of the columns that must stay as they are."""
    return [place for place, name in enumerate(schema.names) if name not in (text.root, *ADDED_COLUMNS)]


def _unchangeable(value: RowText) -> object:
    """What must not change: the characters of every text, every byte of what is not text."""
    if isinstance(value, list):
        return [_unchangeable(one) for one in value]
    return "".join(value.split()) if isinstance(value, str) else value


def _side_by_side(left: Iterator[TableChunk], right: Iterator[TableChunk]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Two readings of the same rows, cut alike."""
    a = b = None
    while True:
        a = a if a is not None and a.num_rows else next((one.table for one in left if one.table.num_rows), None)
        b = b if b is not None and b.num_rows else next((one.table for one in right if one.table.num_rows), None)
        if (a is None) != (b is None):
            raise CharactersChanged("more rows, or fewer, were written than were read")
        if a is None or b is None:
            return
        rows = min(a.num_rows, b.num_rows)
        yield a.slice(0, rows), b.slice(0, rows)
        a, b = a.slice(rows), b.slice(rows)


def _same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    # Arrow holds that NaN differs from NaN; their representations tell whether they are the same.
    return before.equals(after) or (before.type == after.type and repr(before.to_pylist()) == repr(after.to_pylist()))


def _compression(like: pq.FileMetaData | None, schema: pa.Schema) -> dict[str, str] | str:
    if like is None or not like.num_row_groups:
        return "zstd"
    group = like.row_group(0)
    codecs = {}
    for index in range(group.num_columns):
        column = group.column(index)
        codecs[column.path_in_schema] = _codec(column.compression)
    if EDITS in schema.names:
        for part in ("gap", "kind", "confidence", "whitespace"):
            codecs[f"{EDITS}.list.element.{part}"] = "zstd"
    codecs.update({name: "zstd" for name in (*PLAIN_COLUMNS, ORIGINAL) if name in schema.names})
    if ORIGINAL in schema.names and schema.field(ORIGINAL).type == ORIGINALS:
        codecs[f"{ORIGINAL}.list.element"] = codecs.pop(ORIGINAL)
    return codecs


def _codec(name: str) -> str:
    """The codec to write for one that was read. Not all that can be read can be written: Hadoop's LZ4 cannot."""
    if name in _CODECS:
        return _CODECS[name]
    _LOG.warning("%s compression can be read, but not be written: zstd is written instead", name)
    return "zstd"


def _utf8_error(value: bytes) -> UnicodeDecodeError:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError as error:
        return error
    raise AssertionError("valid UTF-8 was taken for invalid")
