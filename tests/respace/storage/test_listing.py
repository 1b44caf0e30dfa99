"""Listings: local, of a store folder by folder, and of a store with too many folders."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import fsspec
import pytest

from respace.storage import listing
from respace.storage.files import describe
from respace.storage.listing import FileSet, Listed, walk_files
from respace.storage.parallel import in_parallel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/b/one.txt", "a/two.txt", "three.txt", "_hidden/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    os.symlink(tmp_path / "three.txt", tmp_path / "a/link.txt")
    return tmp_path


def test_local_files_are_described_alike(folder: Path) -> None:
    found = {one.name: one for one in walk_files(str(folder))}
    assert sorted(found) == ["_hidden/x", "a/b/one.txt", "a/link.txt", "a/two.txt", "three.txt"]
    for name, one in found.items():
        described = describe(str(folder / name))
        assert (one.size, one.version) == (described.size, described.version)
    assert list(walk_files(str(folder / "none"))) == []


@pytest.mark.parametrize("most", [10_000, 2, 0])
def test_stores_give_the_same_however_they_are_asked(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(listing, "_MOST_FOLDERS", most)
    store = fsspec.filesystem("memory")
    names = [f"{one}/{two}/file{three}" for one in "ab" for two in "cde" for three in range(3)] + ["top"]
    for name in names:
        store.pipe_file(f"/listing/{most}/{name}", b"x")
    found = sorted(walk_files(f"memory://listing/{most}"))
    assert [one.name for one in found] == sorted(names)
    described = [describe(f"memory://listing/{most}/{one.name}") for one in found]
    assert [(one.size, one.version) for one in found] == [(one.size, one.version) for one in described]
    assert list(walk_files("memory://listing/none")) == []


def test_a_set_of_files() -> None:
    files = [Listed(f"folder/{number}", number, "1") for number in range(1000)]
    known = FileSet(files)
    assert len(known) == 1000
    assert all(file.name in known and known.has(file) for file in files)
    assert not any(f"other/{number}" in known for number in range(1000))
    assert not any(known.has(file._replace(version="2")) for file in files)
    assert "a" not in FileSet([])


def test_results_are_in_order_and_few_wait() -> None:
    asked: list[int] = []
    lock = threading.Lock()

    def question(number: int) -> int:
        with lock:
            asked.append(number)
        return number

    results = in_parallel(question, iter(range(100_000)))
    assert [next(results) for _ in range(500)] == list(range(500))
    assert len(asked) < 5_000  # the rest is not even begun
    results.close()  # type: ignore[attr-defined]


def test_links_to_folders_are_not_followed(folder: Path) -> None:
    before = {one.name for one in walk_files(str(folder))}
    (folder / "a/up").symlink_to(folder)
    (folder / "b").symlink_to(folder / "a")
    assert {one.name for one in walk_files(str(folder))} == before
