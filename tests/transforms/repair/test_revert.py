from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from respace.storage.compression import COMPRESSION_SUFFIXES
from respace.storage.errors import BadFile
from tests.transforms.corpora import repair, whole_files, work, write_parquet
from tests.transforms.formats.test_lines import read, write
from tests.transforms.formats.test_parquet import rich_table
from transforms.formats.contract import FormatOptions
from transforms.formats.provenance import revert_text
from transforms.repair.reopened import reopened
from transforms.repair.revert import RevertWork

RAW_LINES = [
    b"one ofthe x lines of plain text",
    b'{"text": "one\\u00a0ofthe\\u0009x\\tx", "n": 1.0}',
    b"not json",
    b"",
    '{"text":"é\u00a0x"}'.encode(),
    b'{"text": null}',
    b'{"text": "why? \xff"}',
    b'{"other": 1}',
    b'{"text": "last ofthe"}',
]


def revert(source: Path, output: Path, **formats: Any) -> None:
    job = RevertWork(output=str(output), formats=FormatOptions(**formats), run="revert")
    for shard in whole_files(source):
        job(shard)


@pytest.mark.parametrize(
    "added", [{"provenance": True}, {"provenance": True, "keep_original": True}, {"keep_original": True}]
)
def test_parquet(tmp_path: Path, added: dict[str, Any]) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(rich_table(), tmp_path / "in/a.parquet", row_group_size=2)
    repair(tmp_path / "in", work(tmp_path / "out", **added))
    revert(tmp_path / "out", tmp_path / "back")
    given, back = pq.read_table(tmp_path / "in/a.parquet"), pq.read_table(tmp_path / "back/a.parquet")
    assert back.schema.equals(given.schema, check_metadata=True)
    assert back.drop_columns("nan").equals(given.drop_columns("nan"))
    assert repr(back["nan"].to_pylist()) == repr(given["nan"].to_pylist())


@pytest.mark.parametrize("suffix", ["", *COMPRESSION_SUFFIXES])
@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
@pytest.mark.parametrize("unit", ["line", "document"])
def test_lines(tmp_path: Path, suffix: str, name: str, unit: str) -> None:
    content = b"\n".join(RAW_LINES)
    write(tmp_path / "in" / (name + suffix), content)
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True, keep_original=True, text_unit=unit))
    if name == "a.jsonl" or unit == "line":
        assert read(tmp_path / "out" / (name + suffix)) != content
    revert(tmp_path / "out", tmp_path / "back", text_unit=unit)
    assert read(tmp_path / "back" / (name + suffix)) == content


def test_a_whole_document(tmp_path: Path) -> None:
    content = "Line ofthe\u2003x text-\n  \u00a0x of\tthe end\r\n\n".encode()
    write(tmp_path / "in/a.txt", content)
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    assert read(tmp_path / "out/a.txt") != content
    revert(tmp_path / "out", tmp_path / "back")
    assert read(tmp_path / "back/a.txt") == content


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.none() | st.text(st.sampled_from("ofthex \t\u00a0\n‽é"), max_size=40), min_size=1, max_size=8))
def test_any_texts(tmp_path_factory: pytest.TempPathFactory, texts: list[str | None]) -> None:
    folder = tmp_path_factory.mktemp("any")
    write_parquet(folder / "in/a.parquet", texts, row_group_size=3)
    content = b"".join(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" for text in texts)
    write(folder / "in/a.jsonl", content)
    repair(folder / "in", work(folder / "out", provenance=True))
    revert(folder / "out", folder / "back")
    assert pq.read_table(folder / "back/a.parquet")["text"].to_pylist() == texts
    assert read(folder / "back/a.jsonl") == content
    for name in ("a.parquet", "a.jsonl"):
        for row, (document, edits) in enumerate(reopened(str(folder / "out"), name).edits()):
            assert document.row == row
            if document.problem is None and document.text is not None:
                assert revert_text(document.text, edits) == texts[row]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.txt"])
def test_without_provenance_there_is_no_way_back(tmp_path: Path, name: str) -> None:
    if name == "a.parquet":
        write_parquet(tmp_path / "in" / name, ["ofthe"])
    else:
        write(tmp_path / "in" / name, b'{"text": "ofthe"}\n')
    repair(tmp_path / "in", work(tmp_path / "out"))
    with pytest.raises(BadFile, match="was not written with --provenance"):
        revert(tmp_path / "out", tmp_path / "back")
    assert not (tmp_path / "back" / name).exists()


def test_a_text_that_was_changed_since(tmp_path: Path) -> None:
    write(tmp_path / "in/a.txt", b"one ofthe")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    (tmp_path / "out/a.txt").write_bytes(b"one of  the")
    with pytest.raises(BadFile, match=r"a\.txt: insertion at gap 5: found '  ' there. Was the text changed since\?"):
        revert(tmp_path / "out", tmp_path / "back")


@pytest.mark.parametrize("damage", ['"x"', "[1]", '[{"gap": 3}]', '[{"gap": "a", "kind": "insertion"}]', '{"gap": 5}'])
def test_edits_that_are_none(tmp_path: Path, damage: str) -> None:
    write(tmp_path / "in/a.jsonl", b'{"text": "one ofthe"}\n')
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    line = json.loads(read(tmp_path / "out/a.jsonl")) | {"respace_edits": json.loads(damage)}
    write(tmp_path / "out/a.jsonl", json.dumps(line).encode())
    with pytest.raises(BadFile, match=r"a\.jsonl: line 1: what should be edits is something else"):
        revert(tmp_path / "out", tmp_path / "back")


def test_the_wrong_text_unit(tmp_path: Path) -> None:
    write(tmp_path / "in/a.txt", b"one ofthe\ntwo\n")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True, text_unit="line"))
    with pytest.raises(BadFile, match="it was repaired with --text_unit line"):
        revert(tmp_path / "out", tmp_path / "back")


def test_texts_that_are_all_null(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"text": pa.nulls(3)}), tmp_path / "in/a.parquet")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    revert(tmp_path / "out", tmp_path / "back")
    assert pq.read_table(tmp_path / "back/a.parquet").equals(pq.read_table(tmp_path / "in/a.parquet"))


def test_an_output_made_again_without_provenance_has_none_left(tmp_path: Path) -> None:
    write(tmp_path / "in/a.txt", b"one ofthe")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    repair(tmp_path / "in", work(tmp_path / "out", run="second"), overwrite=True)
    with pytest.raises(BadFile, match="was not written with --provenance"):
        revert(tmp_path / "out", tmp_path / "back")
