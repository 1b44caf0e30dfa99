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

from respace.repairer import CharactersChanged
from respace.storage.compression import Limits
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, open_input
from transforms.formats.contract import Document, Outcome
from transforms.formats.provenance import (
    ADDED_COLUMNS,
    EDITS,
    ORIGINAL,
    added_fields,
    provenance_arrays,
    text_array,
    with_whitespace,
)

# What is held at once, and what may gather before it is written as one row group.
CHUNK_BYTES = 16 << 20
CHUNK_ROWS = 16384
# How many rows are decoded at once: a row group's size does not tell how large they become, since all of them may
# refer to one large value. That can be as large as the row group, and then should fit some times.
_DECODED_ROWS = (16, 256)
_DECODED_BYTES = 1 << 30
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


def check_schema(url: str, schema: pa.Schema, text_column: str, id_column: str | None) -> None:
    """
    Raises:
        BadFile: a column is missing or of another type, or has a name that repair needs for itself.
    """
    columns = ", ".join(f"{name} ({kind})" for name, kind in zip(schema.names, schema.types, strict=True))
    for option, column in (("--text_column", text_column), ("--id_column", id_column)):
        if column is not None and schema.names.count(column) != 1:
            found = "no" if column not in schema.names else "more than one"
            raise BadFile(
                f"{url}: {found} column {column!r}. The columns are {columns or 'none'}; choose with {option}"
            )
    if not _is_text(schema.field(text_column).type):
        raise BadFile(
            f"{url}: the column {text_column!r} is {schema.field(text_column).type}, expected a string. "
            f"The columns are {columns}; choose with --text_column"
        )


def check_not_repaired(url: str, schema: pa.Schema) -> None:
    ours = [name for name in ADDED_COLUMNS if name in schema.names]
    if ours:
        raise BadFile(
            f"{url}: has a column {ours[0]!r} already: it is an output of this job. Take it back with --revert"
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


def text_values(column: pa.ChunkedArray) -> list[str | bytes | None]:
    """The texts of a column; bytes where they are not valid UTF-8. Values of other types are what they are."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        raw = pa.chunked_array([_as_binary(chunk) for chunk in column.chunks]).to_pylist()
        return [_decode(value) for value in raw]


def documents(chunk: TableChunk, text_column: str, id_column: str | None) -> list[Document]:
    ids = text_values(chunk.table[id_column]) if id_column is not None else [None] * chunk.table.num_rows
    found = []
    for place, (text, identifier) in enumerate(zip(text_values(chunk.table[text_column]), ids, strict=True)):
        name = identifier.decode("utf-8", "backslashreplace") if isinstance(identifier, bytes) else identifier
        name = None if name is None else str(name)
        if isinstance(text, bytes):
            problem = _utf8_error(text)
            found.append(Document(chunk.first_row + place, None, name, problem, text))
        else:
            found.append(Document(chunk.first_row + place, text, name))
    return found


def repaired_table(
    chunk: TableChunk, text_column: str, outcomes: Sequence[Outcome], model: str, added: Sequence[str]
) -> pa.Table:
    """The rows with the repaired text, and with the columns that are to be added."""
    given = text_values(chunk.table[text_column])
    table = chunk.table
    if any(outcome.edits for outcome in outcomes):
        values = [out.text if out.edits else text for text, out in zip(given, outcomes, strict=True)]
        place = table.schema.get_field_index(text_column)
        table = table.set_column(
            place, table.schema.field(place), text_column_of(values, table.schema.field(place).type)
        )
    if added:
        edits = [
            with_whitespace(text, out.edits) if isinstance(text, str) else []
            for text, out in zip(given, outcomes, strict=True)
        ]
        for name, array in provenance_arrays(edits, given, model, added).items():
            table = table.append_column(pa.field(name, array.type), array)
    return table


def replaced_rows(table: pa.Table, places: Sequence[int], new: pa.Table) -> pa.Table:
    """The table with other rows at some places."""
    order = list(range(table.num_rows))
    for number, place in enumerate(places):
        order[place] = table.num_rows + number
    return pa.concat_tables([table, new.cast(table.schema)]).take(order)


def without_added(table: pa.Table) -> pa.Table:
    return table.drop_columns([name for name in ADDED_COLUMNS if name in table.column_names])


def output_schema(schema: pa.Schema, added: Sequence[str]) -> pa.Schema:
    for field in added_fields(added):
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


def verify(source: pq.ParquetFile, start: int, stop: int, path: str, text_column: str, schema: pa.Schema) -> None:
    """Re-reads what was written and compares it with the input, row by row.

    Args:
        source: the input.
        start: first row that was to be written.
        stop: first row that was not.
        path: what was written.
        text_column: the column of which only the characters must be the same.
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
    # By their places: only the text column need have a name of its own.
    others = list(
        zip(_other_columns(source.schema_arrow, text_column), _other_columns(schema, text_column), strict=True)
    )
    for before, after in _side_by_side(chunks(source, start, stop), chunks(written, 0, stop - start)):
        for old_place, new_place in others:
            name, column = before.column_names[old_place], before.column(old_place)
            if not _same(column, after.column(new_place)):
                raise BadFile(f"the column {name!r} ({column.type}) does not survive being written by pyarrow")
        for old, new in zip(text_values(before[text_column]), text_values(after[text_column]), strict=True):
            if old != new and (old is None or new is None or _unchangeable(old) != _unchangeable(new)):
                raise CharactersChanged("a text that was read back differs from the input in more than its spaces")


def _other_columns(schema: pa.Schema, text_column: str) -> list[int]:
    """Places of the columns that must stay as they are."""
    return [place for place, name in enumerate(schema.names) if name not in (text_column, *ADDED_COLUMNS)]


def _unchangeable(value: str | bytes) -> str | bytes:
    """What must not change: the characters of a text, every byte of what is not text."""
    return "".join(value.split()) if isinstance(value, str) else value


def _side_by_side(left: Iterator[TableChunk], right: Iterator[TableChunk]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Two readings of the same rows, cut alike."""
    a = b = None
    while True:
        a = a if a is not None and a.num_rows else next((chunk.table for chunk in left), None)
        b = b if b is not None and b.num_rows else next((chunk.table for chunk in right), None)
        if a is None or b is None:
            return
        rows = min(a.num_rows, b.num_rows)
        yield a.slice(0, rows), b.slice(0, rows)
        a, b = a.slice(rows), b.slice(rows)


def _same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    # Arrow holds that NaN differs from NaN; their representations tell whether they are the same.
    return before.equals(after) or (before.type == after.type and repr(before.to_pylist()) == repr(after.to_pylist()))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    # A shard in which every text is null has no type of its own for them.
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def text_column_of(values: Sequence[str | bytes | None], kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(values))])
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = pa.chunked_array(
        [text_array(values, pa.large_string() if pa.types.is_large_string(plain) else pa.string())]
    )
    if pa.types.is_dictionary(kind):
        column = column.dictionary_encode()
    return column if column.type == kind else column.cast(kind)


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
    codecs.update({name: "zstd" for name in (*ADDED_COLUMNS[1:4], ORIGINAL) if name in schema.names})
    return codecs


def _codec(name: str) -> str:
    """The codec to write for one that was read. Not all that can be read can be written: Hadoop's LZ4 cannot."""
    if name in _CODECS:
        return _CODECS[name]
    _LOG.warning("%s compression can be read, but not be written: zstd is written instead", name)
    return "zstd"


def _as_binary(array: pa.Array) -> pa.Array:
    if pa.types.is_string_view(array.type):
        return array.view(pa.binary_view())
    return array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())


def _decode(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def _utf8_error(value: bytes) -> UnicodeDecodeError:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError as error:
        return error
    raise AssertionError("valid UTF-8 was taken for invalid")
