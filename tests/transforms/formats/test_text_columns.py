"""Texts inside of structs and lists, in Parquet files and JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.gaps import Edit
from respace.storage.errors import BadFile
from respace.storage.files import describe
from tests.transforms.corpora import manifest, repair, work
from transforms.formats.contract import FormatOptions
from transforms.formats.elements import split_edits
from transforms.formats.registry import format_of
from transforms.formats.text_columns import NoSuchColumn, TextColumn, text_column_of, text_values

STRINGS = st.none() | st.sampled_from(["ofthe", "a x", "", "é of\tthe\nofthe ", "nothing"])
ROWS: dict[str, Any] = {
    "doc.text": (pa.struct([("n", pa.int8()), ("text", pa.string())]), lambda text: {"n": 1, "text": text}),
    "pages": (pa.list_(pa.string()), lambda text: [text, None, "b"]),
    "pages.text": (pa.large_list(pa.struct([("text", pa.large_string())])), lambda text: [{"text": text}, None]),
    "doc.pages": (pa.struct([("pages", pa.list_(pa.list_(pa.string())))]), lambda text: {"pages": [[text], [], None]}),
}


def back(folder: Path, name: str, column: str) -> Path:
    """The output reverted."""
    format_of(name, FormatOptions(text_column=column)).revert(describe(str(folder / name), name), str(folder / "back"))
    return folder / "back"


def changed(value: Any) -> Any:
    """A value with all its strings as the rules of the tests repair them."""
    if isinstance(value, dict):
        return {name: changed(one) for name, one in value.items()}
    if isinstance(value, list):
        return [changed(one) for one in value]
    return value.replace("ofthe", "of the").replace("a x", "ax") if isinstance(value, str) else value


@pytest.mark.parametrize("added", [{}, {"provenance": True}, {"keep_original": True}])
@pytest.mark.parametrize("column", ROWS)
def test_parquet(tmp_path: Path, column: str, added: dict[str, Any]) -> None:
    kind, row = ROWS[column]
    root = column.partition(".")[0]
    values = [row("one ofthe others"), row(None), None, row("a x"), row("")]
    table = pa.table({"id": range(5), root: pa.array(values, kind), "text": ["ofthe"] * 5})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in/a.parquet", row_group_size=2)
    job = work(tmp_path / "out", text_column=column, **added)
    repair(tmp_path / "in", job)
    written = pq.read_table(tmp_path / "out/a.parquet")
    assert written.select(["id", root, "text"]).to_pylist() == [
        {"id": number, root: changed(value), "text": "ofthe"} for number, value in enumerate(values)
    ]
    assert written.schema.field(root) == table.schema.field(root)
    assert manifest(job, "a.parquet").counts["documents"] == 5
    if added:
        assert pq.read_table(back(tmp_path / "out", "a.parquet", column)).equals(table)


def test_elements_are_repaired_each_and_never_joined(tmp_path: Path) -> None:
    table = pa.table({"text": [["of", "the", "a", "x", "ofthe "], [" a x", ""], []]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in/a.parquet")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    written = pq.read_table(tmp_path / "out/a.parquet")
    assert written["text"].to_pylist() == [["of", "the", "a", "x", "of the "], [" ax", ""], []]
    assert [edit["gap"] for edit in written["respace_edits"].to_pylist()[0]] == [9]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.lists(st.none() | st.fixed_dictionaries({"t": STRINGS}), max_size=3), max_size=6))
def test_what_is_replaced_by_itself_stays(rows: Any) -> None:
    kind = pa.list_(pa.struct([("t", pa.string())]))
    table = pa.table({"a": pa.chunked_array([pa.array(rows[:2], kind), pa.array(rows[2:], kind)])})
    column = TextColumn.find(table.schema, "a.t")
    for part in (table, table.slice(1), table.slice(0, 3)):
        assert column.replaced(part, column.texts(part)).equals(part)
        assert [len(texts or ()) for texts in column.texts(part)] == [len(row or ()) for row in part["a"].to_pylist()]


def test_a_name_with_dots_is_a_name_first() -> None:
    schema = pa.schema([("doc", pa.struct([("text", pa.string())])), ("doc.text", pa.string())])
    assert TextColumn.find(schema, "doc.text").root == "doc.text"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("body", "no column 'body'"),
        ("doc", r"the column 'doc' is struct<text: string, n: int8>, expected a string or a list of strings"),
        ("doc.n", "the column 'doc.n' is int8, expected a string"),
        ("doc.body", "no field 'body' in the column 'doc', which has text, n"),
        ("doc.text.more", "the column 'doc.text.more' is string, expected a string or a list"),
    ],
)
def test_columns_without_text(tmp_path: Path, name: str, message: str) -> None:
    kind = pa.struct([("text", pa.string()), ("n", pa.int8())])
    with pytest.raises(NoSuchColumn, match=message):
        TextColumn.find(pa.schema([("doc", kind)]), name)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"doc": pa.array([None], kind)}), tmp_path / "in/a.parquet")
    with pytest.raises(BadFile, match=rf"{message}.*\. The columns are doc .*; choose with --text_column"):
        repair(tmp_path / "in", work(tmp_path / "out", text_column=name))


@pytest.mark.parametrize("column", ROWS)
def test_json_lines(tmp_path: Path, column: str) -> None:
    root = column.partition(".")[0]
    rows = [ROWS[column][1](text) for text in ("one ofthe others", None, "a\u00a0x of\u00a0the", "")]
    lines = [json.dumps({"n": 1.0, root: row, "text": "ofthe"}) for row in [*rows, None]]
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text("".join(f"{line}\n" for line in lines))
    job = work(tmp_path / "out", text_column=column, provenance=True, keep_original=True)
    repair(tmp_path / "in", job)
    assert manifest(job, "a.jsonl").counts["dead_letters"] == 0
    read = [json.loads(line) for line in (tmp_path / "out/a.jsonl").read_text().splitlines()]
    assert [row[root] for row in read] == [changed(json.loads(line)[root]) for line in lines[:2]] + [
        changed(ROWS[column][1]("ax of\u00a0the")),
        rows[3],
        None,
    ]
    assert {row["text"] for row in read} == {"ofthe"}
    assert back(tmp_path / "out", "a.jsonl", column).read_bytes() == (tmp_path / "in/a.jsonl").read_bytes()


def test_edits_between_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="gap 2: expected one inside of a text, not between two"):
        split_edits(["ab", "cd"], [Edit(2, "insertion")])
    with pytest.raises(ValueError, match="the texts have 4 characters"):
        split_edits(["ab", "cd"], [Edit(4, "insertion")])


def test_a_field_far_inside() -> None:
    rows = [{"b": {"c": ["one", None], "d": "x"}}, {"b": None}, None, {"b": {"c": None, "d": "y"}}, {"b": {"c": ["z"]}}]
    kind = pa.struct({"b": pa.struct({"d": pa.string(), "c": pa.list_(pa.string())}), "z": pa.int8()})
    table = pa.table({"a": pa.array(rows, kind), "b": ["other"] * 5})
    column = TextColumn.find(table.schema, "a.b.c")
    assert column.texts(table) == [["one", None], [], [], [], ["z"]]
    changed = column.replaced(table, [["ONE", None], [], [], [], ["Z"]])
    assert changed.schema == table.schema
    assert column.texts(changed) == [["ONE", None], [], [], [], ["Z"]]
    assert column.replaced(changed, column.texts(table)).equals(table)
    assert column.is_path("a.b.c.list.element")
    assert not column.is_path("a.b.d")


def test_two_columns_of_one_name_are_one_too_many() -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    with pytest.raises(NoSuchColumn, match="more than one column 'text'"):
        TextColumn.find(table.schema, "text")


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)
def test_texts_get_the_type_that_they_had(kind: pa.DataType) -> None:
    column = text_column_of(["one", None, "one"], kind)
    assert column.type == kind
    assert text_values(column) == ["one", None, "one"]


def test_what_is_not_utf_8_stays_bytes_beside_what_is() -> None:
    raw = pa.chunked_array([pa.array([b"one", None, b"\xff"], pa.binary()).view(pa.string())])
    assert text_values(raw) == ["one", None, b"\xff"]
