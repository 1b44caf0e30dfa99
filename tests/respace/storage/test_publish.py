from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.storage.errors import UserError
from respace.storage.files import filesystem
from respace.storage.publish import (
    TEMPORARY_SUFFIX,
    check_writable,
    publish,
    publish_bytes,
    publish_table,
    remove_temporaries,
)


def test_nothing_is_seen_before_the_end(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"
    with publish(str(target)) as path:
        with open(path, "w") as stream:
            stream.write("new")
        assert not target.exists()
        assert os.path.dirname(path) == str(target.parent)
    assert target.read_text() == "new"
    assert os.listdir(target.parent) == ["file.txt"]


@pytest.mark.parametrize("where", ["write", "verify"])
def test_a_failure_leaves_the_old_file_and_no_temporary(tmp_path: Path, where: Any) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")

    def verify(path: Any) -> Any:
        raise RuntimeError("not what it should be")

    def attempt() -> Any:
        with publish(str(target), verify=verify) as path, open(path, "w") as stream:
            stream.write("new")
            if where == "write":
                raise RuntimeError("while writing")

    with pytest.raises(RuntimeError):
        attempt()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_verify_reads_the_closed_file(tmp_path: Path) -> None:
    seen = []
    verify = lambda path: seen.append(Path(path).read_text())  # noqa: E731
    with publish(str(tmp_path / "x"), verify=verify) as path, open(path, "w") as stream:
        stream.write("content")
    assert seen == ["content"]


def test_an_object_store_gets_one_whole_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    store = fsspec.filesystem("memory")
    publish_bytes("memory://published/a/b.txt", b"hello")
    assert store.cat_file("/published/a/b.txt") == b"hello"
    assert store.find("/published") == ["/published/a/b.txt"]

    def attempt() -> Any:
        with publish("memory://published/a/b.txt") as path, open(path, "w") as stream:
            stream.write("never")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        attempt()
    assert store.cat_file("/published/a/b.txt") == b"hello"
    assert os.listdir(tmp_path) == []


def test_temporaries_of_killed_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / f".x.0123{TEMPORARY_SUFFIX}").write_text("half")
    (tmp_path / "a" / "x").write_text("whole")
    assert remove_temporaries(str(tmp_path)) == 1
    assert os.listdir(tmp_path / "a") == ["x"]


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written: .*Give a directory"):
        check_writable(str(tmp_path / "file" / "out"))
    check_writable(str(tmp_path / "new"))
    assert os.listdir(tmp_path / "new") == []


@pytest.mark.parametrize("place", ["local", "store"])
def test_kills_leave_no_heap_of_probes(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may end after it has written to see whether it can, and before it has removed that again."""
    root = str(tmp_path / "out") if place == "local" else "memory://probes/out"
    store = filesystem(root)[0]

    def killed(*_: object) -> None:
        raise OSError("as if it were killed here")

    with monkeypatch.context() as during:
        during.setattr(type(store), "rm_file", killed)
        for _ in range(3):
            with pytest.raises(UserError, match="as if it were killed here"):
                check_writable(root)
    store.invalidate_cache()
    assert len(store.find(filesystem(root)[1])) == 1
    check_writable(root)
    assert store.find(filesystem(root)[1]) == []


def test_very_long_names_can_be_published(tmp_path: Path) -> None:
    name = "x" * 240
    publish_bytes(str(tmp_path / name), b"1")
    assert os.listdir(tmp_path) == [name]


def test_long_names_of_many_byte_characters_can_be_published(tmp_path: Path) -> None:
    name = "漢" * 80 + ".txt"
    publish_bytes(str(tmp_path / name), b"x")
    assert os.listdir(tmp_path) == [name]


def test_the_file_is_on_the_disk_before_its_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure a name must never lead to a file that is empty or half."""
    happened: list[tuple[str, int]] = []
    replace, fsync = os.replace, os.fsync

    def replaced(old: str, new: str) -> None:
        happened.append(("rename", os.stat(old).st_ino))
        replace(old, new)

    def flushed(handle: int) -> None:
        happened.append(("flush", os.fstat(handle).st_ino))
        fsync(handle)

    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "fsync", flushed)
    publish_bytes(str(tmp_path / "file.txt"), b"new")
    file, folder = (tmp_path / "file.txt").stat().st_ino, tmp_path.stat().st_ino
    assert happened == [("flush", file), ("rename", file), ("flush", folder)]


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_table_is_published_only_if_all_its_rows_can_be_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    table, target = pa.table({"n": pa.array(range(rows), pa.int64())}), str(tmp_path / "t.parquet")
    publish_table(target, table, row_group_size=3)
    assert pq.read_table(target)["n"].to_pylist() == list(range(rows))
    os.remove(target)
    write = pq.write_table
    for wrong in (table.slice(0, rows - 1) if rows else None, pa.concat_tables([table, pa.table({"n": [1]})])):
        if wrong is not None:
            monkeypatch.setattr(pq, "write_table", lambda _, path, wrong=wrong, **options: write(wrong, path))
            with pytest.raises(OSError, match=rf"{wrong.num_rows} rows written, {rows} expected"):
                publish_table(target, table, row_group_size=3)
            assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("arrived", [b"hell", b"hello!"])
def test_an_upload_that_arrives_otherwise_is_an_error(monkeypatch: pytest.MonkeyPatch, arrived: bytes) -> None:
    store = fsspec.filesystem("memory")
    monkeypatch.setattr(type(store), "put_file", lambda self, local, path: self.pipe_file(path, arrived))
    with pytest.raises(OSError, match=rf"{len(arrived)} bytes after uploading 5"):
        publish_bytes("memory://uploaded/a.txt", b"hello")


def test_only_temporaries_of_ours_are_removed(tmp_path: Path) -> None:
    for name in (".hidden", f"visible{TEMPORARY_SUFFIX}"):
        (tmp_path / name).write_text("somebody's")
    assert remove_temporaries(str(tmp_path)) == 0
    assert len(os.listdir(tmp_path)) == 2


def test_an_output_that_is_there_can_be_written(tmp_path: Path) -> None:
    check_writable(str(tmp_path))
    assert os.listdir(tmp_path) == []
