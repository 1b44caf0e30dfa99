"""Where the text is in a table: a column, a field of a struct, the elements of a list, and any of these inside another.

>>> table = pa.table({"doc": [{"pages": ["a b", None]}, None]})
>>> column = TextColumn.find(table.schema, "doc.pages")
>>> column.texts(table)
[['a b', None], []]
>>> column.replaced(table, [["ab", None], []]).to_pylist()
[{'doc': {'pages': ['ab', None]}}, {'doc': None}]
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from transforms.formats.elements import RowText, Text
from transforms.formats.provenance import text_array

# How Parquet calls what is in a list.
_IN_LIST = re.compile(r"\.list\.(element|item)")


_CHOOSE = "choose with --text_column"


class NoSuchColumn(ValueError):
    """There is no such column, more than one, or one without text.

    Args:
        message: what there is instead.
        advice: what to do.
    """

    def __init__(self, message: str, advice: str = _CHOOSE):
        super().__init__(message)
        self.advice = advice


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Where the text of a row is.

    Args:
        root: the column it is in.
        fields: of structs, on the way to it.
        kind: type of the strings.
        has_lists: there are lists on the way, so that a row has any number of texts.
    """

    root: str
    fields: tuple[str, ...]
    kind: pa.DataType
    has_lists: bool

    @classmethod
    def find(cls, schema: pa.Schema, name: str) -> TextColumn:
        """
        Args:
            schema: of the table.
            name: of a column, or the names on the way to a field with dots in between; names may have dots, too.

        Raises:
            NoSuchColumn: with what is there instead.
        """
        root, rest = first_name(schema.names, name)
        if root is None:
            raise NoSuchColumn(f"no column {name!r}", advice(_paths_below(schema), name))
        if schema.names.count(root) > 1:
            raise NoSuchColumn(f"more than one column {name!r}")
        kind, fields, has_lists = schema.field(root).type, [], False
        while True:
            if _is_list(kind):
                kind, has_lists = kind.value_type, True
            elif rest and pa.types.is_struct(kind):
                names = [kind.field(place).name for place in range(kind.num_fields)]
                field, after = first_name(names, rest)
                if field is None:
                    raise NoSuchColumn(f"no field {rest!r} in the column {root!r}, which has {', '.join(names)}")
                kind, rest = kind.field(names.index(field)).type, after
                fields.append(field)
            else:
                break
        if rest or not _is_text(kind):
            raise NoSuchColumn(f"the column {name!r} is {kind}, expected a string or a list of strings")
        return cls(root, tuple(fields), kind, has_lists)

    def texts(self, table: pa.Table) -> list[RowText]:
        """What every row has there; a list where there are lists on the way."""
        column = table[self.root]
        if not self.fields and not self.has_lists:
            return list(text_values(column))
        found: list[RowText] = []
        for chunk in column.chunks:
            leaf = _leaf(chunk, self.fields)
            values = text_values(pa.chunked_array([leaf], leaf.type))
            found += _by_row(values, _leaves_of_rows(chunk, self.fields)) if self.has_lists else values
        return found

    def replaced(self, table: pa.Table, rows: Sequence[RowText]) -> pa.Table:
        """The table with other texts."""
        place = table.schema.get_field_index(self.root)
        column, field = table.column(place), table.schema.field(place)
        if not self.fields and not self.has_lists:
            new = text_column_of(rows, field.type)  # type: ignore[arg-type]
        else:
            values: Iterator[Any] = itertools.chain.from_iterable(rows) if self.has_lists else iter(rows)  # type: ignore[arg-type]
            new = pa.chunked_array([_with_leaf(chunk, self.fields, values) for chunk in column.chunks], field.type)
        return table.set_column(place, field, new)

    def is_path(self, path_in_schema: str) -> bool:
        """Whether a path of Parquet, which names the inside of lists as well, is that of the text."""
        return _IN_LIST.sub("", path_in_schema) == ".".join((self.root, *self.fields))


def first_name(names: Iterable[str], path: str) -> tuple[str | None, str]:
    """The longest of some names that a path begins with, and the rest of the path.

    >>> first_name(["doc", "doc.text"], "doc.text"), first_name(["doc"], "doc.text"), first_name([], "doc")
    (('doc.text', ''), ('doc', 'text'), (None, ''))
    """
    found = [name for name in names if path == name or path.startswith(f"{name}.")]
    if not found:
        return None, ""
    name = max(found, key=len)
    return name, path[len(name) + 1 :]


def advice(paths: Iterable[str], name: str) -> str:
    """What to do where there is no such name: perhaps the first path to a text that ends with it was meant.

    >>> advice(["meta.id", "doc.text"], "text"), advice(["doc.body"], "text")
    ('did you mean --text_column doc.text?', 'choose with --text_column')
    """
    found = next((path for path in paths if path.endswith(f".{name}")), None)
    return _CHOOSE if found is None else f"did you mean --text_column {found}?"


def _paths_below(fields: Iterable[pa.Field], way: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths to all texts of a schema, by the names on the way."""
    for field in fields:
        kind = field.type
        while _is_list(kind):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            inside = (kind.field(place) for place in range(kind.num_fields))
            yield from _paths_below(inside, (*way, field.name))
        elif _is_text(kind):
            yield ".".join((*way, field.name))


def text_values(column: pa.ChunkedArray) -> list[Any]:
    """The texts of a column; bytes where they are not valid UTF-8. Values of other types are what they are."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        raw = pa.chunked_array([_as_binary(chunk) for chunk in column.chunks]).to_pylist()
        return [_decode(value) for value in raw]


def text_column_of(values: Sequence[Text], kind: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(values))])
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = pa.chunked_array(
        [text_array(values, pa.large_string() if pa.types.is_large_string(plain) else pa.string())]
    )
    if pa.types.is_dictionary(kind):
        column = column.dictionary_encode()
    return column if column.type == kind else column.cast(kind)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    # A shard in which every text is null has no type of its own for them.
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _leaf(array: pa.Array, fields: Sequence[str]) -> pa.Array:
    """All strings of an array, in order; null where what they are in is null."""
    if _is_list(array.type):
        return _leaf(array.flatten(), fields)
    return _leaf(_child(array, fields[0]), fields[1:]) if fields else array


def _with_leaf(array: pa.Array, fields: Sequence[str], values: Iterator[Text]) -> pa.Array:
    """The array with other strings, taken in order from ``values``."""
    if _is_list(array.type):
        offsets = np.concatenate([[0], np.cumsum(_lengths(array))])
        inner = _with_leaf(array.flatten(), fields, values)
        large = pa.types.is_large_list(array.type)
        kind, index = (pa.LargeListArray, pa.int64()) if large else (pa.ListArray, pa.int32())
        return kind.from_arrays(pa.array(offsets, index), inner, type=array.type, mask=array.is_null())
    if fields:
        members = [array.type.field(place) for place in range(array.type.num_fields)]
        children = [
            _with_leaf(_child(array, one.name), fields[1:], values) if one.name == fields[0] else array.field(place)
            for place, one in enumerate(members)
        ]
        return pa.StructArray.from_arrays(children, fields=members, mask=array.is_null())
    return text_column_of(list(itertools.islice(values, len(array))), array.type).combine_chunks()


def _child(array: pa.StructArray, name: str) -> pa.Array:
    """A field of structs; null where the struct is."""
    return array.flatten()[array.type.get_field_index(name)]


def _leaves_of_rows(array: pa.Array, fields: Sequence[str]) -> NDArray[np.int64]:
    """How many strings each element of an array has."""
    if _is_list(array.type):
        inner = np.concatenate([[0], np.cumsum(_leaves_of_rows(array.flatten(), fields))])
        ends = np.cumsum(_lengths(array))
        return np.diff(inner[np.concatenate([[0], ends])])
    return _leaves_of_rows(_child(array, fields[0]), fields[1:]) if fields else np.ones(len(array), dtype=np.int64)


def _lengths(array: pa.Array) -> NDArray[np.int64]:
    lengths = array.value_lengths().fill_null(0)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64)


def _by_row(values: Sequence[Text], numbers: NDArray[np.int64]) -> list[RowText]:
    stops = np.cumsum(numbers).tolist()
    return [list(values[stop - number : stop]) for stop, number in zip(stops, numbers.tolist(), strict=True)]


def _as_binary(array: pa.Array) -> pa.Array:
    if pa.types.is_string_view(array.type):
        return array.view(pa.binary_view())
    return array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary())


def _decode(value: bytes | None) -> Text:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return value
