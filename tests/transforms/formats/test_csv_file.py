from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile
from respace.storage.files import describe
from tests.transforms.corpora import manifest, repair, work
from tests.transforms.formats.test_lines import read, write
from transforms.formats.contract import FormatOptions
from transforms.formats.csv_file import CsvRecord, split_record
from transforms.formats.records import CsvRecords
from transforms.formats.registry import format_of
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters

CSV = (
    b'\xef\xbb\xbfid,"text",note\r\n'
    b"1,one ofthe others, ofthe \r\n"
    b'"2","a x, and ""ofthe""\r\nofthe",""\r\n'
    b"\r\n"
    b'3,5" ofthe,a x\r\n'
    b"4,,"
)
REPAIRED = (
    b'\xef\xbb\xbfid,"text",note\r\n'
    b"1,one of the others, ofthe \r\n"
    b'"2","ax, and ""of the""\r\nof the",""\r\n'
    b"\r\n"
    b'3,5" of the,a x\r\n'
    b"4,,"
)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.CSV"])
@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_only_the_spaces_of_the_text_change(tmp_path: Path, name: str, end: bytes) -> None:
    write(tmp_path / "in" / name, CSV + end)
    job = work(tmp_path / "out", provenance=True, id_column="id")
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out" / name) == REPAIRED + end
    counts = manifest(job, name).counts
    assert (counts["documents"], counts["dead_letters"], counts["insertions"]) == (5, 0, 4)
    form = format_of(name, FormatOptions())
    form.revert(describe(str(tmp_path / "out" / name), name), str(tmp_path / f"back-{name}"))
    assert read(tmp_path / f"back-{name}") == CSV + end


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.csv", "|"), ("a.tsv", "\t")]
)
@pytest.mark.parametrize("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_the_dialect_stays(tmp_path: Path, name: str, delimiter: str, quoting: Any) -> None:
    def table(*texts: str) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
        writer.writerows([["n", "text"], *([str(n), text] for n, text in enumerate(texts))])
        return out.getvalue().encode()

    write(tmp_path / "in" / name, table("one ofthe", "a x\nofthe", f'"ofthe"{delimiter} "'))
    repair(tmp_path / "in", work(tmp_path / "out"))
    assert read(tmp_path / "out" / name) == table("one of the", "ax\nof the", f'"of the"{delimiter} "')


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text('ab ",\n', max_size=8), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    st.integers(1, 40),
)
def test_records_are_those_that_were_written(rows: list[list[str]], quoting: Any, limit: int) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=quoting, lineterminator="\n").writerows(rows)
    for size in (limit, 1 << 20):
        records, found, piece = CsvRecords(io.BytesIO(out.getvalue().encode()), b","), [], b""
        while (read := records.read(size))[0]:
            piece += read[0]
            if read[1]:
                found.append(piece)
                piece = b""
        found += [piece] if piece else []
        assert [next(csv.reader(io.StringIO(one.decode(), newline=""))) for one in found] == rows
        assert [len(split_record(one.decode().rstrip("\r\n"), ",")) for one in found] == [3] * len(rows)


def test_broken_records_are_dead_letters(tmp_path: Path) -> None:
    content = b'n,text\n1,ofthe\n2,a x,more\n3\n4,"ofthe" x\n5,\xff ofthe\n6,"ofthe\n'
    write(tmp_path / "in/a.csv", content)
    job = work(tmp_path / "out")
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.csv") == content.replace(b"1,ofthe", b"1,of the")
    letters = read_dead_letters(dead_letters_url(job.output, "a.csv")).to_pylist()
    assert [(letter["row"], letter["error"]) for letter in letters] == [
        (1, "BrokenRecord"),
        (2, "BrokenRecord"),
        (3, "BrokenRecord"),
        (4, "UnicodeDecodeError"),
        (5, "BrokenRecord"),
    ]
    assert letters[0]["message"] == "3 fields, expected 2 as in the header"


def test_a_record_that_is_too_large_stays(tmp_path: Path) -> None:
    content = b'text\n"' + b"ofthe\n" * 1000 + b'"\nofthe\n'
    write(tmp_path / "in/a.csv", content)
    job = work(tmp_path / "out", max_document_bytes=1000)
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.csv") == content[:-6] + b"of the\n"
    assert manifest(job, "a.csv").counts["dead_letters"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"n,body\n1,2\n", "no column 'text'. The columns are n, body; choose with --text_column"),
        (b"n;body;x\n1;2;3\n", "no column 'text'. The columns are n, body, x; choose"),
        (b"text,text\n1,2\n", "more than one column 'text'"),
        (b"\xff,text\n1,2\n", "its header is not valid UTF-8"),
        (b'"' + b"x" * (1 << 20), "its header has more than 1048576 bytes. Is it CSV"),
    ],
)
def test_files_without_the_text(tmp_path: Path, content: bytes, message: str) -> None:
    write(tmp_path / "in/a.csv", content)
    with pytest.raises(BadFile, match=message):
        repair(tmp_path / "in", work(tmp_path / "out"))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"text", b"text\n"])
def test_files_without_records(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "in/a.csv", content)
    job = work(tmp_path / "out", provenance=True)
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.csv") == content
    assert manifest(job, "a.csv").counts["documents"] == 0


@pytest.mark.parametrize(
    "after",
    [
        b"2,a b,c,d\n",
        b"1,a b,C,d\n",
        b"1,a b,c,D\n",
        b"1,a c,c,d\n",
        b"1,a b,c,d\r\n",
        b"1,a b,c ,d\n",
        b"0,a b,c,d\n",
    ],
)
def test_a_record_that_was_read_back_may_differ_in_the_spaces_of_its_text_only(after: bytes) -> None:
    record = CsvRecord(FormatOptions(), ",", fields=4, text=1, identifier=None)
    record.verify(b"1,ab,c,d\n", b"1,a b,c,d\n")
    with pytest.raises(CharactersChanged):
        record.verify(b"1,ab,c,d\n", after)


@pytest.mark.parametrize("lines", [b"text\none of the\n", b"text\none of the\none of the\nof the\n"])
def test_records_that_were_added_or_removed_since_cannot_be_reverted(tmp_path: Path, lines: bytes) -> None:
    write(tmp_path / "in/a.csv", b"text\none ofthe\none ofthe\n")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    write(tmp_path / "out/a.csv", lines)
    form = format_of("a.csv", FormatOptions())
    with pytest.raises(BadFile, match="Was it changed since"):
        form.revert(describe(str(tmp_path / "out/a.csv"), "a.csv"), str(tmp_path / "back.csv"))
