from __future__ import annotations

import os
from pathlib import Path

import pytest

from transforms.shards import dead_letters as module
from transforms.shards.dead_letters import DeadLetter, DeadLetterWriter, read_dead_letters


def letter(row: int, original: str | bytes | None) -> DeadLetter:
    return DeadLetter.from_error(
        ValueError("x" * 5000), shard="s", row=row, stage="repair", original=original, id=f"id{row}"
    )


def test_originals_of_every_kind_are_kept(tmp_path: Path) -> None:
    url = str(tmp_path / "d" / "s.parquet")
    with DeadLetterWriter(url) as writer:
        writer.write(
            [letter(0, "text"), letter(1, b"\xff\xfe"), letter(2, "\ud800"), letter(3, None), letter(4, b"ok")]
        )
    table = read_dead_letters(url)
    assert table["text"].to_pylist() == ["text", None, None, None, "ok"]
    assert table["raw_bytes"].to_pylist() == [None, b"\xff\xfe", b"\xed\xa0\x80", None, None]
    assert table["row"].to_pylist() == [0, 1, 2, 3, 4]
    assert table["id"].to_pylist() == ["id0", "id1", "id2", "id3", "id4"]
    assert set(table["error"].to_pylist()) == {"ValueError"}
    assert len(table["message"][0].as_py()) == 2000


def test_many_are_written_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FLUSH_BYTES", 1000)
    url = str(tmp_path / "s.parquet")
    with DeadLetterWriter(url) as writer:
        for row in range(50):
            writer.write([letter(row, "text")])
    assert read_dead_letters(url)["row"].to_pylist() == list(range(50))


def test_without_any_there_is_no_file(tmp_path: Path) -> None:
    with DeadLetterWriter(str(tmp_path / "s.parquet")):
        pass
    assert os.listdir(tmp_path) == []


def test_a_failed_shard_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FLUSH_BYTES", 1)
    try:
        with DeadLetterWriter(str(tmp_path / "s.parquet")) as writer:
            writer.write([letter(1, "text")])
            raise RuntimeError
    except RuntimeError:
        pass
    assert os.listdir(tmp_path) == []


def test_an_identifier_that_is_no_text_is_shown(tmp_path: Path) -> None:
    url = str(tmp_path / "s.parquet")
    with DeadLetterWriter(url) as writer:
        writer.write([DeadLetter(shard="s", row=0, stage="read", error="E", message="m", original="x", id="a\ud800")])
    assert read_dead_letters(url)["id"].to_pylist() == ["a\\ud800"]
