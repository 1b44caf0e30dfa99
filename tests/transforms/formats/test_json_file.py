from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.storage.errors import BadFile
from respace.storage.files import describe
from tests.transforms.corpora import AFTER, BEFORE, manifest, repair, work
from tests.transforms.formats.test_json_line import values
from tests.transforms.formats.test_lines import lines, read, write
from transforms.formats.contract import FormatOptions
from transforms.formats.records import JsonRecords
from transforms.formats.registry import format_of


def array(texts: Any, indent: int | None, end: str) -> bytes:
    rows = [{"n": [1, {}], "text": text} for text in texts]
    return (json.dumps(rows, indent=indent) + end).encode()


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("indent", [None, 0, 4])
@pytest.mark.parametrize("end", ["", "\n", " \r\n\n"])
def test_an_array(tmp_path: Path, name: str, indent: int | None, end: str) -> None:
    content = b"\xef\xbb\xbf " + array(BEFORE, indent, end)
    write(tmp_path / "in" / name, content)
    repair(tmp_path / "in", work(tmp_path / "out"))
    assert read(tmp_path / "out" / name) == b"\xef\xbb\xbf " + array(AFTER, indent, end)
    job = work(tmp_path / "more", provenance=True, keep_original=True)
    repair(tmp_path / "in", job)
    assert manifest(job, name).counts["documents"] == len(BEFORE)
    assert [row["text"] for row in json.loads(read(tmp_path / "more" / name).decode("utf-8-sig"))] == AFTER
    form = format_of(name, FormatOptions())
    form.revert(describe(str(tmp_path / "more" / name), name), str(tmp_path / f"back-{name}"))
    assert read(tmp_path / f"back-{name}") == content


def test_one_object_and_an_object_a_line(tmp_path: Path) -> None:
    write(tmp_path / "in/one.json", b'{\n "text": "ofthe"\n}\n')
    write(tmp_path / "in/lines.json", lines(BEFORE))
    write(tmp_path / "in/empty.json", b" [\n ]\n")
    job = work(tmp_path / "out")
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/one.json") == b'{\n "text": "of the"\n}\n'
    assert read(tmp_path / "out/lines.json") == lines(AFTER)
    assert read(tmp_path / "out/empty.json") == b" [\n ]\n"
    assert manifest(job, "empty.json").counts["documents"] == 0


def test_what_is_no_object_stays(tmp_path: Path) -> None:
    content = b'["ofthe", {"text": "ofthe"}, 5, [{"text": "ofthe"}], {"text": "of'
    write(tmp_path / "in/a.json", content)
    job = work(tmp_path / "out")
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.json") == content.replace(b'{"text": "ofthe"}, 5', b'{"text": "of the"}, 5')
    assert manifest(job, "a.json").counts["dead_letters"] == 4


def test_an_element_that_is_too_large_stays(tmp_path: Path) -> None:
    content = array(["ofthe", "ofthe " * 1000, "a x"], 1, "\n")
    write(tmp_path / "in/a.json", content)
    job = work(tmp_path / "out", max_document_bytes=1000)
    repair(tmp_path / "in", job)
    assert read(tmp_path / "out/a.json") == array(["of the", "ofthe " * 1000, "ax"], 1, "\n")
    assert manifest(job, "a.json").counts["dead_letters"] == 1


def test_what_is_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    texts = ["ofthe " + "word " * 30_000, "a x"]
    write(tmp_path / "in/lines.json.gz", lines(texts))
    write(tmp_path / "in/array.json", array(texts, None, ""))
    job = work(tmp_path / "out", provenance=True)
    repair(tmp_path / "in", job)
    assert [manifest(job, name).counts["documents"] for name in ("lines.json.gz", "array.json")] == [2, 2]
    assert json.loads(read(tmp_path / "out/array.json"))[0]["text"] == texts[0].replace("ofthe", "of the")
    assert b'"ax"' in read(tmp_path / "out/lines.json.gz")


def test_a_misspelled_text_column_fails_at_once(tmp_path: Path) -> None:
    write(tmp_path / "in/a.json", b'[{"body": "x"}]')
    with pytest.raises(BadFile, match=r"first document: no member 'text'\. There are: 'body'; choose with --text"):
        repair(tmp_path / "in", work(tmp_path / "out"))


@settings(max_examples=60, deadline=None)
@given(st.lists(values, min_size=1, max_size=4), st.sampled_from([None, 1]), st.integers(1, 50))
def test_elements_are_those_that_were_written(elements: Any, indent: int | None, limit: int) -> None:
    content = json.dumps(elements, indent=indent).encode()
    for size in (limit, 1 << 20):
        records, found, piece = JsonRecords(io.BytesIO(content[1:].lstrip())), [], b""
        while (read := records.read(size))[0]:
            piece += read[0]
            if read[1]:
                found.append(piece)
                piece = b""
        found += [piece] if piece else []
        assert json.loads(b"[" + b"".join(found)) == elements
        assert len(found) == len(elements)
        if all(isinstance(one, dict) for one in elements):
            assert [json.loads(one.decode().rstrip(" \n,]")) for one in found] == elements
