from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from respace.storage.compression import COMPRESSION_SUFFIXES, open_compressed, open_decompressed
from respace.storage.errors import BadFile
from respace.storage.files import describe
from tests.transforms.corpora import AFTER, BEFORE, manifest, repair, tree, work
from transforms.formats.contract import FormatOptions
from transforms.formats.lines import LineFormat
from transforms.formats.registry import format_of
from transforms.formats.text_lines import TextLines
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters


def write(path: Any, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_compressed(str(path), path.name) as stream:
        stream.write(content)


def read(path: Any) -> bytes:
    with open(path, "rb") as raw, open_decompressed(raw, path.name) as stream:
        return stream.read()


def lines(texts: Any, **others: Any) -> bytes:
    return b"".join(json.dumps({"id": n, "text": text, **others}).encode() + b"\n" for n, text in enumerate(texts))


@pytest.mark.parametrize("suffix", ["", *COMPRESSION_SUFFIXES])
def test_jsonl(tmp_path: Path, suffix: Any) -> None:
    write(tmp_path / f"in/sub/a.jsonl{suffix}", lines(BEFORE, n=1.0))
    job = work(tmp_path / "out")
    repair(tmp_path / "in", job)
    assert read(tmp_path / f"out/sub/a.jsonl{suffix}") == lines(AFTER, n=1.0)
    counts = manifest(job, f"sub/a.jsonl{suffix}").counts
    assert (counts["documents"], counts["insertions"], counts["deletions"]) == (5, 2, 2)


@pytest.mark.parametrize("suffix", ["", *COMPRESSION_SUFFIXES])
@pytest.mark.parametrize("unit", ["line", "document"])
def test_text(tmp_path: Path, suffix: Any, unit: Any) -> None:
    write(tmp_path / f"in/a.txt{suffix}", "\n".join(BEFORE).encode())
    job = work(tmp_path / "out", text_unit=unit)
    repair(tmp_path / "in", job)
    assert read(tmp_path / f"out/a.txt{suffix}").decode() == "\n".join(AFTER)
    assert manifest(job, f"a.txt{suffix}").counts["documents"] == (5 if unit == "line" else 1)


def test_line_ends_and_other_bytes_stay(tmp_path: Path) -> None:
    content = b"ofthe\r\n\r\n  ofthe\x0c\n\n\xef\xbb\xbfa x"
    write(tmp_path / "in/a.txt", content)
    repair(tmp_path / "in", work(tmp_path / "out", text_unit="line"))
    assert read(tmp_path / "out/a.txt") == b"of the\r\n\r\n  of the\x0c\n\n\xef\xbb\xbfax"


def test_broken_lines_are_dead_letters_with_their_line_number(tmp_path: Path) -> None:
    broken = [b'{"id": 1, "text": "ofthe"', b'{"id": 2}', b'{"id": 3, "text": "\xff ofthe"}', b"[]", b'{"text": 5}']
    content = lines(["ofthe"]) + b"".join(line + b"\n" for line in broken) + b"\n" + lines(["a x"])
    write(tmp_path / "in/a.jsonl", content)
    job = work(tmp_path / "out", id_column="id", provenance=False)
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.jsonl") == content.replace(b'0, "text": "ofthe"', b'0, "text": "of the"').replace(
        b"a x", b"ax"
    )
    letters = read_dead_letters(dead_letters_url(job.output, "a.jsonl")).to_pylist()
    assert [letter["row"] for letter in letters] == [1, 2, 3, 4, 5]
    assert [(letter["row"], letter["message"]) for letter in letters if letter["error"] == "BrokenLine"] == [
        (1, "expected ',' or '}' at character 25, found ''"),
        (2, "no member 'text'. There are: 'id'"),
        (4, "expected a JSON object, found '[]'"),
        (5, "the member 'text' is '5}', expected a string or a list of strings"),
    ]
    assert letters[2]["raw_bytes"] == broken[2]
    assert letters[0]["text"].encode() == broken[0] + b"\n"
    counts = manifest(job, "a.jsonl").counts
    assert (counts["documents"], counts["dead_letters"]) == (8, 5)


def test_byte_ranges_are_the_same_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{row} ofthe {'é ' * (row % 11)}" if row % 17 else f"{row} why‽" for row in range(300)]
    content = lines(texts) + b"broken\n" + lines(texts)[:-1]
    write(tmp_path / "in/a.jsonl", content)
    write(tmp_path / "in/b.txt", content)
    options: dict[str, Any] = {"text_unit": "line", "provenance": True, "keep_original": True}
    one, cut = work(tmp_path / "one", **options), work(tmp_path / "cut", **options)
    repair(tmp_path / "in", one)
    monkeypatch.setattr("transforms.repair.plan.SMALLEST_SHARD", 700)
    monkeypatch.setattr("transforms.repair.plan._SHARDS_PER_WORKER", 20)
    assert len(repair(tmp_path / "in", cut, workers=2)) > 30
    assert tree(tmp_path / "cut", without=("_manifest",)) == tree(tmp_path / "one", without=("_manifest",))
    for name in ("a.jsonl", "b.txt"):
        assert manifest(cut, name).counts == manifest(one, name).counts
    letters = read_dead_letters(dead_letters_url(cut.output, "a.jsonl")).to_pylist()
    assert next(letter["row"] for letter in letters if letter["error"] == "BrokenLine") == 300


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_ranges_read_every_line_once(tmp_path: Path, size: Any) -> None:
    from respace.storage.files import describe
    from transforms.formats.lines import chunks, open_lines
    from transforms.formats.records import LineRecords

    content = b"a\n\nbc\n" + b"d" * 10 + b"\nlast"
    write(tmp_path / "a.txt", content)
    file = describe(str(tmp_path / "a.txt"))
    found = []
    options = work("x").formats
    for (start, stop), _ in LineFormat(options, TextLines(options)).cut(file, size):
        with open_lines(file, start) as stream:
            place = stream.tell() if start else 0
            records = chunks(LineRecords(stream), (start, stop), place, 100, 100)
            found += [line for chunk in records for line in chunk.lines]
    assert b"".join(found) == content
    assert len(found) == 5


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.jsonl.gz"])
def test_an_empty_file_gives_an_empty_file(tmp_path: Path, name: Any) -> None:
    write(tmp_path / "in" / name, b"")
    job = work(tmp_path / "out", provenance=True)
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out" / name) == b""
    assert manifest(job, name).counts["documents"] == 0


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_misspelled_text_column_fails_at_once(tmp_path: Path, end: bytes) -> None:
    write(tmp_path / "in/a.jsonl", b'{"body": "x", "n": 1}' + end)
    with pytest.raises(BadFile, match=r"no member 'text'\. There are: 'body', 'n'; choose with --text_column"):
        repair(tmp_path / "in", work(tmp_path / "out"))


def test_too_large_documents_stay_and_are_dead_letters(tmp_path: Path) -> None:
    content = b"ofthe\n" + b"ofthe " * 1000 + b"\nofthe\n"
    assert len(content) > 6000
    write(tmp_path / "in/lines/a.txt", content)
    job = work(tmp_path / "out", text_unit="line", max_document_bytes=1000)
    repair(tmp_path / "in/lines", job)
    assert read(tmp_path / "out/a.txt") == b"of the\n" + b"ofthe " * 1000 + b"\nof the\n"
    (letter,) = read_dead_letters(dead_letters_url(job.output, "a.txt")).to_pylist()
    assert (letter["row"], letter["error"]) == (1, "DocumentTooLarge")
    whole = work(tmp_path / "whole", max_document_bytes=1000)
    repair(tmp_path / "in/lines", whole)
    assert read(tmp_path / "whole/a.txt") == content
    assert manifest(whole, "a.txt").counts["dead_letters"] == 1


def test_invalid_utf8_in_text_stays(tmp_path: Path) -> None:
    write(tmp_path / "in/a.txt", b"ofthe\n\xff ofthe\n")
    job = work(tmp_path / "out", text_unit="line")
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.txt") == b"of the\n\xff ofthe\n"
    (letter,) = read_dead_letters(dead_letters_url(job.output, "a.txt")).to_pylist()
    assert letter["raw_bytes"] == b"\xff ofthe"


def test_lines_joined_at_a_hyphen_keep_hyphen_and_break(tmp_path: Path) -> None:
    write(tmp_path / "in/a.txt", b"one of-\nthe x\n")
    repair(tmp_path / "in", work(tmp_path / "out"))
    assert read(tmp_path / "out/a.txt") == b"one of-\nthex\n"


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.parametrize("added", [{}, {"provenance": True}, {"keep_original": True}])
@pytest.mark.parametrize("blank", ["", " \t", "\u00a0", "\u2003\u3000", "\x1e"])
def test_a_blank_line_of_json_stays_whatever_blanks_it_has(
    tmp_path: Path, name: str, added: dict[str, Any], blank: str
) -> None:
    text = b'{"text": "one ofthe others"}\n'
    write(tmp_path / "in" / name, text + blank.encode() + b"\n" + text)
    repair(tmp_path / "in", work(tmp_path / "out", **added))
    written = read(tmp_path / "out" / name).split(b"\n")
    assert written[1] == blank.encode()
    assert [json.loads(line)["text"] for line in (written[0], written[2])] == ["one of the others"] * 2
    if "provenance" in added:
        format_of(name, FormatOptions(provenance=True)).revert(
            describe(str(tmp_path / "out" / name), name), str(tmp_path / "back")
        )
        assert read(tmp_path / "back") == read(tmp_path / "in" / name)
