"""What was written is read back before it is published: if more than spaces changed, it must be found."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, describe
from transforms.formats.contract import FormatOptions, ShardFormat
from transforms.formats.registry import format_of

LINES = ["one ofthe first", "a x", "", "last 😀 one"]
REPAIRED = ["one of the first", "ax", "", "last 😀 one"]
# Each changes more than spaces.
TAMPERED: dict[str, Callable[[list[str]], list[str]]] = {
    "another letter": lambda lines: ["one of thy first", *lines[1:]],
    "another letter at the end": lambda lines: [*lines[:-1], "last 😀 onE"],
    "a letter less": lambda lines: [*lines[:-1], "last 😀 on"],
    "a letter more": lambda lines: [*lines[:-1], "last 😀 ones"],
    "a character that looks like a space": lambda lines: [lines[0].replace(" ", "\u200b"), *lines[1:]],
    "a line less": lambda lines: lines[:-1],
    "a line more": lambda lines: [*lines, "more"],
    "two lines in the place of each other": lambda lines: [lines[1], lines[0], *lines[2:]],
}


def as_text(lines: list[str]) -> bytes:
    return "\n".join(lines).encode()


def as_csv(lines: list[str]) -> bytes:
    return "".join(f"{line},x\n" for line in ["text", *lines]).encode()


def as_json(lines: list[str]) -> bytes:
    return ("[" + ",\n".join(f'{{"text": "{line}"}}' for line in lines) + "]\n").encode()


WRITERS: dict[str, tuple[str, Callable[[list[str]], bytes], dict[str, Any]]] = {
    "document": ("a.txt", as_text, {}),
    "lines": ("a.txt", as_text, {"text_unit": "line"}),
    "compressed lines": ("a.txt.gz", lambda lines: gzip.compress(as_text(lines)), {"text_unit": "line"}),
    "json lines": ("a.jsonl", lambda lines: as_json(lines)[1:-2].replace(b"},", b"}") + b"\n", {}),
    "csv": ("a.csv", as_csv, {}),
    "json": ("a.json", as_json, {}),
}


def written(folder: Path, kind: str, lines: list[str]) -> tuple[ShardFormat, InputFile, Path]:
    """The format, the input, and where an output with these lines is."""
    name, write, options = WRITERS[kind]
    for place, content in (("in", LINES), ("out", lines)):
        (folder / place).mkdir()
        (folder / place / name).write_bytes(write(content))
    file = describe(str(folder / "in" / name), name)
    return format_of(name, FormatOptions(**options)), file, folder / "out" / name


@pytest.mark.parametrize("kind", WRITERS)
def test_other_spaces_are_what_is_wanted(tmp_path: Path, kind: str) -> None:
    form, file, path = written(tmp_path, kind, REPAIRED)
    (cut,) = form.cut(file, 1 << 30)
    assert form.verify(file, cut.span, str(path)) == (1 if kind == "document" else len(LINES))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("tampered", TAMPERED)
def test_whatever_else_changed_is_found(tmp_path: Path, kind: str, tampered: str) -> None:
    form, file, path = written(tmp_path, kind, TAMPERED[tampered](REPAIRED))
    (cut,) = form.cut(file, 1 << 30)
    with pytest.raises((CharactersChanged, ValueError)):
        form.verify(file, cut.span, str(path))


@pytest.mark.parametrize("kind", ["document", "lines"])
@pytest.mark.parametrize("change", [b"", b"X", b"\x00 "])
def test_what_is_too_long_to_be_held_is_compared_byte_by_byte(tmp_path: Path, kind: str, change: bytes) -> None:
    content = b"one ofthe " * 500
    (tmp_path / "a.txt").write_bytes(content)
    (tmp_path / "out.txt").write_bytes(content + change)
    unit = {"document": "document", "lines": "line"}[kind]
    form = format_of("a.txt", FormatOptions(text_unit=unit, max_document_bytes=1000))
    file = describe(str(tmp_path / "a.txt"), "a.txt")
    (cut,) = form.cut(file, 1 << 30)
    if change:
        with pytest.raises(CharactersChanged):
            form.verify(file, cut.span, str(tmp_path / "out.txt"))
    else:
        assert form.verify(file, cut.span, str(tmp_path / "out.txt")) == 1


def parquet(lines: list[str], **columns: Any) -> pa.Table:
    return pa.table({"n": range(len(lines)), "text": lines, **columns})


def verify_parquet(folder: Path, before: pa.Table, after: pa.Table, first: int = 0, stop: int | None = None) -> None:
    pq.write_table(before, folder / "a.parquet", row_group_size=2)
    pq.write_table(after, folder / "out.parquet")
    file = describe(str(folder / "a.parquet"), "a.parquet")
    form = format_of("a.parquet", FormatOptions())
    form.verify(file, (first, before.num_rows if stop is None else stop), str(folder / "out.parquet"))


def test_parquet_with_other_spaces(tmp_path: Path) -> None:
    verify_parquet(tmp_path, parquet(LINES), parquet(REPAIRED))
    verify_parquet(tmp_path, parquet(LINES), parquet(REPAIRED).slice(1, 2), 1, 3)


@pytest.mark.parametrize("tampered", TAMPERED)
def test_parquet_with_other_characters(tmp_path: Path, tampered: str) -> None:
    with pytest.raises((CharactersChanged, BadFile)):
        verify_parquet(tmp_path, parquet(LINES), parquet(TAMPERED[tampered](REPAIRED)))


def test_parquet_with_other_numbers(tmp_path: Path) -> None:
    changed = parquet(REPAIRED).set_column(0, "n", pa.array([0, 1, 2, 4]))
    with pytest.raises(BadFile, match=r"the column 'n' \(int64\) does not survive"):
        verify_parquet(tmp_path, parquet(LINES), changed)


def test_parquet_with_other_rows_than_those_of_the_stretch(tmp_path: Path) -> None:
    with pytest.raises((CharactersChanged, BadFile)):
        verify_parquet(tmp_path, parquet(LINES), parquet(REPAIRED).slice(0, 2), 1, 3)
    with pytest.raises(CharactersChanged, match="1 rows written for 2 rows read"):
        verify_parquet(tmp_path, parquet(LINES), parquet(REPAIRED).slice(1, 1), 1, 3)


def test_parquet_with_another_schema(tmp_path: Path) -> None:
    other = parquet(REPAIRED).cast(pa.schema([("n", pa.int32()), ("text", pa.string())]))
    with pytest.raises(BadFile, match="its schema does not survive"):
        verify_parquet(tmp_path, parquet(LINES), other)


def test_parquet_with_other_neighbours_of_the_text(tmp_path: Path) -> None:
    before, after = (
        pa.table({"doc": [{"n": n, "text": line} for n, line in enumerate(lines)]}) for lines in (LINES, REPAIRED)
    )
    moved = pa.table({"doc": [{"n": n + 1, "text": line} for n, line in enumerate(REPAIRED)]})
    pq.write_table(before, tmp_path / "a.parquet")
    file = describe(str(tmp_path / "a.parquet"), "a.parquet")
    form = format_of("a.parquet", FormatOptions(text_column="doc.text"))
    pq.write_table(after, tmp_path / "out.parquet")
    assert form.verify(file, (0, len(LINES)), str(tmp_path / "out.parquet")) == len(LINES)
    pq.write_table(moved, tmp_path / "out.parquet")
    with pytest.raises(BadFile, match="does not survive"):
        form.verify(file, (0, len(LINES)), str(tmp_path / "out.parquet"))


@pytest.mark.parametrize("content", [b"ab", b"abcd", b"abC"])
def test_a_copy_is_the_same_to_the_last_byte(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(b"abc")
    form, file = format_of("a.png", FormatOptions(copy_others=True)), describe(str(tmp_path / "a.png"), "a.png")
    (tmp_path / "out").write_bytes(b"abc")
    form.verify(file, (0, -1), str(tmp_path / "out"))
    (tmp_path / "out").write_bytes(content)
    with pytest.raises(CharactersChanged):
        form.verify(file, (0, -1), str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.jsonl", b'{"text": "a b"}\r\n', b'{"text": "ab"}\n'),
        ("a.jsonl", b'{"text": "a b"}\n', b'{"text": "ab"}'),
        ("a.json", b'[{"text": "a b"} ,\n{"text": "c"}]\n', b'[{"text": "ab"},\n{"text": "c"}]\n'),
        ("a.json", b'[{"text": "a b"}]\n', b'[{"text": "ab"}]'),
        ("a.csv", b"text,n\r\na b,1\r\n", b"text,n\r\nab,1\n"),
    ],
)
def test_other_line_ends_are_found(tmp_path: Path, name: str, before: bytes, after: bytes) -> None:
    (tmp_path / name).write_bytes(before)
    form, file = format_of(name, FormatOptions()), describe(str(tmp_path / name), name)
    (tmp_path / "out").write_bytes(before.replace(b"a b", b"ab"))
    form.verify(file, (0, -1), str(tmp_path / "out"))
    (tmp_path / "out").write_bytes(after)
    with pytest.raises(CharactersChanged):
        form.verify(file, (0, -1), str(tmp_path / "out"))
