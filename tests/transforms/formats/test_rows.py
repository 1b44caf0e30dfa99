"""Rows of clean text: the same rows with the same keys, however a file is cut."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respace.storage.errors import BadFile
from respace.storage.files import describe
from transforms.formats.rows import CleanText, Row


def all_rows(path: Path, target: int, reader: CleanText | None = None) -> list[Row]:
    reader = reader or CleanText()
    file = describe(str(path))
    return [row for part in reader.cut(file, target) for row in reader.rows(file, part.span)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12)), st.integers(1, 60))
def test_text_lines_cut_anywhere(tmp_path: Path, lines: list[str], target: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    rows = all_rows(path, target)
    assert [row.text for row in rows] == [line.strip() for line in lines]
    assert rows == all_rows(path, 1 << 30)
    assert len({row.key for row in rows}) == len(lines)


@pytest.mark.parametrize("row_group", [1, 7, 100])
@pytest.mark.parametrize("target", [1, 300, 1 << 30])
def test_parquet_cut_anywhere(tmp_path: Path, row_group: int, target: int) -> None:
    texts = [f"text number {number} é" for number in range(50)]
    table = pa.table({"source": ["s"] * 50, "text": texts, "name": [f"n{number}" for number in range(50)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=row_group)
    assert all_rows(tmp_path / "a.parquet", target) == [Row(f"a.parquet:{n}", text) for n, text in enumerate(texts)]
    named = all_rows(tmp_path / "a.parquet", target, CleanText(id_column="name"))
    assert [row.key for row in named] == [f"a.parquet:n{number}" for number in range(50)]


def test_json_lines_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    lines = [
        json.dumps({"text": "one"}),
        "",
        "{broken",
        json.dumps({"other": 1}),
        json.dumps({"text": 5}),
        '{"text": "\\ud800"}',
    ]
    for name, content in (
        ("a.jsonl", "\n".join(lines).encode()),
        ("a.jsonl.gz", gzip.compress("\n".join(lines).encode())),
    ):
        (tmp_path / name).write_bytes(content)
        rows = all_rows(tmp_path / name, 1 << 30)
        assert [row.text for row in rows if row.problem is None] == ["one", ""]
        problems = [row.problem or "" for row in rows if row.problem is not None]
        assert len(problems) == 4
        assert "no member 'text'" in problems[1]
        assert "is '5}', expected a string" in problems[2]
        assert "surrogates not allowed" in problems[3]


def test_bad_utf8_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\nb\xff\xfed\n")
    good, bad = all_rows(tmp_path / "a.txt", 1 << 30)
    assert good == Row("a.txt@0", "good")
    assert bad.problem == "byte 5: not valid UTF-8"


def test_bad_utf8_in_parquet(tmp_path: Path) -> None:
    raw = pa.array([b"good", b"b\xffd", None], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    pq.write_table(pa.table({"text": text}), tmp_path / "a.parquet")
    assert all_rows(tmp_path / "a.parquet", 1 << 30) == [
        Row("a.parquet:0", "good"),
        Row("a.parquet:1", "b\ufffdd", "row 1: not valid UTF-8"),
        Row("a.parquet:2", ""),
    ]


def test_missing_column_and_truncated_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(BadFile, match=r"no column 'text'.*body"):
        CleanText().check(describe(str(tmp_path / "a.parquet")))
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(content[:-20])
    with pytest.raises(BadFile, match="cannot be read as Parquet"):
        CleanText(text_column="body").check(describe(str(tmp_path / "b.parquet")))
